"""
Deciding by costs
=================

A missed tumour is worse than a false alarm, but how much worse? For each ratio the decisions of
least expected cost, from one and the same model.
"""

import numpy as np
from matplotlib import pyplot as plt

from discbayes import BayesNetClassifier, load_dataset

data = load_dataset("breast-cancer")
clf = BayesNetClassifier().fit(data.X[::2], data.y[::2])
X_test, sick = data.X[1::2], data.y[1::2] == "malignant"
ratios = np.array([1, 2, 5, 10, 20, 50, 100])
missed, false_positives = [], []
for ratio in ratios:
    costs = {"malignant": {"benign": float(ratio)}, "benign": {"malignant": 1.0}}
    predicted = clf.predict(X_test, costs=costs) == "malignant"
    missed.append(np.sum(sick & ~predicted))
    false_positives.append(np.sum(~sick & predicted))

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.plot(ratios, missed, marker="o", label="missed")
ax.plot(ratios, false_positives, marker="s", label="false positives")
ax.set_xscale("log")
ax.set_xlabel("cost of a missed tumor, in false positives")
ax.set_ylabel(f"of {sick.size} rows")
ax.legend()
plt.show()
