"""
From generative to discriminative
=================================

ML-BN-SVM has a dial. At λ = 0 the network describes the data as well as it can; as λ grows, it
gives up likelihood for wider margins between the classes. One network for each λ, from one call.
"""

from discbayes import BayesNetClassifier, load_dataset, margin_path

data = load_dataset("tic-tac-toe")
path = margin_path(
    data.X, data.y, lams=[0, 0.5, 1, 2, 4, 8, 16], estimator=BayesNetClassifier("nb", "ml-bn-svm")
)
ax = path.plot()

# %%
# The share of training rows that are right, and what it costs in likelihood:

for lam, right, likelihood in zip(path.lams, path.accuracy, path.log_likelihood, strict=True):
    print(f"λ = {lam:4g}   right {right:.3f}   log likelihood of a row {likelihood:.2f}")
