// Evidence that is not one value: sets, ranges, negations and likelihoods. Each kind is an object of JSON with one field,
// and stands for a likelihood of the values of a column.

import { SIDES, rangeOf } from "../engine/ranges.js";
import { isObject, reads } from "./checks.js";
import { cardOf, intervalOf, keyOf, labelsOf } from "./variables.js";

const FIELDS = ["one_of", "between", "not", "likelihood"];
const MAX_DEPTH = 10; // of sets in sets

// Evidence that a column has one of several values; among them may be labels of intervals, ranges, and null for
// "missing" where that is a value.
export function oneOf(...values) {
  return { one_of: values };
}

// Evidence that the number of a column lies in a range, or its value in one of their order; null leaves an end open.
export function between(low, high, inclusive = "both") {
  return inclusive === "both" ? { between: [low, high] } : { between: [low, high], inclusive };
}

// Evidence that a column has none of some values.
export function not(...values) {
  return { not: values };
}

// Evidence that favors some values over others: the probability of the observation given each value, as a Map, as pairs,
// as an object, or as numbers in the order of the values.
export function likelihood(values) {
  if (values instanceof Map) return { likelihood: [...values] };
  return { likelihood: Array.isArray(values) ? [...values] : Object.entries(values) };
}

// The likelihood of each code of a column.
export function likelihoodOf(variable, evidence) {
  const { name } = variable;
  const [kind, ...others] = Object.keys(evidence).filter((key) => key !== "inclusive");
  reads(FIELDS.includes(kind) && others.length === 0, `column "${name}" holds an object that is not evidence, which has one field of ${FIELDS.join(", ")}`);
  if (kind === "likelihood") return weights(variable, evidence.likelihood);
  const found = members(variable, evidence, 0);
  reads(found.some(Boolean), `no value of column "${name}" agrees with the evidence ${JSON.stringify(evidence)}`);
  return found.map(Number);
}

// Which codes belong to a set.
function members(variable, evidence, depth) {
  reads(depth < MAX_DEPTH, `the evidence of column "${variable.name}" is nested too deeply`);
  if (Object.hasOwn(evidence, "between")) return inRange(variable, evidence);
  const isNot = Object.hasOwn(evidence, "not");
  const values = isNot ? evidence.not : evidence.one_of;
  reads(Array.isArray(values) && values.length > 0, `a set of values of column "${variable.name}" needs at least one value`);
  const found = new Array(cardOf(variable)).fill(isNot);
  for (const value of values) {
    if (isObject(value)) members(variable, value, depth + 1).forEach((is, code) => { if (is) found[code] = !isNot; });
    else found[codeIn(variable, value)] = !isNot;
  }
  if (isNot && variable.missingValue) found[found.length - 1] = false;
  return found;
}

function inRange(variable, evidence) {
  const { name, kind, values, cuts, ordered } = variable;
  const { between: ends, inclusive = "both" } = evidence;
  reads(ordered || kind === "numeric", `column "${name}" has no numbers, and between is a range of numbers: use oneOf`);
  reads(Array.isArray(ends) && ends.length === 2, "between has two ends, a number or null each");
  const areTexts = ends.every((end) => end === null || typeof end === "string");
  reads(areTexts || ends.every((end) => end === null || (typeof end === "number" && !Number.isNaN(end))), "the ends of between must be numbers, or null");
  reads(Object.hasOwn(SIDES, inclusive), `inclusive of between must be one of ${Object.keys(SIDES).join(", ")}`);
  const [low, high] = [ends[0] === null ? -Infinity : ends[0], ends[1] === null ? Infinity : ends[1]];
  reads(areTexts || low <= high, `the range from ${low} to ${high} is empty`);
  if (!ordered) {
    reads(!areTexts || ends.every((end) => end === null), `column "${name}" has numbers, and the range has labels`);
    return rangeOf(cuts, values, cardOf(variable), low, high, inclusive);
  }
  const places = [low, high].map((end) => ([-Infinity, Infinity].includes(end) ? end : values.findIndex((own) => keyOf(own) === keyOf(end))));
  reads(!places.includes(-1), `an end of the range from ${low} to ${high} is not a value of column "${name}"`);
  return rangeOf(null, [...values.keys()], cardOf(variable), ...places, inclusive);
}

function weights(variable, given) {
  const card = cardOf(variable);
  reads(Array.isArray(given), `the likelihood of column "${variable.name}" must be a list`);
  const found = new Array(card).fill(NaN);
  if (variable.missingValue) found[card - 1] = 0;
  if (given.every((number) => typeof number === "number")) {
    const real = card - Number(variable.missingValue);
    reads(given.length === real || given.length === card, `the likelihood of column "${variable.name}" has ${given.length} numbers where ${real} are needed`);
    given.forEach((number, code) => { found[code] = number; });
  } else {
    for (const pair of given) {
      reads(Array.isArray(pair) && pair.length === 2, `the likelihood of column "${variable.name}" has a pair of value and number for each value`);
      found[codeIn(variable, pair[0])] = pair[1];
    }
  }
  reads(!found.some(Number.isNaN), `the likelihood of column "${variable.name}" needs a number for each of its values`);
  reads(
    found.every((x) => typeof x === "number" && x >= 0 && x < Infinity) && found.some((x) => x > 0),
    `the likelihood of column "${variable.name}" has numbers of at least 0, some of them above 0`
  );
  return found;
}

// The code of a value, or of a label.
function codeIn(variable, value) {
  const { name, cuts, values, missingValue } = variable;
  if (missingValue && (value === null || Number.isNaN(value))) return cardOf(variable) - 1;
  if (cuts !== null && (typeof value === "boolean" || Number.isFinite(value))) return intervalOf(cuts, Number(value));
  const isPlain = ["string", "number", "boolean"].includes(typeof value);
  const known = isPlain && cuts === null ? values.findIndex((own) => keyOf(own) === keyOf(value)) : -1;
  const code = known >= 0 ? known : labelsOf(variable).indexOf(value);
  reads(code >= 0, `${JSON.stringify(value)} is not a value of column "${name}"`);
  return code;
}
