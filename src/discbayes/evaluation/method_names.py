"""Names of methods and files of a comparison; a module without imports, for quick option lists."""

# The default of the classifier, then the best of each kind over all data sets
# (docs/results/default.md).
DEFAULT_METHOD = "default"
DEFAULT_NAME = "discbayes (default)"
RECIPES = {
    DEFAULT_METHOD: (
        "BayesNetClassifier() with no arguments: a network of two resolutions, weights of back-off"
        " levels by conditional likelihood, chosen by held-out rows"
    ),
    "TAN-E-G+T": (
        "a tree, conditional likelihood regularized towards the generative estimates, calibrated:"
        " the default of version 0.1"
    ),
    "NB-D-R": "naive Bayes by conditional likelihood with a ridge penalty",
    "TAN-D-R": "a tree by conditional likelihood with a ridge penalty",
    "TAN-CR-E-G": "greedy edges by accuracy, parameters as in TAN-E-G",
    "TAN-LAPLACE+T": "a tree with generative parameters, calibrated",
    "NB-LAPLACE": "naive Bayes with generative parameters",
}
DEFAULT_RECIPES = tuple(RECIPES)
# Of other libraries, which the extra ``peers`` installs.
PEERS = {
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "catboost": "CatBoost",
    "ebm": "explainable boosting machine",
}
BASELINES = {
    "lr": "logistic regression",
    "svm": "RBF support vector machine",
    "hgb": "histogram gradient boosting",
    "tree": "decision tree",
    "knn": "nearest neighbors",
    "cnb": "categorical naive Bayes",
    "rf": "random forest",
    **PEERS,
}
DEFAULT_BASELINES = ("lr", "svm", "hgb", "tree", "knn")
SORTS = ("log_loss", "accuracy")
# Files of the folder of a comparison.
SETTINGS = "comparison.json"
ROWS = "rows.csv"
TABLE = "table.csv"
PAGE = "compare.html"
POSTERIOR = "posterior"


def method_name(tag: str) -> str:
    """Return what a method is called beside its tag.

    >>> method_name("default"), method_name("TAN-MAP"), method_name("lr")
    ('discbayes (default)', 'discbayes', 'logistic regression')
    """
    if tag == DEFAULT_METHOD:
        return DEFAULT_NAME
    return BASELINES.get(tag, "discbayes")


def short_name(tag: str) -> str:
    """Return a name for one place, such as the axis of a plot: the default, or a tag.

    >>> short_name("default"), short_name("TAN-MAP")
    ('discbayes (default)', 'TAN-MAP')
    """
    return DEFAULT_NAME if tag == DEFAULT_METHOD else tag
