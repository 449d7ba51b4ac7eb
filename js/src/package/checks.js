// Checks of what comes from outside: each returns the value, or throws an error that names the place.

// A model file that is damaged, not a model file, or holds what this package does not know.
export class ModelFileError extends Error {
  constructor(message) {
    super(`The model cannot be loaded: ${message}`);
    this.name = "ModelFileError";
  }
}

const SHOWN = 60;

function shown(value) {
  let text;
  try {
    text = typeof value === "bigint" ? String(value) : JSON.stringify(value, (key, inner) => (key !== "" && typeof inner === "object" && inner !== null ? "…" : inner));
  } catch {
    text = undefined;
  }
  if (text === undefined) text = typeof value;
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}

export function fail(message) {
  throw new ModelFileError(message);
}

// Refuse a row where something does not hold.
export function reads(holds, message) {
  if (!holds) throw new TypeError(message);
}

function wrong(where, expected, value) {
  return fail(`${where} must be ${expected}, not ${shown(value)}`);
}

export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// An object with these fields, and perhaps some more.
export function asObject(value, where, fields = null, optional = []) {
  if (!isObject(value)) wrong(where, "an object", value);
  if (fields !== null) {
    const lacking = fields.filter((field) => !Object.hasOwn(value, field));
    const unknown = Object.keys(value).filter((field) => !fields.includes(field) && !optional.includes(field));
    if (lacking.length) fail(`${where} lacks the field ${shown(lacking[0])}`);
    if (unknown.length) fail(`${where} has the field ${shown(unknown[0])}, which this version of the package does not know`);
  }
  return value;
}

export function asList(value, where, length = null) {
  if (!Array.isArray(value)) wrong(where, "a list", value);
  if (length !== null && value.length !== length) fail(`${where} has ${value.length} entries where ${length} are needed`);
  return value;
}

export function asText(value, where, choices = null) {
  if (typeof value !== "string") wrong(where, "a string", value);
  if (choices !== null && !choices.includes(value)) wrong(where, `one of ${choices.join(", ")}`, value);
  return value;
}

export function asInteger(value, where, least, most) {
  if (!Number.isSafeInteger(value) || value < least || value > most) wrong(where, `a whole number from ${least} to ${most}`, value);
  return value;
}

export function asBoolean(value, where) {
  if (typeof value !== "boolean") wrong(where, "true or false", value);
  return value;
}

export function asNumber(value, where, least = -Infinity, most = Infinity) {
  if (typeof value !== "number" || !Number.isFinite(value) || value < least || value > most) {
    wrong(where, least === -Infinity ? "a finite number" : `a number from ${least} to ${most}`, value);
  }
  return value;
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

// The doubles of an array with one axis.
export function asDoubles(value, where, length = null) {
  const { dtype, shape, data } = asObject(value, where, ["dtype", "shape", "data"]);
  asText(dtype, `${where}.dtype`, ["<f8"]);
  asList(shape, `${where}.shape`, 1);
  if (!BASE64.test(asText(data, `${where}.data`)) || data.length % 4) fail(`${where}.data is not base64`);
  const bytes = (data.length / 4) * 3 - (data.endsWith("==") ? 2 : Number(data.endsWith("=")));
  if (shape[0] * 8 !== bytes) fail(`${where}: ${bytes} bytes do not fill the shape [${shown(shape[0])}]`);
  if (length !== null && shape[0] !== length) fail(`${where} has ${shape[0]} entries where ${length} are needed`);
  return data;
}
