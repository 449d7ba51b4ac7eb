"""Value of information: the expected reduction of entropy, and of cost, by each missing column.

The classifier gives p(c) = P(c | x) of the row, calibration and prior included. The network gives
the probability of each value v of a missing column in each class, P(v | x, c); both networks of a
log pool give it together, with their weights in the row. So P(v) = Σ_c p(c) P(v | x, c), and the
posterior after it is P(c | v) ∝ p(c) P(v | x, c). Then

- the gain is H(p) − Σ_v P(v) H(P(· | v)), in nats: the expected reduction of the entropy of the
  class, which is the mutual information of v and c;
- with costs, the cost gain is min_d Σ_c p(c) cost[c, d] − Σ_v P(v) min_d Σ_c P(c | v) cost[c, d]:
  the expected reduction of the expected cost of the best decision. Less the price of the column it
  is the net gain.

Neither is ever negative before the price is subtracted. Both look one question ahead: two columns
that are informative only together have a gain of zero each. Where ``missing="value"`` made
"missing" a value of a column, it is one of the possible values, and a row that has it is known in
that column. Where ``missing="auto"`` did, a column that is asked for is not missing, as the
generative network of the pool has observed values only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes._settings import float_or_nan
from discbayes._text import listed, text_table
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
    """The value of information of each missing column of a row, the most useful one first.

    Columns are ranked by their net gain where there are costs, and by their gain where there are
    none. ``discbayes.explanations.value_of_information`` defines both.

    Parameters
    ----------
    variables : tuple of Variable
        The missing columns.
    labels : ndarray
        The classes.
    posterior : ndarray of shape (n_classes,)
        P(c | x observed) now.
    joints : tuple of arrays
        P(v, c) of each missing column: a row for each of its values, a column for each class.
    gain : ndarray
        The expected reduction of the entropy of the class by each column, in nats.
    cost : float or None
        The expected cost of the best decision now; None without costs.
    cost_gain : ndarray or None
        The expected reduction of that cost by each column; None without costs.
    price : ndarray or None
        The price of each column; None without costs.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y)
    >>> information = clf.value_of_information({"petal width (cm)": 1.7})
    >>> information.names[0], round(float(information.share[0]), 2)
    ('petal length (cm)', 0.26)
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
        """The expected reduction of the entropy, as a share of it."""
        return self.gain / self.entropy if self.entropy > 0 else np.zeros_like(self.gain)

    def importances(self, names: Sequence[str]) -> np.ndarray:
        """Return the gains of some columns as shares of their sum.

        Parameters
        ----------
        names : sequence of str
            Columns; those that are not missing have no gain.

        Returns
        -------
        ndarray of shape (n_columns,)
            The shares, in the order of the names; zeros if there is no gain at all.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("nb", "map").fit(iris.X, iris.y)
        >>> clf.value_of_information({}).importances(clf.domain_.names).round(2)
        array([0.17, 0.1 , 0.36, 0.36])
        """
        gains = dict(zip(self.names, self.gain.tolist(), strict=True))
        found = np.array([gains.get(name, 0.0) for name in names])
        total = found.sum()
        return found / total if total > 0 else found

    @property
    def net_gain(self) -> np.ndarray | None:
        """The cost gain less the price; None without costs."""
        return self._in_costs.get("net_gain")

    @property
    def _in_costs(self) -> dict[str, np.ndarray]:
        """The cost gain of the columns, their prices, and the difference; empty without costs."""
        if self.cost_gain is None or self.price is None:
            return {}
        net = self.cost_gain - self.price
        return {"cost_gain": self.cost_gain, "price": self.price, "net_gain": net}

    @property
    def worth(self) -> np.ndarray:
        """The numbers that rank the columns: the net gain where there are costs, else the gain."""
        return self.gain if self.net_gain is None else self.net_gain

    @property
    def best(self) -> str | None:
        """The column to ask for; None where no column is informative, or worth its price."""
        return self.names[0] if self.names and self.worth[0] > 0 else None

    def answers(self, name: str, library: bool | str = "auto") -> Any:
        """Return the possible values of a column, their probabilities, and P(c) after each.

        Parameters
        ----------
        name : str
            A missing column.
        library : str or bool, default="auto"
            Frame library ("pandas", "polars" or "pyarrow"); the first that is installed by default.

        Returns
        -------
        frame
            A row for each value: "value", "probability" and a column for each class.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y)
        >>> information = clf.value_of_information({"petal width (cm)": 1.7})
        >>> information.answers("petal length (cm)", "pandas")["value"].tolist()
        ['< 2.45', '[2.45, 4.75)', '>= 4.75']
        """
        if name not in self.names:
            raise ValueError(
                f"{name!r} is not one of the missing columns, {listed(self.names, 20)}"
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
        """Return a frame with a row for each missing column, the most useful one first.

        Parameters
        ----------
        library : str or bool, default="auto"
            Frame library ("pandas", "polars" or "pyarrow"); the first that is installed by default.

        Returns
        -------
        frame
            The columns "column", "gain" and "share", with costs also "cost_gain", "price" and
            "net_gain".

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y)
        >>> information = clf.value_of_information({"petal width (cm)": 1.7})
        >>> information.to_frame("pandas").columns.tolist()
        ['column', 'gain', 'share']
        """
        names = np.array(self.names, dtype=object)
        columns = {"column": names, "gain": self.gain, "share": self.share, **self._in_costs}
        return make_frame(columns, library)

    def text(self, most: int = 10) -> str:
        """Return the column to ask for next and a table of the missing columns.

        Parameters
        ----------
        most : int, default=10
            Number of columns to list.

        Returns
        -------
        str
            The text.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y)
        >>> print(clf.value_of_information({"petal width (cm)": 1.7}).text().splitlines()[1])
        ask for petal length (cm)
        """
        check_most(most)
        place = int(self.posterior.argmax())
        probability = probability_in_words(self.posterior, place)
        now = f"now: {self.labels[place]} with the probability {probability}"
        cost = "" if self.cost is None else f", expected cost {self.cost:.4g}"
        lines = [f"{now}, entropy {self.entropy:.3g} nats{cost}"]
        if not self.names:
            return "\n".join([*lines, "nothing is missing, so that there is nothing to ask"])
        lines.append(self._nothing() if self.best is None else f"ask for {self.best}")
        lines.append(text_table(*self._table(most)))
        if len(self.names) > most:
            lines.append(f"and {len(self.names) - most} more")
        return "\n".join(lines)

    def _nothing(self) -> str:
        if self.cost_gain is None:
            return "no column is informative by itself"
        if self.cost_gain.any():
            return "no column is worth its price"
        return "no column reduces the expected cost by itself"

    def _table(self, most: int) -> tuple[list[str], list[list[str]]]:
        header = ["column", "gain", "of the entropy"]
        columns = [self.names, _numbers(self.gain), [f"{share:.1%}" for share in self.share]]
        if self._in_costs:
            header += ["saves", "price", "net"]
            columns += map(_numbers, self._in_costs.values())
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
    """Return the value of information of each missing feature of one row of codes."""
    domain = beliefs.network.domain
    posterior = beliefs.posterior(codes)[0]
    found = beliefs.missing_posteriors(codes)
    missing = list(found)
    joints = [posterior * shares for shares in found.values()]
    gain = np.array([_gain(posterior, joint) for joint in joints])
    matrix = None if costs is None else cost_matrix(costs, beliefs.labels)
    price = column_prices(prices, domain.names, matrix)[missing]
    cost = saved = None
    worth = gain
    if matrix is not None:
        cost = float((posterior @ matrix).min())
        saved = np.array([_saved(posterior, joint, matrix) for joint in joints])
        worth = saved - price
    order = np.lexsort((np.arange(len(missing)), -gain.round(_DIGITS), -worth.round(_DIGITS)))
    return Information(
        tuple(domain.features[missing[k]] for k in order),
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
    """Return the mutual information of v and c, without the difference of two entropies."""
    value, c = np.nonzero(joint)
    mass = joint[value, c]
    gain = float((mass * (np.log(mass / joint.sum(axis=1)[value]) - np.log(posterior[c]))).sum())
    return gain if gain > _NOTHING else 0.0


def _saved(posterior: np.ndarray, joint: np.ndarray, costs: np.ndarray) -> float:
    """Return the expected reduction of the least expected cost."""
    saved = float((posterior @ costs).min() - (joint @ costs).min(axis=1).sum())
    return saved if saved > 1e-12 * float((posterior @ np.abs(costs)).max()) else 0.0


def column_prices(
    prices: Mapping[Any, Any] | None, names: list[str], costs: np.ndarray | None
) -> np.ndarray:
    """Return the price of every column; those that are not named cost nothing."""
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
    places = positions(prices, names, "prices names")
    for place, (name, price) in zip(places, prices.items(), strict=True):
        found[place] = float_or_nan(price)
        if not 0 <= found[place] < np.inf:
            raise ValueError(
                f"prices says {price!r} for {name!r}: it must be a finite number that is not"
                " negative"
            )
    return found
