"""
Where cut points are placed
===========================

Numeric columns are discretized on the training rows. MDLP places cut points where the class
changes, as long as each pays for its description; equal frequency does not look at the class. Two
resolutions, which the default has, are many intervals for the column itself (dotted) and few for
its children (dashed).
"""

import numpy as np
from matplotlib import pyplot as plt

from discbayes import (
    EqualFrequencyDiscretizer,
    MDLPDiscretizer,
    TwoResolutionDiscretizer,
    load_dataset,
)

data = load_dataset("wine")
column = data.X[["flavanoids"]]
two = TwoResolutionDiscretizer(min_states=8).fit(column, data.y)  # as in the default
cut_points = {
    "by the class (MDLP)": MDLPDiscretizer().fit(column, data.y).cut_points_[0],
    "equal frequency": EqualFrequencyDiscretizer(n_bins=4).fit(column).cut_points_[0],
    "two resolutions, for the children": two.coarse_cut_points_[0],
}

figure, axes = plt.subplots(3, 1, sharex=True, figsize=(6.4, 7), layout="constrained")
bins = np.linspace(column.min().item(), column.max().item(), 30)
for ax, (name, places) in zip(axes, cut_points.items(), strict=True):
    shown = [column["flavanoids"][data.y == label] for label in np.unique(data.y)]
    ax.hist(shown, bins=bins, stacked=True, label=np.unique(data.y))
    for place in places:
        ax.axvline(place, color="black", linestyle="--")
    ax.set_title(f"{name}: {len(places)} cut points")
for place in two.cut_points_[0]:
    axes[2].axvline(place, color="black", linestyle=":", linewidth=0.8)
axes[0].legend()
axes[2].set_xlabel("flavanoids")
plt.show()

# %%
# If no cut point is informative, MDLP has none and the column is not used. Two resolutions always
# have some; what the column tells is left to the parameters.

noise = np.random.default_rng(0).normal(size=(len(data.y), 1))
print(MDLPDiscretizer().fit(noise, data.y).cut_points_)
print(TwoResolutionDiscretizer(min_states=8).fit(noise, data.y).coarse_cut_points_[0].round(2))
