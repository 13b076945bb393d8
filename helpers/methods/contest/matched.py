"""Random heads matched by layer, as many of each layer as a choice removed; all removed at once (docs/results.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from helpers import heads, study, training
from helpers.experiments import pruning
from helpers.measures import removal
from helpers.measures.analysis import Analysis
from helpers.runs import subjects
from helpers.runs import training as translators

CRITERIA = ("gradient, example", "L0", "leave-one-out")


def _at_once(subject: subjects.Subject, out: Mapping[str, list[list]], first: int, draws: int) -> pd.DataFrame:
    model, dev = subject.model, subject.held_out(4096, first)
    gone = {criterion: [(kind, layer, head) for kind, layer, head in some] for criterion, some in out.items()}
    index = heads.index(model, ("encoder",))
    choices = [({"criterion": criterion, "draw": 0}, chosen) for criterion, chosen in gone.items()]
    choices += [({"criterion": criterion, "draw": draw + 1}, removal.matched(index, chosen, draw))
                for criterion, chosen in gone.items() for draw in range(draws)]  # fmt: skip
    return pd.DataFrame(removal.at_once(model, choices, lambda left: {"dev_loss": training.dev_loss(left, dev)}))


AT_ONCE = Analysis("matched heads removed at once", 1, _at_once)


def at_once(sweep: Mapping[str, Any], draws: int = 20) -> study.Recipe:
    """The recipe of dev losses without further training: criterion, draw (0 is the choice itself of a sweep of encoder heads,
    random heads count from 1), dev_loss."""
    out: dict[str, list[list]] = {}
    for criterion in CRITERIA:
        for price in sweep["settings"]["pruning"]["compared"]:
            kept = pruning.runs.retained(sweep["runs"][f"{criterion} {price:g}"])
            every = {place: range(sweep["start"]["model"]["heads"]) for place in kept if place[0] == "encoder"}
            out[criterion] = [[*place, head] for place in every for head in every[place] if head not in kept[place]]
    made = translators.trained(sweep["start"], sweep["name"])
    return AT_ONCE.recipe(made, out=out, first=sweep["settings"]["pruning"]["dev"], draws=draws)
