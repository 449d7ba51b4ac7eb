"""Estimators from a tag and options; an option without effect is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discbayes._deprecation import warn_renamed
from discbayes._settings import require_integer
from discbayes._text import nearest_first
from discbayes.classifier import BayesNetClassifier
from discbayes.parameters.cross_validated import CrossValidatedLearner
from discbayes.recipes.parsing import Recipe, parse

PARTS = ("structure", "parameters")


def recipe(tag: str, **options: Any) -> BayesNetClassifier:
    """Return the classifier of a tag: a recipe of the papers, or any structure × parameters.

    Parameters
    ----------
    tag : str
        A tag such as "TAN-OMI-CR-CL". ``recipes()`` lists those of the papers, and
        ``discbayes.recipes.parse`` describes all others.
    **options : dict
        Parameters of ``BayesNetClassifier`` (``n_jobs``, ``random_state``, ``missing``, …) and of
        the two learners by their names (``max_time``, ``lam``); a name that both learners have is
        written ``structure__start`` or ``parameters__start``. ``cv`` is the number of folds
        wherever the recipe uses folds: in the score of a search, in cross tuning, in the choice of
        λ and other hyperparameters, and in calibration. A search that maximizes the margin always
        chooses its λ by five folds.

    Returns
    -------
    BayesNetClassifier
        The classifier, not fitted.

    Raises
    ------
    ValueError
        If the tag is not a recipe, or an option is unknown or has no effect.

    See Also
    --------
    recipes : List the recipes of the papers.

    Examples
    --------
    >>> from discbayes import load_dataset, recipe
    >>> iris = load_dataset("iris")
    >>> clf = recipe("TAN-OMI-CR", random_state=0).fit(iris.X, iris.y)
    >>> round(float(clf.score(iris.X, iris.y)), 2)
    0.96
    >>> recipe("NB-MM", cv=3, lam=[0.1, 0.5]).parameters
    MaxMargin(lam=[0.1, 0.5], n_folds=3)
    """
    parsed = parse(tag)
    made = BayesNetClassifier(
        parsed.structure, parsed.parameters, **{"calibrate": None, **parsed.options}
    )
    given = {_new_name(name): value for name, value in options.items() if name != "cv"}
    where = {name: _place(parsed, made, name) for name in given}
    made.set_params(**{where[name]: value for name, value in given.items()})
    if "cv" in options:
        _set_folds(parsed, made, where, options["cv"])
    idle = _idle(made)
    for name, place in where.items():
        if place in idle:
            raise ValueError(f"{name}= changes nothing in {parsed.tag}: {idle[place]}")
    return made


def _new_name(option: str) -> str:
    """Return the name of an option, with a warning if it was renamed."""
    if option not in ("gaps", "parameters__gaps"):
        return option
    warn_renamed(f"the option {option}", "parameters__missing", stacklevel=5)
    return "parameters__missing"


def _place(parsed: Recipe, made: BayesNetClassifier, name: str) -> str:
    """Return the parameter of the estimator that an option sets."""
    if name in parsed.options:
        raise ValueError(f"{name}= is set by the tag {parsed.tag} already: leave out one of them")
    own = [key for key in made.get_params(deep=False) if key not in PARTS]
    if name in own:
        return name
    known = {part: list(getattr(made, part).get_params(deep=False)) for part in PARTS}
    part, _, key = name.rpartition("__")
    parts = [p for p in PARTS if part in ("", p)]
    found = [f"{part}__{key}" for part in parts if key in known[part]]
    if name in PARTS or not found:
        raise ValueError(_unknown(parsed, name, own, known))
    if len(found) > 1:
        raise ValueError(
            f"{name}= is an option of both learners of {parsed.tag}: write {' or '.join(found)}"
        )
    return found[0]


def _unknown(parsed: Recipe, name: str, own: list[str], known: Mapping[str, list[str]]) -> str:
    taken = {"the classifier": own}
    taken |= {getattr(parsed, f"{part}_tag"): names for part, names in known.items()}
    listed = "; ".join(
        f"{what} takes {', '.join(nearest_first(name, names)) or 'nothing'}"
        for what, names in taken.items()
    )
    return (
        f"{name!r} is not an option of {parsed.tag}: {listed}; and cv is the number of folds, where"
        " there are some"
    )


# ---- folds


def _set_folds(
    parsed: Recipe, made: BayesNetClassifier, where: Mapping[str, str], n_folds: Any
) -> None:
    """Set the number of folds wherever folds are used."""
    require_integer("cv", n_folds, 2)
    places = _fold_places(made)
    if not places:
        raise ValueError(
            f"cv={n_folds!r}: nothing in {parsed.tag} is scored or chosen by folds; leave it out"
        )
    for name, place in where.items():
        if place in places:
            raise ValueError(f"cv= and {name}= both are the number of folds: give one of them")
    made.set_params(**dict.fromkeys(places, n_folds))


def _fold_places(made: BayesNetClassifier) -> list[str]:
    """Return the parameters that are numbers of folds in use."""
    evaluation = getattr(made.structure, "evaluation", None)
    in_use = {
        "structure__evaluation": evaluation is not None and not isinstance(evaluation, str),
        "parameters__n_folds": _has_folds(made.parameters),
        "calibrate_folds": made.calibrate is not None,
    }
    return [place for place, used in in_use.items() if used]


def _has_folds(learner: Any) -> bool:
    """Return whether a parameter learner tunes or chooses hyperparameters by folds."""
    if not isinstance(learner, CrossValidatedLearner):
        return False
    tuned = getattr(learner, "stopping", "convergence") != "convergence"
    return tuned or sum(map(len, learner._settings())) > 1


def _idle(made: BayesNetClassifier) -> dict[str, str]:
    """Return the parameters that have no effect beside the others, with the reason."""
    idle: dict[str, str] = {}
    folds, learner = _fold_places(made), made.parameters
    if "parameters__n_folds" not in folds:
        idle["parameters__n_folds"] = "its parameters are not tuned or chosen by folds"
    if "calibrate_folds" not in folds:
        idle["calibrate_folds"] = "its probabilities are not calibrated"
    if getattr(learner, "missing", None) == "available":
        reason = 'they are of EM, with missing="em"'
        idle |= {"parameters__max_iter": reason, "parameters__tol": reason}
    if isinstance(penalty := getattr(learner, "penalty", None), (int, float)) and not penalty:
        idle["parameters__towards"] = "there is no penalty"
    return idle
