"""One model in one table and one picture, of what is made so far: for a profile whose notebooks have not all been made.

`python -m helpers.publish.summary --profile gpu-quarter` writes `figures/summaries/gpu-quarter.csv` and `.png`. It makes
nothing: what is not there has no rows. References of test sets are read from the local folder. With `--task "language
modelling"` it is of grouped heads of that task (`grouped-novels.csv`, by its text), with `--task injection` of coreference.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from helpers import drawing, plan, plots, study
from helpers.experiments import grouping, relevance
from helpers.experiments.functions import SCORED
from helpers.measures import functions, measured
from helpers.measures.analysis import Analysis
from helpers.methods import coreference, l0
from helpers.publish import hour
from helpers.runs import outputs, subjects, training
from helpers.scores import scoring
from helpers.study import Recipe, StudyError

RULE = "alpha_beta"
FEW = 8  # heads of a kind, below which a rank correlation says nothing
PLACE = study.ROOT / "figures" / "summaries"


class Summary:
    """What is made of a profile's model.

    Parameters
    ----------
    settings : mapping
        As of `helpers.study.settings`.
    name : str
        Of the model, such as "fr-europarl".
    seed : int

    Raises
    ------
    StudyError
        If the model is neither in the store nor published.
    """

    def __init__(self, settings: Mapping[str, Any], name: str, seed: int) -> None:
        self.settings, self.subject, self.seed = settings, subjects.of_name(settings, name, seed), seed
        if not self.subject.run.made():
            raise StudyError(f"The model {name}, seed {seed}, is not made: run make study or make gpu with this profile first.")

    def table(self) -> pd.DataFrame:
        """Its numbers.

        Returns
        -------
        pandas.DataFrame
            On `what`: value, low, high (95 %, over sentences or heads), n (sentences or heads), random (the same with random
            weights).
        """
        parts = (self._speed, self._quality, self._worth, self._pruned, self._relevance, self._functions, self._alone)
        columns = ["what", "value", "low", "high", "n", "random"]
        return pd.DataFrame([row for part in parts for row in part()], columns=columns).set_index("what")

    def picture(self):
        """Relevance and confidence of every encoder head, or None where either is not made."""
        found, sure = self._explained(), self._measured(measured.FUNCTIONS, repeats=self.settings["bootstrap"])
        if found is None or sure is None:
            return None
        table, title = sure["confidence"].assign(relevance=found.series("step")), self.subject.title
        return plots.by_relevance(relevance.by_relevance({title: table}, {title: sure["functions"]}))

    def _measured(self, analysis: Analysis, **options: Any) -> Any:
        """The value of an analysis, or None."""
        made = analysis.recipe(self.subject.run, parser=self.subject.parser, **options).made()
        return analysis.value(self.subject, **options) if made else None

    def _speed(self) -> Iterator[dict[str, Any]]:
        speed = hour.speeds([self.subject.run]).iloc[0]
        for what in ("steps", "minutes", "tokens a second", *(["share of peak"] if study.made_on() == "cuda" else [])):
            yield _row(what, speed[what])

    def _quality(self) -> Iterator[dict[str, Any]]:
        if outputs.recipe(self.subject.run, self.settings["beam"]).made():
            for row in outputs.quality(self.subject, self.settings["beam"], self.settings["bootstrap"])[0].to_dict("records"):
                yield _row(f"BLEU, {row['test set']}", row["bleu"], row["low"], row["high"], n=row["sentences"])

    @cached_property
    def _sweep(self) -> Mapping[str, Recipe]:
        """The runs that prune encoder heads, by name."""
        found = l0.runs.sweeps(self.settings, [self.subject.name], self.seed)[0]["runs"]
        return {name: l0.runs.run(spec) for name, spec in found.items()}

    def _worth(self) -> Iterator[dict[str, Any]]:
        """What encoder attention is worth: lost when it is removed and the rest trained on, and never had from the start."""
        beam, own = self.settings["pruning"]["beam"], self.subject.run
        never = subjects.of_name(self.settings, self.subject.name + subjects.NONE, self.seed).run
        control, floor = self._sweep["control"], self._sweep["floor"]
        pairs = {"removed": (control, floor, beam), "from the start": (own, never, self.settings["beam"])}
        for what, (whole, without, by) in pairs.items():
            for split in self.subject.tests if all(outputs.recipe(run, by).made() for run in (whole, without)) else ():
                full, bare = (self._statistics(run, split, by) for run in (whole, without))
                ends = scoring.bleu_interval(full, bare, self.settings["bootstrap"])
                left = float(scoring.bleu_of(bare.sum(0)))
                yield _row(f"BLEU without encoder attention, {what}, {split}", left, n=len(bare))
                yield _row(f"worth of encoder attention, {what}, {split}", *ends)

    def _pruned(self) -> Iterator[dict[str, Any]]:
        """Encoder heads that every run left, and its BLEU minus that of the control."""
        beam, control = self.settings["pruning"]["beam"], self._sweep["control"]
        made = {name: run for name, run in self._sweep.items() if outputs.recipe(run, beam).made()}
        whole = {split: self._statistics(control, split, beam) for split in self.subject.tests} if "control" in made else {}
        for name, run in made.items() if whole else ():
            left = [len(found) for (kind, _), found in training.kept(run).items() if kind == "encoder"]
            yield _row(f"encoder heads left, {name}", sum(left))
            for split in whole if run != control else ():
                pruned = self._statistics(run, split, beam)
                ends = scoring.bleu_interval(pruned, whole[split], self.settings["bootstrap"])
                yield _row(f"BLEU minus control, {name}, {split}", *ends, n=len(pruned))

    def _statistics(self, run: Recipe, split: str, beam: int):
        return scoring.bleu_statistics(outputs.read(run, split, beam), [pair.target for pair in self.subject.pairs(split)])

    def _explained(self, untrained: bool = False) -> Any:
        few = self.settings["relevance"]
        more = {"first": min(few, 50), "untrained": True} if untrained else {"first": few}
        return self._measured(measured.EXPLAINED, rule=RULE, **more)

    def _relevance(self) -> Iterator[dict[str, Any]]:
        found, random = self._explained(), self._explained(untrained=True)
        sure, diffuse = self._measured(measured.FUNCTIONS, repeats=self.settings["bootstrap"]), self._measured(measured.DIFFUSE)
        if any(part is None for part in (found, random, sure, diffuse)):
            return
        confidence = {"": sure["confidence"].confidence}
        ranks = relevance.relevance_and_confidence({"": {RULE: found}}, confidence, {RULE: random}, diffuse)
        for kind, part in ranks.groupby("kind", sort=False):
            own, drawn = (part[part.weights == which].iloc[0] for which in ("trained", "random"))
            if own.heads >= FEW:
                yield _row(f"relevance with confidence, {kind}", own.rho, own.low, own.high, n=own.heads, random=drawn.rho)
        largest = relevance.dominance({"": {RULE: found}}, {RULE: random}, self.settings["bootstrap"])
        yield _row("largest share of a layer", largest.largest.mean(), random=largest["largest, random"].iloc[0])

    def _functions(self) -> Iterator[dict[str, Any]]:
        both = [self._measured(SCORED, repeats=self.settings["bootstrap"], **more) for more in ({}, {"untrained": True})]
        if any(part is None for part in both):
            return
        roles = [{"": functions.roles(*(part[name] for name in measured.FUNCTIONAL))} for part in both]
        trained, random = (measured.count_roles(one)[""] for one in roles)
        for what in trained.index.drop("heads"):
            yield _row(f"encoder heads, {what}", trained[what], n=trained["heads"], random=random[what])

    def _alone(self) -> Iterator[dict[str, Any]]:
        without = self._measured(measured.WITHOUT, first=self.settings["relevance"])
        for kind, part in without.groupby("kind", sort=False) if without is not None else ():
            yield _row(f"surely missed alone, {kind}", (part.low > 0).sum(), n=len(part))
            most = part.loc[part.loss.idxmax()]
            yield _row(f"largest rise alone, {kind}", most.loss, most.low, most.high)


def _row(what: str, value: float, low: float = math.nan, high: float = math.nan, **more: Any) -> dict[str, Any]:
    return {"what": what, "value": value, "low": low, "high": high} | more


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the summary of a profile's first model, or of the one named by --models."""
    parser = argparse.ArgumentParser(prog="python -m helpers.publish.summary", description=main.__doc__)
    plan.options(parser)
    parser.add_argument("--into", type=Path, default=PLACE)
    parser.add_argument("--task", default="", help='grouped heads of this task, such as "language modelling", or injection')
    chosen = parser.parse_args(arguments)
    with study.one_sentence():
        settings = plan.settings_of(chosen)
        chosen.into.mkdir(parents=True, exist_ok=True)
        drawing.style()
        if chosen.task == "injection":
            plan_of, parts = settings["coreference"]["summarization"], coreference.runs.made_of(settings, chosen.seed)
            boards, name = coreference.tables.boards(settings, parts, chosen.seed), f"injection-{plan_of['text']}"
            picture = coreference.figures.gains(coreference.tables.injected(boards, parts), plan_of["links"])
            table = coreference.tables.summed(boards, parts)
        elif chosen.task:
            name = f"grouped-{settings['grouping'][subjects.setting(chosen.task)]['text']}"
            table, picture = grouping.summed(settings, chosen.task, chosen.seed), None
        else:
            found = Summary(settings, model := subjects.names(settings, chosen.models)[0], chosen.seed)
            name = f"{chosen.profile}{model[len(model.partition('+')[0]) :].replace('+', '-')}"  # a sibling's is in the name
            table, picture = found.table(), found.picture()
        if picture:
            study.save_figure(picture, chosen.into, name)
        table.round(4).to_csv(chosen.into / f"{name}.csv")
        print(chosen.into / f"{name}.csv")


if __name__ == "__main__":
    main()
