// Columns: their codes, their states, and what each of them is called.

import { reads } from "./checks.js";

const MISSING_LABEL = "(missing)";
const NEVER_OBSERVED = "(never observed)";

// The number of values of a column; one that was never observed counts as having one.
export function cardOf({ values, cuts, missingValue }) {
  return Math.max(1, (cuts === null ? values.length : cuts.length + 1) + Number(missingValue));
}

// Whether children see less than the code: a coarse interval, or a group of values.
export const hasStates = ({ coarseCuts, groups }) => coarseCuts !== null || groups !== null;

// The state of each code, which children see: that of its coarse interval, or its group.
export function statesOf({ cuts, coarseCuts, groups, missingValue }) {
  if (groups !== null) return missingValue ? [...groups, 1 + groups.reduce((most, group) => Math.max(most, group), 0)] : groups;
  const states = new Array(cuts.length + 1);
  let state = 0;
  for (let code = 0; code < states.length; code++) {
    if (code > 0 && cuts[code - 1] === coarseCuts[state]) state++;
    states[code] = state;
  }
  return missingValue ? [...states, state + 1] : states;
}

// The meaning of each code as text.
export function labelsOf({ values, cuts, missingValue }) {
  const labels = cuts === null ? values.map(textOf) : intervalLabels(cuts);
  if (missingValue) labels.push(MISSING_LABEL);
  return labels.length ? labels : [NEVER_OBSERVED];
}

// What the states are called.
export function stateLabelsOf(variable) {
  if (variable.groups === null) return labelsOf({ ...variable, cuts: variable.coarseCuts });
  return labelsOf({ ...variable, values: groupNames(variable.values, variable.groups) });
}

const NAMED_VALUES = 2; // of a group

function groupNames(values, groups) {
  const members = [];
  groups.forEach((group, k) => {
    if (group === members.length) members.push([]);
    members[group].push(textOf(values[k]));
  });
  const names = members.map((group) => {
    const more = group.length - NAMED_VALUES;
    return group.slice(0, NAMED_VALUES).join(", ") + (more > 0 ? `, ${more.toLocaleString("en-US")} more` : "");
  });
  return new Set(names).size < names.length ? names.map((name, k) => `group ${k + 1}: ${name}`) : names;
}

function intervalLabels(cuts) {
  if (cuts.length === 0) return ["any"];
  let texts = cuts.map(numberText);
  if (new Set(texts).size < texts.length) texts = cuts.map(String);
  const inner = texts.slice(1).map((high, k) => `[${texts[k]}, ${high})`);
  return [`< ${texts[0]}`, ...inner, `>= ${texts[texts.length - 1]}`];
}

// A value as the library writes it.
export function textOf(value) {
  if (typeof value === "boolean") return value ? "True" : "False";
  return String(value);
}

// A cut point as people write it: 0.8, not 0.80000000000000004.
function numberText(value) {
  const plain = value === 0 || (Math.abs(value) >= 1e-4 && Math.abs(value) < 1e15);
  for (const digits of [6, 9, 12, 17]) {
    const rounded = Number(value.toPrecision(digits));
    if (digits < 17 && Math.abs(rounded - value) > 1e-9 * Math.abs(value)) continue;
    if (plain) return String(rounded);
    return rounded.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  }
  return String(value);
}

// The number of cut points that are not above a number: the code of its interval.
export function intervalOf(cuts, value) {
  let low = 0;
  let high = cuts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (cuts[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Values that are equal in the library have one key: 1, 1.0 and true, but not "1".
export const keyOf = (value) => (typeof value === "string" ? value : Number(value));

// The code of a plain value, -1 where it is unknown. `codes` are those of the values of the column, by key.
export function codeOf(variable, codes, value, refusesUnseen) {
  const { name, cuts } = variable;
  if (value === null || (typeof value === "number" && Number.isNaN(value))) {
    return variable.readsMissing ? cardOf(variable) - 1 : -1;
  }
  reads(["string", "number", "boolean"].includes(typeof value), `column "${name}" holds a value that is not a string, a number or a boolean`);
  reads(Math.abs(value) !== Infinity || typeof value === "string", `column "${name}" contains infinity (${value})`);
  if (cuts !== null) {
    reads(typeof value !== "string", `column "${name}" was numeric at fit and now holds the string ${JSON.stringify(value)}`);
    return intervalOf(cuts, Number(value));
  }
  const found = codes.get(keyOf(value));
  if (found !== undefined) return found;
  reads(!refusesUnseen, `column "${name}" holds ${JSON.stringify(value)}, which is none of its known values`);
  return -1;
}
