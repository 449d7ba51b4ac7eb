// The picture of the network: its nodes are buttons, and the table of the chosen one is shown below.

import { byId, make, named } from "./elements.js";
import { probability, shortened, unravelled } from "./formatting.js";

const MAX_ROWS = 300;
const MAX_RELATIVES = 12;

// `known` holds the code of each feature, or -1; `ask` moves to the field of a feature.
export function startNetworkView(model, known, ask) {
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
