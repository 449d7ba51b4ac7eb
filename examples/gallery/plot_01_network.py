"""
A network at a glance
=====================

What thirteen measurements of wine have to do with each other, once the grower is known. Edges are
as wide as what parent and child tell of each other; boxes are as dark as what the class tells of a
column.
"""

from discbayes import BayesNetClassifier, load_dataset, plot

data = load_dataset("wine")
clf = BayesNetClassifier().fit(data.X, data.y)
ax = plot.network(clf)

# %%
# The same as text. How many parents a column may have was chosen by held-out rows.

print(clf.history_[0]["chosen"])
for parent, child in clf.network_.edges():
    print(f"{parent} -> {child}")
