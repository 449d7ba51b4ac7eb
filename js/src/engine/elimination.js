// Variable elimination: products and sums of factors, and the order of the features.

import { stridesOf } from "./arrays.js";

// ---- arithmetic on lines: a line holds the cells of one combination of values, one for each class

// Products and sums of probabilities as they are.
export function linearScale(tables) {
  return {
    one: 1,
    source: tables.theta,
    smallest: (table) => tables.smallest[table],
    shift: (table) => tables.shifts[table],
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
}

// Products and sums of log probabilities, which neither overflow nor underflow.
export function logScale(tables) {
  return {
    one: 0,
    source: tables.logTheta,
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
}

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

// ---- elimination orders

// The features of some families by min-fill; ties are broken by the fewest neighbors, then by position.
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
  while (left.size) {
    let best = -1;
    for (const i of left) {
      if (!fills.has(i)) fills.set(i, fillIn(near, i));
      const change = best < 0 ? -1 : fills.get(i) - fills.get(best) || near.get(i).size - near.get(best).size;
      if (change < 0) best = i;
    }
    for (const a of near.get(best)) {
      near.get(a).delete(best);
      for (const b of near.get(best)) if (b !== a) near.get(a).add(b);
    }
    for (const a of near.get(best)) {
      fills.delete(a);
      for (const b of near.get(a)) fills.delete(b);
    }
    left.delete(best);
    order.push(best);
  }
  return order;
}

function fillIn(near, i) {
  const around = [...near.get(i)];
  let missing = 0;
  around.forEach((a, k) => { for (let m = 0; m < k; m++) if (!near.get(a).has(around[m])) missing++; });
  return missing;
}

export function ranks(order) {
  return new Map(order.map((i, k) => [i, k]));
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
