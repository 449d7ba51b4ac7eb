"use strict";

const DiscBayes = (() => {
// Arrays of numbers: decoding, sums, maxima and strides.

// Decode doubles that are written as the base64 of their bytes, lowest byte first; numbers are taken as they are.
function decoded(text) {
  if (typeof text !== "string") return Float64Array.from(text);
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

function max(numbers) {
  return numbers.reduce((a, b) => (b > a ? b : a), -Infinity);
}

function finiteMax(numbers) {
  const largest = max(numbers);
  return Number.isFinite(largest) ? largest : 0;
}

function sum(numbers) {
  return numbers.reduce((a, b) => a + b, 0);
}

// The logarithm of the sum of numbers that are given by their logarithms.
function logSum(numbers) {
  const largest = max(numbers);
  if (largest === -Infinity) return largest;
  return largest + Math.log(sum(numbers.map((number) => Math.exp(number - largest))));
}

// The strides of axes of these cardinalities, with the class as the innermost axis.
function stridesOf(cards, nClasses) {
  const strides = new Array(cards.length);
  for (let k = cards.length - 1, cells = nClasses; k >= 0; k--) {
    strides[k] = cells;
    cells *= cards[k];
  }
  return strides;
}

// The conditional probability tables of a network.

// The code of an unknown feature. Lower codes are evidence that is not one value: -2 - k is the k-th likelihood.
const UNKNOWN = -1;

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
class CPTs {
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

// Variable elimination: products and sums of factors, and the order of the features.

// ---- arithmetic on lines: a line holds the cells of one combination of values, one for each class

// Products and sums of probabilities as they are.
const linearScale = {
  one: 1,
  cells: (table) => table.theta,
  smallest: (table) => table.smallest,
  shift: (table) => table.shift,
  multiply(cells, source, starts, n) {
    for (let line = 0, at = 0; line < starts.length; line++) {
      for (let from = starts[line], end = at + n; at < end;) cells[at++] *= source[from++];
    }
  },
  // Sum over the innermost feature; the cells become conditional probabilities.
  marginalize(cells, card, n) {
    const message = new Float64Array(cells.length / card);
    for (let line = 0, from = 0; from < cells.length; line += n) {
      const first = from;
      for (let v = 0; v < card; v++) for (let c = 0; c < n; c++) message[line + c] += cells[from++];
      for (let k = first; k < from;) {
        for (let c = 0; c < n; c++, k++) if (cells[k] > 0) cells[k] /= message[line + c];
      }
    }
    return message;
  },
  // Scale the largest entry of each class to one, add its logarithm to the scores, and return the smallest entry.
  rescale(message, n, scores) {
    let smallest = 1;
    for (let c = 0; c < n; c++) {
      let largest = 0;
      for (let k = c; k < message.length; k += n) if (message[k] > largest) largest = message[k];
      scores[c] += Math.log(largest);
      for (let k = c; k < message.length; k += n) {
        message[k] = largest > 0 ? message[k] / largest : 1;
        if (message[k] > 0 && message[k] < smallest) smallest = message[k];
      }
    }
    return smallest;
  },
};

// Products and sums of log probabilities, which neither overflow nor underflow.
const logScale = {
  one: 0,
  cells: (table) => table.logTheta,
  smallest: () => 1,
  shift: () => 0,
  multiply(cells, source, starts, n) {
    for (let line = 0, at = 0; line < starts.length; line++) {
      for (let from = starts[line], end = at + n; at < end;) cells[at++] += source[from++];
    }
  },
  marginalize(cells, card, n) {
    const message = new Float64Array(cells.length / card);
    for (let line = 0; line < message.length; line++) {
      const first = Math.floor(line / n) * card * n + (line % n);
      const end = first + card * n;
      let largest = -Infinity;
      for (let k = first; k < end; k += n) if (cells[k] > largest) largest = cells[k];
      let total = 0;
      if (largest > -Infinity) for (let k = first; k < end; k += n) total += Math.exp(cells[k] - largest);
      message[line] = largest + Math.log(total);
      for (let k = first; k < end; k += n) cells[k] = cells[k] > -Infinity ? Math.exp(cells[k] - message[line]) : 0;
    }
    return message;
  },
  rescale(message, n, scores) {
    for (let c = 0; c < n; c++) {
      let largest = -Infinity;
      for (let k = c; k < message.length; k += n) if (message[k] > largest) largest = message[k];
      scores[c] += largest;
      for (let k = c; k < message.length; k += n) message[k] = largest > -Infinity ? message[k] - largest : 0;
    }
    return 1;
  },
};

// The start of each line of a factor: one for each combination of values along axes of these cardinalities and strides.
function lines(cards, strides, start) {
  let found = Int32Array.of(start);
  cards.forEach((card, axis) => {
    const wider = new Int32Array(found.length * card);
    for (let k = 0, at = 0; k < found.length; k++) {
      for (let v = 0; v < card; v++) wider[at++] = found[k] + v * strides[axis];
    }
    found = wider;
  });
  return found;
}

// The strides of a message over `rest`, whose cardinalities come first in `cards`, along the scope of another bucket.
function stridesWithin(rest, bucket, cards, nClasses) {
  const own = stridesOf(cards.slice(0, -1), nClasses);
  return bucket.scope.map((i) => (rest.includes(i) ? own[rest.indexOf(i)] : 0));
}

function addLines(total, starts, cells, n) {
  for (let line = 0, from = 0; line < starts.length; line++) {
    for (let at = starts[line], end = at + n; at < end;) total[at++] += cells[from++];
  }
}

// Multiply all values of the innermost feature by the weight of their line.
function weigh(cells, weight, card, n) {
  for (let line = 0, at = 0; line < weight.length; line += n) {
    for (let v = 0; v < card; v++) for (let c = 0; c < n; c++) cells[at++] *= weight[line + c];
  }
}

// ---- sums without what a second pass needs

// The sum over the innermost feature of a product of factors, an array (rest, class). A factor has its cells, the start
// of its first line, and its strides along the axes, of these cardinalities; a stride of zero means that it does not
// depend on that axis.
function productSum(factors, cards, n) {
  const few = joined(factors, cards, n);
  const card = cards[cards.length - 1];
  const above = cards.slice(0, -1);
  const starts = few.map((factor) => lines(above, factor.strides, factor.start));
  const message = new Float64Array(starts[0].length * n);
  const parts = few.flatMap((factor, k) => [factor.cells, starts[k], factor.strides[above.length]]);
  [addSums, addProducts, addTriples][few.length - 1](message, card, n, ...parts);
  return message;
}

function addSums(message, card, n, a, starts, step) {
  for (let k = 0, to = 0; k < starts.length; k++, to += n) {
    for (let v = 0, i = starts[k]; v < card; v++, i += step) {
      for (let c = 0; c < n; c++) message[to + c] += a[i + c];
    }
  }
}

function addProducts(message, card, n, a, aStarts, aStep, b, bStarts, bStep) {
  for (let k = 0, to = 0; k < aStarts.length; k++, to += n) {
    for (let v = 0, i = aStarts[k], j = bStarts[k]; v < card; v++, i += aStep, j += bStep) {
      for (let c = 0; c < n; c++) message[to + c] += a[i + c] * b[j + c];
    }
  }
}

function addTriples(message, card, n, a, aStarts, aStep, b, bStarts, bStep, d, dStarts, dStep) {
  for (let k = 0, to = 0; k < aStarts.length; k++, to += n) {
    for (let v = 0, i = aStarts[k], j = bStarts[k], m = dStarts[k]; v < card; v++, i += aStep, j += bStep, m += dStep) {
      for (let c = 0; c < n; c++) message[to + c] += a[i + c] * b[j + c] * d[m + c];
    }
  }
}

// At most three factors of the same product: those that depend on few cells together are multiplied first.
function joined(factors, cards, n) {
  const left = factors.slice();
  const full = cards.reduce((cells, card) => cells * card, n);
  const size = (x, y) => cards.reduce((cells, card, k) => (x.strides[k] || y.strides[k] ? cells * card : cells), n);
  while (left.length > MAX_COMPARED) left.push(product(left.pop(), left.pop(), cards, n));
  while (left.length > 1) {
    let [best, first, second] = [Infinity, 0, 1];
    for (let j = 1; j < left.length; j++) {
      for (let i = 0; i < j; i++) {
        const cells = size(left[i], left[j]);
        if (cells < best) [best, first, second] = [cells, i, j];
      }
    }
    if (left.length <= 3 && 2 * best > full) break;
    const [y] = left.splice(second, 1);
    left[first] = product(left[first], y, cards, n);
  }
  return left;
}

function product(x, y, cards, n) {
  const axes = [...cards.keys()].filter((k) => x.strides[k] || y.strides[k]);
  const own = axes.map((k) => cards[k]);
  const a = lines(own, axes.map((k) => x.strides[k]), x.start);
  const b = lines(own, axes.map((k) => y.strides[k]), y.start);
  const cells = new Float64Array(a.length * n);
  const [own1, own2] = [x.cells, y.cells];
  for (let line = 0, at = 0; line < a.length; line++) {
    for (let c = 0, i = a[line], j = b[line]; c < n; c++) cells[at++] = own1[i++] * own2[j++];
  }
  const strides = new Array(cards.length).fill(0);
  stridesOf(own, n).forEach((stride, k) => { strides[axes[k]] = stride; });
  return { cells, strides, start: 0 };
}

// ---- elimination orders

const MAX_NEIGHBORS = 40; // features of two states need 2^40 cells with so many
const MAX_SCANNED = 3e6; // features that are looked at in search of the best
const MAX_COMPARED = 8; // factors of which all pairs are compared

// An order of the features of some families: those whose neighbors are all joined come first, then by min-fill. Where
// all have too many neighbors, which no limit allows, the rest is left as it is.
function eliminationOrder(families) {
  const near = new Map();
  for (const family of families) {
    for (const a of family) {
      if (!near.has(a)) near.set(a, new Set());
      for (const b of family) if (b !== a) near.get(a).add(b);
    }
  }
  const left = new Set([...near.keys()].sort((a, b) => a - b));
  const fills = new Map();
  const order = [];
  const waiting = [...left].reverse();
  let scanned = 0;
  const eliminate = (i, isSimplicial) => {
    const around = [...near.get(i)];
    for (const a of around) {
      near.get(a).delete(i);
      fills.delete(a);
      if (isSimplicial) continue; // nothing is joined
      for (const b of around) if (b !== a) near.get(a).add(b);
      for (const b of near.get(a)) fills.delete(b);
      scanned += near.get(a).size;
    }
    left.delete(i);
    order.push(i);
    waiting.push(...around);
  };
  while (left.size && scanned < MAX_SCANNED) {
    while (waiting.length) {
      const i = waiting.pop();
      if (left.has(i) && fillIn(near, i) === 0) eliminate(i, true);
    }
    let best = -1;
    for (const i of left) {
      if (!fills.has(i)) fills.set(i, fillIn(near, i));
      if (fills.get(i) < (best < 0 ? Infinity : fills.get(best))) best = i;
    }
    scanned += left.size;
    if (best < 0) break;
    eliminate(best, false);
  }
  return [...order, ...left];
}

function fillIn(near, i) {
  const around = [...near.get(i)];
  if (around.length > MAX_NEIGHBORS) return Infinity;
  let missing = 0;
  around.forEach((a, k) => { for (let m = 0; m < k; m++) if (!near.get(a).has(around[m])) missing++; });
  return missing;
}

function largestBucket(buckets) {
  const worst = buckets.reduce((a, b) => (b.size > a.size ? b : a));
  return { size: worst.size, features: worst.scope.slice().sort((a, b) => a - b) };
}

function childrenOf(parents) {
  const children = parents.map(() => []);
  parents.forEach((group, i) => { for (const parent of group) children[parent].push(i); });
  return children;
}

// From a log-joint to calibrated probabilities, log odds and entropies.

const MAX_LOG_ODDS = 1e9; // replaces infinite log odds in a calibration

function isPossible(scores) {
  return scores.some((score) => score > -Infinity);
}

function calibrationOf(description) {
  if (description === null) return normalizedLogs;
  if (description.kind === "temperature") {
    return (scores) => {
      const largest = max(scores);
      return normalizedLogs(scores.map((score) => (score - largest) / description.temperature));
    };
  }
  if (description.kind === "pool") {
    const shares = decoded(description.class_shares);
    const [kept, mixed] = [Math.log1p(-description.doubt), shares.map((share) => Math.log(description.doubt * share))];
    return (scores) => normalizedLogs(normalizedLogs(scores).map((score, c) => logSum([kept + score, mixed[c]])));
  }
  const thresholds = description.log_odds.map(decoded);
  const values = description.probabilities.map(decoded);
  return (scores) => {
    const odds = logOdds(scores).map((x) => Math.min(Math.max(x, -MAX_LOG_ODDS), MAX_LOG_ODDS));
    const probabilities = scores.map((s, c) => (s === -Infinity ? 0 : interpolated(odds[c], thresholds[c], values[c])));
    const total = sum(probabilities);
    return total === 0 ? normalizedLogs(scores) : probabilities.map((p) => Math.log(p / total));
  };
}

// The log pool of the log-joints of a network and of its generative estimates, with the weights of a row.
class LogPool {
  constructor({ scale, usual_missing: usual, exponent, class_shares: shares, unusual, rare }) {
    this._logShares = decoded(shares).map(Math.log);
    // for the share of unknown values, that of values which generative estimates marginalize, and the probability that
    // missing values are usual
    this.weightsOf = (share, hidden, isUsual) => {
      const beyond = Math.max(share - usual, 0) / Math.max(1 - usual, 1e-9);
      const own = isUsual * (1 - Math.min(beyond, 1)) ** exponent;
      return { own, generative: (1 - own) * scale ** (1 - hidden) };
    };
    // The probability that missing values are usual, by Bayes' rule: from the log-joint of generative estimates that
    // read them, with some other values unknown, and of those that marginalize them, with all of these among the columns.
    this.usualOf = (read, nUnknown, marginalized, nHidden, nColumns) => {
      const asUsual = logSum(read) + nUnknown * Math.log(rare);
      const asUnusual = logSum(marginalized) - logChoose(nColumns, nHidden) - Math.log(nColumns + 1);
      const odds = asUsual - asUnusual + Math.log1p(-unusual) - Math.log(unusual);
      return Number.isNaN(odds) ? 1 : 1 / (1 + Math.exp(-odds));
    };
  }

  pooled(scores, generative, weights) {
    return scores.map((score, c) => {
      const prior = this._logShares[c];
      if (prior === -Infinity) return prior;
      const ofGenerative = weighted(weights.generative, generative[c] - prior);
      return weighted(weights.own, score) + (1 - weights.own) * prior + ofGenerative;
    });
  }

  // The product of powers of P(value | class), an array (value, class), normalized in each class. In a class
  // that these scores make impossible, or in which every value is, all are equally probable.
  pooledShares(own, generative, weights, scores) {
    const n = this._logShares.length;
    const part = (k) => weighted(weights.own, Math.log(own[k])) + weighted(weights.generative, Math.log(generative[k]));
    const logs = Float64Array.from(own, (_, k) => part(k));
    const totals = Float64Array.from({ length: n }, (_, c) => logSum(logs.filter((_, k) => k % n === c)));
    return logs.map((number, k) => {
      const possible = scores[k % n] > -Infinity && totals[k % n] > -Infinity;
      return possible ? Math.exp(number - totals[k % n]) : n / logs.length;
    });
  }
}

// The logarithm of the number of sets of k among n.
function logChoose(n, k) {
  let total = 0;
  for (let i = 1; i <= k; i++) total += Math.log((n - k + i) / i);
  return total;
}

// A weighted logarithm; what has no weight may be infinite.
function weighted(weight, number) {
  return weight === 0 ? 0 : weight * number;
}

// Interpolate linearly between thresholds; constant beyond them.
function interpolated(x, thresholds, values) {
  const last = thresholds.length - 1;
  if (x <= thresholds[0]) return values[0];
  if (x >= thresholds[last]) return values[last];
  let low = 0;
  let high = last;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (thresholds[middle] <= x) low = middle;
    else high = middle;
  }
  const slope = (values[high] - values[low]) / (thresholds[high] - thresholds[low]);
  return slope * (x - thresholds[low]) + values[low];
}

function normalizedLogs(scores) {
  const total = logSum(scores);
  return scores.map((score) => score - total);
}

// log P / (1 - P) of each class; that of the best class is exact where 1 - P would round to 0.
function logOdds(scores) {
  const largest = max(scores);
  const best = scores.indexOf(largest);
  const shares = scores.map((score) => Math.exp(score - largest));
  const total = sum(shares);
  return scores.map((score, c) => {
    if (score === -Infinity) return score;
    if (c === best) return score - logSum(scores.filter((_, k) => k !== c));
    return score - largest - Math.log(total - shares[c]);
  });
}

function entropyOf(probabilities) {
  return sum(probabilities.map((p) => (p > 0 ? -p * Math.log(p) : 0)));
}

// The mutual information of the class, with these probabilities, and a feature, with these P(value | class).
function gainOf(prior, marginal) {
  const n = prior.length;
  let gain = 0;
  for (let line = 0; line < marginal.length; line += n) {
    let total = 0;
    for (let c = 0; c < n; c++) if (prior[c] > 0) total += prior[c] * marginal[line + c];
    for (let c = 0; c < n; c++) {
      const joint = prior[c] > 0 ? prior[c] * marginal[line + c] : 0;
      if (joint > 0) gain += joint * logRatio(marginal[line + c], total);
    }
  }
  return Math.max(0, gain);
}

// log a / b, also where a / b is too large for a double.
function logRatio(a, b) {
  const ratio = a / b;
  return Number.isFinite(ratio) ? Math.log(ratio) : Math.log(a) - Math.log(b);
}

// Exact inference with a Bayesian network classifier, for rows in which any feature may be unknown.
//
// Codes: code k of a feature is its k-th value, -1 is unknown. Tables are one flat array in the layout of the library:
// the table of feature i with parents p1 .. pk has the axes (p1, ..., pk, i, class), the class innermost. Children see
// the state of a value, which several values may share: the axes of parents are by state, the own axis is by value. So
// an unknown feature is marginalized by state, in a table that sums over the values of each state.
//
// The log-joint, log P(class, known values), has two parts. Families (a feature with its parents) whose members are all
// known are looked up. Unknown features are marginalized by bucket elimination, one connected group at a time. A bucket
// is the product of all factors that contain a feature, over the feature and its rest (neighbors that are eliminated
// later); its sum over the feature is the message to the bucket of the first of them. A bucket divided by its message
// is P(feature | rest, known values, class), so that a second pass in the opposite order gives the marginal of every
// unknown feature.
//
// Products are computed on the linear scale, which is fast, with the largest entry of each class of a message scaled to
// one. Where a positive product could leave the range of a double, the group is computed again on the log scale.

const MIN_PRODUCT = 1e-200; // of positive factors: far from the subnormal doubles, which have fewer digits
const MAX_CACHED_GROUPS = 4096;
const MAX_LIKELIHOODS = 256; // of evidence that tables are kept for
const MAX_ROW_CELLS = 1e8; // of all steps of one elimination
const GAIN_PRECISION = 1e12; // gains that agree in twelve decimals are ties, broken by position

class Network {
  constructor(payload) {
    this.names = payload.names;
    this.labels = payload.labels;
    this.kinds = payload.kinds;
    this.cuts = payload.cuts;
    this.hasMissing = payload.has_missing || this.labels.map(() => false); // whether the last value is "missing"
    this.target = payload.target;
    this.classes = payload.classes;
    this.parents = payload.parents; // those of inference: a class with parents is absorbed in one of their tables
    this.inferenceChild = payload.class_children;
    this.order = payload.order;
    this.normalized = payload.normalized;
    this.limit = payload.max_factor_size;
    this.states = payload.states || this.labels.map(() => null); // of each value, as children see it; null: all differ
    this.stateLabels = this.labels.map((list, i) => (this.states[i] === null ? list : payload.state_labels[i]));
    this.nStates = this.stateLabels.map((list) => list.length);
    this.likelihoods = payload.likelihoods || []; // logarithms, by value: evidence that is not one value
    this.logPrior = decoded(payload.log_prior);
    this._calibration = calibrationOf(payload.calibration);
    this._pool = null;
    this._generative = null;
    this._observed = null; // the same without the values "missing", where these are evidence in usual rows only
    this.hidesMissing = payload.hides_missing || this.labels.map(() => false);
    if (payload.calibration !== null && payload.calibration.kind === "pool") {
      this._pool = new LogPool(payload.calibration);
      const { likelihoods } = this;
      const generative = { ...payload, ...payload.calibration.generative, calibration: null, likelihoods };
      this._readsMissing = payload.calibration.reads_missing;
      this._generative = new Network(generative);
      this._observed = this._generative;
      if (this._readsMissing.some(Boolean)) this._observed = new Network({ ...generative, hides_missing: this._readsMissing });
    }
    this._tables = new CPTs(this, payload.tables);
    this._own = ownTables(payload, this._tables);
    this._classHasParents = payload.class_has_parents === true || this.classParents.length > 0;
    this._children = childrenOf(this.parents);
    // parents of one state tie nothing together
    this._linked = this.parents.map((group) => group.filter((parent) => this.nStates[parent] > 1));
    this._linkedChildren = childrenOf(this._linked);
    this._cache = new Map();
    this._codes = new Map(); // of likelihoods
  }

  get nFeatures() {
    return this.names.length;
  }

  get nClasses() {
    return this.classes.length;
  }

  // The parents of the class, which has none in most networks.
  get classParents() {
    return this._own.classParents;
  }

  // The parents of each feature, and whether the class is one of them, in the network as it was given.
  get ownParents() {
    return this._own.parents;
  }

  get classChild() {
    return this._own.classChild;
  }

  // Whether its tables have probabilities: a table that another one is absorbed in has none.
  get hasProbabilities() {
    return this._own.normalized;
  }

  // The network of the generative estimates in a log pool, or null.
  get generative() {
    return this._generative;
  }

  // P(class): also the posterior of a row that is impossible in every class.
  prior() {
    return normalizedLogs(this._logPriorOfClasses()).map(Math.exp);
  }

  _logPriorOfClasses() {
    if (!this._classHasParents) return this.logPrior;
    const scores = this._logJoint(new Int32Array(this.nFeatures).fill(UNKNOWN));
    return isPossible(scores) ? scores : new Float64Array(this.nClasses);
  }

  // The table of a feature by value, or by state: at(states of its parents, its own code or state, class) is a
  // probability.
  table(i, byState = false) {
    const { logTheta, strides } = this._own.tableOf(i, byState && this.states[i] !== null);
    const parents = this.ownParents[i];
    const at = (parentStates, value, c) => {
      let cell = value * strides[strides.length - 1] + c;
      parents.forEach((_, k) => { cell += parentStates[k] * strides[k]; });
      return Math.exp(logTheta[cell]);
    };
    const labels = byState ? this.stateLabels[i] : this.labels[i];
    const shape = { card: labels.length, nClasses: this.nClasses, byClass: this.classChild[i] };
    return { parents, labels, ...shape, at };
  }

  // The table of the class given its parents: at(states of the parents, class) is a probability.
  classTable() {
    const parents = this.classParents;
    const cards = parents.map((i) => this.nStates[i]);
    const at = (states, c) => Math.exp(this._own.ofClass[states.reduce((row, state, k) => row * cards[k] + state, 0) * this.nClasses + c]);
    return { parents, labels: this.classes, at };
  }

  // The state of a feature that has a code; unknown where the code is.
  stateOf(i, code) {
    return code < 0 ? UNKNOWN : this._tables.stateOf(i, code);
  }

  // P(class | known values), as predict_proba gives it. Here as below, evidence that is not one value is a map of
  // features to likelihoods, numbers by value.
  posterior(codes, evidence = null) {
    return this.logPosterior(codes, evidence).map(Math.exp);
  }

  logPosterior(codes, evidence = null) {
    return this._logPosterior(this._checked(codes, evidence));
  }

  // The contribution of each known value to the log odds of each class against the rest, when features become known
  // one after the other, parents first. base and all contributions add up to log_odds. Values that are impossible in
  // every class contribute nothing; odds that are infinite stay so, whatever becomes known afterwards. The weights of a
  // pool are those of the whole row at each step.
  contributions(codes, evidence = null) {
    const known = this._checked(codes, evidence);
    const weights = this._weights(known);
    const impossible = !isPossible(this._scores(known, weights));
    const soFar = new Int32Array(known.length).fill(UNKNOWN);
    const base = logOdds(this._logPosterior(soFar, weights));
    const items = [];
    let before = base;
    // what is not one value comes last, by position
    const soft = [...known.keys()].filter((i) => known[i] < UNKNOWN);
    for (const feature of [...this.order.filter((i) => known[i] >= 0), ...soft]) {
      soFar[feature] = known[feature];
      const after = impossible ? base : logOdds(this._logPosterior(soFar, weights));
      const values = after.map((odds, c) => (odds === before[c] ? 0 : odds - before[c]));
      items.push({ feature, given: this._given(feature, soFar), values });
      before = after;
    }
    return { base, log_odds: before, items, impossible };
  }

  // The value of information: by how many nats each unknown feature reduces the expected entropy of the class; zero
  // where the known values are impossible in every class.
  information(codes, evidence = null) {
    const known = this._checked(codes, evidence);
    const weights = this._weights(known);
    const posterior = this._logPosterior(known, weights).map(Math.exp);
    const scores = this._scores(known, weights);
    const possible = isPossible(scores);
    const items = [];
    for (const [feature, marginal] of this._missingPosteriors(known, weights, scores)) {
      items.push({ feature, gain: possible ? gainOf(posterior, marginal) : 0 });
    }
    const rounded = (item) => Math.round(item.gain * GAIN_PRECISION);
    items.sort((a, b) => rounded(b) - rounded(a) || a.feature - b.feature);
    return { entropy: entropyOf(posterior), items };
  }

  // P(value | known values, class) of every unknown feature, an array (value, class) for each; both networks of a pool
  // give it together, with their weights.
  _missingPosteriors(known, weights, scores) {
    const plans = this._groups(known, this._everything()).map((group) => this._plan(group, known));
    this._limit(plans.flat());
    const found = plans.flatMap((plan) => this._marginals(plan, known));
    if (this._pool === null) return found;
    const other = new Map(this._observed._missingPosteriors(this._hidden(known)));
    return found.map(([feature, own]) => [feature, this._pool.pooledShares(own, other.get(feature), weights, scores)]);
  }

  // ---- from codes to a log posterior

  // Codes of a row, in which evidence that is not one value has a code of its own.
  _checked(codes, evidence) {
    if (codes.length !== this.nFeatures) {
      throw new RangeError(`${codes.length} codes were given for ${this.nFeatures} features`);
    }
    const checked = Int32Array.from(codes, (code, i) => {
      if (!Number.isInteger(code) || code < UNKNOWN || code >= this.labels[i].length) {
        throw new RangeError(`feature ${i} has the codes 0 to ${this.labels[i].length - 1}, and not ${code}`);
      }
      return code;
    });
    if (evidence === null || evidence.size === 0) return checked;
    this._forgetEvidence(evidence.size);
    for (const [i, likelihood] of evidence) {
      const numbers = Array.from(likelihood);
      if (numbers.length !== this.labels[i].length || !numbers.every((x) => x >= 0 && x < Infinity) || !numbers.some((x) => x > 0)) {
        throw new RangeError(`a likelihood of feature ${i} has ${this.labels[i].length} numbers of at least 0, some of them above 0`);
      }
      checked[i] = this._codeOf(i, numbers);
    }
    return checked;
  }

  // Make room for so many more likelihoods.
  _forgetEvidence(count) {
    if (this.likelihoods.length + count <= MAX_LIKELIHOODS) return;
    this.likelihoods.length = 0;
    this._codes.clear();
    for (const network of new Set([this, this._generative, this._observed])) {
      if (network === null) continue;
      network._tables.forgetEvidence();
      network._cache.clear();
    }
  }

  // The code of a likelihood of a feature; one that leaves a single value possible is that value.
  _codeOf(i, likelihood) {
    const largest = Math.max(...likelihood);
    const only = likelihood.indexOf(largest);
    if (largest === 1 && likelihood.every((x, value) => x === 0 || value === only)) return only;
    const key = `${i}:${likelihood}`;
    let code = this._codes.get(key);
    if (code === undefined) {
      this.likelihoods.push(likelihood.map((x) => Math.log(x / largest)));
      code = UNKNOWN - this.likelihoods.length;
      this._codes.set(key, code);
    }
    return code;
  }

  // The weights of both networks of a pool in a row; null without a pool.
  _weights(codes) {
    if (this._pool === null) return null;
    const n = this.labels.filter((list) => list.length > 1).length;
    const hidden = this._hidden(codes);
    const [nUnknown, nHidden] = [this._nUnknown(codes), this._nUnknown(hidden)];
    let usual = 1;
    if (nHidden > nUnknown) {
      const marginalized = this._observed._logJoint(hidden);
      usual = this._pool.usualOf(this._generative._logJoint(codes), nUnknown, marginalized, nHidden, n);
    }
    return this._pool.weightsOf(nUnknown / Math.max(1, n), nHidden / Math.max(1, n), usual);
  }

  // The number of unknown features, among those of several values.
  _nUnknown(codes) {
    return codes.filter((code, i) => code < 0 && this.labels[i].length > 1).length;
  }

  // Codes as the generative estimates of a pool read them: values "missing" are unknown where they may be unusual.
  _hidden(codes) {
    return codes.map((code, i) => (this._readsMissing[i] && code === this.labels[i].length - 1 ? UNKNOWN : code));
  }

  _logPosterior(codes, weights = this._weights(codes)) {
    const scores = this._scores(codes, weights);
    return this._calibration(isPossible(scores) ? scores : normalizedLogs(this._logPriorOfClasses()));
  }

  // The log-joint behind the posterior: a pool is one of two networks, with their weights.
  _scores(codes, weights) {
    const own = this._logJoint(codes);
    return this._pool === null ? own : this._pool.pooled(own, this._observed._logJoint(this._hidden(codes)), weights);
  }

  _logJoint(codes) {
    const scores = this.logPrior.slice();
    const needed = this._needed(codes);
    for (let i = 0; i < codes.length; i++) {
      if (needed[i] && this._isKnown(i, codes)) this._tables.addTo(scores, i, codes);
    }
    for (const group of this._groups(codes, needed)) {
      const part = this._marginalized(group, codes);
      for (let c = 0; c < scores.length; c++) scores[c] += part[c];
    }
    return scores;
  }

  // With normalized tables, an unknown feature without known descendants sums to one and can be skipped.
  _needed(codes) {
    if (!this.normalized) return this._everything();
    const needed = new Uint8Array(codes.length);
    for (let at = codes.length - 1; at >= 0; at--) {
      const i = this.order[at];
      if (codes[i] !== UNKNOWN) needed[i] = 1;
      if (needed[i]) for (const parent of this.parents[i]) needed[parent] = 1;
    }
    return needed;
  }

  _everything() {
    return new Uint8Array(this.nFeatures).fill(1);
  }

  _isKnown(i, codes) {
    return codes[i] >= 0 && this._linked[i].every((parent) => codes[parent] >= 0);
  }

  // ---- groups of unknown features

  // The connected groups of unknown features, each with the families that contain them.
  _groups(codes, needed) {
    const seen = new Uint8Array(codes.length);
    const groups = [];
    for (let i = 0; i < codes.length; i++) {
      if (needed[i] && codes[i] < 0 && !seen[i]) {
        groups.push(connected([i], codes, needed, seen, this._linked, this._linkedChildren));
      }
    }
    return groups;
  }

  // The known features, earlier in the order, that a feature depends on once the class is known.
  _given(feature, codes) {
    const families = [feature];
    const needed = this._needed(codes);
    if (!this.normalized && codes[feature] >= 0) families.push(...this._children[feature]);
    const start = families.flatMap((i) => [i, ...this.parents[i]]).filter((i) => codes[i] < 0);
    const seen = new Uint8Array(codes.length);
    if (start.length) {
      families.push(...connected([...new Set(start)], codes, needed, seen, this.parents, this._children).families);
    }
    const given = new Set(families.flatMap((i) => [i, ...this.parents[i]]));
    const soft = [...codes.keys()].filter((i) => codes[i] < UNKNOWN);
    return [...this.order.filter((i) => codes[i] >= 0), ...soft].filter((i) => i !== feature && given.has(i));
  }

  // ---- eliminating a group

  // The log of the sum over a group, one number for each class; cached, since changes to a row leave most groups as
  // they are.
  _marginalized(group, codes) {
    let key = "";
    for (const family of group.families) {
      key += `${family}:${codes[family]}`;
      for (const parent of this._linked[family]) key += `,${codes[parent]}`;
      key += ";";
    }
    let found = this._cache.get(key);
    if (found === undefined) {
      const buckets = this._plan(group, codes);
      this._limit(buckets);
      found = this._sum(buckets, codes) || this._collect(buckets, codes, logScale).scores;
      if (this._cache.size >= MAX_CACHED_GROUPS) this._cache.clear();
      this._cache.set(key, found);
    }
    return found;
  }

  // The buckets of a group in elimination order.
  _plan(group, codes) {
    if (group.features.length === 1) return this._buckets(group, group.features, codes);
    // an order for these unknown features alone has smaller buckets than one for all features
    const families = group.families.map((i) => [...this._linked[i], i].filter((j) => codes[j] < 0));
    return this._buckets(group, eliminationOrder(families), codes);
  }

  // Refuse buckets of too many cells, one alone or all together.
  _limit(buckets) {
    if (buckets.length === 0) return;
    const worst = largestBucket(buckets);
    const total = buckets.reduce((cells, bucket) => cells + bucket.size, 0);
    const isWide = worst.size > this.limit;
    if (!isWide && total <= MAX_ROW_CELLS) return;
    const features = isWide ? worst.features : buckets.map((bucket) => bucket.feature);
    const listed = features.slice(0, 12).map((i) => this.names[i]).join(", ") + (features.length > 12 ? ", …" : "");
    throw new RangeError(
      `Marginalizing the unknown features needs ${(isWide ? worst.size : total).toPrecision(3)} cells over ` +
      `${features.length} features (${listed}), and there is a limit of ${isWide ? this.limit : MAX_ROW_CELLS}. ` +
      "Set some of these features."
    );
  }

  _buckets(group, unknown, codes) {
    const place = new Map(unknown.map((feature, k) => [feature, k]));
    const buckets = unknown.map((feature) => ({ feature, rest: [], tables: [], messages: [], parent: -1, size: 0 }));
    const join = (bucket, members) => {
      if (bucket.rest.length > MAX_NEIGHBORS) return; // far beyond the limit
      for (const k of members) if (unknown[k] !== bucket.feature && !bucket.rest.includes(k)) bucket.rest.push(k);
    };
    for (const family of group.families) {
      const members = [...this._linked[family], family].filter((i) => codes[i] < 0).map((i) => place.get(i));
      const bucket = buckets[Math.min(...members)];
      bucket.tables.push(family);
      join(bucket, members);
    }
    buckets.forEach((bucket, k) => {
      if (bucket.rest.length) {
        bucket.parent = Math.min(...bucket.rest);
        buckets[bucket.parent].messages.push(k);
        join(buckets[bucket.parent], bucket.rest);
      }
      bucket.rest = bucket.rest.sort((a, b) => a - b).map((member) => unknown[member]);
      bucket.scope = [...bucket.rest, bucket.feature];
      bucket.cards = bucket.scope.map((i) => this.nStates[i]);
      bucket.size = bucket.cards.reduce((cells, card) => cells * card, this.nClasses);
    });
    return buckets;
  }

  // The sum over the group on the linear scale, without what a second pass needs; null where a product could underflow.
  _sum(buckets, codes) {
    const n = this.nClasses;
    const scores = new Float64Array(n);
    const messages = [];
    for (const bucket of buckets) {
      const factors = [];
      let smallest = 1;
      for (const family of bucket.tables) {
        const { table, start, strides } = this._tables.view(family, bucket.scope, codes);
        factors.push({ cells: table.theta, strides, start });
        smallest *= table.smallest;
        if (table.shift !== 0) for (let c = 0; c < n; c++) scores[c] += table.shift;
      }
      for (const k of bucket.messages) {
        const strides = stridesWithin(buckets[k].rest, bucket, buckets[k].cards, n);
        factors.push({ cells: messages[k].cells, strides, start: 0 });
        smallest *= messages[k].smallest;
      }
      if (smallest < MIN_PRODUCT) return null;
      const message = productSum(factors, bucket.cards, n);
      messages.push({ cells: message, smallest: linearScale.rescale(message, n, scores) });
    }
    return scores;
  }

  _eliminated(buckets, codes) {
    return this._collect(buckets, codes, linearScale) || this._collect(buckets, codes, logScale);
  }

  // The first pass: the sum over the group, and the buckets as conditional probabilities; null where a product could
  // underflow.
  _collect(buckets, codes, arithmetic) {
    const scores = new Float64Array(this.nClasses);
    const messages = [];
    const conditionals = [];
    for (const bucket of buckets) {
      const cells = new Float64Array(bucket.size).fill(arithmetic.one);
      let smallest = 1;
      for (const family of bucket.tables) {
        const { table, start, strides } = this._tables.view(family, bucket.scope, codes);
        arithmetic.multiply(cells, arithmetic.cells(table), lines(bucket.cards, strides, start), this.nClasses);
        smallest *= arithmetic.smallest(table);
        for (let c = 0; c < scores.length; c++) scores[c] += arithmetic.shift(table);
      }
      for (const k of bucket.messages) {
        const strides = stridesWithin(buckets[k].rest, bucket, buckets[k].cards, this.nClasses);
        arithmetic.multiply(cells, messages[k].cells, lines(bucket.cards, strides, 0), this.nClasses);
        smallest *= messages[k].smallest;
      }
      if (smallest < MIN_PRODUCT) return null;
      const card = bucket.cards[bucket.cards.length - 1];
      const message = arithmetic.marginalize(cells, card, this.nClasses);
      messages.push({ cells: message, smallest: arithmetic.rescale(message, this.nClasses, scores) });
      conditionals.push(cells);
    }
    return { scores, conditionals };
  }

  // The second pass: P(feature = value | known values, class) of every feature of a group, an array (value, class) for
  // each.
  _marginals(buckets, codes) {
    const { conditionals } = this._eliminated(buckets, codes);
    const n = this.nClasses;
    const found = [];
    for (let k = buckets.length - 1; k >= 0; k--) {
      const { feature, rest, parent, cards } = buckets[k];
      const cells = conditionals[k];
      const card = cards[cards.length - 1];
      if (parent >= 0) {
        const above = buckets[parent];
        const within = lines(above.cards, stridesWithin(rest, above, cards, n), 0);
        const weight = new Float64Array(cells.length / card);
        addLines(weight, within, conditionals[parent], n);
        weigh(cells, weight, card, n);
      }
      if (this.states[feature] === null) {
        const marginal = new Float64Array(card * n);
        addLines(marginal, lines(cards, [...rest.map(() => 0), n], 0), cells, n);
        found.push([feature, marginal]);
      }
      // a value within its state depends on the parents, which are in the bucket with the table
      for (const family of buckets[k].tables) {
        if (this.states[family] === null || codes[family] >= 0) continue;
        found.push([family, this._valueMarginal(family, buckets[k], cells, codes)]);
      }
    }
    return found;
  }

  // P(feature = value | known values, class) of a feature with fewer states than values, from the probabilities of all
  // combinations of states in the bucket that has its table.
  _valueMarginal(feature, { scope, cards }, cells, codes) {
    const n = this.nClasses;
    const states = this.states[feature];
    const marginal = new Float64Array(states.length * n);
    const coarse = this._tables.view(feature, scope, codes);
    const fine = this._tables.viewByValue(feature, scope, codes);
    const { logTheta, strides } = this._tables.byValue[feature];
    const step = strides[strides.length - 1];
    const likelihood = codes[feature] === UNKNOWN ? null : this.likelihoods[UNKNOWN - 1 - codes[feature]];
    const coarseStarts = lines(cards, coarse.strides, coarse.start);
    const fineStarts = lines(cards, fine.strides, fine.start);
    const own = lines(cards, scope.map((i) => (i === feature ? 1 : 0)), 0); // the state in each line
    const members = this.stateLabels[feature].map(() => []);
    states.forEach((state, value) => members[state].push(value));
    for (let line = 0; line < own.length; line++) {
      for (const value of members[own[line]]) {
        for (let c = 0; c < n; c++) {
          const share = cells[line * n + c];
          if (share === 0) continue;
          const weight = likelihood === null ? 0 : likelihood[value];
          const within = logTheta[fineStarts[line] + value * step + c] + weight - coarse.table.logTheta[coarseStarts[line] + c];
          marginal[value * n + c] += share * Math.exp(within);
        }
      }
    }
    return marginal;
  }
}

// All unknown features that are connected to some of them through families, and these families.
function connected(start, codes, needed, seen, parents, children) {
  const features = [];
  const families = new Set();
  const waiting = start.slice();
  for (const i of start) seen[i] = 1;
  const visit = (i) => {
    if (codes[i] < 0 && !seen[i]) {
      seen[i] = 1;
      waiting.push(i);
    }
  };
  const open = (family) => {
    if (!needed[family] || families.has(family)) return;
    families.add(family);
    visit(family);
    parents[family].forEach(visit);
  };
  while (waiting.length) {
    const feature = waiting.pop();
    features.push(feature);
    open(feature);
    children[feature].forEach(open);
  }
  return { features, families: [...families] };
}

// The tables of the network as it was given. Where the class has parents, its table is absorbed for inference in that
// of one of them, the host.
function ownTables(payload, tables) {
  const tableOf = (i, byState) => (byState ? tables.byState : tables.byValue)[i];
  const { own } = payload;
  if (own === undefined) {
    const { parents, class_children: classChild, normalized } = payload;
    return { classParents: [], parents, classChild, normalized, tableOf };
  }
  const { host, parents, class_children: classChild, class_parents: classParents, normalized } = own;
  const byValue = tables.made(host, parents[host], own.table, classChild[host]);
  const ofHost = [byValue, tables.summed(host, parents[host], byValue)];
  return {
    classParents, parents, classChild, normalized, ofClass: decoded(own.class_table),
    tableOf: (i, byState) => (i === host ? ofHost[Number(byState)] : tableOf(i, byState)),
  };
}

return { Network };
})();

if (typeof module !== "undefined") module.exports = DiscBayes;
