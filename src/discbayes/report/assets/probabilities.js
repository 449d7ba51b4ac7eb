// From a log-joint to calibrated probabilities, log odds and entropies.

const FARTHEST = 1e9; // stands for infinite log odds in a calibration

function isPossible(scores) {
  return scores.some((score) => score > -Infinity);
}

function calibrationOf(description) {
  if (description === null) return normalizedLogs;
  if (description.kind === "temperature") {
    return (scores) => {
      const most = max(scores);
      return normalizedLogs(scores.map((score) => (score - most) / description.temperature));
    };
  }
  const thresholds = description.log_odds.map(decoded);
  const values = description.probabilities.map(decoded);
  return (scores) => {
    const odds = logOdds(scores).map((x) => Math.min(Math.max(x, -FARTHEST), FARTHEST));
    const shares = scores.map((s, c) => (s === -Infinity ? 0 : interpolated(odds[c], thresholds[c], values[c])));
    const total = sum(shares);
    return total === 0 ? normalizedLogs(scores) : shares.map((share) => Math.log(share / total));
  };
}

// Linear between thresholds, constant beyond them.
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

// log P / (1 - P) of each class, exact also where P is 1 to the last digit.
function logOdds(scores) {
  return scores.map((score, c) => (score === -Infinity ? -Infinity : score - logSum(scores.filter((_, k) => k !== c))));
}

function logSum(numbers) {
  const most = max(numbers);
  return most === -Infinity ? most : most + Math.log(sum(numbers.map((number) => Math.exp(number - most))));
}

function entropyOf(shares) {
  return sum(shares.map((share) => (share > 0 ? -share * Math.log(share) : 0)));
}

// The mutual information of the class, with these shares, and a feature, with these P(value | class).
function gainOf(shares, marginal) {
  const n = shares.length;
  let gain = 0;
  for (let line = 0; line < marginal.length; line += n) {
    let total = 0;
    for (let c = 0; c < n; c++) if (shares[c] > 0) total += shares[c] * marginal[line + c];
    for (let c = 0; c < n; c++) {
      const share = shares[c] > 0 ? shares[c] * marginal[line + c] : 0;
      if (share > 0) gain += share * Math.log(marginal[line + c] / total);
    }
  }
  return Math.max(0, gain);
}
