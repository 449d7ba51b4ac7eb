// The npm package for the tests: `node ask_package.mjs PACKAGE < jobs`. A job is a model file, as text or its name, with
// rows; its answer has what each row gives, or the error.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const { Model } = createRequire(import.meta.url)(process.argv[2]);

function attempt(ask) {
  const start = performance.now();
  try {
    return { answer: ask(), took: performance.now() - start };
  } catch (error) {
    return { error: String(error.message), isError: error instanceof Error, took: performance.now() - start };
  }
}

function answer({ file, text, columns, rows, methods = ["posterior"] }) {
  const loaded = attempt(() => Model.fromJSON(text ?? readFileSync(file, "utf8")));
  if (loaded.error !== undefined) return loaded;
  const model = loaded.answer;
  // without columns, rows are drawn from the model: nothing known, and the last value of each column
  const given = columns === undefined
    ? [{}, Object.fromEntries(model.columns.map(({ name, values, cuts }) => [name, cuts === null ? values.at(-1) : cuts[0] ?? 0]))]
    : rows.map((row) => Object.fromEntries(columns.map((name, k) => [name, row[k]])));
  const found = given.map((row) => Object.fromEntries(methods.map((method) => [method, attempt(() => model[method](row))])));
  return { took: loaded.took, classes: model.classes, rows: found };
}

const infinite = (key, value) => (typeof value === "number" && !Number.isFinite(value) ? String(value) : value);
process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(answer), infinite));
