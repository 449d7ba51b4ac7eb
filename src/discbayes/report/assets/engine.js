'use strict';

/*
 * Exact inference in the page: what a Bayesian network classifier says of a row in which anything may be unknown.
 *
 * Codes: code k of a feature is its k-th value, -1 is unknown. Tables are one flat array in the layout of the library:
 * the table of feature i with parents p1 .. pk has the axes (p1, ..., pk, i, class), the class innermost.
 *
 * A log-joint, log P(class, what is known), has two parts. Families (a feature with its parents) that are known as a
 * whole are read. Unknown features are summed out: those that hang together are a group, and a group is eliminated
 * feature by feature. A bucket is the product of all factors that contain the feature, over the feature and its rest
 * (neighbours that are eliminated later); its sum over the feature is the message to the bucket of the first of them.
 * A bucket divided by its message is P(feature | rest, what is known, class), so that a second pass in the opposite
 * order has the probabilities of every unknown feature.
 *
 * Products stay off the log scale, each class of a message scaled to a largest entry of one. Where a positive product
 * could leave the range of a double, the group is done again on the log scale.
 */
const DiscBayes = (() => {
  const UNKNOWN = -1;
  const LEAST_LOG_THETA = -700; // as in the library: where a feature is summed out, a smaller entry counts as this
  const LEAST_PRODUCT = 1e-200; // of positive factors: far from the end of the doubles, where digits get lost
  const FARTHEST = 1e9; // stands for infinite log odds in a calibration
  const MOST_REMEMBERED = 4096; // groups whose sums are kept

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

    /* P(class), which is what is said of a row that is impossible in every class. */
    prior() {
      return normalizedLogs(this.logPrior).map(Math.exp);
    }

    /* The table of a feature: at(codes of its parents, its own code, class) is a probability. */
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

    /* P(class | what is known), as predict_proba gives it. */
    posterior(codes) {
      return this._logPosterior(this._checked(codes)).map(Math.exp);
    }

    /*
     * What each known value changes in the log odds of each class against the rest, when features become known one
     * after the other, parents first. base and all contributions add up to log_odds. To values that are impossible in
     * every class nothing is due; odds that are infinite stay so, and what becomes known afterwards changes nothing.
     */
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

    /* How much of the entropy of the class, in nats, knowing each unknown feature is expected to take away. */
    information(codes) {
      const known = this._checked(codes);
      const shares = this._logPosterior(known).map(Math.exp);
      const items = [];
      for (const group of this._groups(known, this._everything())) {
        const plan = this._plan(group, known);
        for (const [feature, marginal] of this._marginals(plan, known)) {
          items.push({ feature, gain: gainOf(shares, marginal) });
        }
      }
      items.sort((a, b) => b.gain - a.gain || a.feature - b.feature);
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

    /* With normalised tables, unknown features sum to one unless something below them is known. */
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

    /* The unknown features that hang together: the features of each group, and the families that contain them. */
    _groups(codes, needed) {
      const seen = new Uint8Array(codes.length);
      const groups = [];
      for (let i = 0; i < codes.length; i++) {
        if (needed[i] && codes[i] === UNKNOWN && !seen[i]) groups.push(this._reached([i], codes, needed, seen));
      }
      return groups;
    }

    /* All unknown features that some of them reach through families; a family is listed with its first feature. */
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

    /* The known features, earlier in the order, that a feature depends on once the class is known. */
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

    /* The sum over a group, log scale, one number for each class; the same group is asked for again and again. */
    _sumOf(group, codes) {
      let key = '';
      for (const family of group.families) {
        key += `${family}:${codes[family]}`;
        for (const parent of this.parents[family]) key += `,${codes[parent]}`;
        key += ';';
      }
      let found = this._sums.get(key);
      if (found === undefined) {
        found = this._eliminated(this._plan(group, codes), codes).scores;
        if (this._sums.size >= MOST_REMEMBERED) this._sums.clear();
        this._sums.set(key, found);
      }
      return found;
    }

    /* The buckets of a group in the order of elimination; an error where one has too many cells. */
    _plan(group, codes) {
      let buckets = this._buckets(group, codes, this._rank);
      if (widest(buckets).size > this.limit) {
        const families = group.families.map((i) => [...this.parents[i], i].filter((j) => codes[j] === UNKNOWN));
        buckets = this._buckets(group, codes, ranks(eliminationOrder(families)));
      }
      const { size, features } = widest(buckets);
      if (size > this.limit) {
        const listed = features.slice(0, 12).map((i) => this.names[i]).join(', ') + (features.length > 12 ? ', …' : '');
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

    /* Messages of all buckets, the buckets as conditional probabilities, and the sum over all of the group. */
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

    /* P(feature = value | what is known, class) of every feature of a group: an array (value, class) for each. */
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

  /* All tables: log θ as it is, what sums over unknown features take instead, and where the cells stand. */
  class Tables {
    constructor(model, texts) {
      const { nClasses, parents, labels, classChild } = model;
      const cards = labels.map((list) => list.length);
      this.nClasses = nClasses;
      this.parents = parents;
      this.strides = parents.map((group, i) => stridesOf([...group, i].map((j) => cards[j]), nClasses));
      const sizes = parents.map((group, i) => group.reduce((cells, j) => cells * cards[j], cards[i] * nClasses));
      this.offsets = sizes.map((_, i) => sum(sizes.slice(0, i)));
      this.logTheta = new Float64Array(sum(sizes));
      texts.forEach((text, i) => {
        const own = this.logTheta.subarray(this.offsets[i], this.offsets[i] + sizes[i]);
        own.set(classChild[i] ? decoded(text) : repeated(decoded(text), nClasses));
      });
      this.held = model.normalized ? this.logTheta.map(heldLog) : this.logTheta;
      this.shifts = sizes.map((size, i) => (model.normalized ? 0 : finiteMax(this._own(this.held, i, size))));
      this.theta = new Float64Array(this.held.length);
      this.least = sizes.map((size, i) => this._exponentiate(i, size));
    }

    _own(flat, i, size) {
      return flat.subarray(this.offsets[i], this.offsets[i] + size);
    }

    /* Fill in θ = exp(log θ - shift) of a feature; its smallest entry is zero where a positive one is lost. */
    _exponentiate(i, size) {
      const logarithms = this._own(this.held, i, size);
      const theta = this._own(this.theta, i, size);
      let least = 1;
      for (let k = 0; k < size; k++) {
        theta[k] = Math.exp(logarithms[k] - this.shifts[i]);
        if (logarithms[k] > -Infinity && theta[k] < least) least = theta[k];
      }
      return least;
    }

    /* Add log θ of a family that is known as a whole. */
    addTo(scores, i, codes) {
      const { start } = this.view(i, [], codes);
      for (let c = 0; c < scores.length; c++) scores[c] += this.logTheta[start + c];
    }

    /* Where the table of a family starts, given what is known, and its strides along the features of a scope. */
    view(i, scope, codes) {
      const own = this.strides[i];
      const parents = this.parents[i];
      const strides = new Array(scope.length).fill(0);
      let start = this.offsets[i];
      for (let k = 0; k <= parents.length; k++) {
        const member = k < parents.length ? parents[k] : i;
        if (codes[member] === UNKNOWN) strides[scope.indexOf(member)] = own[k];
        else start += codes[member] * own[k];
      }
      return { start, strides };
    }
  }

  // ---- arithmetic on lines: the cells of one combination of values, one for each class

  /* Off the log scale. */
  function plain(tables) {
    return {
      one: 1,
      source: tables.theta,
      least: (family) => tables.least[family],
      shift: (family) => tables.shifts[family],
      multiply(cells, source, starts, n) {
        for (let line = 0, at = 0; line < starts.length; line++) {
          for (let from = starts[line], end = at + n; at < end;) cells[at++] *= source[from++];
        }
      },
      /* The sums over the innermost feature; the cells become conditional probabilities. */
      sumOut(cells, card, n) {
        const message = new Float64Array(cells.length / card);
        for (let line = 0, from = 0; from < cells.length; line += n) {
          const first = from;
          for (let v = 0; v < card; v++) for (let c = 0; c < n; c++) message[line + c] += cells[from++];
          for (let k = first; k < from;) {
            for (let c = 0; c < n; c++, k++) if (cells[k] > 0) cells[k] /= message[line + c];
          }
        }
        return message;
      },
      /* The largest entry of each class becomes one, and its logarithm goes to the scores; the smallest is returned. */
      rescale(message, n, scores) {
        let least = 1;
        for (let c = 0; c < n; c++) {
          let most = 0;
          for (let k = c; k < message.length; k += n) if (message[k] > most) most = message[k];
          scores[c] += Math.log(most);
          for (let k = c; k < message.length; k += n) {
            message[k] = most > 0 ? message[k] / most : 1;
            if (message[k] > 0 && message[k] < least) least = message[k];
          }
        }
        return least;
      },
    };
  }

  /* The same on the log scale, where nothing can get lost. */
  function logs(tables) {
    return {
      one: 0,
      source: tables.held,
      least: () => 1,
      shift: () => 0,
      multiply(cells, source, starts, n) {
        for (let line = 0, at = 0; line < starts.length; line++) {
          for (let from = starts[line], end = at + n; at < end;) cells[at++] += source[from++];
        }
      },
      sumOut(cells, card, n) {
        const message = new Float64Array(cells.length / card);
        for (let line = 0; line < message.length; line++) {
          const first = Math.floor(line / n) * card * n + (line % n);
          const end = first + card * n;
          let most = -Infinity;
          for (let k = first; k < end; k += n) if (cells[k] > most) most = cells[k];
          let total = 0;
          if (most > -Infinity) for (let k = first; k < end; k += n) total += Math.exp(cells[k] - most);
          message[line] = most + Math.log(total);
          for (let k = first; k < end; k += n) cells[k] = cells[k] > -Infinity ? Math.exp(cells[k] - message[line]) : 0;
        }
        return message;
      },
      rescale(message, n, scores) {
        for (let c = 0; c < n; c++) {
          let most = -Infinity;
          for (let k = c; k < message.length; k += n) if (message[k] > most) most = message[k];
          scores[c] += most;
          for (let k = c; k < message.length; k += n) message[k] = most > -Infinity ? message[k] - most : 0;
        }
        return 1;
      },
    };
  }

  /* Where the lines of a factor start, one for each combination of values along axes of these cards and strides. */
  function lines(cards, strides, start) {
    let found = Int32Array.of(start);
    cards.forEach((card, axis) => {
      const wider = new Int32Array(found.length * card);
      for (let k = 0, at = 0; k < found.length; k++) {
        for (let v = 0; v < card; v++) wider[at++] = found[k] + v * strides[axis];
      }
      found = wider;
    });
    return found;
  }

  /* The strides of a message over `rest`, whose sizes lead `cards`, along the scope of another bucket. */
  function stridesWithin(rest, bucket, cards, nClasses) {
    const own = stridesOf(cards.slice(0, -1), nClasses);
    return bucket.scope.map((i) => (rest.includes(i) ? own[rest.indexOf(i)] : 0));
  }

  function stridesOf(cards, nClasses) {
    const strides = new Array(cards.length);
    for (let k = cards.length - 1, cells = nClasses; k >= 0; k--) {
      strides[k] = cells;
      cells *= cards[k];
    }
    return strides;
  }

  function addLines(total, starts, cells, n) {
    for (let line = 0, from = 0; line < starts.length; line++) {
      for (let at = starts[line], end = at + n; at < end;) total[at++] += cells[from++];
    }
  }

  /* Multiply all values of the innermost feature by the weight of their line. */
  function weigh(cells, weight, card, n) {
    for (let line = 0, at = 0; line < weight.length; line += n) {
      for (let v = 0; v < card; v++) for (let c = 0; c < n; c++) cells[at++] *= weight[line + c];
    }
  }

  // ---- orders of elimination

  /* All features of some families in the order of least fill-in, then of fewest neighbours, then the first. */
  function eliminationOrder(families) {
    const near = new Map();
    for (const family of families) {
      for (const a of family) {
        if (!near.has(a)) near.set(a, new Set());
        for (const b of family) if (b !== a) near.get(a).add(b);
      }
    }
    const left = new Set([...near.keys()].sort((a, b) => a - b));
    const fills = new Map();
    const order = [];
    while (left.size) {
      let best = -1;
      for (const i of left) {
        if (!fills.has(i)) fills.set(i, fillIn(near, i));
        const change = best < 0 ? -1 : fills.get(i) - fills.get(best) || near.get(i).size - near.get(best).size;
        if (change < 0) best = i;
      }
      for (const a of near.get(best)) {
        near.get(a).delete(best);
        for (const b of near.get(best)) if (b !== a) near.get(a).add(b);
      }
      for (const a of near.get(best)) {
        fills.delete(a);
        for (const b of near.get(a)) fills.delete(b);
      }
      left.delete(best);
      order.push(best);
    }
    return order;
  }

  function fillIn(near, i) {
    const around = [...near.get(i)];
    let missing = 0;
    around.forEach((a, k) => { for (let m = 0; m < k; m++) if (!near.get(a).has(around[m])) missing++; });
    return missing;
  }

  function ranks(order) {
    return new Map(order.map((i, k) => [i, k]));
  }

  function widest(buckets) {
    const worst = buckets.reduce((a, b) => (b.size > a.size ? b : a));
    return { size: worst.size, features: worst.scope.slice().sort((a, b) => a - b) };
  }

  function childrenOf(parents) {
    const children = parents.map(() => []);
    parents.forEach((group, i) => { for (const parent of group) children[parent].push(i); });
    return children;
  }

  // ---- from a log-joint to probabilities

  function isPossible(scores) {
    return scores.some((score) => score > -Infinity);
  }

  function calibrationOf(description) {
    if (description === null) return normalizedLogs;
    if (description.kind === 'temperature') {
      return (scores) => {
        const most = max(scores);
        return normalizedLogs(scores.map((score) => (score - most) / description.temperature));
      };
    }
    const thresholds = description.log_odds.map(decoded);
    const values = description.probabilities.map(decoded);
    return (scores) => {
      const odds = logOdds(scores).map((x) => Math.min(Math.max(x, -FARTHEST), FARTHEST));
      const shares = scores.map((s, c) => (s === -Infinity ? 0 : interpolated(odds[c], thresholds[c], values[c])));
      const total = sum(shares);
      return total === 0 ? normalizedLogs(scores) : shares.map((share) => Math.log(share / total));
    };
  }

  /* Linear between thresholds, constant beyond them. */
  function interpolated(x, thresholds, values) {
    const last = thresholds.length - 1;
    if (x <= thresholds[0]) return values[0];
    if (x >= thresholds[last]) return values[last];
    let low = 0;
    let high = last;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (thresholds[middle] <= x) low = middle;
      else high = middle;
    }
    const slope = (values[high] - values[low]) / (thresholds[high] - thresholds[low]);
    return slope * (x - thresholds[low]) + values[low];
  }

  function normalizedLogs(scores) {
    const total = logSum(scores);
    return scores.map((score) => score - total);
  }

  /* log P / (1 - P) of each class, exact also where P is 1 to the last digit. */
  function logOdds(scores) {
    return scores.map((score, c) => (score === -Infinity ? -Infinity : score - logSum(scores.filter((_, k) => k !== c))));
  }

  function logSum(numbers) {
    const most = max(numbers);
    return most === -Infinity ? most : most + Math.log(sum(numbers.map((number) => Math.exp(number - most))));
  }

  function entropyOf(shares) {
    return sum(shares.map((share) => (share > 0 ? -share * Math.log(share) : 0)));
  }

  /* The mutual information of the class, with these shares, and a feature, with these P(value | class). */
  function gainOf(shares, marginal) {
    const n = shares.length;
    let gain = 0;
    for (let line = 0; line < marginal.length; line += n) {
      let total = 0;
      for (let c = 0; c < n; c++) if (shares[c] > 0) total += shares[c] * marginal[line + c];
      for (let c = 0; c < n; c++) {
        const share = shares[c] > 0 ? shares[c] * marginal[line + c] : 0;
        if (share > 0) gain += share * Math.log(marginal[line + c] / total);
      }
    }
    return Math.max(0, gain);
  }

  // ---- numbers

  /* Numbers that are written as the base64 of their bytes, lowest byte first. */
  function decoded(text) {
    const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    return Float64Array.from({ length: bytes.length / 8 }, (_, k) => view.getFloat64(8 * k, true));
  }

  function repeated(numbers, times) {
    return Float64Array.from({ length: numbers.length * times }, (_, k) => numbers[Math.floor(k / times)]);
  }

  function heldLog(number) {
    return number === -Infinity ? number : Math.max(number, LEAST_LOG_THETA);
  }

  function finiteMax(numbers) {
    const most = max(numbers);
    return Number.isFinite(most) ? most : 0;
  }

  function max(numbers) {
    return numbers.reduce((a, b) => (b > a ? b : a), -Infinity);
  }

  function sum(numbers) {
    return numbers.reduce((a, b) => a + b, 0);
  }

  return { Model };
})();

if (typeof module !== 'undefined') module.exports = DiscBayes;
