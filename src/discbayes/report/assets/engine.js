// Exact inference in the page: what a Bayesian network classifier says of a row in which anything may be unknown.
//
// Codes: code k of a feature is its k-th value, -1 is unknown. Tables are one flat array in the layout of the library:
// the table of feature i with parents p1 .. pk has the axes (p1, ..., pk, i, class), the class innermost.
//
// A log-joint, log P(class, what is known), has two parts. Families (a feature with its parents) that are known as a
// whole are read. Unknown features are summed out: those that hang together are a group, and a group is eliminated
// feature by feature. A bucket is the product of all factors that contain the feature, over the feature and its rest
// (neighbours that are eliminated later); its sum over the feature is the message to the bucket of the first of them.
// A bucket divided by its message is P(feature | rest, what is known, class), so that a second pass in the opposite
// order has the probabilities of every unknown feature.
//
// Products stay off the log scale, each class of a message scaled to a largest entry of one. Where a positive product
// could leave the range of a double, the group is done again on the log scale.

const UNKNOWN = -1;
const LEAST_PRODUCT = 1e-200; // of positive factors: far from the end of the doubles, where digits get lost
const MOST_REMEMBERED = 4096; // groups whose sums are kept
const EQUAL_GAINS = 1e12; // gains that agree in twelve decimals are equal, and the first feature comes first

class Model {
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
    this.logPrior = decoded(payload.log_prior);
    this._calibration = calibrationOf(payload.calibration);
    this._children = childrenOf(this.parents);
    this._tables = new Tables(this, payload.tables);
    this._rank = ranks(eliminationOrder(this.parents.map((group, i) => [...group, i])));
    this._sums = new Map();
    this.tooWide = this._width();
  }

  get nFeatures() {
    return this.names.length;
  }

  get nClasses() {
    return this.classes.length;
  }

  // P(class), which is what is said of a row that is impossible in every class.
  prior() {
    return normalizedLogs(this.logPrior).map(Math.exp);
  }

  // The table of a feature: at(codes of its parents, its own code, class) is a probability.
  table(i) {
    const { logTheta, offsets, strides } = this._tables;
    const own = strides[i];
    const at = (parentCodes, value, c) => {
      let cell = offsets[i] + value * own[own.length - 1] + c;
      this.parents[i].forEach((parent, k) => { cell += parentCodes[k] * own[k]; });
      return Math.exp(logTheta[cell]);
    };
    const card = this.labels[i].length;
    return { parents: this.parents[i], card, nClasses: this.nClasses, byClass: this.classChild[i], at };
  }

  // P(class | what is known), as predict_proba gives it.
  posterior(codes) {
    return this._logPosterior(this._checked(codes)).map(Math.exp);
  }

  // What each known value changes in the log odds of each class against the rest, when features become known one
  // after the other, parents first. base and all contributions add up to log_odds. Values that are impossible in
  // every class contribute nothing; odds that are infinite stay so, whatever becomes known afterwards.
  contributions(codes) {
    const known = this._checked(codes);
    const impossible = !isPossible(this._logJoint(known));
    const soFar = new Int32Array(known.length).fill(UNKNOWN);
    const base = logOdds(this._logPosterior(soFar));
    const items = [];
    let before = base;
    for (const feature of this.order) {
      if (known[feature] === UNKNOWN) continue;
      soFar[feature] = known[feature];
      const after = impossible ? base : logOdds(this._logPosterior(soFar));
      const values = after.map((odds, c) => (odds === before[c] ? 0 : odds - before[c]));
      items.push({ feature, given: this._given(feature, soFar), values });
      before = after;
    }
    return { base, log_odds: before, items, impossible };
  }

  // How much of the entropy of the class, in nats, knowing each unknown feature is expected to take away: nothing
  // where what is known is impossible in every class.
  information(codes) {
    const known = this._checked(codes);
    const shares = this._logPosterior(known).map(Math.exp);
    const possible = isPossible(this._logJoint(known));
    const items = [];
    for (const group of this._groups(known, this._everything())) {
      for (const [feature, marginal] of this._marginals(this._plan(group, known), known)) {
        items.push({ feature, gain: possible ? gainOf(shares, marginal) : 0 });
      }
    }
    const rounded = (item) => Math.round(item.gain * EQUAL_GAINS);
    items.sort((a, b) => rounded(b) - rounded(a) || a.feature - b.feature);
    return { entropy: entropyOf(shares), items };
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

  _logPosterior(codes) {
    const scores = this._logJoint(codes);
    return this._calibration(isPossible(scores) ? scores : normalizedLogs(this.logPrior));
  }

  _logJoint(codes) {
    const scores = this.logPrior.slice();
    const needed = this._needed(codes);
    for (let i = 0; i < codes.length; i++) {
      if (needed[i] && this._isKnown(i, codes)) this._tables.addTo(scores, i, codes);
    }
    for (const group of this._groups(codes, needed)) {
      const part = this._sumOf(group, codes);
      for (let c = 0; c < scores.length; c++) scores[c] += part[c];
    }
    return scores;
  }

  // With normalised tables, unknown features sum to one unless something below them is known.
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

  // The unknown features that hang together: the features of each group, and the families that contain them.
  _groups(codes, needed) {
    const seen = new Uint8Array(codes.length);
    const groups = [];
    for (let i = 0; i < codes.length; i++) {
      if (needed[i] && codes[i] === UNKNOWN && !seen[i]) groups.push(this._reached([i], codes, needed, seen));
    }
    return groups;
  }

  // All unknown features that some of them reach through families, and these families.
  _reached(start, codes, needed, seen) {
    const gaps = [];
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
      const gap = waiting.pop();
      gaps.push(gap);
      open(gap);
      this._children[gap].forEach(open);
    }
    return { gaps, families: [...families] };
  }

  // The known features, earlier in the order, that a feature depends on once the class is known.
  _given(feature, codes) {
    const families = [feature];
    const needed = this._needed(codes);
    if (!this.normalized) families.push(...this._children[feature]);
    const start = families.flatMap((i) => [i, ...this.parents[i]]).filter((i) => codes[i] === UNKNOWN);
    const seen = new Uint8Array(codes.length);
    if (start.length) families.push(...this._reached([...new Set(start)], codes, needed, seen).families);
    const given = new Set(families.flatMap((i) => [i, ...this.parents[i]]));
    return this.order.filter((i) => i !== feature && given.has(i) && codes[i] !== UNKNOWN);
  }

  // ---- eliminating a group

  // The sum over a group, log scale, one number for each class; the same group is asked for again and again.
  _sumOf(group, codes) {
    let key = "";
    for (const family of group.families) {
      key += `${family}:${codes[family]}`;
      for (const parent of this.parents[family]) key += `,${codes[parent]}`;
      key += ";";
    }
    let found = this._sums.get(key);
    if (found === undefined) {
      found = this._eliminated(this._plan(group, codes), codes).scores;
      if (this._sums.size >= MOST_REMEMBERED) this._sums.clear();
      this._sums.set(key, found);
    }
    return found;
  }

  // The buckets of a group in the order of elimination; an error where one has too many cells.
  _plan(group, codes) {
    let buckets = this._buckets(group, codes, this._rank);
    if (widest(buckets).size > this.limit) {
      const families = group.families.map((i) => [...this.parents[i], i].filter((j) => codes[j] === UNKNOWN));
      buckets = this._buckets(group, codes, ranks(eliminationOrder(families)));
    }
    const { size, features } = widest(buckets);
    if (size > this.limit) {
      const listed = features.slice(0, 12).map((i) => this.names[i]).join(", ") + (features.length > 12 ? ", …" : "");
      throw new Error(
        `Summing out what is unknown needs ${size.toPrecision(3)} cells over ${features.length} features ` +
        `(${listed}), and this page has a limit of ${this.limit}. Set some of these features.`
      );
    }
    return buckets;
  }

  _buckets(group, codes, rank) {
    const gaps = group.gaps.slice().sort((a, b) => rank.get(a) - rank.get(b));
    const place = new Map(gaps.map((gap, k) => [gap, k]));
    const buckets = gaps.map((feature) => ({ feature, rest: [], tables: [], messages: [], parent: -1, size: 0 }));
    const join = (bucket, members) => {
      for (const k of members) if (gaps[k] !== bucket.feature && !bucket.rest.includes(k)) bucket.rest.push(k);
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
      bucket.rest = bucket.rest.sort((a, b) => a - b).map((member) => gaps[member]);
      bucket.scope = [...bucket.rest, bucket.feature];
      bucket.cards = bucket.scope.map((i) => this.labels[i].length);
      bucket.size = bucket.cards.reduce((cells, card) => cells * card, this.nClasses);
    });
    return buckets;
  }

  _eliminated(buckets, codes) {
    return this._collect(buckets, codes, plain(this._tables)) || this._collect(buckets, codes, logs(this._tables));
  }

  // Messages of all buckets, the buckets as conditional probabilities, and the sum over all of the group.
  _collect(buckets, codes, arithmetic) {
    const scores = new Float64Array(this.nClasses);
    const messages = [];
    const conditionals = [];
    for (const bucket of buckets) {
      const cells = new Float64Array(bucket.size).fill(arithmetic.one);
      let least = 1;
      for (const family of bucket.tables) {
        const { start, strides } = this._tables.view(family, bucket.scope, codes);
        arithmetic.multiply(cells, arithmetic.source, lines(bucket.cards, strides, start), this.nClasses);
        least *= arithmetic.least(family);
        for (let c = 0; c < scores.length; c++) scores[c] += arithmetic.shift(family);
      }
      for (const k of bucket.messages) {
        const strides = stridesWithin(buckets[k].rest, bucket, buckets[k].cards, this.nClasses);
        arithmetic.multiply(cells, messages[k].cells, lines(bucket.cards, strides, 0), this.nClasses);
        least *= messages[k].least;
      }
      if (least < LEAST_PRODUCT) return null;
      const card = bucket.cards[bucket.cards.length - 1];
      const message = arithmetic.sumOut(cells, card, this.nClasses);
      messages.push({ cells: message, least: arithmetic.rescale(message, this.nClasses, scores) });
      conditionals.push(cells);
    }
    return { scores, conditionals };
  }

  // P(feature = value | what is known, class) of every feature of a group: an array (value, class) for each.
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
      const marginal = new Float64Array(card * n);
      addLines(marginal, lines(cards, [...rest.map(() => 0), n], 0), cells, n);
      found.push([feature, marginal]);
    }
    return found;
  }

  _width() {
    const nothing = new Int32Array(this.nFeatures).fill(UNKNOWN);
    let worst = { size: 0, features: [] };
    for (const group of this._groups(nothing, this._everything())) {
      const own = widest(this._buckets(group, nothing, this._rank));
      if (own.size > worst.size) worst = own;
    }
    return worst.size > this.limit ? { ...worst, limit: this.limit } : null;
  }
}
