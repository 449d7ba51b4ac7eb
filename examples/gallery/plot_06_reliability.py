"""
Probabilities before and after calibration
==========================================

Points on the dotted line are what you want: of all rows that are given a probability of about 0.8,
eight in ten are right. Naive Bayes is far too sure; a tree with discriminative parameters is
better, and one number, the temperature, does the rest. The default is chosen by held-out rows.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.model_selection import train_test_split

from discbayes import BayesNetClassifier, load_dataset, plot

data = load_dataset("waveform", n_samples=12_000, random_state=0)
two = data.y != data.y[0]  # of the three kinds of waves
X, X_test, y, y_test = train_test_split(data.X[two], data.y[two], test_size=0.9, random_state=0)
models = {
    "naive Bayes": BayesNetClassifier("nb", "map"),
    "tree, not calibrated": BayesNetClassifier("tan", "hybrid", calibrate=None),
    "tree, temperature": BayesNetClassifier("tan", "hybrid"),
    "discbayes (default)": BayesNetClassifier(),
}

figure, axes = plt.subplots(2, 2, figsize=(7, 7.2), layout="constrained")
for ax, (name, clf) in zip(axes.flat, models.items(), strict=True):
    clf.fit(X, y)
    codes = np.searchsorted(clf.classes_, y_test)
    plot.reliability_diagram(clf.predict_proba(X_test), codes, ax=ax)
    ax.set_title(f"{name}\n{ax.get_title()}")
plt.show()

# %%
# The temperature by which the log-joint is divided:

print(round(models["tree, temperature"].calibration_.temperature, 2))
