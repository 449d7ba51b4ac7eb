"""
Why this class?
===============

What each value adds to the log odds of the decision, from the prior to the sum. The bars add up
exactly to the probability; what is missing adds nothing.
"""

from discbayes import BayesNetClassifier, load_dataset

data = load_dataset("breast-cancer")
clf = BayesNetClassifier().fit(data.X[::2], data.y[::2])
row = data.X[1:2].astype(object).copy()
row.iloc[0, 3::4] = None
explanation = clf.explain(row)
ax = explanation.plot()

# %%
# The same in words:

print(explanation.text(most=5))
