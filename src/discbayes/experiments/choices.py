"""What a comparison has if nothing is said, and the names that can be said; nothing is imported for them."""

DEFAULT_RECIPES = ("NB-MAP", "TAN-MAP", "KDB2-MAP", "TAN-MAP+T", "NB-D", "TAN-W", "TAN-MLBNSVM lam=1 gamma=5")
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
