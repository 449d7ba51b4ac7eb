"""
Few rows, many rows
===================

Naive Bayes three times: with generative parameters, with parameters that maximize the conditional
likelihood, and with "hybrid" ones, which are regularized towards the generative estimates; and the
default. Generative parameters need few rows and stop getting better early; the discriminative ones
need more rows, and the regularization helps until there are enough.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.metrics import log_loss

from discbayes import BayesNetClassifier, DiscriminativeCCBN, load_dataset

data = load_dataset("waveform", n_samples=9000, random_state=0)
X_test, y_test = data.X[6000:], data.y[6000:]
models = {
    "generative": BayesNetClassifier("nb", "map"),
    "conditional likelihood": BayesNetClassifier("nb", DiscriminativeCCBN(penalty=0.01)),
    "regularized towards generative": BayesNetClassifier("nb", "hybrid", calibrate=None),
    "discbayes (default)": BayesNetClassifier(),
}
sizes = [50, 100, 200, 400, 800, 1600, 3200, 6000]

figure, axes = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
for name, clf in models.items():
    fitted = [clf.fit(data.X[:size], data.y[:size]).predict_proba(X_test) for size in sizes]
    right = [np.mean(clf.classes_[P.argmax(axis=1)] == y_test) for P in fitted]
    axes[0].plot(sizes, right, marker="o", label=name)
    axes[1].plot(sizes, [log_loss(y_test, P) for P in fitted], marker="o", label=name)
for ax, title in zip(axes, ("accuracy", "log loss"), strict=True):
    ax.set_xscale("log")
    ax.set_xlabel("training rows")
    ax.set_ylabel(title)
axes[1].set_yscale("log")
axes[0].legend()
plt.show()
