(() => {
// Numbers and names as text; nothing here needs a document.

function shortened(text, length) {
  const all = [...text];
  if (all.length <= length) return text;
  const head = Math.ceil(length / 2);
  return `${all.slice(0, head).join("")}…${all.slice(all.length - length + head + 1).join("")}`;
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

// The words around a value: "size in [2, 5)", "size ≥ 5", "color = red".
function valueText(model, feature, code) {
  const label = model.labels[feature][code];
  const cuts = model.cuts[feature];
  if (!cuts || cuts.length === 0 || code > cuts.length) return { relation: " = ", label };
  if (code > 0 && code < cuts.length) return { relation: " in ", label };
  return { relation: " ", label: label.replace(">=", "≥") };
}

// The interval of a number: its code is how many cut points are not above it. NaN is unknown, -1.
function intervalOf(cuts, value) {
  if (Number.isNaN(value)) return -1;
  let code = 0;
  while (code < cuts.length && cuts[code] <= value) code += 1;
  return code;
}

// The codes of the k-th combination of the values in some lists; the last list varies fastest.
function unravelled(k, lists) {
  const codes = new Array(lists.length);
  for (let axis = lists.length - 1; axis >= 0; axis -= 1) {
    codes[axis] = k % lists[axis].length;
    k = Math.floor(k / lists[axis].length);
  }
  return codes;
}

// "a", "a and b", "a, b and c"; parts may be texts or elements.
function listed(parts) {
  return parts.flatMap((part, k) => (k === 0 ? [part] : [k === parts.length - 1 ? " and " : ", ", part]));
}

// Positions in the order of their values, the largest first; ties keep their order.
const largestFirst = (values) => Array.from(values.keys()).sort((a, b) => values[b] - values[a] || a - b);

// Elements of the page. Names and values enter as text nodes only, so that they cannot become markup.

const byId = (id) => document.getElementById(id);

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

// A name or a value, isolated since it may be written from right to left; the tooltip has all of it.
const named = (text, kind = null) => make("bdi", { class: kind, title: text }, text);

// A feature with its value, as texts and elements.
function namedValue(model, feature, code) {
  const { relation, label } = valueText(model, feature, code);
  return [named(model.names[feature]), relation, named(label)];
}

// Ranges of numbers among the codes of a column.

// Which ends belong to a range.
const SIDES = { both: [true, true], left: [true, false], right: [false, true], neither: [false, false] };

// Which codes of a column with cut points, or else with these numbers as values, hold one of a range. An interval does
// if any of its numbers is in the range.
function rangeOf(cuts, numbers, card, low, high, inclusive = "both") {
  const [withLow, withHigh] = SIDES[inclusive];
  const found = new Array(card).fill(false);
  const isBelow = (number) => (withHigh ? number <= high : number < high);
  if (cuts === null) numbers.forEach((x, code) => { found[code] = (withLow ? x >= low : x > low) && isBelow(x); });
  else [-Infinity, ...cuts].forEach((from, code) => { found[code] = (code < cuts.length ? cuts[code] : Infinity) > low && isBelow(from); });
  return found;
}

// The fields for what is known of a feature where that is not one value: sets, ranges and likelihoods of its values.

const KINDS = { one_of: "is one of", not: "is none of", between: "is between", likelihood: "with likelihoods" };

// The editor of a feature, which calls `changed` when its answer does. The answer is null while nothing follows from
// what is filled in; else it has the likelihood of each value, and words.
function makeEvidenceEditor(model, feature, changed) {
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

// The picture of the network: its nodes are buttons, and the table of the chosen one is shown below.

const MAX_ROWS = 300;
const MAX_RELATIVES = 12;

// `known` holds the code of each feature, or -1; `ask` moves to the field of a feature.
function startNetworkView(model, known, ask) {
  const drawing = byId("drawing");
  const sheet = byId("sheet");
  const target = -1;
  const nodes = new Map();
  const edges = [...drawing.querySelectorAll(".edge")];
  const children = model.names.map(() => []);
  let chosen = null;
  let shown = model; // the network whose tables are shown: the generative estimates of a log pool are another
  let fine = false; // whether a table has all intervals or values of its feature, not the states that its children see
  let places = null;

  for (const node of drawing.querySelectorAll("[data-node]")) nodes.set(Number(node.dataset.node), node);
  model.ownParents.forEach((group, child) => group.forEach((parent) => children[parent].push(child)));

  const parentsOf = (node) =>
    node === target ? model.classParents : [...(model.classChild[node] ? [target] : []), ...model.ownParents[node]];
  const childrenOf = (node) => {
    if (node === target) return [...model.names.keys()].filter((i) => model.classChild[i]);
    return model.classParents.includes(node) ? [target, ...children[node]] : children[node];
  };
  const nameOf = (node) => (node === target ? model.target : model.names[node]);

  // A large network is laid out only when it comes into view, a frame later; then scroll to its middle.
  drawing.style.containIntrinsicHeight = `${drawing.firstElementChild.getAttribute("height")}px`;
  new IntersectionObserver((entries, observer) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(showMiddle));
  }).observe(drawing);

  function showMiddle() {
    drawing.scrollLeft = (drawing.scrollWidth - drawing.clientWidth) / 2;
  }

  // ---- choosing a node

  function choose(node) {
    unmark();
    chosen = node;
    nodes.get(node).classList.add("chosen");
    nodes.get(node).setAttribute("aria-pressed", "true");
    for (const parent of parentsOf(node)) nodes.get(parent).classList.add("parent");
    for (const child of childrenOf(node)) nodes.get(child).classList.add("child");
    for (const edge of edges) {
      edge.classList.toggle("on", Number(edge.dataset.from) === node || Number(edge.dataset.to) === node);
    }
    drawing.classList.add("choosing");
    showSheet();
    const hidden = nodes.get(node).getBoundingClientRect().bottom + 16 - sheet.getBoundingClientRect().top;
    if (hidden > 0) window.scrollBy(0, hidden);
  }

  function unmark() {
    if (chosen === null) return;
    nodes.get(chosen).setAttribute("aria-pressed", "false");
    for (const node of nodes.values()) node.classList.remove("chosen", "parent", "child");
    for (const edge of edges) edge.classList.remove("on");
    drawing.classList.remove("choosing");
    chosen = null;
  }

  function close() {
    if (chosen === null) return;
    const last = nodes.get(chosen);
    unmark();
    sheet.hidden = true;
    last.focus({ preventScroll: true });
  }

  // ---- moving between nodes by the arrow keys

  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  function placeOf(node) {
    if (places === null) {
      places = new Map();
      for (const [key, element] of nodes) {
        const box = element.querySelector("rect");
        places.set(key, ["x", "y"].map((side) => Number(box.getAttribute(side))));
      }
      const width = Number(nodes.get(target).querySelector("rect").getAttribute("width"));
      for (const place of places.values()) place[0] += width / 2;
    }
    return places.get(node);
  }

  // The nearest node in a direction, where a distance aside counts three times.
  function neighbor(node, [right, down]) {
    const [x, y] = placeOf(node);
    let best = null;
    let shortest = Infinity;
    for (const other of nodes.keys()) {
      const dx = placeOf(other)[0] - x;
      const dy = placeOf(other)[1] - y;
      const along = right * dx + down * dy;
      const aside = Math.abs(down * dx) + Math.abs(right * dy);
      if (along > 1 && along + 3 * aside < shortest) {
        shortest = along + 3 * aside;
        best = other;
      }
    }
    return best;
  }

  function moveTo(node) {
    for (const element of drawing.querySelectorAll('[tabindex="0"]')) element.setAttribute("tabindex", "-1");
    nodes.get(node).setAttribute("tabindex", "0");
    nodes.get(node).focus();
  }

  const nodeAt = (event) => {
    const element = event.target.closest("[data-node]");
    return element === null ? null : Number(element.dataset.node);
  };

  drawing.addEventListener("click", (event) => {
    const node = nodeAt(event);
    if (node === null) return;
    choose(node);
    moveTo(node);
  });
  drawing.addEventListener("keydown", (event) => {
    const node = nodeAt(event);
    if (node === null) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose(node);
    } else if (event.key in STEPS) {
      event.preventDefault();
      const next = neighbor(node, STEPS[event.key]);
      if (next !== null) moveTo(next);
    }
  });
  byId("network").addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });

  // ---- the table of the chosen node

  function showSheet() {
    const node = chosen;
    const end = make("button", { type: "button", class: "quiet" }, "Close");
    end.addEventListener("click", close);
    const head = make("div", { class: "bar" }, make("h3", { id: "sheet-title" }, named(nameOf(node))));
    if (node !== target) {
      const set = make("button", { type: "button", class: "quiet" }, "Set its value");
      set.addEventListener("click", () => ask(node));
      head.append(set);
    }
    if (node !== target && model.states[node] !== null) head.append(resolutionSwitch(node));
    if (model.generative !== null) head.append(parametersSwitch(node));
    head.append(end);
    const scroll = make("div", { class: "scroll", tabindex: "0", role: "group", "aria-labelledby": "sheet-title" });
    sheet.replaceChildren(head, relatives(node), scroll);
    fillTable(scroll, node);
    sheet.hidden = false;
  }

  function resolutionSwitch(node) {
    return switchOf(node, () => { fine = !fine; }, () => {
      const number = fine ? model.nStates[node] : model.labels[node].length;
      if (model.cuts[node] === null) return fine ? `Show ${number} groups` : `Show all ${number} values`;
      return fine ? `Show ${number} coarse intervals` : `Show all ${number} intervals`;
    });
  }

  function parametersSwitch(node) {
    return switchOf(node, () => { shown = shown === model ? model.generative : model; }, () =>
      `Show ${shown === model ? "generative" : "discriminative"} parameters`);
  }

  // A button that changes which table of a node is shown.
  function switchOf(node, change, label) {
    const button = make("button", { type: "button", class: "quiet" }, label());
    button.addEventListener("click", () => {
      change();
      button.textContent = label();
      fillTable(sheet.querySelector(".scroll"), node);
    });
    return button;
  }

  function relatives(node) {
    const line = make("p", { class: "note" });
    for (const [text, group] of [["Parents: ", parentsOf(node)], ["Children: ", childrenOf(node)]]) {
      if (group.length === 0) continue;
      const shown = group.slice(0, MAX_RELATIVES).map((other) => link(other));
      const more = group.length > MAX_RELATIVES ? [` and ${group.length - MAX_RELATIVES} more`] : [];
      line.append(make("span", {}, text, ...shown.flatMap((part, k) => (k === 0 ? [part] : [", ", part])), ...more));
    }
    if (line.childElementCount === 0) line.append("It has neither parents nor children.");
    return line;
  }

  function link(node) {
    const button = make("button", { type: "button", class: "link" }, named(nameOf(node)));
    button.addEventListener("click", () => {
      choose(node);
      moveTo(node);
      nodes.get(node).scrollIntoView({ block: "nearest", inline: "center" });
    });
    return button;
  }

  function fillTable(scroll, node) {
    const table = node !== target ? conditionalTable(node) : classTable();
    scroll.replaceChildren(...table);
  }

  // The shares of the classes, or the table of a class that has parents.
  function classTable() {
    if (model.classParents.length > 0) {
      const table = shown.classTable();
      return tableParts(undefined, { ...table, byClass: false }, 1);
    }
    const prior = shown.prior();
    const rows = Array.from(prior, (p, c) => row([heading(model.classes[c])], [p], []));
    return [filled(["P"], [model.target], rows, true)];
  }

  function conditionalTable(feature) {
    // fine intervals have small probabilities, whose bars are compared with each other
    const compared = fine && model.states[feature] !== null;
    return tableParts(feature, shown.table(feature, !fine), compared ? null : 1);
  }

  // A table and the notes on it; bars are full at a number, null for the largest one.
  function tableParts(feature, table, fullAt) {
    const given = [...table.parents.map((p) => model.stateLabels[p]), ...(table.byClass ? [model.classes] : [])];
    const names = [...table.parents.map(nameOf), ...(table.byClass ? [model.target] : [])];
    const count = given.reduce((product, labels) => product * labels.length, 1);
    const places = Array.from({ length: Math.min(count, MAX_ROWS) }, (_, k) => unravelled(k, given));
    const cells = places.map((place) => {
      const c = table.byClass ? place[place.length - 1] : 0;
      return table.labels.map((_, value) => table.at(place, value, c));
    });
    const full = fullAt === null ? Math.max(...cells.map((line) => Math.max(...line))) : fullAt;
    const rows = [];
    let before = [];
    places.forEach((place, k) => {
      const combination = place.slice(0, table.parents.length);
      const same = place.map((code, at) => code === before[at] && (at === 0 || place[at - 1] === before[at - 1]));
      const heads = place.map((code, at) => heading(given[at][code], same[at]));
      rows.push(row(heads, cells[k], combination, feature, table, full));
      before = place;
    });
    const notes = [];
    if (count > MAX_ROWS) notes.push(`The first ${MAX_ROWS} of ${count.toLocaleString("en")} rows.`);
    if (!normalized()) notes.push("Weights, not probabilities: the rows of this table do not sum to one.");
    const parts = [filled(table.labels, names, rows, false)];
    return notes.length === 0 ? parts : [...parts, make("p", { class: "note" }, notes.join(" "))];
  }

  const normalized = () => shown.hasProbabilities;
  const heading = (text, same = false) => make("th", { scope: "row", class: same ? "same" : null }, abbreviated(text));
  const abbreviated = (text) => {
    const element = named(shortened(text, 40));
    element.title = text;
    return element;
  };

  function filled(values, heads, rows, single) {
    const top = [...heads.map((text) => make("th", { scope: "col", class: "given" }, abbreviated(text)))];
    for (const text of values) top.push(make("th", { scope: "col" }, single ? text : abbreviated(text)));
    return make("table", { class: "cells" }, make("thead", {}, make("tr", {}, ...top)), make("tbody", {}, ...rows));
  }

  // A row of a table; it is marked where it contradicts the known values of the parents.
  function row(heads, values, combination, feature, table, full = 1) {
    const line = make("tr", {}, ...heads);
    const own = feature === undefined || fine ? known[feature] : model.stateOf(feature, known[feature]);
    values.forEach((value, code) => {
      const cell = make("td", {}, normalized() ? probability(value) : value.toPrecision(3));
      if (normalized()) cell.style.setProperty("--share", `${((100 * value) / full).toFixed(1)}%`);
      if (own === code) cell.classList.add("known");
      line.append(cell);
    });
    const agrees = combination.every((state, k) => {
      const parent = table.parents[k];
      return known[parent] === -1 || model.stateOf(parent, known[parent]) === state;
    });
    line.classList.toggle("unfit", !agrees);
    return line;
  }

  // Update the picture and the table after a feature was set or became unknown again.
  function changed(feature, isSet) {
    nodes.get(feature).classList.toggle("known", isSet);
    if (chosen === null) return;
    if (feature === chosen || parentsOf(chosen).includes(feature)) {
      fillTable(sheet.querySelector(".scroll"), chosen);
    }
  }

  return { changed };
}

// The section Ask: the fields for known values, and the answers of the model for them.

const MAX_CLASSES = 8;
const MAX_REASONS = 10;
const MAX_QUESTIONS = 5;
const MIN_FEATURES_TO_SEARCH = 9;
const IMPOSSIBLE =
  "In this model the values that are set cannot occur together in any class: the answers are those with nothing known.";

function startAskView(model) {
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

const { Network } = DiscBayes;
// The entry of the script in a report.

startAskView(new Network(JSON.parse(document.getElementById("model").textContent)));

// The model card by itself on paper.

const printButton = document.getElementById("print-card");
if (printButton !== null) {
  const alone = document.documentElement.classList;
  printButton.hidden = false;
  printButton.addEventListener("click", () => {
    alone.add("card-only");
    window.addEventListener("afterprint", () => alone.remove("card-only"), { once: true });
    window.print();
  });
}
})();
