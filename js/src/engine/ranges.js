// Ranges of numbers among the codes of a column.

// Which ends belong to a range.
export const SIDES = { both: [true, true], left: [true, false], right: [false, true], neither: [false, false] };

// Which codes of a column with cut points, or else with these numbers as values, hold one of a range. An interval does
// if any of its numbers is in the range.
export function rangeOf(cuts, numbers, card, low, high, inclusive = "both") {
  const [withLow, withHigh] = SIDES[inclusive];
  const found = new Array(card).fill(false);
  const isBelow = (number) => (withHigh ? number <= high : number < high);
  if (cuts === null) numbers.forEach((x, code) => { found[code] = (withLow ? x >= low : x > low) && isBelow(x); });
  else [-Infinity, ...cuts].forEach((from, code) => { found[code] = (code < cuts.length ? cuts[code] : Infinity) > low && isBelow(from); });
  return found;
}
