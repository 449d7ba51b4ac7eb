"""
Watching a structure search
===========================

Edges are added as long as they raise the share of training rows that are classified right.
``history_`` has every step, with the score and the number of structures that were looked at; the
plot shows the stages of the fit.
"""

from discbayes import BayesNetClassifier, GreedyEdges, load_dataset, plot

data = load_dataset("tic-tac-toe")
clf = BayesNetClassifier(GreedyEdges("cr"), "map").fit(data.X, data.y)
ax = plot.history(clf)

# %%
# Each step of the search, as a record:

print(clf.history_[0])

# %%
# What it found. Who has won is a matter of three fields in a row, so fields have much to do with
# each other.

ax = plot.network(clf)
