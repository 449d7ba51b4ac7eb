"""
The numbers behind a column
===========================

A network is its tables. One of them as a picture: a row for each class and each value of the
parent, a column for each value. Below it the same column in each class, with its parent
marginalized. The tree has the few intervals of MDLP; the default has finer ones.
"""

from discbayes import BayesNetClassifier, load_dataset, plot

data = load_dataset("iris")
clf = BayesNetClassifier("tan", "hybrid").fit(data.X, data.y)
ax = plot.table(clf, "petal length (cm)")

# %%
# Numeric columns keep their axis: a bar is as wide as its interval.

ax = plot.class_bars(clf, "petal length (cm)")

# %%
# The fine intervals of the default, for comparison: neighboring ones are smoothed together.

default = BayesNetClassifier().fit(data.X, data.y)
ax = plot.class_bars(default, "petal length (cm)", fine=True)
