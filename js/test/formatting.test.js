// Numbers, names and intervals as the report writes them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { intervalOf, largestFirst, listed, percent, probability, shortened, signed, unravelled, valueText } from "../src/page/formatting.js";

test("long texts keep both ends, by characters", () => {
  assert.equal(shortened("abcdef", 6), "abcdef");
  assert.equal(shortened("abcdefghijkl", 5), "abc…l");
  assert.equal([...shortened("🙂".repeat(9), 4)].length, 4);
});

test("probabilities that are not 0 or 1 are not rounded to them", () => {
  assert.equal(percent(0), "0.0 %");
  assert.equal(percent(1e-9), "< 0.1 %");
  assert.equal(percent(1 - 1e-9), "> 99.9 %");
  assert.equal(percent(1), "100.0 %");
  assert.equal(probability(0.25), "0.250");
  assert.equal(probability(3e-7), "3e−7");
});

test("log odds have a sign, and may be infinite", () => {
  assert.deepEqual([0.5, -0.5, -1e-9, Infinity, -Infinity].map(signed), ["+0.50", "−0.50", "+0.00", "+∞", "−∞"]);
});

test("a number belongs to the interval after the cut points that are not above it", () => {
  assert.deepEqual([-9, 2, 2.5, 5, 99, NaN].map((x) => intervalOf([2, 5], x)), [0, 1, 1, 2, 2, -1]);
});

test("values are written after their kind", () => {
  const model = { labels: [["< 2", "[2, 5)", ">= 5", "(missing)"], ["red"]], cuts: [[2, 5], null] };
  const words = [0, 1, 2, 3].map((code) => Object.values(valueText(model, 0, code)).join(""));
  assert.deepEqual(words, [" < 2", " in [2, 5)", " ≥ 5", " = (missing)"]);
  assert.equal(valueText(model, 1, 0).relation, " = ");
});

test("combinations, lists and orders", () => {
  const lists = [["a", "b"], ["c", "d", "e"]];
  assert.deepEqual([0, 1, 3, 5].map((k) => unravelled(k, lists)), [[0, 0], [0, 1], [1, 0], [1, 2]]);
  assert.equal(listed(["a", "b", "c"]).join(""), "a, b and c");
  assert.deepEqual(largestFirst([0.2, 0.5, 0.2, 0.1]), [1, 0, 2, 3]);
});
