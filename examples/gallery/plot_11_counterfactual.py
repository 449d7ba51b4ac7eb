"""
What would change the decision?
===============================

The fewest changes of a row that lead to another class. One and two changes are proven to be the
fewest: all of them are tried.
"""

import numpy as np
from matplotlib import pyplot as plt

from discbayes import BayesNetClassifier, load_dataset

data = load_dataset("iris")
clf = BayesNetClassifier("tan", "hybrid").fit(data.X, data.y)
found = clf.counterfactual(data.X.iloc[[60]], target="virginica")
print(found)

# %%
# The probabilities now, and with the changes:

figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
places = np.arange(len(found.labels))
ax.bar(places - 0.2, found.posterior_before, 0.4, label="now")
changes = ", ".join(f"{name} {to}" for name, _, to in found.changes)
ax.bar(places + 0.2, found.posterior_after, 0.4, label=changes)
ax.set_xticks(places, found.labels)
ax.set_ylabel("probability")
ax.legend()
plt.show()
