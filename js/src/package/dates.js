// Columns of dates: rows have the dates as text, and the network has numbers that are taken from them.

import { asList, asText, fail, reads } from "./checks.js";

const TIME = "(?:[T ](\\d{1,2}):(\\d{2})(?::(\\d{2})(?:\\.\\d+)?)?(?:Z|[+-]\\d{2}:?\\d{2})?)?";
const YEAR_FIRST = "year-month-day";
// The orders in which texts have the numbers of a date, and the places of year, month and day among them. A time zone is
// not looked at: the hour is that of the clock on the wall.
const ORDERS = {
  [YEAR_FIRST]: [new RegExp(`^(\\d{4})[-/](\\d{1,2})[-/](\\d{1,2})${TIME}$`), [1, 2, 3]],
  "day.month.year": [new RegExp(`^(\\d{1,2})[./-](\\d{1,2})[./-](\\d{4}|\\d{2})${TIME}$`), [3, 2, 1]],
  "month/day/year": [new RegExp(`^(\\d{1,2})[/-](\\d{1,2})[/-](\\d{4}|\\d{2})${TIME}$`), [3, 1, 2]],
};
const FIRST_YEAR = 69; // of two digits: 69 to 99 are years of the last century
const DAY = 86_400_000; // milliseconds
const REFERENCE = Date.UTC(2000, 0, 1) / DAY;
const PARTS = {
  year: ({ time }) => time.getUTCFullYear(),
  month: ({ time }) => time.getUTCMonth() + 1,
  weekday: ({ time }) => ((time.getUTCDay() + 6) % 7) + 1, // from Monday on
  hour: ({ hour }) => hour,
  days: ({ time }) => time.getTime() / DAY - REFERENCE,
};

// Which part of which column of dates a column is.
export function readDate(value, name, where) {
  const [column, part, order] = asList(value, where, 3);
  asText(column, where);
  asText(part, where, Object.keys(PARTS));
  asText(order, where, ["", ...Object.keys(ORDERS)]);
  const expected = `${column} (${part === "days" ? "days since 2000" : part})`;
  if (expected !== name) fail(`${where} is ${JSON.stringify(expected)}, and the feature ${JSON.stringify(name)}`);
  return { column, part, order: order || YEAR_FIRST };
}

// The positions of the parts of each column of dates.
export function readDates(variables) {
  const found = new Map();
  const names = new Set(variables.map(({ name }) => name));
  variables.forEach(({ date }, i) => {
    if (date === null) return;
    const parts = found.get(date.column) || [];
    if (names.has(date.column) || parts.some((k) => variables[k].date.order !== date.order)) {
      fail(`domain: the dates ${JSON.stringify(date.column)} are not one column`);
    }
    found.set(date.column, [...parts, i]);
  });
  return found;
}

// The number that is taken from a date.
export function partOf({ column, part, order }, text) {
  reads(typeof text === "string", `column "${column}" holds dates, which are text such as "2024-02-29 15:30"`);
  const date = parsedDate(text, order);
  reads(date !== null, `column "${column}" holds dates (${order}), and now ${JSON.stringify(text)}, which is not one: correct it, or leave it out`);
  return PARTS[part](date);
}

function parsedDate(text, order) {
  const [pattern, places] = ORDERS[order];
  const found = pattern.exec(text.trim());
  if (found === null) return null;
  let [year, month, day] = places.map((place) => Number(found[place]));
  const [hour, minute, second] = found.slice(4).map((cell) => Number(cell || 0));
  if (found[places[0]].length === 2) year += year >= FIRST_YEAR ? 1900 : 2000;
  const time = new Date(0);
  time.setUTCFullYear(year, month - 1, day);
  const isReal = year > 0 && time.getUTCMonth() === month - 1 && time.getUTCDate() === day;
  return isReal && hour < 24 && minute < 60 && second < 60 ? { time, hour } : null;
}
