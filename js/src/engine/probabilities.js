// From a log-joint to calibrated probabilities, log odds and entropies.

import { decoded, logSum, max, sum } from "./arrays.js";

const MAX_LOG_ODDS = 1e9; // replaces infinite log odds in a calibration

export function isPossible(scores) {
  return scores.some((score) => score > -Infinity);
}

export function calibrationOf(description) {
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
export class LogPool {
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

export function normalizedLogs(scores) {
  const total = logSum(scores);
  return scores.map((score) => score - total);
}

// log P / (1 - P) of each class; that of the best class is exact where 1 - P would round to 0.
export function logOdds(scores) {
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

export function entropyOf(probabilities) {
  return sum(probabilities.map((p) => (p > 0 ? -p * Math.log(p) : 0)));
}

// The mutual information of the class, with these probabilities, and a feature, with these P(value | class).
export function gainOf(prior, marginal) {
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
