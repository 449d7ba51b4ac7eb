"""
Rows that come in parts
=======================

``partial_fit`` adds the counts of each part. After every part the model is the same, to the bit, as
one that was fitted to all rows so far with the same cut points; the rows are not needed again.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.metrics import log_loss

from discbayes import BayesNetClassifier, load_dataset

data = load_dataset("waveform", n_samples=8000, random_state=0)
X_test, y_test = data.X[6000:], data.y[6000:]
clf, losses = BayesNetClassifier("tan", "map"), []
for start in range(0, 6000, 500):
    part = slice(start, start + 500)
    clf.partial_fit(data.X[part], data.y[part])
    losses.append(log_loss(y_test, clf.predict_proba(X_test)))

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.plot(500 * np.arange(1, len(losses) + 1), losses, marker="o")
ax.set_xlabel("rows so far")
ax.set_ylabel("log loss on new rows")
plt.show()

# %%
# The same as one fit on all rows, with the cut points of the first part:

whole = BayesNetClassifier("tan", "map", domains=clf.network_.domain).fit(
    data.X[:6000], data.y[:6000]
)
print(np.array_equal(whole.predict_proba(X_test), clf.predict_proba(X_test)))
