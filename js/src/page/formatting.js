// Numbers and names as text; nothing here needs a document.

export function shortened(text, length) {
  const all = [...text];
  if (all.length <= length) return text;
  const head = Math.ceil(length / 2);
  return `${all.slice(0, head).join("")}…${all.slice(all.length - length + head + 1).join("")}`;
}

export function percent(p) {
  if (p > 0 && p < 0.0005) return "< 0.1 %";
  if (p < 1 && p > 0.9995) return "> 99.9 %";
  return `${(100 * p).toFixed(1)} %`;
}

export function signed(value) {
  const size = Math.abs(value);
  const digits = size === Infinity ? "∞" : size.toFixed(2);
  return `${value < 0 && digits !== "0.00" ? "−" : "+"}${digits}`;
}

export function probability(p) {
  if (p > 0 && p < 0.0005) return p.toExponential(0).replace("-", "−");
  return p.toFixed(3);
}

// The words around a value: "size in [2, 5)", "size ≥ 5", "color = red".
export function valueText(model, feature, code) {
  const label = model.labels[feature][code];
  const cuts = model.cuts[feature];
  if (!cuts || cuts.length === 0 || code > cuts.length) return { relation: " = ", label };
  if (code > 0 && code < cuts.length) return { relation: " in ", label };
  return { relation: " ", label: label.replace(">=", "≥") };
}

// The interval of a number: its code is how many cut points are not above it. NaN is unknown, -1.
export function intervalOf(cuts, value) {
  if (Number.isNaN(value)) return -1;
  let code = 0;
  while (code < cuts.length && cuts[code] <= value) code += 1;
  return code;
}

// The codes of the k-th combination of the values in some lists; the last list varies fastest.
export function unravelled(k, lists) {
  const codes = new Array(lists.length);
  for (let axis = lists.length - 1; axis >= 0; axis -= 1) {
    codes[axis] = k % lists[axis].length;
    k = Math.floor(k / lists[axis].length);
  }
  return codes;
}

// "a", "a and b", "a, b and c"; parts may be texts or elements.
export function listed(parts) {
  return parts.flatMap((part, k) => (k === 0 ? [part] : [k === parts.length - 1 ? " and " : ", ", part]));
}

// Positions in the order of their values, the largest first; ties keep their order.
export const largestFirst = (values) => Array.from(values.keys()).sort((a, b) => values[b] - values[a] || a - b);
