// Elements of the page. Names and values enter as text nodes only, so that they cannot become markup.

import { valueText } from "./formatting.js";

export const byId = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

// A name or a value, isolated since it may be written from right to left; the tooltip has all of it.
export const named = (text, kind = null) => make("bdi", { class: kind, title: text }, text);

// A feature with its value, as texts and elements.
export function namedValue(model, feature, code) {
  const { relation, label } = valueText(model, feature, code);
  return [named(model.names[feature]), relation, named(label)];
}
