// The conditional probability tables of a network.

import { decoded, finiteMax, logSum, repeated, stridesOf, sum } from "./arrays.js";

export const UNKNOWN = -1;

// All tables in one flat array: log θ, its exponential for marginalization, and the offsets and strides of the cells.
//
// Table i is that of feature i: its parents by state, itself by value. Where the values of a feature are more than its
// states, table nFeatures + i has the sums over the values of each state: all that is needed while it is unknown.
export class CPTs {
  constructor(model, texts) {
    const { nClasses, parents, states, nStates, classChild } = model;
    const nFeatures = parents.length;
    this.parents = parents;
    this.states = states;
    this._unknown = states.map((own, i) => (own === null ? i : nFeatures + i)); // the table of an unknown feature
    const cards = [...model.labels.map((list) => list.length), ...nStates.map((n, i) => (states[i] === null ? 0 : n))];
    const shapes = cards.map((card, t) => [...parents[t % nFeatures].map((j) => nStates[j]), card]);
    this.strides = shapes.map((shape) => stridesOf(shape, nClasses));
    this._sizes = shapes.map((shape) => shape.reduce((cells, card) => cells * card, nClasses));
    this.offsets = this._sizes.map((_, t) => sum(this._sizes.slice(0, t)));
    this.logTheta = new Float64Array(sum(this._sizes));
    texts.forEach((text, i) => {
      this._own(this.logTheta, i).set(classChild[i] ? decoded(text) : repeated(decoded(text), nClasses));
      if (model.hidesMissing[i]) this._hideMissing(i, nClasses, cards[i]);
      if (states[i] !== null) this._sumStates(i, nClasses);
    });
    this.shifts = cards.map((_, t) => (model.normalized ? 0 : finiteMax(this._own(this.logTheta, t))));
    this.theta = new Float64Array(this.logTheta.length);
    this.smallest = cards.map((_, t) => this._exponentiate(t));
  }

  _own(flat, t) {
    return flat.subarray(this.offsets[t], this.offsets[t] + this._sizes[t]);
  }

  // Take the last value of a feature, "missing", out of its table. Where all others are impossible they become equally
  // probable.
  _hideMissing(i, nClasses, card) {
    const table = this._own(this.logTheta, i);
    for (let from = 0; from < table.length; from += card * nClasses) {
      for (let c = 0; c < nClasses; c++) {
        const cells = Array.from({ length: card - 1 }, (_, value) => from + value * nClasses + c);
        const total = logSum(cells.map((k) => table[k]));
        for (const k of cells) table[k] = total > -Infinity ? table[k] - total : -Math.log(card - 1);
        table[from + (card - 1) * nClasses + c] = -Infinity;
      }
    }
  }

  // Fill in the table by state of a feature, whose states are runs of its values.
  _sumStates(i, nClasses) {
    const fine = this._own(this.logTheta, i);
    const coarse = this._own(this.logTheta, this._unknown[i]);
    const states = this.states[i];
    const ends = Array.from(states, (state, value) => value + 1 === states.length || states[value + 1] !== state);
    for (let from = 0, at = 0; from < fine.length; at += nClasses) {
      const first = from;
      do from += nClasses; while (!ends[(from / nClasses - 1) % states.length]);
      for (let c = 0; c < nClasses; c++) {
        let largest = -Infinity;
        for (let k = first + c; k < from; k += nClasses) if (fine[k] > largest) largest = fine[k];
        let total = 0;
        if (largest > -Infinity) for (let k = first + c; k < from; k += nClasses) total += Math.exp(fine[k] - largest);
        coarse[at + c] = largest + Math.log(total);
      }
    }
  }

  // Fill in θ = exp(log θ - shift) of a table and return its smallest entry, which is zero where a positive one
  // underflows.
  _exponentiate(t) {
    const logarithms = this._own(this.logTheta, t);
    const theta = this._own(this.theta, t);
    let smallest = 1;
    for (let k = 0; k < theta.length; k++) {
      theta[k] = Math.exp(logarithms[k] - this.shifts[t]);
      if (logarithms[k] > -Infinity && theta[k] < smallest) smallest = theta[k];
    }
    return smallest;
  }

  // Add log θ of a family whose members are all known.
  addTo(scores, i, codes) {
    const { start } = this.view(i, [], codes);
    for (let c = 0; c < scores.length; c++) scores[c] += this.logTheta[start + c];
  }

  // The state of a feature, which is what its children see, given its code.
  stateOf(i, code) {
    return this.states[i] === null ? code : this.states[i][code];
  }

  // The table of a family, where it starts given the known values, and its strides along the features of a scope.
  view(i, scope, codes) {
    const table = codes[i] === UNKNOWN ? this._unknown[i] : i;
    const own = this.strides[table];
    const { strides, start } = this._above(i, scope, codes, own);
    const last = own[own.length - 1];
    if (codes[i] !== UNKNOWN) return { table, strides, start: this.offsets[table] + start + codes[i] * last };
    strides[scope.indexOf(i)] = last;
    return { table, strides, start: this.offsets[table] + start };
  }

  // The same for the table by value of an unknown feature, whose own axis is left out.
  viewByValue(i, scope, codes) {
    const { strides, start } = this._above(i, scope, codes, this.strides[i]);
    return { strides, start: this.offsets[i] + start };
  }

  _above(i, scope, codes, own) {
    const strides = new Array(scope.length).fill(0);
    let start = 0;
    this.parents[i].forEach((parent, k) => {
      if (codes[parent] === UNKNOWN) strides[scope.indexOf(parent)] = own[k];
      else start += this.stateOf(parent, codes[parent]) * own[k];
    });
    return { strides, start };
  }
}
