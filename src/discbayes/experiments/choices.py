"""What a comparison has if nothing is said, and the names that can be said; nothing is imported for them."""

# The default of the classifier, then the best of each kind over all data sets (docs/results/default.md).
DEFAULT_RECIPES = ("TAN-E-G+T", "NB-D-R", "TAN-D-R", "TAN-CR-E-G", "TAN-LAPLACE+T", "NB-LAPLACE")
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
SETTINGS, ROWS, TABLE, PAGE, POSTERIOR = "comparison.json", "rows.csv", "table.csv", "compare.html", "posterior"
