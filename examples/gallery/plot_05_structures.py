"""
How stable is a structure?
==========================

The best tree of two thirds of the rows against that of all of them. What is in both is gray, what
only all rows have is green, and what only the part had is dashed. Edges that come and go show that
two parents are about as good as each other.
"""

from discbayes import BayesNetClassifier, load_dataset, plot

data = load_dataset("wine")
domain = BayesNetClassifier("tan", "map").fit(data.X, data.y).network_.domain
part = [row for row in range(len(data.y)) if row % 3]
few = BayesNetClassifier("tan", "map", domains=domain).fit(data.X.iloc[part], data.y[part])
all_rows = BayesNetClassifier("tan", "map", domains=domain).fit(data.X, data.y)
ax = plot.network(all_rows, compare_to=few)
