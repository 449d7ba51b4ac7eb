// The engine against answers by enumeration, which Python writes (tests/report/js_fixtures.py).

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Network } from "../src/engine/network.js";

const cases = JSON.parse(readFileSync(new URL("fixtures/networks.json", import.meta.url), "utf8"));
const model = (name) => new Network(cases.find((one) => one.name === name).payload);
const number = (text) => Number(text.replace("inf", "Infinity"));

function assertClose(found, expected, tolerance, what) {
  assert.equal(found.length, expected.length, what);
  expected.forEach((value, k) => {
    const close = found[k] === value || Math.abs(found[k] - value) <= tolerance;
    assert.ok(close, `${what}: ${found[k]} is not ${value}`);
  });
}

for (const { name, payload, rows } of cases) {
  test(`posterior: ${name}`, () => {
    const network = new Network(payload);
    for (const { codes, posterior } of rows) assertClose(network.posterior(codes), posterior, 1e-12, `row ${codes}`);
  });

  test(`contributions add up to the log odds: ${name}`, () => {
    const network = new Network(payload);
    for (const { codes, log_odds: expected, impossible } of rows) {
      const found = network.contributions(codes);
      assert.equal(found.impossible, impossible);
      assertClose(found.log_odds, expected.map(number), 1e-10, `row ${codes}`);
      const known = payload.order.filter((i) => codes[i] !== -1);
      assert.deepEqual(found.items.map((item) => item.feature), known);
      const totals = found.base.map((base, c) => found.items.reduce((sum, item) => sum + item.values[c], base));
      found.log_odds.forEach((odds, c) => {
        if (Number.isFinite(odds)) assert.ok(Math.abs(totals[c] - odds) < 1e-10);
      });
    }
  });

  test(`value of information: ${name}`, () => {
    const network = new Network(payload);
    for (const { codes, gains } of rows) {
      const { items } = network.information(codes);
      assert.deepEqual(items.map((item) => String(item.feature)).sort(), Object.keys(gains).sort());
      for (const { feature, gain } of items) assertClose([gain], [gains[feature]], 1e-11, `feature ${feature}`);
      for (let k = 1; k < items.length; k++) assert.ok(items[k - 1].gain > items[k].gain - 2e-12);
    }
  });
}

test("a table is a distribution over the values for each combination of parents and each class", () => {
  const network = model("several parents");
  network.names.forEach((_, i) => {
    const table = network.table(i);
    const codes = table.parents.map(() => 0);
    for (let c = 0; c < table.nClasses; c++) {
      let total = 0;
      for (let value = 0; value < table.card; value++) total += table.at(codes, value, c);
      assert.ok(Math.abs(total - 1) < 1e-12);
    }
  });
});

test("a table by state has the sums of the table by value", () => {
  const network = model("two resolutions");
  assert.deepEqual(network.states, [[0, 0, 1, 1, 1], [0, 1, 0, 1], [0, 1, 1, 2, 3], [0, 0, 0], null]);
  assert.deepEqual(network.stateLabels[1], ["v0, v2", "v1, v3"]);
  assert.deepEqual(network.stateLabels[2], ["< 1", "[1, 3)", ">= 3", "(missing)"]);
  assert.equal(network.stateOf(0, 3), 1);
  assert.equal(network.stateOf(0, -1), -1);
  for (const i of network.names.keys()) {
    const [fine, coarse] = [network.table(i), network.table(i, true)];
    assert.equal(coarse.card, network.nStates[i]);
    const last = fine.parents.map((parent) => network.nStates[parent] - 1);
    for (let c = 0; c < fine.nClasses; c++) {
      const sums = new Array(coarse.card).fill(0);
      for (let value = 0; value < fine.card; value++) sums[network.stateOf(i, value)] += fine.at(last, value, c);
      assertClose(sums.map((_, state) => coarse.at(last, state, c)), sums, 1e-12, `feature ${i}`);
    }
  }
});

test("codes outside the domain are refused", () => {
  const network = model("naive Bayes");
  assert.throws(() => network.posterior([0]), /1 codes were given for 4 features/);
  assert.throws(() => network.posterior([0, 0, 0, 9]), /feature 3 has the codes 0 to \d, and not 9/);
  assert.throws(() => network.posterior([0.5, 0, 0, 0]), /feature 0 has the codes/);
});

test("a factor that is too large is refused with the features to set", () => {
  const { payload } = cases.find((one) => one.name === "unconstrained parameters");
  const network = new Network({ ...payload, max_factor_size: 2 });
  assert.throws(() => network.posterior(payload.names.map(() => -1)), /limit of 2\. Set some of these features/);
});
