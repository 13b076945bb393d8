"""The Hard Concrete distribution of gates (Voita et al. 2019, section 6.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import seaborn as sns

from helpers import drawing
from helpers.drawing import MODELS, WIDTH, left, redrawable


@redrawable
def hard_concrete(distributions: Sequence[Any]):
    """Hard Concrete distributions of a gate (section 6.1, Fig. 6): density inside, probabilities of exactly 0 and 1 as stems.

    Parameters
    ----------
    distributions : sequence of helpers.methods.l0.HardConcrete
        Each with a 0-dim log_alpha; a panel each.
    """
    figure, axes = drawing.grid(len(distributions), 3, 2.3, 2.25, sharex=True, sharey=True)
    for axis, gate in zip(axes, distributions, strict=True):
        _distribution(axis, gate, f"log α = {float(gate.log_alpha.detach()):g}", axis is axes[-1])
    return figure


def _distribution(axis, gate: Any, location: str, last: bool = True) -> None:
    """One Hard Concrete distribution: density inside; probabilities of exactly 0 and 1 as stems, on an axis at the right."""
    inside = np.linspace(0, 1, 201)[1:-1]
    density = gate.density(gate.log_alpha.new_tensor(inside)).detach().numpy()
    axis.fill_between(inside, density, color=MODELS[0], alpha=0.25, lw=0)
    axis.plot(inside, density, color=MODELS[0], lw=1.2)
    masses = axis.twinx()
    for at, mass, side in ((0, float(gate.p_closed().detach()), "left"), (1, float(gate.p_full().detach()), "right")):
        masses.plot([at, at], [0, mass], "-", color=MODELS[1], lw=2, clip_on=False)
        masses.plot(at, mass, "o", color=MODELS[1], ms=5, clip_on=False)
        place = {"xytext": (6 if side == "left" else -6, 3), "textcoords": "offset points", "ha": side, "fontsize": 8}
        masses.annotate(f"{mass:.2f}", (at, mass), color=MODELS[1], **place)
    title = f"{location}, temperature {float(gate.temperature):g}".replace("-", "−")
    axis.set(title=title, xlabel="gate", xlim=(-0.12, 1.12), ylim=(0, 1.16), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    axis.set_ylabel("density between" if left(axis) else "", color=MODELS[0])
    masses.set(ylim=(0, 1.16), yticks=[0, 0.5, 1])
    masses.set_ylabel("probability of exactly 0 or 1" if last else "", color=MODELS[1], fontsize=8)
    sns.despine(ax=masses, left=True, right=False)
    masses.tick_params(labelright=last)


@redrawable
def gate_and_price(gate: Any, locations: Sequence[float]):
    """One gate and its penalty: its distribution, and P(open), the penalty in units of λ, over values of its log alpha."""
    at = float(gate.log_alpha.detach())
    figure, (left_axis, right) = drawing.grid(2, 2, WIDTH / 2, 2.8)
    _distribution(left_axis, gate, f"log α = {at:+.1f}")
    many = type(gate)(gate.log_alpha.new_tensor(list(locations)), gate.temperature)
    right.plot(locations, many.p_open().detach(), color=MODELS[2])
    right.plot(locations, many.value(binary=False).detach(), color="#777777", ls="--", lw=1)
    right.plot(at, float(gate.p_open().detach()), "o", color=MODELS[1])
    right.set(title=f"penalty: {float(gate.p_open().detach()):.2f} λ", xlabel="log α", ylim=(-0.04, 1.04))
    right.set_ylabel("P(open); dashed: gate without noise", fontsize=8)
    return figure
