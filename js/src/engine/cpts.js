// The conditional probability tables of a network.

import { decoded, finiteMax, repeated, stridesOf, sum } from "./arrays.js";

export const UNKNOWN = -1;

// All tables in one flat array: log θ, its exponential for marginalization, and the offsets and strides of the cells.
export class CPTs {
  constructor(model, texts) {
    const { nClasses, parents, labels, classChild } = model;
    const cards = labels.map((list) => list.length);
    this.nClasses = nClasses;
    this.parents = parents;
    this.strides = parents.map((group, i) => stridesOf([...group, i].map((j) => cards[j]), nClasses));
    const sizes = parents.map((group, i) => group.reduce((cells, j) => cells * cards[j], cards[i] * nClasses));
    this.offsets = sizes.map((_, i) => sum(sizes.slice(0, i)));
    this.logTheta = new Float64Array(sum(sizes));
    texts.forEach((text, i) => {
      const own = this.logTheta.subarray(this.offsets[i], this.offsets[i] + sizes[i]);
      own.set(classChild[i] ? decoded(text) : repeated(decoded(text), nClasses));
    });
    this.shifts = sizes.map((size, i) => (model.normalized ? 0 : finiteMax(this._own(this.logTheta, i, size))));
    this.theta = new Float64Array(this.logTheta.length);
    this.smallest = sizes.map((size, i) => this._exponentiate(i, size));
  }

  _own(flat, i, size) {
    return flat.subarray(this.offsets[i], this.offsets[i] + size);
  }

  // Fill in θ = exp(log θ - shift) of a feature and return its smallest entry, which is zero where a positive one
  // underflows.
  _exponentiate(i, size) {
    const logarithms = this._own(this.logTheta, i, size);
    const theta = this._own(this.theta, i, size);
    let smallest = 1;
    for (let k = 0; k < size; k++) {
      theta[k] = Math.exp(logarithms[k] - this.shifts[i]);
      if (logarithms[k] > -Infinity && theta[k] < smallest) smallest = theta[k];
    }
    return smallest;
  }

  // Add log θ of a family whose members are all known.
  addTo(scores, i, codes) {
    const { start } = this.view(i, [], codes);
    for (let c = 0; c < scores.length; c++) scores[c] += this.logTheta[start + c];
  }

  // The start of the table of a family, given the known values, and its strides along the features of a scope.
  view(i, scope, codes) {
    const own = this.strides[i];
    const parents = this.parents[i];
    const strides = new Array(scope.length).fill(0);
    let start = this.offsets[i];
    for (let k = 0; k <= parents.length; k++) {
      const member = k < parents.length ? parents[k] : i;
      if (codes[member] === UNKNOWN) strides[scope.indexOf(member)] = own[k];
      else start += codes[member] * own[k];
    }
    return { start, strides };
  }
}
