// Exact inference with a Bayesian network classifier, for rows in which any feature may be unknown.
//
// Codes: code k of a feature is its k-th value, -1 is unknown. Tables are one flat array in the layout of the library:
// the table of feature i with parents p1 .. pk has the axes (p1, ..., pk, i, class), the class innermost. Children see
// the state of a value, which several values may share: the axes of parents are by state, the own axis is by value. So
// an unknown feature is marginalized by state, in a table that sums over the values of each state.
//
// The log-joint, log P(class, known values), has two parts. Families (a feature with its parents) whose members are all
// known are looked up. Unknown features are marginalized by bucket elimination, one connected group at a time. A bucket
// is the product of all factors that contain a feature, over the feature and its rest (neighbors that are eliminated
// later); its sum over the feature is the message to the bucket of the first of them. A bucket divided by its message
// is P(feature | rest, known values, class), so that a second pass in the opposite order gives the marginal of every
// unknown feature.
//
// Products are computed on the linear scale, which is fast, with the largest entry of each class of a message scaled to
// one. Where a positive product could leave the range of a double, the group is computed again on the log scale.

import { decoded } from "./arrays.js";
import { CPTs, UNKNOWN } from "./cpts.js";
import { addLines, childrenOf, eliminationOrder, largestBucket, lines, linearScale, logScale, ranks, stridesWithin, weigh } from "./elimination.js";
import { LogPool, calibrationOf, entropyOf, gainOf, isPossible, logOdds, normalizedLogs } from "./probabilities.js";

const MIN_PRODUCT = 1e-200; // of positive factors: far from the subnormal doubles, which have fewer digits
const MAX_CACHED_GROUPS = 4096;
const GAIN_PRECISION = 1e12; // gains that agree in twelve decimals are ties, broken by position

export class Model {
  constructor(payload) {
    this.names = payload.names;
    this.labels = payload.labels;
    this.kinds = payload.kinds;
    this.cuts = payload.cuts;
    this.target = payload.target;
    this.classes = payload.classes;
    this.parents = payload.parents;
    this.classChild = payload.class_children;
    this.order = payload.order;
    this.normalized = payload.normalized;
    this.limit = payload.max_factor_size;
    this.states = payload.states || this.labels.map(() => null); // of each value, as children see it; null: all differ
    this.stateLabels = this.labels.map((list, i) => (this.states[i] === null ? list : payload.state_labels[i]));
    this.nStates = this.stateLabels.map((list) => list.length);
    this.logPrior = decoded(payload.log_prior);
    this._calibration = calibrationOf(payload.calibration);
    this._pool = null;
    this._generative = null;
    this._observed = null; // the same without the values "missing", where these are evidence in usual rows only
    this.hidesMissing = payload.hides_missing || this.labels.map(() => false);
    if (payload.calibration !== null && payload.calibration.kind === "pool") {
      this._pool = new LogPool(payload.calibration);
      const generative = { ...payload, ...payload.calibration.generative, calibration: null };
      this._readsMissing = payload.calibration.reads_missing;
      this._generative = new Model(generative);
      this._observed = this._generative;
      if (this._readsMissing.some(Boolean)) this._observed = new Model({ ...generative, hides_missing: this._readsMissing });
    }
    this._children = childrenOf(this.parents);
    this._tables = new CPTs(this, payload.tables);
    this._rank = ranks(eliminationOrder(this.parents.map((group, i) => [...group, i])));
    this._cache = new Map();
    this.tooWide = this._width();
  }

  get nFeatures() {
    return this.names.length;
  }

  get nClasses() {
    return this.classes.length;
  }

  // The network of the generative estimates in a log pool, or null.
  get generative() {
    return this._generative;
  }

  // P(class): also the posterior of a row that is impossible in every class.
  prior() {
    return normalizedLogs(this.logPrior).map(Math.exp);
  }

  // The table of a feature by value, or by state: at(states of its parents, its own code or state, class) is a
  // probability.
  table(i, byState = false) {
    const { logTheta, offsets, strides } = this._tables;
    const t = byState && this.states[i] !== null ? this.nFeatures + i : i;
    const own = strides[t];
    const at = (parentStates, value, c) => {
      let cell = offsets[t] + value * own[own.length - 1] + c;
      this.parents[i].forEach((parent, k) => { cell += parentStates[k] * own[k]; });
      return Math.exp(logTheta[cell]);
    };
    const labels = byState ? this.stateLabels[i] : this.labels[i];
    const shape = { card: labels.length, nClasses: this.nClasses, byClass: this.classChild[i] };
    return { parents: this.parents[i], labels, ...shape, at };
  }

  // The state of a feature that has a code; unknown where the code is.
  stateOf(i, code) {
    return code === UNKNOWN ? UNKNOWN : this._tables.stateOf(i, code);
  }

  // P(class | known values), as predict_proba gives it.
  posterior(codes) {
    return this._logPosterior(this._checked(codes)).map(Math.exp);
  }

  // The contribution of each known value to the log odds of each class against the rest, when features become known
  // one after the other, parents first. base and all contributions add up to log_odds. Values that are impossible in
  // every class contribute nothing; odds that are infinite stay so, whatever becomes known afterwards. The weights of a
  // pool are those of the whole row at each step.
  contributions(codes) {
    const known = this._checked(codes);
    const weights = this._weights(known);
    const impossible = !isPossible(this._scores(known, weights));
    const soFar = new Int32Array(known.length).fill(UNKNOWN);
    const base = logOdds(this._logPosterior(soFar, weights));
    const items = [];
    let before = base;
    for (const feature of this.order) {
      if (known[feature] === UNKNOWN) continue;
      soFar[feature] = known[feature];
      const after = impossible ? base : logOdds(this._logPosterior(soFar, weights));
      const values = after.map((odds, c) => (odds === before[c] ? 0 : odds - before[c]));
      items.push({ feature, given: this._given(feature, soFar), values });
      before = after;
    }
    return { base, log_odds: before, items, impossible };
  }

  // The value of information: by how many nats each unknown feature reduces the expected entropy of the class; zero
  // where the known values are impossible in every class.
  information(codes) {
    const known = this._checked(codes);
    const weights = this._weights(known);
    const posterior = this._logPosterior(known, weights).map(Math.exp);
    const scores = this._scores(known, weights);
    const possible = isPossible(scores);
    const items = [];
    for (const [feature, marginal] of this._missingPosteriors(known, weights, scores)) {
      items.push({ feature, gain: possible ? gainOf(posterior, marginal) : 0 });
    }
    const rounded = (item) => Math.round(item.gain * GAIN_PRECISION);
    items.sort((a, b) => rounded(b) - rounded(a) || a.feature - b.feature);
    return { entropy: entropyOf(posterior), items };
  }

  // P(value | known values, class) of every unknown feature, an array (value, class) for each; both networks of a pool
  // give it together, with their weights.
  _missingPosteriors(known, weights, scores) {
    const plans = this._groups(known, this._everything()).map((group) => this._plan(group, known));
    const found = plans.flatMap((plan) => this._marginals(plan, known));
    if (this._pool === null) return found;
    const other = new Map(this._observed._missingPosteriors(this._hidden(known)));
    return found.map(([feature, own]) => [feature, this._pool.pooledShares(own, other.get(feature), weights, scores)]);
  }

  // ---- from codes to a log posterior

  _checked(codes) {
    if (codes.length !== this.nFeatures) {
      throw new RangeError(`${codes.length} codes were given for ${this.nFeatures} features`);
    }
    return Int32Array.from(codes, (code, i) => {
      if (!Number.isInteger(code) || code < UNKNOWN || code >= this.labels[i].length) {
        throw new RangeError(`feature ${i} has the codes 0 to ${this.labels[i].length - 1}, and not ${code}`);
      }
      return code;
    });
  }

  // The weights of both networks of a pool in a row; null without a pool.
  _weights(codes) {
    if (this._pool === null) return null;
    const n = this.labels.filter((list) => list.length > 1).length;
    const hidden = this._hidden(codes);
    const [nUnknown, nHidden] = [this._nUnknown(codes), this._nUnknown(hidden)];
    let usual = 1;
    if (nHidden > nUnknown) {
      const marginalized = this._observed._logJoint(hidden);
      usual = this._pool.usualOf(this._generative._logJoint(codes), nUnknown, marginalized, nHidden, n);
    }
    return this._pool.weightsOf(nUnknown / Math.max(1, n), nHidden / Math.max(1, n), usual);
  }

  // The number of unknown features, among those of several values.
  _nUnknown(codes) {
    return codes.filter((code, i) => code === UNKNOWN && this.labels[i].length > 1).length;
  }

  // Codes as the generative estimates of a pool read them: values "missing" are unknown where they may be unusual.
  _hidden(codes) {
    return codes.map((code, i) => (this._readsMissing[i] && code === this.labels[i].length - 1 ? UNKNOWN : code));
  }

  _logPosterior(codes, weights = this._weights(codes)) {
    const scores = this._scores(codes, weights);
    return this._calibration(isPossible(scores) ? scores : normalizedLogs(this.logPrior));
  }

  // The log-joint behind the posterior: a pool is one of two networks, with their weights.
  _scores(codes, weights) {
    const own = this._logJoint(codes);
    return this._pool === null ? own : this._pool.pooled(own, this._observed._logJoint(this._hidden(codes)), weights);
  }

  _logJoint(codes) {
    const scores = this.logPrior.slice();
    const needed = this._needed(codes);
    for (let i = 0; i < codes.length; i++) {
      if (needed[i] && this._isKnown(i, codes)) this._tables.addTo(scores, i, codes);
    }
    for (const group of this._groups(codes, needed)) {
      const part = this._marginalized(group, codes);
      for (let c = 0; c < scores.length; c++) scores[c] += part[c];
    }
    return scores;
  }

  // With normalized tables, an unknown feature without known descendants sums to one and can be skipped.
  _needed(codes) {
    if (!this.normalized) return this._everything();
    const needed = new Uint8Array(codes.length);
    for (let at = codes.length - 1; at >= 0; at--) {
      const i = this.order[at];
      if (codes[i] !== UNKNOWN) needed[i] = 1;
      if (needed[i]) for (const parent of this.parents[i]) needed[parent] = 1;
    }
    return needed;
  }

  _everything() {
    return new Uint8Array(this.nFeatures).fill(1);
  }

  _isKnown(i, codes) {
    return codes[i] !== UNKNOWN && this.parents[i].every((parent) => codes[parent] !== UNKNOWN);
  }

  // ---- groups of unknown features

  // The connected groups of unknown features, each with the families that contain them.
  _groups(codes, needed) {
    const seen = new Uint8Array(codes.length);
    const groups = [];
    for (let i = 0; i < codes.length; i++) {
      if (needed[i] && codes[i] === UNKNOWN && !seen[i]) groups.push(this._connected([i], codes, needed, seen));
    }
    return groups;
  }

  // All unknown features that are connected to some of them through families, and these families.
  _connected(start, codes, needed, seen) {
    const features = [];
    const families = new Set();
    const waiting = start.slice();
    for (const i of start) seen[i] = 1;
    const visit = (i) => {
      if (codes[i] === UNKNOWN && !seen[i]) {
        seen[i] = 1;
        waiting.push(i);
      }
    };
    const open = (family) => {
      if (!needed[family] || families.has(family)) return;
      families.add(family);
      visit(family);
      this.parents[family].forEach(visit);
    };
    while (waiting.length) {
      const feature = waiting.pop();
      features.push(feature);
      open(feature);
      this._children[feature].forEach(open);
    }
    return { features, families: [...families] };
  }

  // The known features, earlier in the order, that a feature depends on once the class is known.
  _given(feature, codes) {
    const families = [feature];
    const needed = this._needed(codes);
    if (!this.normalized) families.push(...this._children[feature]);
    const start = families.flatMap((i) => [i, ...this.parents[i]]).filter((i) => codes[i] === UNKNOWN);
    const seen = new Uint8Array(codes.length);
    if (start.length) families.push(...this._connected([...new Set(start)], codes, needed, seen).families);
    const given = new Set(families.flatMap((i) => [i, ...this.parents[i]]));
    return this.order.filter((i) => i !== feature && given.has(i) && codes[i] !== UNKNOWN);
  }

  // ---- eliminating a group

  // The log of the sum over a group, one number for each class; cached, since changes to a row leave most groups as
  // they are.
  _marginalized(group, codes) {
    let key = "";
    for (const family of group.families) {
      key += `${family}:${codes[family]}`;
      for (const parent of this.parents[family]) key += `,${codes[parent]}`;
      key += ";";
    }
    let found = this._cache.get(key);
    if (found === undefined) {
      found = this._eliminated(this._plan(group, codes), codes).scores;
      if (this._cache.size >= MAX_CACHED_GROUPS) this._cache.clear();
      this._cache.set(key, found);
    }
    return found;
  }

  // The buckets of a group in elimination order; an error where one has too many cells.
  _plan(group, codes) {
    let buckets = this._buckets(group, codes, this._rank);
    if (largestBucket(buckets).size > this.limit) {
      // an order for these unknown features alone may have smaller buckets than that for all features
      const families = group.families.map((i) => [...this.parents[i], i].filter((j) => codes[j] === UNKNOWN));
      buckets = this._buckets(group, codes, ranks(eliminationOrder(families)));
    }
    const { size, features } = largestBucket(buckets);
    if (size > this.limit) {
      const listed = features.slice(0, 12).map((i) => this.names[i]).join(", ") + (features.length > 12 ? ", …" : "");
      throw new Error(
        `Marginalizing the unknown features needs ${size.toPrecision(3)} cells over ${features.length} features ` +
        `(${listed}), and this report has a limit of ${this.limit}. Set some of these features.`
      );
    }
    return buckets;
  }

  _buckets(group, codes, rank) {
    const unknown = group.features.slice().sort((a, b) => rank.get(a) - rank.get(b));
    const place = new Map(unknown.map((feature, k) => [feature, k]));
    const buckets = unknown.map((feature) => ({ feature, rest: [], tables: [], messages: [], parent: -1, size: 0 }));
    const join = (bucket, members) => {
      for (const k of members) if (unknown[k] !== bucket.feature && !bucket.rest.includes(k)) bucket.rest.push(k);
    };
    for (const family of group.families) {
      const members = [...this.parents[family], family].filter((i) => codes[i] === UNKNOWN).map((i) => place.get(i));
      const bucket = buckets[Math.min(...members)];
      bucket.tables.push(family);
      join(bucket, members);
    }
    buckets.forEach((bucket, k) => {
      if (bucket.rest.length) {
        bucket.parent = Math.min(...bucket.rest);
        buckets[bucket.parent].messages.push(k);
        join(buckets[bucket.parent], bucket.rest);
      }
      bucket.rest = bucket.rest.sort((a, b) => a - b).map((member) => unknown[member]);
      bucket.scope = [...bucket.rest, bucket.feature];
      bucket.cards = bucket.scope.map((i) => this.nStates[i]);
      bucket.size = bucket.cards.reduce((cells, card) => cells * card, this.nClasses);
    });
    return buckets;
  }

  _eliminated(buckets, codes) {
    return this._collect(buckets, codes, linearScale(this._tables)) || this._collect(buckets, codes, logScale(this._tables));
  }

  // The first pass: the sum over the group, and the buckets as conditional probabilities; null where a product could
  // underflow.
  _collect(buckets, codes, arithmetic) {
    const scores = new Float64Array(this.nClasses);
    const messages = [];
    const conditionals = [];
    for (const bucket of buckets) {
      const cells = new Float64Array(bucket.size).fill(arithmetic.one);
      let smallest = 1;
      for (const family of bucket.tables) {
        const { table, start, strides } = this._tables.view(family, bucket.scope, codes);
        arithmetic.multiply(cells, arithmetic.source, lines(bucket.cards, strides, start), this.nClasses);
        smallest *= arithmetic.smallest(table);
        for (let c = 0; c < scores.length; c++) scores[c] += arithmetic.shift(table);
      }
      for (const k of bucket.messages) {
        const strides = stridesWithin(buckets[k].rest, bucket, buckets[k].cards, this.nClasses);
        arithmetic.multiply(cells, messages[k].cells, lines(bucket.cards, strides, 0), this.nClasses);
        smallest *= messages[k].smallest;
      }
      if (smallest < MIN_PRODUCT) return null;
      const card = bucket.cards[bucket.cards.length - 1];
      const message = arithmetic.marginalize(cells, card, this.nClasses);
      messages.push({ cells: message, smallest: arithmetic.rescale(message, this.nClasses, scores) });
      conditionals.push(cells);
    }
    return { scores, conditionals };
  }

  // The second pass: P(feature = value | known values, class) of every feature of a group, an array (value, class) for
  // each.
  _marginals(buckets, codes) {
    const { conditionals } = this._eliminated(buckets, codes);
    const n = this.nClasses;
    const found = [];
    for (let k = buckets.length - 1; k >= 0; k--) {
      const { feature, rest, parent, cards } = buckets[k];
      const cells = conditionals[k];
      const card = cards[cards.length - 1];
      if (parent >= 0) {
        const above = buckets[parent];
        const within = lines(above.cards, stridesWithin(rest, above, cards, n), 0);
        const weight = new Float64Array(cells.length / card);
        addLines(weight, within, conditionals[parent], n);
        weigh(cells, weight, card, n);
      }
      if (this.states[feature] === null) {
        const marginal = new Float64Array(card * n);
        addLines(marginal, lines(cards, [...rest.map(() => 0), n], 0), cells, n);
        found.push([feature, marginal]);
      }
      // a value within its state depends on the parents, which are in the bucket with the table
      for (const family of buckets[k].tables) {
        if (this.states[family] === null || codes[family] !== UNKNOWN) continue;
        found.push([family, this._valueMarginal(family, buckets[k], cells, codes)]);
      }
    }
    return found;
  }

  // P(feature = value | known values, class) of a feature with fewer states than values, from the probabilities of all
  // combinations of states in the bucket that has its table.
  _valueMarginal(feature, { scope, cards }, cells, codes) {
    const { logTheta } = this._tables;
    const n = this.nClasses;
    const states = this.states[feature];
    const marginal = new Float64Array(states.length * n);
    const coarse = this._tables.view(feature, scope, codes);
    const fine = this._tables.viewByValue(feature, scope, codes);
    const coarseStarts = lines(cards, coarse.strides, coarse.start);
    const fineStarts = lines(cards, fine.strides, fine.start);
    const own = lines(cards, scope.map((i) => (i === feature ? 1 : 0)), 0); // the state in each line
    const firsts = this.stateLabels[feature].map((_, state) => states.indexOf(state));
    for (let line = 0; line < own.length; line++) {
      for (let value = firsts[own[line]]; states[value] === own[line]; value++) {
        for (let c = 0; c < n; c++) {
          const share = cells[line * n + c];
          if (share === 0) continue;
          const within = logTheta[fineStarts[line] + value * n + c] - logTheta[coarseStarts[line] + c];
          marginal[value * n + c] += share * Math.exp(within);
        }
      }
    }
    return marginal;
  }

  _width() {
    const nothing = new Int32Array(this.nFeatures).fill(UNKNOWN);
    let worst = { size: 0, features: [] };
    for (const group of this._groups(nothing, this._everything())) {
      const own = largestBucket(this._buckets(group, nothing, this._rank));
      if (own.size > worst.size) worst = own;
    }
    return worst.size > this.limit ? { ...worst, limit: this.limit } : null;
  }
}
