// The tables of a network, and the numbers in them.

// All tables: log θ as it is, what sums over unknown features take instead, and where the cells stand.
class Tables {
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
    this.least = sizes.map((size, i) => this._exponentiate(i, size));
  }

  _own(flat, i, size) {
    return flat.subarray(this.offsets[i], this.offsets[i] + size);
  }

  // Fill in θ = exp(log θ - shift) of a feature; its smallest entry is zero where a positive one is lost.
  _exponentiate(i, size) {
    const logarithms = this._own(this.logTheta, i, size);
    const theta = this._own(this.theta, i, size);
    let least = 1;
    for (let k = 0; k < size; k++) {
      theta[k] = Math.exp(logarithms[k] - this.shifts[i]);
      if (logarithms[k] > -Infinity && theta[k] < least) least = theta[k];
    }
    return least;
  }

  // Add log θ of a family that is known as a whole.
  addTo(scores, i, codes) {
    const { start } = this.view(i, [], codes);
    for (let c = 0; c < scores.length; c++) scores[c] += this.logTheta[start + c];
  }

  // Where the table of a family starts, given what is known, and its strides along the features of a scope.
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

// Numbers that are written as the base64 of their bytes, lowest byte first.
function decoded(text) {
  const chars = atob(text);
  const view = new DataView(new ArrayBuffer(chars.length));
  for (let k = 0; k < chars.length; k++) view.setUint8(k, chars.charCodeAt(k));
  const numbers = new Float64Array(chars.length / 8);
  for (let k = 0; k < numbers.length; k++) numbers[k] = view.getFloat64(8 * k, true);
  return numbers;
}

function repeated(numbers, times) {
  return new Float64Array(numbers.length * times).map((_, k) => numbers[Math.floor(k / times)]);
}

function finiteMax(numbers) {
  const most = max(numbers);
  return Number.isFinite(most) ? most : 0;
}

function max(numbers) {
  return numbers.reduce((a, b) => (b > a ? b : a), -Infinity);
}

function sum(numbers) {
  return numbers.reduce((a, b) => a + b, 0);
}
