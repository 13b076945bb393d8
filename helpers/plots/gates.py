"""The Hard Concrete distribution of gates (Voita et al. 2019, section 6.1), drawn from samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import seaborn as sns

from helpers import drawing
from helpers.drawing import MODELS, WIDTH, left

BINS = 40


def gates(samples: Mapping[float, Any]):
    """What is drawn of gates (figure 6): a histogram between 0 and 1, and stems for gates of exactly 0 and 1.

    Parameters
    ----------
    samples : mapping of location -> tensor or array
        Gates between 0 and 1; a panel each.
    """
    figure, axes = drawing.grid(len(samples), 3, WIDTH / 3, 2.25, sharex=True, sharey=True)
    for axis, (location, values) in zip(axes, samples.items(), strict=True):
        _distribution(axis, pd.Series(list(map(float, values))), f"location {float(location):g}", axis is axes[-1])
    return figure


def _distribution(axis, values: pd.Series, title: str, last: bool = True) -> None:
    """A histogram of what lies between 0 and 1, as a density; shares of exactly 0 and 1 as stems on an axis at the right."""
    inside = values[(values > 0) & (values < 1)]
    weights = [BINS / len(values)] * len(inside)
    axis.hist(inside, BINS, (0, 1), weights=weights, color=MODELS[0], alpha=0.3)
    masses = axis.twinx()
    for at, side in ((0, "left"), (1, "right")):
        mass = float((values == at).mean())
        masses.plot([at, at], [0, mass], "-", color=MODELS[1], lw=2, clip_on=False)
        masses.plot(at, mass, "o", color=MODELS[1], ms=5, clip_on=False)
        place = {"xytext": (6 if side == "left" else -6, 5), "textcoords": "offset points", "ha": side, "fontsize": 8}
        masses.annotate(f"{mass:.2f}", (at, mass), color=MODELS[1], **place)
    axis.set(title=title.replace("-", "−"), xlabel="gate", xlim=(-0.12, 1.12), ylim=(0, 1.16), xticks=[0, 0.5, 1])
    axis.set(yticks=[0, 0.5, 1])
    axis.set_ylabel("density between 0 and 1" if left(axis) else "", color=MODELS[0])
    masses.set(ylim=(0, 1.16), yticks=[0, 0.5, 1])
    masses.set_ylabel("share of exactly 0 or 1" if last else "", color=MODELS[1], fontsize=8)
    sns.despine(ax=masses, left=True, right=False)
    masses.tick_params(labelright=last)
