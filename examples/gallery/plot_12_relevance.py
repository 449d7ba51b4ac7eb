"""
Which columns matter
====================

How far each column moves the log odds of the decisions, given what the others have contributed
already. Gray columns are uninformative: they were hidden, all together, and the rows predicted
again.
"""

from sklearn.model_selection import train_test_split

from discbayes import BayesNetClassifier, load_dataset, plot

data = load_dataset("wine")
X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.5, random_state=0)
relevance = BayesNetClassifier().fit(X, y).relevance(X_test, y_test)
ax = plot.relevance(relevance)

# %%
# The last line states what hiding them does:

print(relevance.text(most=3))
