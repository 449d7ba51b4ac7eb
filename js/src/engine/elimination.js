// Variable elimination: products and sums of factors, and the order of the features.

import { stridesOf } from "./arrays.js";

// ---- arithmetic on lines: a line holds the cells of one combination of values, one for each class

// Products and sums of probabilities as they are.
export const linearScale = {
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
export const logScale = {
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
export function lines(cards, strides, start) {
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
export function stridesWithin(rest, bucket, cards, nClasses) {
  const own = stridesOf(cards.slice(0, -1), nClasses);
  return bucket.scope.map((i) => (rest.includes(i) ? own[rest.indexOf(i)] : 0));
}

export function addLines(total, starts, cells, n) {
  for (let line = 0, from = 0; line < starts.length; line++) {
    for (let at = starts[line], end = at + n; at < end;) total[at++] += cells[from++];
  }
}

// Multiply all values of the innermost feature by the weight of their line.
export function weigh(cells, weight, card, n) {
  for (let line = 0, at = 0; line < weight.length; line += n) {
    for (let v = 0; v < card; v++) for (let c = 0; c < n; c++) cells[at++] *= weight[line + c];
  }
}

// ---- sums without what a second pass needs

// The sum over the innermost feature of a product of factors, an array (rest, class). A factor has its cells, the start
// of its first line, and its strides along the axes, of these cardinalities; a stride of zero means that it does not
// depend on that axis.
export function productSum(factors, cards, n) {
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

export const MAX_NEIGHBORS = 40; // features of two states need 2^40 cells with so many
const MAX_SCANNED = 3e6; // features that are looked at in search of the best
const MAX_COMPARED = 8; // factors of which all pairs are compared

// An order of the features of some families: those whose neighbors are all joined come first, then by min-fill. Where
// all have too many neighbors, which no limit allows, the rest is left as it is.
export function eliminationOrder(families) {
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

export function largestBucket(buckets) {
  const worst = buckets.reduce((a, b) => (b.size > a.size ? b : a));
  return { size: worst.size, features: worst.scope.slice().sort((a, b) => a - b) };
}

export function childrenOf(parents) {
  const children = parents.map(() => []);
  parents.forEach((group, i) => { for (const parent of group) children[parent].push(i); });
  return children;
}
