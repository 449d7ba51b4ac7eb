"""
When inputs are missing
=======================

More and more values of the test rows are removed. A network marginalizes them exactly; logistic
regression sees what an imputer makes of them.
"""

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from discbayes import BayesNetClassifier, load_dataset, plot

data = load_dataset("waveform", n_samples=3000, random_state=0)
X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.5, random_state=0)
models = {
    "discbayes (default)": BayesNetClassifier(),
    "naive Bayes": BayesNetClassifier("nb", "map"),
    "logistic regression, means imputed": make_pipeline(
        SimpleImputer(), StandardScaler(), LogisticRegression()
    ),
}
shares = np.arange(0, 1, 0.15)
rng = np.random.default_rng(0)
order = rng.random(X_test.shape)
rates = {
    name: [model.score(X_test.mask(order < share), y_test) for share in shares]
    for name, model in ((name, model.fit(X, y)) for name, model in models.items())
}
ax = plot.missing_curves(shares, rates)
