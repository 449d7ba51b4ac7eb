"""What a comparison has if nothing is said, and the names that can be said; nothing is imported for
them.
"""

# The default of the classifier, then the best of each kind over all data sets
# (docs/results/default.md).
RECIPES = {
    "TAN-E-G+T": (
        "BayesNetClassifier() as it is, conditional likelihood with a pull to frequencies,"
        " calibrated"
    ),
    "NB-D-R": "naive Bayes by conditional likelihood with a ridge",
    "TAN-D-R": "a tree by conditional likelihood with a ridge",
    "TAN-CR-E-G": "greedy edges by classification rate, tables as in the default",
    "TAN-LAPLACE+T": "a tree by frequencies, calibrated",
    "NB-LAPLACE": "naive Bayes by frequencies",
}
DEFAULT_RECIPES = tuple(RECIPES)
BASELINES = {
    "lr": "logistic regression",
    "svm": "RBF support vector machine",
    "hgb": "histogram gradient boosting",
    "tree": "decision tree",
    "knn": "nearest neighbours",
    "cnb": "naive Bayes of categories",
}
DEFAULT_BASELINES = ("lr", "svm", "hgb", "tree", "knn")
SORTS = ("log_loss", "accuracy")
SETTINGS, ROWS, TABLE, PAGE, POSTERIOR = (
    "comparison.json",
    "rows.csv",
    "table.csv",
    "compare.html",
    "posterior",
)
