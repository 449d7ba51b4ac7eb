"""
What to ask next
================

Nothing is known of a tumour yet. At each step the column is asked for that is expected to take away
most of the doubt, until a class has a probability of 95 %. A few of the thirty measurements are
enough.
"""

import numpy as np
from matplotlib import pyplot as plt

from discbayes import BayesNetClassifier, load_dataset

data = load_dataset("breast-cancer")
clf = BayesNetClassifier().fit(data.X[::2], data.y[::2])
truth = data.X.iloc[13]
known, asked, steps = {}, ["nothing known"], []
while True:
    information = clf.value_of_information(known)
    steps.append(information)
    if information.posterior.max() > 0.95 or information.best is None:
        break
    known[information.best] = truth[information.best]
    asked.append(f"{information.best} = {truth[information.best]:g}")

figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
places = np.arange(len(steps))
ax.plot([step.posterior[1] for step in steps], places, marker="o")
ax.set_yticks(places, asked)
ax.invert_yaxis()
ax.set_xlabel("P(malignant)")
ax.set_xlim(0, 1)
plt.show()

# %%
# What was to be gained at the very beginning:

print(steps[0].text(most=5))
