"""What `BayesNetClassifier()` takes against LightGBM: raw frames, one thread each, and how good
both are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.metrics import accuracy_score, log_loss

from discbayes import BayesNetClassifier
from suite.data import Parts, raw
from suite.measure import Row, Skip, faster, noted, of, race, repeats

SETS = ("adult", "spambase", "letter", "usps")  # mnist14 takes more than ten minutes
REPEATS = 1  # ours takes up to some minutes
LEARNERS = {"default": BayesNetClassifier(n_jobs=1)}


def run(smoke: bool) -> Iterator[Row]:
    for name in SETS:
        yield from of(
            "default",
            *_compare(name, raw(name, True, smoke, as_frame=True), repeats(smoke, REPEATS)),
        )


def _compare(name: str, data: Parts, times: int) -> Iterator[Row]:
    """The time of a fit, and accuracy and log loss on rows that neither was learned from."""
    ours, peer = LEARNERS["default"], _lightgbm()
    train, test = _for_lightgbm(data.X), _for_lightgbm(data.X_test)
    fit = race(lambda: ours.fit(data.X, data.y), lambda: peer.fit(train, data.y), times=times)
    shares = ours.predict_proba(data.X_test), peer.predict_proba(test)
    guesses = ours.predict(data.X_test), peer.predict(test)
    size = f"{name} {data.X.shape[0]:,} x {data.X.shape[1]}"
    yield faster(f"default fit, {size}, vs LightGBM", *fit)
    right = (accuracy_score(data.y_test, guess) for guess in guesses)
    yield noted(f"default accuracy, {size}, vs LightGBM", *right, unit="")
    losses = (log_loss(data.y_test, share, labels=ours.classes_) for share in shares)
    yield noted(f"default log loss, {size}, vs LightGBM", *losses, unit="")


def _for_lightgbm(X: Any) -> Any:
    """The frame with text as categories, and plain names: those of spambase have signs that
    LightGBM refuses.
    """
    frame = X.astype(dict.fromkeys(X.select_dtypes(exclude="number"), "category"))
    return frame.set_axis([f"x{at}" for at in range(frame.shape[1])], axis=1)


def _lightgbm() -> Any:
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        raise Skip("lightgbm is not installed") from None
    return LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1)
