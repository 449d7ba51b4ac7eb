// The conditional probability tables of a network.

import { decoded, finiteMax, logSum, repeated, stridesOf } from "./arrays.js";

// The code of an unknown feature. Lower codes are evidence that is not one value: -2 - k is the k-th likelihood.
export const UNKNOWN = -1;

// One table: log θ, its exponential for marginalization, and the strides of its axes. θ is exp(log θ - shift), and
// `smallest` its smallest entry, which is zero where a positive one underflows.
class Table {
  constructor(logTheta, strides, normalized) {
    this.logTheta = logTheta;
    this.strides = strides; // of the parents, and of the feature
    this.shift = normalized ? 0 : finiteMax(logTheta);
    this.theta = new Float64Array(logTheta.length);
    this.smallest = 1;
    for (let k = 0; k < logTheta.length; k++) {
      const theta = Math.exp(logTheta[k] - this.shift);
      this.theta[k] = theta;
      if (logTheta[k] > -Infinity && theta < this.smallest) this.smallest = theta;
    }
  }
}

// All tables: that of a feature has its parents by state, itself by value. It is read while its value is known, and is
// laid out so that the cells of a value are next to each other. While the feature is unknown, its table by state is all
// that is needed: that has the sums over the values of each state.
export class CPTs {
  constructor(network, texts) {
    const { parents, states, nStates, normalized } = network;
    this._network = network;
    this.parents = parents;
    this.states = states;
    this.nStates = nStates;
    this.byValue = texts.map((text, i) => this.made(i, parents[i], text, network.inferenceChild[i]));
    this.byState = this.byValue.map((table, i) => this._byState(i, parents[i], table, null, normalized));
    this._withEvidence = new Map();
  }

  // The table of a feature with some parents, from its numbers, in which its values are the axis before the class.
  made(i, group, text, byClass) {
    const { nClasses, labels, hidesMissing, normalized } = this._network;
    const card = labels[i].length;
    const nRows = group.reduce((rows, parent) => rows * this.nStates[parent], 1);
    const given = decoded(text);
    const full = byClass ? given : repeated(given, nClasses);
    if (full.length !== nRows * card * nClasses) {
      throw new RangeError(`the table of feature ${i} has ${full.length} cells, where it needs ${nRows * card * nClasses}`);
    }
    if (hidesMissing[i]) hideMissing(full, nClasses, card);
    const logTheta = new Float64Array(full.length);
    for (let from = 0, row = 0; row < nRows; row++) {
      for (let value = 0; value < card; value++) {
        for (let c = 0, to = (value * nRows + row) * nClasses; c < nClasses; c++) logTheta[to++] = full[from++];
      }
    }
    const strides = stridesOf(group.map((parent) => this.nStates[parent]), nClasses);
    return new Table(logTheta, [...strides, nRows * nClasses], normalized);
  }

  // The table by state of a feature. With a likelihood of the values, given by its logarithms, values are weighted by it.
  _byState(i, group, table, logLikelihood, normalized) {
    const { nClasses, labels } = this._network;
    const card = labels[i].length;
    const nStates = this.nStates[i];
    const fine = table.logTheta;
    const perValue = fine.length / card;
    const log = (value, k) => fine[value * perValue + k] + (logLikelihood === null ? 0 : logLikelihood[value]);
    const strides = stridesOf([...group.map((parent) => this.nStates[parent]), nStates], nClasses);
    const coarse = new Float64Array(perValue * nStates);
    const members = Array.from({ length: nStates }, () => []);
    for (let value = 0; value < card; value++) members[this.stateOf(i, value)].push(value);
    for (let k = 0; k < perValue; k++) {
      const row = Math.floor(k / nClasses);
      members.forEach((values, state) => {
        let largest = -Infinity;
        for (const value of values) if (log(value, k) > largest) largest = log(value, k);
        let total = 0;
        if (largest > -Infinity) for (const value of values) total += Math.exp(log(value, k) - largest);
        coarse[(row * nStates + state) * nClasses + (k % nClasses)] = values.length === 1 ? largest : largest + Math.log(total);
      });
    }
    return new Table(coarse, strides, normalized);
  }

  // The table by state of any table of a feature by value.
  summed(i, group, table) {
    return this._byState(i, group, table, null, this._network.normalized);
  }

  // The table by state of a feature of which a likelihood is known; kept for the next question.
  _weighted(i, code, likelihoods) {
    let found = this._withEvidence.get(code);
    if (found === undefined) {
      found = this._byState(i, this.parents[i], this.byValue[i], likelihoods[UNKNOWN - 1 - code], false);
      this._withEvidence.set(code, found);
    }
    return found;
  }

  forgetEvidence() {
    this._withEvidence.clear();
  }

  // Add log θ of a family whose members are all known.
  addTo(scores, i, codes) {
    const { table, start } = this.view(i, [], codes);
    for (let c = 0; c < scores.length; c++) scores[c] += table.logTheta[start + c];
  }

  // The state of a feature, which is what its children see, given its code.
  stateOf(i, code) {
    return this.states[i] === null ? code : this.states[i][code];
  }

  // The table of a family, where it starts given the known values, and its strides along the features of a scope.
  view(i, scope, codes) {
    const table = this.tableOf(i, codes);
    const { strides, start } = this._above(i, scope, codes, table.strides);
    const last = table.strides[table.strides.length - 1];
    if (codes[i] >= 0) return { table, strides, start: start + codes[i] * last };
    strides[scope.indexOf(i)] = last;
    return { table, strides, start };
  }

  // The table of a feature that its code asks for: by value where it is known, else by state.
  tableOf(i, codes) {
    if (codes[i] >= 0) return this.byValue[i];
    return codes[i] === UNKNOWN ? this.byState[i] : this._weighted(i, codes[i], this._network.likelihoods);
  }

  // The same for the table by value of an unknown feature, whose own axis is left out.
  viewByValue(i, scope, codes) {
    return this._above(i, scope, codes, this.byValue[i].strides);
  }

  _above(i, scope, codes, own) {
    const strides = new Array(scope.length).fill(0);
    let start = 0;
    this.parents[i].forEach((parent, k) => {
      if (this.nStates[parent] === 1) return; // its only state is the first
      if (codes[parent] < 0) strides[scope.indexOf(parent)] = own[k];
      else start += this.stateOf(parent, codes[parent]) * own[k];
    });
    return { strides, start };
  }
}

// Take the last value of a feature, "missing", out of its table. Where all others are impossible they become equally
// probable.
function hideMissing(table, nClasses, card) {
  for (let from = 0; from < table.length; from += card * nClasses) {
    for (let c = 0; c < nClasses; c++) {
      const cells = Array.from({ length: card - 1 }, (_, value) => from + value * nClasses + c);
      const total = logSum(cells.map((k) => table[k]));
      for (const k of cells) table[k] = total > -Infinity ? table[k] - total : -Math.log(card - 1);
      table[from + (card - 1) * nClasses + c] = -Infinity;
    }
  }
}
