"""How far error bars, sets of classes and questionnaires keep what they say, on real tables.

    python benchmarks/decisions.py                 # all parts: some minutes
    python benchmarks/decisions.py bootstrap sets  # some of them

It prints a line for each data set. The folder of DISCBAYES_DATA has the data sets that are not in
the library.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.model_selection import train_test_split

from discbayes import BayesNetClassifier, inference, load_dataset
from discbayes.bayesnet import BayesNet
from discbayes.calibration import log_odds
from discbayes.data import Domain, Variable
from discbayes.evaluation.missing_masks import cell_masks
from discbayes.evaluation.quality import Quality
from discbayes.network import CPTs, Layout, Structure

TEN = (
    *("australian", "breast-cancer", "car", "chess", "diabetes"),
    *("german", "segment", "tic-tac-toe", "vehicle", "vote"),
)
FIVE = ("breast-cancer", "chess", "german", "vote", "wine")


def parts(name: str, share: float, seed: int = 0) -> tuple:
    """Training and other rows of a data set."""
    data = load_dataset(name)
    return train_test_split(data.X, data.y, test_size=share, random_state=seed, stratify=data.y)


def learned(X, y, *learners: str) -> BayesNetClassifier:
    """A fitted classifier."""
    return BayesNetClassifier(*learners, random_state=0).fit(X, y)


def sets() -> None:
    """Mean coverage of sets of 90 % over 100 splits, with 0, 30 and 60 % missing."""
    rng = np.random.default_rng(0)
    for name in TEN:
        X, rest, y, labels = parts(name, 0.6)
        clf = learned(X, y)
        codes = np.searchsorted(clf.classes_, labels)
        for share, mask in zip((0, 30, 60), cell_masks(rest.shape, (0, 30, 60), rng), strict=True):
            odds = log_odds(clf.predict_log_proba(rest.mask(mask)))
            own = odds[np.arange(codes.size), codes]
            shares, sizes = [], []
            for _ in range(100):
                order = rng.permutation(codes.size)
                cal, test = order[: codes.size // 2], order[codes.size // 2 :]
                k = int((cal.size + 1) * 0.1 + 1e-9)
                limit = np.sort(own[cal])[k - 1] if k else -np.inf
                shares.append((own[test] >= limit).mean())
                sizes.append((odds[test] >= limit).sum(axis=1).mean())
            covered, size = np.mean(shares), np.mean(sizes)
            print(f"{name:14} {share:2} % missing: {covered:.3f}, {size:.2f} classes")


def same_decision() -> None:
    """ECE of same-decision probabilities on rows with 30 to 90 % missing, over five splits."""
    rng = np.random.default_rng(0)
    for name in TEN:
        stated: dict[str, list] = {"raw": [], "calibrated": []}
        stayed, seconds, n_rows = [], 0.0, 0
        for seed in range(5):
            X, rest, y, labels = parts(name, 0.5, seed)
            held, test, _, _ = train_test_split(rest, labels, test_size=0.5, random_state=seed)
            held, test = held[:400], test[:400]
            clf = learned(X, y)
            asked = test.mask(rng.random(test.shape) < rng.choice([0.3, 0.6, 0.9], (len(test), 1)))
            stayed.append(clf.predict(asked) == clf.predict(test))
            start = time.process_time()
            stated["raw"].append(clf.same_decision(asked))
            seconds += time.process_time() - start
            n_rows += len(asked)
            stated["calibrated"].append(clf.same_decision(asked, held))
        same = np.concatenate(stayed)
        errors = [_ece(np.concatenate(found), same) for found in stated.values()]
        milliseconds = 1e3 * seconds / n_rows
        print(f"{name:14} ECE {errors[0]:.3f}, calibrated {errors[1]:.3f}", end=", ")
        print(f"stayed {same.mean():.3f}, {milliseconds:.2f} ms a row")


def _ece(stated: np.ndarray, same: np.ndarray) -> float:
    bins = np.minimum((stated * 10).astype(int), 9)
    return sum(abs((stated - same)[bins == k].sum()) for k in range(10)) / same.size


def coverage() -> None:
    """How often 90 % intervals of P(c | x) hold it, on random trees of known tables."""
    for n_features, n_rows in ((8, 300), (8, 1000), (8, 4000), (20, 1000)):
        found: dict[str, list[float]] = {"dirichlet": [], "bootstrap": []}
        for seed in range(8):
            rng = np.random.default_rng(seed)
            network = _random_tree(rng, n_features)
            codes, y = inference.sample(network.parameters, n_rows, rng)
            rows = inference.sample(network.parameters, 300, rng)[0]
            truth = inference.posterior(network.log_joint_of(rows), network.prior)
            X, test = (network.decode(one, "pandas") for one in (codes, rows))
            clf = BayesNetClassifier("tan", "map", domains=network.domain).fit(X, y)
            for kind, bars in (
                ("dirichlet", clf.dirichlet(n=100)),
                ("bootstrap", clf.bootstrap(X, y, n=100)),
            ):
                low, high = bars.interval(test)
                found[kind].append(((low <= truth) & (truth <= high)).mean())
        shown = ", ".join(f"{kind} {np.mean(shares):.3f}" for kind, shares in found.items())
        print(f"{n_features} columns, {n_rows} rows: {shown}")


def _random_tree(rng: np.random.Generator, n_features: int) -> BayesNet:
    parents = ((), *((int(rng.integers(i)),) for i in range(1, n_features)))
    values = ("a", "b", "c")
    columns = tuple(Variable(f"x{i}", "categorical", values) for i in range(n_features))
    layout = Layout(Structure(parents), np.full(n_features, 3), 2)
    theta = rng.standard_gamma(1.0, layout.size)
    prior = np.log(rng.dirichlet([5.0, 5.0]))
    tables = CPTs(layout, prior, np.log(theta / layout.row_totals(theta)))
    return BayesNet(Domain(columns, Variable("y", "categorical", (0, 1))), tables)


def accuracies() -> None:
    """How often 90 % intervals of the accuracy on a fold of 60 rows hold that on all others."""
    total = []
    for name in TEN:
        X, rest, y, labels = parts(name, 0.7)
        clf = learned(X, y, "tan", "map")
        codes = np.searchsorted(clf.classes_, labels)
        shares = clf.predict_proba(rest)
        right = shares.argmax(axis=1) == codes
        rng, held = np.random.default_rng(0), []
        for _ in range(300):
            fold = rng.permutation(codes.size)[:60]
            low, high = Quality(
                clf.classes_.tolist(), shares[fold], codes[fold]
            ).accuracy_interval()
            held.append(low <= right.mean() <= high)
        total.append(np.mean(held))
        print(f"{name:14} {np.mean(held):.3f}")
    print(f"mean {np.mean(total):.3f}")


def bootstrap() -> None:
    """The time of 200 refits of a tree on breast-cancer."""
    data = load_dataset("breast-cancer")
    clf = learned(data.X, data.y, "tan", "map")
    clf.bootstrap(data.X, data.y, n=2)
    start, cpu = time.perf_counter(), time.process_time()
    clf.bootstrap(data.X, data.y, n=200)
    print(
        f"{time.perf_counter() - start:.2f} s, {time.process_time() - cpu:.2f} s of the processor"
    )


def questionnaire() -> None:
    """Questions and accuracy of questionnaires at 0.003 a question, against asking everything."""
    for name in FIVE:
        X, rest, y, labels = parts(name, 0.4)
        rest, labels = rest[:300], labels[:300]
        for learners in (("tan", "hybrid"), ("auto", "auto")):
            tree = learned(X, y, *learners).questionnaire(prices=0.003, max_questions=30)
            asked, everything = tree.evaluate(rest, labels, "pandas").to_dict("records")
            print(f"{name:14} {'-'.join(learners):10} {asked['questions']:.1f} of"
                  f" {everything['questions']:.0f} columns, accuracy {asked['accuracy']:.3f}"
                  f" instead of {everything['accuracy']:.3f}")  # fmt: skip


PARTS: tuple[Callable[[], None], ...] = (
    *(bootstrap, accuracies, coverage, sets, same_decision, questionnaire),
)

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for part in PARTS:
        if part.__name__ in (sys.argv[1:] or [one.__name__ for one in PARTS]):
            print(f"\n{part.__name__}: {part.__doc__}", flush=True)
            part()
