"""
Rows that do not belong
=======================

The network is a model of the whole table, so it can tell how unusual a row is. It is learned from
two of the three kinds of iris and looks at all of them: the third kind is more unusual than nearly
everything that the network would draw by itself.
"""

from matplotlib import pyplot as plt

from discbayes import BayesNetClassifier, load_dataset

data = load_dataset("iris")
known = data.y != "setosa"
clf = BayesNetClassifier("tan", "map", discretizer="equal-frequency").fit(
    data.X[known][::2], data.y[known][::2]
)
new = {"seen kinds, other rows": data.X[known][1::2], "setosa, never seen": data.X[~known]}

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for name, rows in new.items():
    ax.hist(clf.network_.novelty(rows), bins=20, range=(0, 1), alpha=0.6, density=True, label=name)
ax.set_xlabel("novelty: the share of drawn rows that are more probable")
ax.set_ylabel("density")
ax.legend()
plt.show()
