// Making elements and writing numbers. Text enters as text only: no name or value can become anything else.

const byId = (id) => document.getElementById(id);

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

// A name or a value, which may be written from right to left; the whole of it shows where there is no room.
const named = (text, kind = null) => make("bdi", { class: kind, title: text }, text);

function shortened(text, letters) {
  const all = [...text];
  if (all.length <= letters) return text;
  const head = Math.ceil(letters / 2);
  return `${all.slice(0, head).join("")}…${all.slice(all.length - letters + head + 1).join("")}`;
}

function percent(p) {
  if (p > 0 && p < 0.0005) return "< 0.1 %";
  if (p < 1 && p > 0.9995) return "> 99.9 %";
  return `${(100 * p).toFixed(1)} %`;
}

function signed(value) {
  const size = Math.abs(value);
  const digits = size === Infinity ? "∞" : size.toFixed(2);
  return `${value < 0 && digits !== "0.00" ? "−" : "+"}${digits}`;
}

function probability(p) {
  if (p > 0 && p < 0.0005) return p.toExponential(0).replace("-", "−");
  return p.toFixed(3);
}

// "size in [2, 5)", "size ≥ 5", "colour = red"
function saying(model, feature, code) {
  const label = model.labels[feature][code];
  const cuts = model.cuts[feature];
  let joint = " ";
  if (!cuts || cuts.length === 0 || code > cuts.length) joint = " = ";
  else if (code > 0 && code < cuts.length) joint = " in ";
  return [named(model.names[feature]), joint, named(joint === " " ? label.replace(">=", "≥") : label)];
}

// "a", "a and b", "a, b and c"
function listed(parts) {
  return parts.flatMap((part, k) => (k === 0 ? [part] : [k === parts.length - 1 ? " and " : ", ", part]));
}

// The largest first; equal ones stay in order.
const largestFirst = (values) => Array.from(values.keys()).sort((a, b) => values[b] - values[a] || a - b);
