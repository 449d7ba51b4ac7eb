// Arrays of numbers: decoding, sums, maxima and strides.

// Decode doubles that are written as the base64 of their bytes, lowest byte first; numbers are taken as they are.
export function decoded(text) {
  if (typeof text !== "string") return Float64Array.from(text);
  const chars = atob(text);
  const view = new DataView(new ArrayBuffer(chars.length));
  for (let k = 0; k < chars.length; k++) view.setUint8(k, chars.charCodeAt(k));
  const numbers = new Float64Array(chars.length / 8);
  for (let k = 0; k < numbers.length; k++) numbers[k] = view.getFloat64(8 * k, true);
  return numbers;
}

export function repeated(numbers, times) {
  return new Float64Array(numbers.length * times).map((_, k) => numbers[Math.floor(k / times)]);
}

export function max(numbers) {
  return numbers.reduce((a, b) => (b > a ? b : a), -Infinity);
}

export function finiteMax(numbers) {
  const largest = max(numbers);
  return Number.isFinite(largest) ? largest : 0;
}

export function sum(numbers) {
  return numbers.reduce((a, b) => a + b, 0);
}

// The logarithm of the sum of numbers that are given by their logarithms.
export function logSum(numbers) {
  const largest = max(numbers);
  if (largest === -Infinity) return largest;
  return largest + Math.log(sum(numbers.map((number) => Math.exp(number - largest))));
}

// The strides of axes of these cardinalities, with the class as the innermost axis.
export function stridesOf(cards, nClasses) {
  const strides = new Array(cards.length);
  for (let k = cards.length - 1, cells = nClasses; k >= 0; k--) {
    strides[k] = cells;
    cells *= cards[k];
  }
  return strides;
}
