// The section Ask: the fields for known values, and the answers of the model for them.

import { byId, make, named, namedValue } from "./elements.js";
import { makeEvidenceEditor } from "./evidence_editor.js";
import { intervalOf, largestFirst, listed, percent, shortened, signed } from "./formatting.js";
import { startNetworkView } from "./network_view.js";

const MAX_CLASSES = 8;
const MAX_REASONS = 10;
const MAX_QUESTIONS = 5;
const MIN_FEATURES_TO_SEARCH = 9;
const IMPOSSIBLE =
  "In this model the values that are set cannot occur together in any class: the answers are those with nothing known.";

export function startAskView(model) {
  const known = new Int32Array(model.names.length).fill(-1);
  const soft = new Map(); // evidence that is not one value: of each feature its likelihoods and words
  const rows = [];
  const bars = [];
  let posterior = null;
  let contributions = null;
  let reasonsTrouble = ""; // why there are no contributions
  let allClasses = false;
  let allReasons = false;

  const network = startNetworkView(model, known, goTo);
  makeFeatures();
  makeBars();
  makeClassChoice();
  reserveHeights();
  listen();
  answer(false);

  // Reserve about the height that each section will need once it is laid out, so that the scroll bar does not jump.
  function reserveHeights() {
    for (const section of document.querySelectorAll(".large > section")) {
      const lines = section.querySelectorAll("tr, .settings > div").length + 4 * section.querySelectorAll("figure").length;
      section.style.containIntrinsicHeight = `${15 + 2 * lines}rem`;
    }
  }

  // ---- what is known

  function makeFeatures() {
    const list = document.createDocumentFragment();
    model.names.forEach((name, feature) => {
      const select = make("select", { id: `value-${feature}`, autocomplete: "off" }, make("option", { value: "-1" }, "unknown"));
      model.labels[feature].forEach((label, code) => {
        const title = label.length > 60 ? label : null;
        select.append(make("option", { value: code, dir: "auto", title }, shortened(label, 60)));
      });
      const item = make("li", { "data-feature": feature }, make("label", { for: select.id }, named(name)), select);
      const cuts = model.cuts[feature];
      let number = null;
      if (cuts && cuts.length > 0) {
        const hints = { placeholder: "number", "aria-label": `${name}, as a number`, autocomplete: "off" };
        number = make("input", { type: "number", step: "any", ...hints });
        item.append(number);
      }
      const hint = `${name}: several values, a range or likelihoods`;
      const more = make("button", { type: "button", class: "quiet", title: hint, "aria-label": hint, "aria-expanded": "false" }, "…");
      item.append(more);
      item.classList.toggle("single", number === null);
      rows.push({ item, select, number, more, editor: null, text: name.toLowerCase() });
      list.append(item);
    });
    byId("features").append(list);
    byId("search").hidden = model.names.length < MIN_FEATURES_TO_SEARCH;
  }

  function learn(feature, code) {
    if (known[feature] === code && rows[feature].editor === null) return;
    set(feature, code);
    answer();
  }

  function set(feature, code) {
    closeEditor(feature);
    known[feature] = code;
    rows[feature].select.value = String(code);
    mark(feature);
  }

  function mark(feature) {
    const isSet = known[feature] !== -1 || soft.has(feature);
    rows[feature].item.classList.toggle("known", isSet);
    network.changed(feature, isSet);
  }

  // Show the fields for what is not one value, of which nothing follows until they are filled in.
  function openEditor(feature) {
    set(feature, -1);
    const row = rows[feature];
    if (row.number !== null) row.number.value = "";
    row.more.setAttribute("aria-expanded", "true");
    row.editor = makeEvidenceEditor(model, feature, (found) => {
      if (found === null) soft.delete(feature);
      else soft.set(feature, found);
      mark(feature);
      answer();
    });
    row.item.append(row.editor.element);
    row.editor.focus();
    answer();
  }

  function closeEditor(feature) {
    const row = rows[feature];
    if (row.editor === null) return;
    row.editor.element.remove();
    row.more.setAttribute("aria-expanded", "false");
    row.editor = null;
    soft.delete(feature);
  }

  function reset() {
    rows.forEach(({ number, editor }, feature) => {
      if (number !== null) number.value = "";
      if (known[feature] !== -1 || editor !== null) set(feature, -1);
    });
    answer();
  }

  // A feature with what is known of it, as texts and elements.
  function knownOf(feature) {
    if (soft.has(feature)) return [named(model.names[feature]), soft.get(feature).words];
    return namedValue(model, feature, known[feature]);
  }

  function goTo(feature) {
    if (rows[feature].item.hidden) {
      byId("find").value = "";
      find();
    }
    rows[feature].item.scrollIntoView({ block: "nearest" });
    rows[feature].select.focus();
  }

  function find() {
    const query = byId("find").value.trim().toLowerCase();
    let found = 0;
    for (const { item, text } of rows) {
      item.hidden = !text.includes(query);
      found += item.hidden ? 0 : 1;
    }
    byId("found").textContent = query === "" ? "" : `${found} of ${rows.length} features`;
  }

  function featureOf(event) {
    const item = event.target.closest("[data-feature]");
    return item === null ? null : Number(item.dataset.feature);
  }

  function listen() {
    const features = byId("features");
    features.addEventListener("change", (event) => {
      const feature = featureOf(event);
      const { number, select } = rows[feature];
      if (event.target !== select) return;
      const code = Number(event.target.value);
      if (number !== null && intervalOf(model.cuts[feature], number.valueAsNumber) !== code) number.value = "";
      learn(feature, code);
    });
    features.addEventListener("input", (event) => {
      const feature = featureOf(event);
      if (event.target !== rows[feature].number) return;
      learn(feature, intervalOf(model.cuts[feature], event.target.valueAsNumber));
    });
    features.addEventListener("click", (event) => {
      const feature = featureOf(event);
      if (feature === null || event.target !== rows[feature].more) return;
      if (rows[feature].editor === null) openEditor(feature);
      else learn(feature, -1);
    });
    byId("reset").addEventListener("click", reset);
    byId("find").addEventListener("input", find);
    byId("class-choice").addEventListener("change", showReasons);
    byId("all-classes").addEventListener("click", () => {
      allClasses = !allClasses;
      showPosterior();
    });
    byId("all-reasons").addEventListener("click", () => {
      allReasons = !allReasons;
      showReasons();
    });
    window.addEventListener("beforeprint", listKnown);
    byId("questions").addEventListener("click", (event) => {
      const feature = featureOf(event);
      if (feature !== null) goTo(feature);
    });
  }

  // A printed report has no fields: a sentence lists the known values.
  function listKnown() {
    const set = [...known.keys()].filter((feature) => known[feature] !== -1 || soft.has(feature));
    const parts = set.map((feature) => make("span", {}, ...knownOf(feature)));
    byId("known").replaceChildren("Known: ", ...(parts.length === 0 ? ["nothing"] : listed(parts)), ".");
  }

  // ---- answers

  function answer(announced = true) {
    const count = known.reduce((sum, code) => sum + (code === -1 ? 0 : 1), soft.size);
    const likelihoods = new Map([...soft].map(([feature, { likelihood }]) => [feature, likelihood]));
    byId("count").textContent = `${count} of ${known.length}`;
    byId("reset").disabled = count === 0 && rows.every(({ editor }) => editor === null);
    const probabilities = answerOf(() => model.posterior(known, likelihoods));
    const reasons = answerOf(() => model.contributions(known, likelihoods));
    posterior = probabilities.answer;
    contributions = reasons.answer;
    reasonsTrouble = reasons.trouble;
    const trouble = contributions !== null && contributions.impossible ? IMPOSSIBLE : probabilities.trouble;
    byId("trouble").textContent = trouble;
    byId("trouble").hidden = trouble === "";
    showPosterior();
    showQuestions(answerOf(() => model.information(known, likelihoods)));
    showReasons();
    if (announced) announce();
  }

  // Each answer is computed by itself: where one is too expensive there may be others.
  function answerOf(ask) {
    try {
      return { answer: ask(), trouble: "" };
    } catch (error) {
      return { answer: null, trouble: error.message };
    }
  }

  // For screen readers.
  function announce() {
    const first = posterior === null ? [] : largestFirst(posterior).slice(0, 3);
    byId("announcement").textContent = first.map((c) => `${model.classes[c]} ${percent(posterior[c])}`).join(", ");
  }

  function makeBars() {
    const list = document.createDocumentFragment();
    model.classes.forEach((label, c) => {
      const fill = make("span", { class: "fill" });
      const value = make("span", { class: "value" });
      const item = make("li", { "data-class": c }, named(label, "name"), make("span", { class: "track" }, fill), value);
      bars.push({ item, fill, value });
      list.append(item);
    });
    byId("posterior").append(list);
  }

  function showPosterior() {
    const order = posterior === null ? [...bars.keys()] : largestFirst(posterior);
    const place = new Map(order.map((c, k) => [c, k]));
    bars.forEach(({ item, fill, value }, c) => {
      const p = posterior === null ? NaN : posterior[c];
      item.dataset.value = String(p);
      item.classList.toggle("best", place.get(c) === 0 && posterior !== null);
      item.hidden = !allClasses && place.get(c) >= MAX_CLASSES;
      fill.style.width = posterior === null ? "0" : `${100 * p}%`;
      value.textContent = posterior === null ? "–" : percent(p);
    });
    const button = byId("all-classes");
    button.hidden = bars.length <= MAX_CLASSES;
    const rest = posterior === null ? 0 : order.slice(MAX_CLASSES).reduce((sum, c) => sum + posterior[c], 0);
    button.textContent = allClasses
      ? "Show the most probable only"
      : `Show ${bars.length - MAX_CLASSES} more, together ${percent(rest)}`;
  }

  // ---- why

  function makeClassChoice() {
    const list = byId("class-choice");
    list.append(make("option", { value: "-1" }, "the most probable class"));
    model.classes.forEach((label, c) => list.append(make("option", { value: c, dir: "auto" }, shortened(label, 60))));
  }

  function showReasons() {
    const list = byId("reasons");
    const line = byId("odds");
    const button = byId("all-reasons");
    button.hidden = true;
    list.replaceChildren();
    line.replaceChildren();
    if (contributions === null) {
      line.textContent = posterior === null ? "" : reasonsTrouble;
      return;
    }
    const chosen = Number(byId("class-choice").value);
    const c = chosen === -1 ? largestFirst(posterior)[0] : chosen;
    const odds = contributions.log_odds[c];
    if (model.classes.length === 1) {
      line.append("There is only one class, so there are no log odds.");
      return;
    }
    const name = make("bdi", { title: model.classes[c] }, shortened(model.classes[c], 60));
    line.append("Log odds of ", name, " against the rest: ", make("b", {}, signed(odds)));
    line.append(`, which is ${percent(posterior[c])}. They are the sum of:`);
    const items = contributions.items.map((item) => ({ ...item, value: item.values[c] }));
    items.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    const nShown = allReasons ? items.length : MAX_REASONS;
    const base = contributions.base[c];
    const sizes = [base, ...items.map((item) => item.value)].map(Math.abs).filter(Number.isFinite);
    const scale = Math.max(1, ...sizes);
    list.append(reason(["nothing known"], base, scale, []));
    for (const item of items.slice(0, nShown)) {
      list.append(reason(knownOf(item.feature), item.value, scale, item.given));
    }
    const rest = items.slice(nShown);
    if (rest.length > 0) {
      const sum = rest.reduce((total, item) => total + item.value, 0);
      list.append(reason([`${rest.length} more`], sum, scale, []));
    }
    button.hidden = items.length <= MAX_REASONS;
    button.textContent = allReasons ? "Show the largest only" : `Show all ${items.length}`;
  }

  function reason(words, value, scale, given) {
    const text = make("span", { class: "what" }, ...words);
    if (given.length > 0) {
      const shown = given.slice(0, 3).map((feature) => named(model.names[feature]));
      if (given.length > 3) shown.push(`${given.length - 3} more`);
      text.append(make("small", {}, "given ", ...listed(shown)));
    }
    const fill = make("span", { class: value < 0 ? "fill against" : "fill for" });
    fill.style.width = `${50 * Math.min(1, Math.abs(value) / scale)}%`;
    const number = make("span", { class: "value", "data-value": String(value) }, signed(value));
    return make("li", {}, text, make("span", { class: "track both" }, fill), number);
  }

  // ---- what to ask next

  function showQuestions({ answer, trouble }) {
    const list = byId("questions");
    const line = byId("uncertainty");
    list.replaceChildren();
    line.textContent = posterior === null ? "" : trouble;
    if (answer === null) return;
    const { entropy, items } = answer;
    if (items.length === 0) {
      line.textContent = "Every feature is known.";
      return;
    }
    const useful = items.filter((item) => item.gain > 1e-9 && item.gain > 1e-6 * entropy).slice(0, MAX_QUESTIONS);
    if (useful.length === 0) {
      line.textContent = "No unknown feature reduces the expected entropy.";
      return;
    }
    line.textContent = "Knowing a feature reduces the expected entropy of the class by:";
    for (const { feature, gain } of useful) {
      const share = Math.min(1, gain / entropy);
      const fill = make("span", { class: "fill" });
      fill.style.width = `${100 * share}%`;
      const parts = [named(model.names[feature], "name"), make("span", { class: "track" }, fill)];
      const value = make("span", { class: "value" }, percent(share));
      const hint = `${gain.toPrecision(3)} of ${entropy.toPrecision(3)} nats`;
      const button = make("button", { type: "button", "data-feature": feature, title: hint }, ...parts, value);
      list.append(make("li", { "data-gain": String(gain) }, button));
    }
  }
}
