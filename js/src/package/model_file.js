// Model files: checked in every field that is needed to answer, and as what the inference engine takes.

import { asBoolean, asDoubles, asInteger, asList, asNumber, asObject, asText, fail, isObject } from "./checks.js";
import { decoded } from "../engine/arrays.js";
import { readDate, readDates } from "./dates.js";
import { cardOf, hasStates, keyOf, labelsOf, stateLabelsOf, statesOf, textOf } from "./variables.js";

const FORMAT = "discbayes-model";
const VERSION = 5;
const MAX_VALUES = 5_000_000; // of JSON in a file; a list counts as three and an object as eight
const MAX_LENGTH = 2 ** 29; // characters, as long as a string may be
const MAX_MEMBERS = 1000;
const MAX_PARENTS = 62;
const MAX_CELLS = 2 ** 22; // of one step of elimination: 32 MB
const MAX_LOG = 1e100;
const TOLERANCE = 1e-9; // of the sums of tables that count as normalized
const USUAL_EXPONENT = 8; // of a pool that does not name one
const MAX_EXPONENT = 64;
const RARE = 1e-3; // how probable it is, in a usual row, that a value is not known for another reason
const KINDS = ["numeric", "categorical", "boolean"];
const HEAD = ["format", "version", "library", "sha256", "model"];
const MODEL = ["settings", "domain", "structure", "tables", "class_dtype", "n_features_in", "feature_names_in", "history"];
const OPTIONAL = ["calibration", "tallies", "n_samples_seen", "csv_format", "class_table"];
const ENSEMBLE = ["settings", "scale", "class_shares", "cell_penalty", "members"];
const CALIBRATIONS = {
  temperature: ["temperature"],
  isotonic: ["log_odds", "probabilities"],
  pool: ["scale", "doubt", "usual_missing", "tables"],
};

// The networks in a model file, given as text or as what JSON.parse made of it: their columns, their settings, what the
// engine takes, and how the answers of several are pooled.
export function readModelFile(file) {
  const document = typeof file === "string" ? parsed(file) : file;
  if (!isObject(document) || document.format !== FORMAT) fail(`it is not a model file (its format is not "${FORMAT}")`);
  if (Number.isInteger(document.version) && document.version > VERSION) {
    fail(`it has version ${document.version} of the format, and this package knows versions up to ${VERSION}`);
  }
  asObject(document, "the file", HEAD);
  asInteger(document.version, "version", 1, VERSION);
  const model = asObject(document.model, "model");
  return Object.hasOwn(model, "members") ? readEnsemble(model) : { networks: [readNetwork(model, "model")], pool: null };
}

function parsed(text) {
  if (text.length > MAX_LENGTH) fail(`it has more than ${MAX_LENGTH} characters`);
  // before it is parsed, since a small file can hold very many values
  const weights = { 44: 1, 91: 3, 123: 8 };
  let count = 0;
  for (let k = 0; k < text.length; k++) count += weights[text.charCodeAt(k)] || 0;
  if (count > MAX_VALUES) fail(`it has more than ${MAX_VALUES} values`);
  try {
    return JSON.parse(text);
  } catch (error) {
    return fail(`it is not JSON, or not all of it is there (${error.message})`);
  }
}

function readEnsemble(model) {
  asObject(model, "model", ENSEMBLE, ["csv_format"]);
  const members = asList(model.members, "members");
  if (members.length < 1 || members.length > MAX_MEMBERS) fail(`an ensemble has 1 to ${MAX_MEMBERS} members, not ${members.length}`);
  const networks = members.map((member, k) => readNetwork(member, `members[${k}]`));
  const [first] = networks;
  const columns = (one) => JSON.stringify([one.payload.target, one.classes, one.variables.map(({ name, kind }) => [name, kind])]);
  networks.forEach((one, k) => {
    if (columns(one) !== columns(first)) fail(`members[${k}] has other columns or classes than the first member`);
  });
  const shares = readShares(model.class_shares, "class_shares", first.classes.length);
  const settings = readSettings(model.settings);
  return { networks: networks.map((one) => ({ ...one, settings })), pool: { scale: asNumber(model.scale, "scale", 0.01, 10), shares } };
}

function readNetwork(model, where) {
  asObject(model, where, MODEL, OPTIONAL);
  const { features, target } = asObject(model.domain, "domain", ["features", "target"]);
  const variables = asList(features, "domain.features").map((one, i) => readVariable(one, `domain.features[${i}]`));
  if (variables.length === 0) fail("domain has no features");
  if (new Set(variables.map(({ name }) => name)).size < variables.length) fail("domain has two features of the same name");
  const dates = readDates(variables);
  const classVariable = readVariable(target, "domain.target");
  if (classVariable.groups !== null) fail("domain.target has groups, which are for features");
  const classes = classVariable.values;
  if (classes.length === 0 || classVariable.cuts !== null || classVariable.missingValue) {
    fail("domain.target must have values, and neither cuts nor a value for missing");
  }
  const columns = [...new Set(variables.map(({ name, date }) => (date === null ? name : date.column)))];
  asInteger(model.n_features_in, "n_features_in", columns.length, columns.length);
  if (model.feature_names_in !== null) {
    const names = asList(model.feature_names_in, "feature_names_in", columns.length);
    const same = names.every((name, i) => asText(name, "feature_names_in") === columns[i]);
    if (!same) fail("feature_names_in must be the names of the columns of the domain, in their order");
  }
  asList(model.history, "history");
  const structure = readStructure(model.structure, variables.length);
  const states = variables.map((one) => (hasStates(one) ? statesOf(one) : null));
  const layout = { variables, classes, states, ...structure };
  // the network before the table of the class was absorbed for inference, which is all that is read
  if (Object.hasOwn(model, "class_table")) asObject(model.class_table, "class_table", ["structure", "log_theta", "log_table"]);
  const settings = readSettings(model.settings);
  const payload = {
    names: variables.map(({ name }) => name),
    labels: variables.map(labelsOf),
    kinds: variables.map(({ kind }) => kind),
    cuts: variables.map(({ cuts }) => cuts),
    target: classVariable.name,
    classes: classes.map(textOf),
    parents: structure.parents,
    order: structure.order,
    class_children: variables.map(() => true), // every table of a file has a column for each class
    states,
    state_labels: variables.map((one) => (hasStates(one) ? stateLabelsOf(one) : null)),
    class_has_parents: Object.hasOwn(model, "class_table"),
    max_factor_size: Math.min(settings.maxCells, MAX_CELLS),
    ...readTables(model.tables, layout),
    calibration: Object.hasOwn(model, "calibration") ? readCalibration(model.calibration, layout) : null,
  };
  return { variables, dates, classes, settings, payload };
}

// ---- columns

function readVariable(value, where) {
  const fields = asObject(value, where, ["name", "kind", "values", "cuts", "missing_value"], ["coarse_cuts", "groups", "ordered", "date"]);
  const name = asText(fields.name, `${where}.name`);
  const kind = asText(fields.kind, `${where}.kind`, KINDS);
  const values = asList(fields.values, `${where}.values`).map((one) => readLabel(one, `${where}.values`));
  const cuts = fields.cuts === null ? null : readCuts(fields.cuts, `${where}.cuts`);
  if (cuts !== null && values.length) fail(`${where} has values and cuts, of which a variable has one`);
  if (new Set(values.map(keyOf)).size < values.length) fail(`${where} has a value twice`);
  if (new Set(values.map((one) => typeof one === "string")).size > 1) fail(`${where} mixes strings and numbers`);
  const readsMissing = fields.missing_value === "read";
  const missingValue = readsMissing || asBoolean(fields.missing_value, `${where}.missing_value`);
  let coarseCuts = Object.hasOwn(fields, "coarse_cuts") ? readCuts(fields.coarse_cuts, `${where}.coarse_cuts`) : null;
  if (coarseCuts !== null) {
    if (cuts === null || !arePart(coarseCuts, cuts)) fail(`${where}: the coarse cut points must be some of its cut points, in their order`);
    if (coarseCuts.length === cuts.length) coarseCuts = null;
  }
  const ordered = Object.hasOwn(fields, "ordered") && asBoolean(fields.ordered, `${where}.ordered`);
  if (ordered && cuts !== null) fail(`${where}.ordered is for values, and ${where} has cuts`);
  const groups = Object.hasOwn(fields, "groups") ? readGroups(fields.groups, values, ordered, `${where}.groups`) : null;
  const date = Object.hasOwn(fields, "date") ? readDate(fields.date, name, `${where}.date`) : null;
  return { name, kind, values, cuts, coarseCuts, groups, missingValue, readsMissing, ordered, date };
}

// The group of each value; null where each value is a group.
function readGroups(value, values, ordered, where) {
  let n = 0;
  const groups = asList(value, where, values.length).map((one) => {
    const group = asInteger(one, where, 0, n);
    n = Math.max(n, group + 1);
    return group;
  });
  if (!groups.length) fail(`${where} is for a column of values`);
  if (ordered && groups.some((group, k) => k > 0 && groups[k - 1] > group)) fail(`${where}: the values are ordered, and a group of them must be neighbors`);
  return n === values.length ? null : groups;
}

function readLabel(value, where) {
  if (!["string", "number", "boolean"].includes(typeof value)) fail(`${where} must be strings, numbers or booleans`);
  if (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)) {
    fail(`${where} holds the number ${value}, which JavaScript does not hold exactly`);
  }
  return value;
}

function readCuts(value, where) {
  const cuts = asList(value, where).map((cut) => asNumber(cut, where));
  cuts.forEach((cut, k) => { if (k > 0 && cuts[k - 1] >= cut) fail(`${where} are not increasing`); });
  return cuts;
}

function arePart(some, numbers) {
  let at = 0;
  for (const number of some) {
    while (at < numbers.length && numbers[at] !== number) at++;
    if (at++ === numbers.length) return false;
  }
  return true;
}

// ---- settings: those that matter to answers

function readSettings(value) {
  const settings = asObject(value, "settings");
  const limit = (name, most) => (Object.hasOwn(settings, name) ? asInteger(settings[name], `settings.${name}`, 1, most) : most);
  const word = (name, known) => asText(Object.hasOwn(settings, name) ? settings[name] : known[0], `settings.${name}`, known);
  return {
    maxCells: Math.min(limit("max_cells", 1e10), limit("max_factor_size", 2 ** 28)),
    refusesUnseen: word("unknown", ["marginalize", "error"]) === "error",
    ignoresOthers: word("columns", ["strict", "by-name"]) === "by-name",
  };
}

// ---- structure and tables

function readStructure(value, nFeatures) {
  const { parents: groups, class_children: flags } = asObject(value, "structure", ["parents", "class_children"]);
  const parents = asList(groups, "structure.parents", nFeatures).map((group, i) => {
    const found = asList(group, "structure.parents").map((parent) => asInteger(parent, "structure.parents", 0, nFeatures - 1));
    if (found.length > MAX_PARENTS) fail(`feature ${i} has more than ${MAX_PARENTS} parents`);
    if (found.includes(i) || new Set(found).size < found.length) fail(`feature ${i} lists itself or a parent twice`);
    return found;
  });
  const children = asList(flags, "structure.class_children", nFeatures).map((flag) => asBoolean(flag, "structure.class_children"));
  return { parents, class_children: children, order: topologicalOrder(parents) };
}

// Parents before children, the lowest position first.
function topologicalOrder(parents) {
  const waiting = parents.map((group) => group.length);
  const children = parents.map(() => []);
  parents.forEach((group, i) => group.forEach((parent) => children[parent].push(i)));
  const heap = [];
  const push = (node) => {
    let k = heap.push(node) - 1;
    for (let up = (k - 1) >> 1; k > 0 && heap[up] > heap[k]; k = up, up = (k - 1) >> 1) [heap[up], heap[k]] = [heap[k], heap[up]];
  };
  const pop = () => {
    const top = heap[0];
    const last = heap.pop();
    if (heap.length === 0) return top;
    heap[0] = last;
    for (let k = 0; ;) {
      const [left, right] = [2 * k + 1, 2 * k + 2];
      let least = k;
      if (left < heap.length && heap[left] < heap[least]) least = left;
      if (right < heap.length && heap[right] < heap[least]) least = right;
      if (least === k) return top;
      [heap[k], heap[least]] = [heap[least], heap[k]];
      k = least;
    }
  };
  waiting.forEach((count, node) => { if (count === 0) push(node); });
  const order = [];
  while (heap.length) {
    const node = pop();
    order.push(node);
    for (const child of children[node]) if (--waiting[child] === 0) push(child);
  }
  if (order.length < parents.length) fail("the edges of the structure form a cycle");
  return order;
}

// What networks of the same domain and structure differ in.
function readTables(value, { variables, classes, states, parents }) {
  const fields = asObject(value, "tables", ["log_prior", "log_theta"], ["prior_offset"]);
  const logPrior = readLogs(fields.log_prior, "tables.log_prior", classes.length);
  if (!logPrior.some((log) => log > -Infinity)) fail("tables.log_prior has no class that is possible");
  if (Object.hasOwn(fields, "prior_offset")) readLogs(fields.prior_offset, "tables.prior_offset", classes.length);
  const nCells = asObject(fields.log_theta, "tables.log_theta").shape?.[0];
  const cards = variables.map(cardOf);
  const nStates = states.map((own, i) => (own === null ? cards[i] : own[own.length - 1] + 1));
  const sizes = parents.map((group, i) => group.reduce((cells, parent) => cells * nStates[parent], classes.length * cards[i]));
  const needed = sizes.reduce((total, size) => total + size, 0);
  if (needed !== nCells) fail(`tables.log_theta has another number of cells than the ${needed} of the domain and structure`);
  const logTheta = readLogs(fields.log_theta, "tables.log_theta", needed);
  let from = 0;
  const tables = sizes.map((size) => logTheta.subarray(from, from += size));
  return { log_prior: logPrior, tables, normalized: isNormalized(logPrior, tables, cards, classes.length) };
}

function readLogs(value, where, length) {
  const logs = decoded(asDoubles(value, where, length));
  if (!logs.every((log) => Math.abs(log) <= MAX_LOG || log === -Infinity)) fail(`${where} holds NaN, infinity or numbers beyond ${MAX_LOG}`);
  return logs;
}

function isNormalized(logPrior, tables, cards, n) {
  const isOne = (total) => Math.abs(total - 1) < TOLERANCE;
  if (!isOne(logPrior.reduce((total, log) => total + Math.exp(log), 0))) return false;
  return tables.every((table, i) => {
    const totals = new Float64Array(n);
    for (let from = 0; from < table.length; from += cards[i] * n) {
      totals.fill(0);
      for (let k = 0; k < cards[i] * n; k++) totals[k % n] += Math.exp(table[from + k]);
      if (!totals.every(isOne)) return false;
    }
    return true;
  });
}

// ---- calibration

function readShares(value, where, length) {
  const shares = decoded(asDoubles(value, where, length));
  const total = shares.reduce((sum, share) => sum + share, 0);
  if (!shares.every((share) => share >= 0 && share <= 1.001) || !(Math.abs(total - 1) <= 1e-5)) fail(`${where} must be probabilities that sum to 1`);
  return shares;
}

function readCalibration(value, layout) {
  const { kind } = asObject(value, "calibration");
  asText(kind, "calibration.kind", Object.keys(CALIBRATIONS));
  asObject(value, "calibration", ["kind", "class_shares", ...CALIBRATIONS[kind]], kind === "pool" ? ["unusual", "exponent"] : []);
  const nClasses = layout.classes.length;
  const shares = readShares(value.class_shares, "calibration.class_shares", nClasses);
  if (kind === "temperature") return { kind, temperature: asNumber(value.temperature, "calibration.temperature", 1e-3, 1e3) };
  if (kind === "isotonic") {
    const thresholds = (name) => asList(value[name], `calibration.${name}`, nClasses).map((part) => decoded(asDoubles(part, `calibration.${name}`)));
    const [odds, probabilities] = [thresholds("log_odds"), thresholds("probabilities")];
    odds.forEach((own, c) => checkThresholds(own, probabilities[c]));
    return { kind, log_odds: odds, probabilities };
  }
  const share = (name) => asNumber(value[name] ?? 0, `calibration.${name}`, 0, 1);
  const unusual = share("unusual");
  return {
    kind,
    class_shares: shares,
    scale: asNumber(value.scale, "calibration.scale", 0.01, 10),
    doubt: share("doubt"),
    usual_missing: share("usual_missing"),
    exponent: asNumber(value.exponent ?? USUAL_EXPONENT, "calibration.exponent", 0, MAX_EXPONENT),
    unusual,
    rare: RARE,
    reads_missing: layout.variables.map((one) => one.readsMissing && cardOf(one) > 1 && unusual > 0),
    generative: readTables(value.tables, layout),
  };
}

function checkThresholds(odds, probabilities) {
  const rises = (numbers, least) => numbers.every((x, k) => k === 0 || x - numbers[k - 1] >= least);
  if (odds.length === 0 || odds.length !== probabilities.length) fail("an isotonic calibration has pairs of thresholds, one at least");
  if (!odds.every((x) => Math.abs(x) <= 1e9) || !rises(odds, Number.MIN_VALUE)) fail("the log odds of an isotonic calibration must be finite and rise");
  if (!probabilities.every((p) => p >= 0 && p <= 1) || !rises(probabilities, 0)) fail("the values of an isotonic calibration must be probabilities that do not fall");
}
