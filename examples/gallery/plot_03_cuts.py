"""
Where numbers are cut
=====================

Numeric columns are discretized on the training rows. The default places cut points where the class
changes, as long as each pays for its description; equal frequency does not look at the class.
"""

import numpy as np
from matplotlib import pyplot as plt

from discbayes import EqualFrequencyDiscretizer, MDLPDiscretizer, load_dataset

data = load_dataset("wine")
column = data.X[["flavanoids"]]
cuts = {
    "by the class (MDLP)": MDLPDiscretizer().fit(column, data.y).cut_points_[0],
    "equal frequency": EqualFrequencyDiscretizer(n_bins=4).fit(column).cut_points_[0],
}

figure, axes = plt.subplots(2, 1, sharex=True, figsize=(6.4, 5), layout="constrained")
bins = np.linspace(column.min().item(), column.max().item(), 30)
for ax, (name, places) in zip(axes, cuts.items(), strict=True):
    shown = [column["flavanoids"][data.y == label] for label in np.unique(data.y)]
    ax.hist(shown, bins=bins, stacked=True, label=np.unique(data.y))
    for place in places:
        ax.axvline(place, color="black", linestyle="--")
    ax.set_title(f"{name}: {len(places)} cuts")
axes[0].legend()
axes[1].set_xlabel("flavanoids")
plt.show()

# %%
# A column for which no cut pays becomes constant and plays no part: that is how columns without any
# use are left out.

noise = np.random.default_rng(0).normal(size=(len(data.y), 1))
print(MDLPDiscretizer().fit(noise, data.y).cut_points_)
