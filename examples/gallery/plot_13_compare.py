"""
Recipes side by side
====================

The same folds for all: three networks and logistic regression. Small dots are folds, large ones
their mean, and lines an interval that takes into account that training rows are shared.
"""

from discbayes import compare, load_dataset, plot

data = load_dataset("wine")
found = compare(data.X, data.y, ["default", "TAN-MAP", "NB-LAPLACE"], ["lr"], cv=5)
figure = plot.fold_dots(
    {
        "accuracy, %": {name: 100 * found.figures("accuracy", name) for name in found.methods},
        "log loss": {name: found.figures("log_loss", name) for name in found.methods},
    },
    bounds={"accuracy, %": (0, 100)},
)
