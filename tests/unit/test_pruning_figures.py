"""Figures of pruning: what they show, on random tables of several shapes."""

import pytest
import torch

from helpers import plots
from helpers.methods.l0 import HardConcrete
from tests.unit.drawn import whole


def test_gates_show_all_their_mass():
    samples = {location: HardConcrete(torch.tensor(location), 0.5).sample(torch.linspace(1e-4, 1 - 1e-4, 9999))
               for location in (0.0, -3.0)}  # fmt: skip
    figure = whole(plots.gates(samples))
    densities, masses = figure.axes[:2], figure.axes[2:]
    assert [text.get_text() for text in masses[0].texts] == ["0.23", "0.23"]  # the paper's figure 6
    for axis, other in zip(densities, masses, strict=True):
        stems = sum(float(line.get_ydata()[0]) for line in other.lines if line.get_marker() == "o")
        inside = sum(bar.get_height() * bar.get_width() for bar in axis.patches)
        assert inside + stems == pytest.approx(1, abs=1e-3)
