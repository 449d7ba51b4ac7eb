// The fields for what is known of a feature where that is not one value: sets, ranges and likelihoods of its values.

import { rangeOf } from "../engine/ranges.js";
import { make, named } from "./elements.js";
import { shortened } from "./formatting.js";

const KINDS = { one_of: "is one of", not: "is none of", between: "is between", likelihood: "with likelihoods" };

// The editor of a feature, which calls `changed` when its answer does. The answer is null while nothing follows from
// what is filled in; else it has the likelihood of each value, and words.
export function makeEvidenceEditor(model, feature, changed) {
  const labels = model.labels[feature];
  const nReal = labels.length - Number(model.hasMissing[feature]);
  const real = labels.slice(0, nReal);
  const isNumeric = model.kinds[feature] === "numeric";
  const name = model.names[feature];
  const kind = make("select", { "aria-label": `What is known of ${name}`, autocomplete: "off" });
  for (const [value, text] of Object.entries(KINDS)) {
    if (value !== "between" || isNumeric) kind.append(make("option", { value }, text));
  }
  const boxes = labels.map(() => make("input", { type: "checkbox", autocomplete: "off" }));
  const weights = labels.map((label) => numberField(`likelihood of ${label}`, 0));
  const ends = [numberField(`${name}, from`), numberField(`${name}, to`)];
  const fields = make("div", { class: "values" });
  const element = make("div", { class: "evidence", role: "group", "aria-label": `${name}: evidence` }, kind, fields);

  const withLabel = (field, label) => make("label", {}, field, named(shortened(label, 60)));
  function show() {
    weights.forEach((field, code) => { field.value = code < nReal ? "1" : "0"; });
    for (const box of boxes) box.checked = false;
    for (const end of ends) end.value = "";
    if (kind.value === "between") fields.replaceChildren(ends[0], " to ", ends[1]);
    else if (kind.value === "likelihood") fields.replaceChildren(...labels.map((label, code) => withLabel(weights[code], label)));
    else {
      // "none of" is about a value that is there
      const shown = kind.value === "not" ? real : labels;
      fields.replaceChildren(...shown.map((label, code) => withLabel(boxes[code], label)));
    }
  }

  // A list of values as words.
  const listOf = (codes) => codes.map((code) => shortened(labels[code], 30)).join(" or ");

  function answer() {
    if (kind.value === "likelihood") {
      const numbers = weights.map((field) => field.valueAsNumber);
      if (!numbers.every((x) => x >= 0 && x < Infinity) || !numbers.some((x) => x > 0)) return null;
      return { likelihood: numbers, words: ` with the likelihoods ${numbers.map((x) => Number(x.toPrecision(3))).join(", ")}` };
    }
    if (kind.value === "between") return answerOfRange();
    const chosen = [...boxes.keys()].filter((code) => boxes[code].checked);
    const isNot = kind.value === "not";
    const likelihood = boxes.map((box, code) => Number(isNot ? !box.checked && code < nReal : box.checked));
    if (chosen.length === 0 || !likelihood.includes(1)) return null;
    return { likelihood, words: `${isNot ? " is not" : " is"} ${listOf(chosen)}` };
  }

  function answerOfRange() {
    const [low, high] = ends.map((end) => end.valueAsNumber);
    if (Number.isNaN(low) && Number.isNaN(high)) return null;
    const from = Number.isNaN(low) ? -Infinity : low;
    const to = Number.isNaN(high) ? Infinity : high;
    const likelihood = rangeOf(model.cuts[feature], real.map(Number), labels.length, from, to).map(Number);
    if (from > to || !likelihood.includes(1)) return null;
    const words = [from > -Infinity ? `≥ ${from}` : "", to < Infinity ? `≤ ${to}` : ""].filter((text) => text !== "");
    return { likelihood, words: ` ${words.join(" and ")}` };
  }

  show();
  kind.addEventListener("change", () => { show(); changed(answer()); });
  fields.addEventListener("input", () => changed(answer()));
  return { element, focus: () => kind.focus() };
}

function numberField(label, min = null) {
  return make("input", { type: "number", step: "any", min, "aria-label": label, autocomplete: "off" });
}
