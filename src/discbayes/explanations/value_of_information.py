"""What to ask next: what the value of each missing column is expected to tell of the class, and to
save.

The classifier says p(c) = P(c | x) of the row, calibration and prior included. The network says how
probable each value v of a missing column is in each class, P(v | x, c). Together they give P(v) =
Σ_c p(c) P(v | x, c) and what would be believed after it, P(c | v) ∝ p(c) P(v | x, c). Then

- the gain is H(p) − Σ_v P(v) H(P(· | v)), in nats: the entropy of the class that is expected to go;
- with costs, what is saved is min_d Σ_c p(c) cost[c, d] − Σ_v P(v) min_d Σ_c P(c | v) cost[c, d]:
  by how much the expected cost of the best decision is expected to fall. Less the price of the
  column it is the net gain.

Neither is ever negative before the price is taken off. Both look one question ahead: two columns
that tell something together only have a gain of zero each. Where ``missing="value"`` made "missing"
a value of a column, it is one of the values that may come, and a row that has it is known in that
column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes._text import text_table
from discbayes.calibration import CalibratedPosterior
from discbayes.costs import cost_matrix
from discbayes.data import Variable
from discbayes.data.frames import free_name, make_frame
from discbayes.data.mappings import positions
from discbayes.explanations.wording import check_most, probability_in_words

_NOTHING = 1e-13  # a gain below it is rounding
_DIGITS = 12  # gains that agree in so many are equal


@dataclass(frozen=True, eq=False)
class Information:
    """What is expected of asking for each missing column of a row; the most useful one comes first.

    Useful is what has a large net gain where there are costs, and a large gain where there are
    none. How they are defined stands at the top of ``discbayes.explanations.value_of_information``.

    Attributes
    ----------
    names : list of str
        The missing columns.
    gain : ndarray
        The entropy of the class, in nats, that each is expected to take away.
    share : ndarray
        The same as a share of ``entropy``.
    cost_gain, price, net_gain : ndarray or None
        What each is expected to save, what it costs, and the difference; None without costs.
    worth : ndarray
        What they are ranked by: the net gain where there are costs, else the gain.
    best : str or None
        The column to ask for; None where none has a worth above zero.
    entropy : float
        The entropy of the class now.
    cost : float or None
        The expected cost of the best decision now.
    posterior : ndarray of shape (n_classes,)
        P(c | x observed) now.
    labels : ndarray
        The classes.
    joints : tuple of arrays
        P(v, c) of each missing column: a row for each of its values, a column for each class.
    """

    variables: tuple[Variable, ...]
    labels: np.ndarray
    posterior: np.ndarray
    joints: tuple[np.ndarray, ...]
    gain: np.ndarray
    cost: float | None = None
    cost_gain: np.ndarray | None = None
    price: np.ndarray | None = None

    @property
    def names(self) -> list[str]:
        """The missing columns, the most useful one first."""
        return [variable.name for variable in self.variables]

    @property
    def entropy(self) -> float:
        """The entropy of the class now, in nats."""
        return _entropy(self.posterior)

    @property
    def share(self) -> np.ndarray:
        """The share of the entropy that is expected to go."""
        return self.gain / self.entropy if self.entropy > 0 else np.zeros_like(self.gain)

    @property
    def net_gain(self) -> np.ndarray | None:
        """What is saved less the price; None without costs."""
        return None if self.cost_gain is None or self.price is None else self.cost_gain - self.price

    @property
    def worth(self) -> np.ndarray:
        """What the columns are ranked by: the net gain where there are costs, else the gain."""
        return self.gain if self.net_gain is None else self.net_gain

    @property
    def best(self) -> str | None:
        """The column to ask for: None where nothing is missing, or nothing helps by itself, or is
        worth its price.
        """
        return self.names[0] if self.names and self.worth[0] > 0 else None

    def answers(self, name: str, library: bool | str = "auto") -> Any:
        """What may come of asking for a column: its values, how probable they are, and P(c) after
        each of them.
        """
        if name not in self.names:
            raise ValueError(
                f"{name!r} is none of the missing columns,"
                f" {', '.join(map(repr, self.names[:20])) or 'none'}"
            )
        place = self.names.index(name)
        joint = self.joints[place]
        probability = joint.sum(axis=1)
        after = joint / np.where(probability > 0, probability, np.nan)[:, None]
        columns = {
            "value": np.array(self.variables[place].labels, dtype=object),
            "probability": probability,
        }
        for label, column in zip(self.labels.tolist(), after.T, strict=True):
            columns[free_name(str(label), columns)] = column
        return make_frame(columns, library)

    def to_frame(self, library: bool | str = "auto") -> Any:
        """A line for each missing column, the most useful one first."""
        columns = {
            "column": np.array(self.names, dtype=object),
            "gain": self.gain,
            "share": self.share,
        }
        if self.cost_gain is not None and self.price is not None:
            columns |= {
                "cost_gain": self.cost_gain,
                "price": self.price,
                "net_gain": self.cost_gain - self.price,
            }
        return make_frame(columns, library)

    def text(self, most: int = 10) -> str:
        """What to ask for next, ``most`` columns of it, in words."""
        check_most(most)
        place = int(self.posterior.argmax())
        lines = [
            f"now: {self.labels[place]} with the probability"
            f" {probability_in_words(self.posterior, place)}, entropy {self.entropy:.3g} nats"
            + ("" if self.cost is None else f", expected cost {self.cost:.4g}")
        ]
        if not self.names:
            return "\n".join([*lines, "nothing is missing, so that there is nothing to ask"])
        if self.best is None:
            lines.append(self._nothing())
        else:
            lines.append(f"ask for {self.best}")
        lines.append(text_table(*self._table(most)))
        if len(self.names) > most:
            lines.append(f"and {len(self.names) - most} more")
        return "\n".join(lines)

    def _nothing(self) -> str:
        if self.cost_gain is None:
            return "no column helps by itself"
        return (
            "no column is worth its price"
            if self.cost_gain.any()
            else "no column alone would save anything"
        )

    def _table(self, most: int) -> tuple[list[str], list[list[str]]]:
        header, columns = ["column", "gain", "of the entropy"], [self.names, _numbers(self.gain)]
        columns.append([f"{share:.1%}" for share in self.share])
        if self.cost_gain is not None and self.price is not None:
            header += ["saves", "price", "net"]
            columns += [
                _numbers(part) for part in (self.cost_gain, self.price, self.cost_gain - self.price)
            ]
        return header, [list(row) for row in zip(*columns, strict=True)][:most]

    def __repr__(self) -> str:
        return self.text()


def _numbers(values: np.ndarray) -> list[str]:
    return [f"{value:.3g}" for value in values]


def value_of_information(
    beliefs: CalibratedPosterior,
    codes: np.ndarray,
    costs: Any = None,
    prices: Mapping[Any, Any] | None = None,
) -> Information:
    """What is expected of asking for each gap of one row of codes."""
    domain = beliefs.network.domain
    posterior = beliefs.posterior(codes)[0]
    found = beliefs.network.missing_posteriors_of(codes)
    gaps, joints = list(found), [posterior * shares for shares in found.values()]
    gain = np.array([_gain(posterior, joint) for joint in joints])
    matrix = None if costs is None else cost_matrix(costs, beliefs.labels)
    price = _prices(prices, domain.names, matrix)[gaps]
    cost = saved = None
    worth = gain
    if matrix is not None:
        cost = float((posterior @ matrix).min())
        saved = np.array([_saved(posterior, joint, matrix) for joint in joints])
        worth = saved - price
    order = np.lexsort((np.arange(len(gaps)), -gain.round(_DIGITS), -worth.round(_DIGITS)))
    return Information(
        tuple(domain.features[gaps[k]] for k in order),
        beliefs.labels,
        posterior,
        tuple(joints[k] for k in order),
        gain[order],
        cost,
        None if saved is None else saved[order],
        None if saved is None else price[order],
    )


def _entropy(shares: np.ndarray) -> float:
    positive = shares[shares > 0]
    return max(0.0, float(-(positive * np.log(positive)).sum()))


def _gain(posterior: np.ndarray, joint: np.ndarray) -> float:
    """The information that v and c have of each other: the entropy that goes, without the
    difference of two sums.
    """
    value, c = np.nonzero(joint)
    mass = joint[value, c]
    gain = float((mass * (np.log(mass / joint.sum(axis=1)[value]) - np.log(posterior[c]))).sum())
    return gain if gain > _NOTHING else 0.0


def _saved(posterior: np.ndarray, joint: np.ndarray, costs: np.ndarray) -> float:
    """By how much the least expected cost falls."""
    saved = float((posterior @ costs).min() - (joint @ costs).min(axis=1).sum())
    return saved if saved > 1e-12 * float((posterior @ np.abs(costs)).max()) else 0.0


def _prices(
    prices: Mapping[Any, Any] | None, names: list[str], costs: np.ndarray | None
) -> np.ndarray:
    """The price of every column; those that are not named cost nothing."""
    found = np.zeros(len(names))
    if prices is None:
        return found
    if costs is None:
        raise ValueError(
            "prices are in the unit of costs, and there are none: give costs as well, 1 -"
            " np.eye(n_classes) for example, where every mistake costs 1"
        )
    if not isinstance(prices, Mapping):
        raise ValueError(f"prices={prices!r} must be a mapping of column names to prices")
    for place, (name, price) in zip(
        positions(prices, names, "prices names"), prices.items(), strict=True
    ):
        found[place] = _price(name, price)
    return found


def _price(name: Any, price: Any) -> float:
    try:
        number = float(price)
    except (TypeError, ValueError):
        number = np.nan
    if not (np.isfinite(number) and number >= 0):
        raise ValueError(
            f"prices says {price!r} for {name!r}: it must be a finite number that is not negative"
        )
    return number
