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
import { MAX_NEIGHBORS, addLines, childrenOf, eliminationOrder, largestBucket, lines, linearScale, logScale, productSum, stridesWithin, weigh } from "./elimination.js";
import { LogPool, calibrationOf, entropyOf, gainOf, isPossible, logOdds, normalizedLogs } from "./probabilities.js";

const MIN_PRODUCT = 1e-200; // of positive factors: far from the subnormal doubles, which have fewer digits
const MAX_CACHED_GROUPS = 4096;
const MAX_LIKELIHOODS = 256; // of evidence that tables are kept for
const MAX_ROW_CELLS = 1e8; // of all steps of one elimination
const GAIN_PRECISION = 1e12; // gains that agree in twelve decimals are ties, broken by position

export class Network {
  constructor(payload) {
    this.names = payload.names;
    this.labels = payload.labels;
    this.kinds = payload.kinds;
    this.cuts = payload.cuts;
    this.hasMissing = payload.has_missing || this.labels.map(() => false); // whether the last value is "missing"
    this.target = payload.target;
    this.classes = payload.classes;
    this.parents = payload.parents; // those of inference: a class with parents is absorbed in one of their tables
    this.inferenceChild = payload.class_children;
    this.order = payload.order;
    this.normalized = payload.normalized;
    this.limit = payload.max_factor_size;
    this.states = payload.states || this.labels.map(() => null); // of each value, as children see it; null: all differ
    this.stateLabels = this.labels.map((list, i) => (this.states[i] === null ? list : payload.state_labels[i]));
    this.nStates = this.stateLabels.map((list) => list.length);
    this.likelihoods = payload.likelihoods || []; // logarithms, by value: evidence that is not one value
    this.logPrior = decoded(payload.log_prior);
    this._calibration = calibrationOf(payload.calibration);
    this._pool = null;
    this._generative = null;
    this._observed = null; // the same without the values "missing", where these are evidence in usual rows only
    this.hidesMissing = payload.hides_missing || this.labels.map(() => false);
    if (payload.calibration !== null && payload.calibration.kind === "pool") {
      this._pool = new LogPool(payload.calibration);
      const { likelihoods } = this;
      const generative = { ...payload, ...payload.calibration.generative, calibration: null, likelihoods };
      this._readsMissing = payload.calibration.reads_missing;
      this._generative = new Network(generative);
      this._observed = this._generative;
      if (this._readsMissing.some(Boolean)) this._observed = new Network({ ...generative, hides_missing: this._readsMissing });
    }
    this._tables = new CPTs(this, payload.tables);
    this._own = ownTables(payload, this._tables);
    this._classHasParents = payload.class_has_parents === true || this.classParents.length > 0;
    this._children = childrenOf(this.parents);
    // parents of one state tie nothing together
    this._linked = this.parents.map((group) => group.filter((parent) => this.nStates[parent] > 1));
    this._linkedChildren = childrenOf(this._linked);
    this._cache = new Map();
    this._codes = new Map(); // of likelihoods
  }

  get nFeatures() {
    return this.names.length;
  }

  get nClasses() {
    return this.classes.length;
  }

  // The parents of the class, which has none in most networks.
  get classParents() {
    return this._own.classParents;
  }

  // The parents of each feature, and whether the class is one of them, in the network as it was given.
  get ownParents() {
    return this._own.parents;
  }

  get classChild() {
    return this._own.classChild;
  }

  // Whether its tables have probabilities: a table that another one is absorbed in has none.
  get hasProbabilities() {
    return this._own.normalized;
  }

  // The network of the generative estimates in a log pool, or null.
  get generative() {
    return this._generative;
  }

  // P(class): also the posterior of a row that is impossible in every class.
  prior() {
    return normalizedLogs(this._logPriorOfClasses()).map(Math.exp);
  }

  _logPriorOfClasses() {
    if (!this._classHasParents) return this.logPrior;
    const scores = this._logJoint(new Int32Array(this.nFeatures).fill(UNKNOWN));
    return isPossible(scores) ? scores : new Float64Array(this.nClasses);
  }

  // The table of a feature by value, or by state: at(states of its parents, its own code or state, class) is a
  // probability.
  table(i, byState = false) {
    const { logTheta, strides } = this._own.tableOf(i, byState && this.states[i] !== null);
    const parents = this.ownParents[i];
    const at = (parentStates, value, c) => {
      let cell = value * strides[strides.length - 1] + c;
      parents.forEach((_, k) => { cell += parentStates[k] * strides[k]; });
      return Math.exp(logTheta[cell]);
    };
    const labels = byState ? this.stateLabels[i] : this.labels[i];
    const shape = { card: labels.length, nClasses: this.nClasses, byClass: this.classChild[i] };
    return { parents, labels, ...shape, at };
  }

  // The table of the class given its parents: at(states of the parents, class) is a probability.
  classTable() {
    const parents = this.classParents;
    const cards = parents.map((i) => this.nStates[i]);
    const at = (states, c) => Math.exp(this._own.ofClass[states.reduce((row, state, k) => row * cards[k] + state, 0) * this.nClasses + c]);
    return { parents, labels: this.classes, at };
  }

  // The state of a feature that has a code; unknown where the code is.
  stateOf(i, code) {
    return code < 0 ? UNKNOWN : this._tables.stateOf(i, code);
  }

  // P(class | known values), as predict_proba gives it. Here as below, evidence that is not one value is a map of
  // features to likelihoods, numbers by value.
  posterior(codes, evidence = null) {
    return this.logPosterior(codes, evidence).map(Math.exp);
  }

  logPosterior(codes, evidence = null) {
    return this._logPosterior(this._checked(codes, evidence));
  }

  // The contribution of each known value to the log odds of each class against the rest, when features become known
  // one after the other, parents first. base and all contributions add up to log_odds. Values that are impossible in
  // every class contribute nothing; odds that are infinite stay so, whatever becomes known afterwards. The weights of a
  // pool are those of the whole row at each step.
  contributions(codes, evidence = null) {
    const known = this._checked(codes, evidence);
    const weights = this._weights(known);
    const impossible = !isPossible(this._scores(known, weights));
    const soFar = new Int32Array(known.length).fill(UNKNOWN);
    const base = logOdds(this._logPosterior(soFar, weights));
    const items = [];
    let before = base;
    // what is not one value comes last, by position
    const soft = [...known.keys()].filter((i) => known[i] < UNKNOWN);
    for (const feature of [...this.order.filter((i) => known[i] >= 0), ...soft]) {
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
  information(codes, evidence = null) {
    const known = this._checked(codes, evidence);
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
    this._limit(plans.flat());
    const found = plans.flatMap((plan) => this._marginals(plan, known));
    if (this._pool === null) return found;
    const other = new Map(this._observed._missingPosteriors(this._hidden(known)));
    return found.map(([feature, own]) => [feature, this._pool.pooledShares(own, other.get(feature), weights, scores)]);
  }

  // ---- from codes to a log posterior

  // Codes of a row, in which evidence that is not one value has a code of its own.
  _checked(codes, evidence) {
    if (codes.length !== this.nFeatures) {
      throw new RangeError(`${codes.length} codes were given for ${this.nFeatures} features`);
    }
    const checked = Int32Array.from(codes, (code, i) => {
      if (!Number.isInteger(code) || code < UNKNOWN || code >= this.labels[i].length) {
        throw new RangeError(`feature ${i} has the codes 0 to ${this.labels[i].length - 1}, and not ${code}`);
      }
      return code;
    });
    if (evidence === null || evidence.size === 0) return checked;
    this._forgetEvidence(evidence.size);
    for (const [i, likelihood] of evidence) {
      const numbers = Array.from(likelihood);
      if (numbers.length !== this.labels[i].length || !numbers.every((x) => x >= 0 && x < Infinity) || !numbers.some((x) => x > 0)) {
        throw new RangeError(`a likelihood of feature ${i} has ${this.labels[i].length} numbers of at least 0, some of them above 0`);
      }
      checked[i] = this._codeOf(i, numbers);
    }
    return checked;
  }

  // Make room for so many more likelihoods.
  _forgetEvidence(count) {
    if (this.likelihoods.length + count <= MAX_LIKELIHOODS) return;
    this.likelihoods.length = 0;
    this._codes.clear();
    for (const network of new Set([this, this._generative, this._observed])) {
      if (network === null) continue;
      network._tables.forgetEvidence();
      network._cache.clear();
    }
  }

  // The code of a likelihood of a feature; one that leaves a single value possible is that value.
  _codeOf(i, likelihood) {
    const largest = Math.max(...likelihood);
    const only = likelihood.indexOf(largest);
    if (largest === 1 && likelihood.every((x, value) => x === 0 || value === only)) return only;
    const key = `${i}:${likelihood}`;
    let code = this._codes.get(key);
    if (code === undefined) {
      this.likelihoods.push(likelihood.map((x) => Math.log(x / largest)));
      code = UNKNOWN - this.likelihoods.length;
      this._codes.set(key, code);
    }
    return code;
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
    return codes.filter((code, i) => code < 0 && this.labels[i].length > 1).length;
  }

  // Codes as the generative estimates of a pool read them: values "missing" are unknown where they may be unusual.
  _hidden(codes) {
    return codes.map((code, i) => (this._readsMissing[i] && code === this.labels[i].length - 1 ? UNKNOWN : code));
  }

  _logPosterior(codes, weights = this._weights(codes)) {
    const scores = this._scores(codes, weights);
    return this._calibration(isPossible(scores) ? scores : normalizedLogs(this._logPriorOfClasses()));
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
    return codes[i] >= 0 && this._linked[i].every((parent) => codes[parent] >= 0);
  }

  // ---- groups of unknown features

  // The connected groups of unknown features, each with the families that contain them.
  _groups(codes, needed) {
    const seen = new Uint8Array(codes.length);
    const groups = [];
    for (let i = 0; i < codes.length; i++) {
      if (needed[i] && codes[i] < 0 && !seen[i]) {
        groups.push(connected([i], codes, needed, seen, this._linked, this._linkedChildren));
      }
    }
    return groups;
  }

  // The known features, earlier in the order, that a feature depends on once the class is known.
  _given(feature, codes) {
    const families = [feature];
    const needed = this._needed(codes);
    if (!this.normalized && codes[feature] >= 0) families.push(...this._children[feature]);
    const start = families.flatMap((i) => [i, ...this.parents[i]]).filter((i) => codes[i] < 0);
    const seen = new Uint8Array(codes.length);
    if (start.length) {
      families.push(...connected([...new Set(start)], codes, needed, seen, this.parents, this._children).families);
    }
    const given = new Set(families.flatMap((i) => [i, ...this.parents[i]]));
    const soft = [...codes.keys()].filter((i) => codes[i] < UNKNOWN);
    return [...this.order.filter((i) => codes[i] >= 0), ...soft].filter((i) => i !== feature && given.has(i));
  }

  // ---- eliminating a group

  // The log of the sum over a group, one number for each class; cached, since changes to a row leave most groups as
  // they are.
  _marginalized(group, codes) {
    let key = "";
    for (const family of group.families) {
      key += `${family}:${codes[family]}`;
      for (const parent of this._linked[family]) key += `,${codes[parent]}`;
      key += ";";
    }
    let found = this._cache.get(key);
    if (found === undefined) {
      const buckets = this._plan(group, codes);
      this._limit(buckets);
      found = this._sum(buckets, codes) || this._collect(buckets, codes, logScale).scores;
      if (this._cache.size >= MAX_CACHED_GROUPS) this._cache.clear();
      this._cache.set(key, found);
    }
    return found;
  }

  // The buckets of a group in elimination order.
  _plan(group, codes) {
    if (group.features.length === 1) return this._buckets(group, group.features, codes);
    // an order for these unknown features alone has smaller buckets than one for all features
    const families = group.families.map((i) => [...this._linked[i], i].filter((j) => codes[j] < 0));
    return this._buckets(group, eliminationOrder(families), codes);
  }

  // Refuse buckets of too many cells, one alone or all together.
  _limit(buckets) {
    if (buckets.length === 0) return;
    const worst = largestBucket(buckets);
    const total = buckets.reduce((cells, bucket) => cells + bucket.size, 0);
    const isWide = worst.size > this.limit;
    if (!isWide && total <= MAX_ROW_CELLS) return;
    const features = isWide ? worst.features : buckets.map((bucket) => bucket.feature);
    const listed = features.slice(0, 12).map((i) => this.names[i]).join(", ") + (features.length > 12 ? ", …" : "");
    throw new RangeError(
      `Marginalizing the unknown features needs ${(isWide ? worst.size : total).toPrecision(3)} cells over ` +
      `${features.length} features (${listed}), and there is a limit of ${isWide ? this.limit : MAX_ROW_CELLS}. ` +
      "Set some of these features."
    );
  }

  _buckets(group, unknown, codes) {
    const place = new Map(unknown.map((feature, k) => [feature, k]));
    const buckets = unknown.map((feature) => ({ feature, rest: [], tables: [], messages: [], parent: -1, size: 0 }));
    const join = (bucket, members) => {
      if (bucket.rest.length > MAX_NEIGHBORS) return; // far beyond the limit
      for (const k of members) if (unknown[k] !== bucket.feature && !bucket.rest.includes(k)) bucket.rest.push(k);
    };
    for (const family of group.families) {
      const members = [...this._linked[family], family].filter((i) => codes[i] < 0).map((i) => place.get(i));
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

  // The sum over the group on the linear scale, without what a second pass needs; null where a product could underflow.
  _sum(buckets, codes) {
    const n = this.nClasses;
    const scores = new Float64Array(n);
    const messages = [];
    for (const bucket of buckets) {
      const factors = [];
      let smallest = 1;
      for (const family of bucket.tables) {
        const { table, start, strides } = this._tables.view(family, bucket.scope, codes);
        factors.push({ cells: table.theta, strides, start });
        smallest *= table.smallest;
        if (table.shift !== 0) for (let c = 0; c < n; c++) scores[c] += table.shift;
      }
      for (const k of bucket.messages) {
        const strides = stridesWithin(buckets[k].rest, bucket, buckets[k].cards, n);
        factors.push({ cells: messages[k].cells, strides, start: 0 });
        smallest *= messages[k].smallest;
      }
      if (smallest < MIN_PRODUCT) return null;
      const message = productSum(factors, bucket.cards, n);
      messages.push({ cells: message, smallest: linearScale.rescale(message, n, scores) });
    }
    return scores;
  }

  _eliminated(buckets, codes) {
    return this._collect(buckets, codes, linearScale) || this._collect(buckets, codes, logScale);
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
        arithmetic.multiply(cells, arithmetic.cells(table), lines(bucket.cards, strides, start), this.nClasses);
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
        if (this.states[family] === null || codes[family] >= 0) continue;
        found.push([family, this._valueMarginal(family, buckets[k], cells, codes)]);
      }
    }
    return found;
  }

  // P(feature = value | known values, class) of a feature with fewer states than values, from the probabilities of all
  // combinations of states in the bucket that has its table.
  _valueMarginal(feature, { scope, cards }, cells, codes) {
    const n = this.nClasses;
    const states = this.states[feature];
    const marginal = new Float64Array(states.length * n);
    const coarse = this._tables.view(feature, scope, codes);
    const fine = this._tables.viewByValue(feature, scope, codes);
    const { logTheta, strides } = this._tables.byValue[feature];
    const step = strides[strides.length - 1];
    const likelihood = codes[feature] === UNKNOWN ? null : this.likelihoods[UNKNOWN - 1 - codes[feature]];
    const coarseStarts = lines(cards, coarse.strides, coarse.start);
    const fineStarts = lines(cards, fine.strides, fine.start);
    const own = lines(cards, scope.map((i) => (i === feature ? 1 : 0)), 0); // the state in each line
    const members = this.stateLabels[feature].map(() => []);
    states.forEach((state, value) => members[state].push(value));
    for (let line = 0; line < own.length; line++) {
      for (const value of members[own[line]]) {
        for (let c = 0; c < n; c++) {
          const share = cells[line * n + c];
          if (share === 0) continue;
          const weight = likelihood === null ? 0 : likelihood[value];
          const within = logTheta[fineStarts[line] + value * step + c] + weight - coarse.table.logTheta[coarseStarts[line] + c];
          marginal[value * n + c] += share * Math.exp(within);
        }
      }
    }
    return marginal;
  }
}

// All unknown features that are connected to some of them through families, and these families.
function connected(start, codes, needed, seen, parents, children) {
  const features = [];
  const families = new Set();
  const waiting = start.slice();
  for (const i of start) seen[i] = 1;
  const visit = (i) => {
    if (codes[i] < 0 && !seen[i]) {
      seen[i] = 1;
      waiting.push(i);
    }
  };
  const open = (family) => {
    if (!needed[family] || families.has(family)) return;
    families.add(family);
    visit(family);
    parents[family].forEach(visit);
  };
  while (waiting.length) {
    const feature = waiting.pop();
    features.push(feature);
    open(feature);
    children[feature].forEach(open);
  }
  return { features, families: [...families] };
}

// The tables of the network as it was given. Where the class has parents, its table is absorbed for inference in that
// of one of them, the host.
function ownTables(payload, tables) {
  const tableOf = (i, byState) => (byState ? tables.byState : tables.byValue)[i];
  const { own } = payload;
  if (own === undefined) {
    const { parents, class_children: classChild, normalized } = payload;
    return { classParents: [], parents, classChild, normalized, tableOf };
  }
  const { host, parents, class_children: classChild, class_parents: classParents, normalized } = own;
  const byValue = tables.made(host, parents[host], own.table, classChild[host]);
  const ofHost = [byValue, tables.summed(host, parents[host], byValue)];
  return {
    classParents, parents, classChild, normalized, ofClass: decoded(own.class_table),
    tableOf: (i, byState) => (i === host ? ofHost[Number(byState)] : tableOf(i, byState)),
  };
}
