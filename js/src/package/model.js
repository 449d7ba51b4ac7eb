// The model of a file: raw values in, probabilities and explanations out.

import { Network } from "../engine/network.js";
import { isPossible, normalizedLogs } from "../engine/probabilities.js";
import { isObject, reads } from "./checks.js";
import { partOf } from "./dates.js";
import { likelihoodOf } from "./evidence.js";
import { readModelFile } from "./model_file.js";
import { codeOf, keyOf, labelsOf } from "./variables.js";

const MAX_STEPS = 4e6; // of an explanation: the known values times the columns

export class Model {
  // The model in a file that the library saved: its text, or what JSON.parse made of it.
  static fromJSON(file) {
    return new Model(file);
  }

  constructor(file) {
    const { networks, pool } = readModelFile(file);
    const [first] = networks;
    this._pool = pool;
    this._members = networks.map(({ variables, dates, payload }) => ({
      variables,
      dates,
      codes: variables.map(({ values }) => new Map(values.map((value, code) => [keyOf(value), code]))),
      network: new Network(payload),
    }));
    this._settings = first.settings;
    this._positions = new Map(first.variables.map(({ name }, i) => [name, i]));
    this.target = first.payload.target;
    this.classes = first.classes;
    this.columns = first.variables.map((one) => ({
      name: one.name, kind: one.kind, values: one.values, cuts: one.cuts, labels: labelsOf(one),
      ordered: one.ordered, date: one.date && { column: one.date.column, part: one.date.part },
    }));
  }

  // P(class | row), in the order of the classes.
  posterior(row) {
    return Array.from(this._logPosterior(row), Math.exp);
  }

  posteriors(rows) {
    return Array.from(rows, (row) => this.posterior(row));
  }

  // The most probable class, the first of equal ones.
  predict(row) {
    const posterior = this.posterior(row);
    return this.classes[posterior.indexOf(Math.max(...posterior))];
  }

  // What each known value adds to the log odds of each class against the rest, one after the other.
  explain(row) {
    const { network, variables, codes, evidence } = this._only(row, "explain");
    const nKnown = evidence.size + codes.filter((code) => code >= 0).length;
    if (nKnown * codes.length > MAX_STEPS) throw new RangeError(`explain is not for ${nKnown} known values of ${codes.length} columns: they are too many`);
    const found = network.contributions(codes, evidence);
    const names = (features) => features.map((i) => variables[i].name);
    const contributions = found.items.map(({ feature, given, values }) => ({
      column: variables[feature].name,
      value: codes[feature] < 0 ? null : network.labels[feature][codes[feature]],
      given: names(given),
      values: Array.from(values),
    }));
    return { base: Array.from(found.base), logOdds: Array.from(found.log_odds), impossible: found.impossible, contributions };
  }

  // By how many nats each unknown column is expected to reduce the entropy of the class, the most useful one first.
  valueOfInformation(row) {
    const { network, variables, codes, evidence } = this._only(row, "valueOfInformation");
    const { entropy, items } = network.information(codes, evidence);
    const columns = items.map(({ feature, gain }) => ({
      column: variables[feature].name, gain, share: entropy > 0 ? gain / entropy : 0,
    }));
    return { entropy, columns };
  }

  _logPosterior(row) {
    const found = this._members.map((member) => {
      const { codes, evidence } = this._read(row, member);
      return member.network.logPosterior(codes, evidence);
    });
    if (this._pool === null) return found[0];
    const { shares, scale } = this._pool;
    const pooled = shares.map((share, c) => {
      const prior = Math.log(share);
      if (share === 0) return prior;
      return prior + scale * (found.reduce((total, own) => total + own[c], 0) / found.length - prior);
    });
    return normalizedLogs(isPossible(pooled) ? pooled : shares.map(Math.log));
  }

  // The one network, and what a row says in it.
  _only(row, method) {
    if (this._members.length > 1 || this._pool !== null) {
      throw new Error(`${method} is for one network, and this model is an ensemble of ${this._members.length}`);
    }
    const [member] = this._members;
    return { ...member, ...this._read(row, member) };
  }

  // The codes of a row, and its evidence that is not one value.
  _read(row, { variables, dates, codes: known }) {
    reads(isObject(row), "a row is an object with a value for each column that is known");
    const codes = new Int32Array(variables.length).fill(-1);
    const evidence = new Map();
    for (const [name, value] of row instanceof Map ? row : Object.entries(row)) {
      const i = this._positions.get(name);
      if (dates.has(name)) {
        for (const k of value === undefined ? [] : dates.get(name)) {
          const number = value === null ? null : partOf(variables[k].date, value);
          codes[k] = codeOf(variables[k], known[k], number, this._settings.refusesUnseen);
        }
      } else if (i === undefined) {
        reads(this._settings.ignoresOthers, `the row has a value for ${JSON.stringify(name)}, which is not a column`);
      } else if (isObject(value)) {
        evidence.set(i, likelihoodOf(variables[i], value));
      } else if (value !== undefined) {
        codes[i] = codeOf(variables[i], known[i], value, this._settings.refusesUnseen);
      }
    }
    return { codes, evidence };
  }
}
