"""Does it help that values never seen together in training leave the word to P(feature | class)? TAN, both ways.

Backing off changes tables after they are learned, so that one fit serves both. Of normalised tables it changes rows
whose parents' values were never seen together: with one parent there are none in use, hence KDB-2 beside TAN.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from parameters import all_parts, judged, learned, structure_of
from protocol import Part
from sklearn.base import clone
from store import Results

from discbayes.counts import count_families
from discbayes.inference import log_joint
from discbayes.network import Structure
from discbayes.parameters import DiscriminativeCCBN, MaximumConditionalLikelihood, WeightedCCBN
from discbayes.parameters.backoff import back_off
from discbayes.parameters.fits import seen_cells
from discbayes.parameters.gradient import GENERATIVE

SETS = (
    "mofn-3-7-10", "chess", "vehicle", "soybean-large", "segment", "waveform-21", "spambase", "nursery", "satimage",
    "pendigits", "letter", "adult", "mnist14",
)  # fmt: skip
LEARNERS = {
    "d, λ = 1": DiscriminativeCCBN(penalty=1),
    "d": DiscriminativeCCBN(),
    "w": WeightedCCBN(),
    "w, λ = 1": WeightedCCBN(penalty=1),
    "CL, cross-tuned": MaximumConditionalLikelihood(stopping="cross-tuning"),
    "CL, cross-tuned, KDB-2": MaximumConditionalLikelihood(stopping="cross-tuning"),
}
EXTRA = {"d", "w, λ = 1", "CL, cross-tuned, KDB-2"}  # to tell the penalty from the tables
LONG = {"adult", "mnist14"}  # sets without the extra ones
LIMIT = {"mnist14": 100}  # iterations, where 1,000 take too long
FIELDS = (
    "set", "learner", "split", "touched", "iterations", "accuracy_off", "accuracy_on", "log_loss_off", "log_loss_on",
)  # fmt: skip
MEASURES = ("touched", "accuracy_off", "accuracy_on", "log_loss_off", "log_loss_on")
SUMMARY = ("set", "learner", "n", *MEASURES, "accuracy_gain", "log_loss_gain")
BY_LEARNER = (
    "learner", "sets", "touched_sets", "accuracy_better", "accuracy_worse", "mean_accuracy_gain", "log_loss_better",
    "log_loss_worse", "mean_log_loss_gain",
)  # fmt: skip


def run() -> None:
    runs = Results("backoff_runs", FIELDS)
    for name in SETS:
        for tag, learner in LEARNERS.items():
            if tag in EXTRA and name in LONG:
                continue
            structure = "KDB-2" if "KDB-2" in tag else "TAN-CMI"
            given = clone(learner).set_params(max_iter=LIMIT[name]) if name in LIMIT else clone(learner)
            done = {row["split"] for row in runs.rows if (row["set"], row["learner"]) == (name, tag)}
            for split, part in all_parts(name, done):
                runs.add(set=name, learner=tag, split=split, **both(part, structure_of(part, structure), given))
    summarise(runs)


def both(part: Part, structure: Structure, learner: Any) -> dict[str, float]:
    """Without and with backing off; ``touched`` is the percentage of test rows for which it makes a difference."""
    off, iterations = learned(part, structure, clone(learner).set_params(backoff=False))
    families = count_families(part.data, off.layout, part.counts, 1)
    generative = GENERATIVE[learner.generative]()
    on = back_off(off, families, seen_cells(part.data, families), generative, learner.parameterization == "e")
    differs = (log_joint(off, part.test_codes) != log_joint(on, part.test_codes)).any(axis=1)
    found: dict[str, float] = {"touched": 100 * float(differs.mean()), "iterations": iterations}
    for key, tables in (("off", off), ("on", on)):
        found[f"accuracy_{key}"], found[f"log_loss_{key}"] = judged(tables, part.test_codes, part.test_y)
    return found


def summarise(runs: Results) -> None:
    """Means over the splits; gains are positive where backing off is better."""
    summary = Results("backoff", SUMMARY, fresh=True)
    for name, tag in product(SETS, LEARNERS):
        if not runs.has(set=name, learner=tag):
            continue
        mean = {key: float(np.mean(runs.column(key, set=name, learner=tag))) for key in MEASURES}
        summary.add(
            set=name, learner=tag, n=len(runs.column("accuracy_on", set=name, learner=tag)), **mean,
            accuracy_gain=mean["accuracy_on"] - mean["accuracy_off"],
            log_loss_gain=mean["log_loss_off"] - mean["log_loss_on"],
        )  # fmt: skip
    by_learner(summary)


def by_learner(summary: Results) -> None:
    """On how many sets it is better or worse, and the mean gains."""
    totals = Results("backoff_by_learner", BY_LEARNER, fresh=True)
    for tag in LEARNERS:
        accuracy, loss, touched = (
            np.array(summary.column(key, learner=tag)) for key in ("accuracy_gain", "log_loss_gain", "touched")
        )
        totals.add(
            learner=tag, sets=accuracy.size, touched_sets=int((touched > 0).sum()),
            accuracy_better=int((accuracy > 0).sum()), accuracy_worse=int((accuracy < 0).sum()),
            mean_accuracy_gain=float(accuracy.mean()),
            log_loss_better=int((loss > 0).sum()), log_loss_worse=int((loss < 0).sum()),
            mean_log_loss_gain=float(loss.mean()),
        )  # fmt: skip
