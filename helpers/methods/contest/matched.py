"""Random heads matched by layer: as many of each layer as a choice removed, trained on as long (rules: docs/regimes.md)."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from helpers import heads, study, training
from helpers.experiments import pruning
from helpers.measures import removal
from helpers.measures.analysis import Analysis
from helpers.runs import outputs, subjects
from helpers.runs import training as translators

CRITERIA = ("gradient, example", "L0", "leave-one-out")
DRAWS = 3
COMPARED = tuple((criterion, f"random like {criterion}", 0.0) for criterion in CRITERIA)  # for `regimes.judged`
Row = dict[str, Any]


def rows(sweep: Mapping[str, Any]) -> list[Row]:
    """The choices of a sweep (`helpers.experiments.pruning.sweep`) of encoder heads, each with its random heads.

    criterion, penalty, draw (0 is the choice itself, random heads count from 1), seed and spec.
    """
    choices: list[Row] = []
    for price in sweep["settings"]["pruning"]["compared"]:
        for criterion in CRITERIA:
            like = sweep["runs"][f"{criterion} {price:g}"]
            drawn = [{**like, "method": {"name": "matched", "like": like, "draw": draw}} for draw in range(DRAWS)]
            labels = {"criterion": criterion, "penalty": price, "seed": sweep["seed"]}
            choices += [{**labels, "draw": draw, "spec": spec} for draw, spec in enumerate([like, *drawn])]
    return choices


def _measure(subject: subjects.Subject, beam: int) -> dict[str, Any]:
    written = {split: subject.put_out(subject.model, split, beam) for split in subject.tests}
    return {"dev_loss": _dev_loss(subject.run), **_bleu(subject, written)}


def _bleu(subject: subjects.Subject, written: Mapping[str, list[str]]) -> dict[str, float]:
    counted = {split: subject.statistics(texts, split) for split, texts in written.items()}
    return {split: subject.interval(one, None, 0)["BLEU"][0] for split, one in counted.items()}


def _dev_loss(run: study.Recipe | None) -> float:
    return study.read_json(run.results / "losses.json")["dev_loss"] if run else float("nan")


SCORE = Analysis("dev loss and BLEU", 1, _measure)


def _at_once(subject: subjects.Subject, out: Mapping[str, list[list]], first: int, draws: int) -> pd.DataFrame:
    model, dev = subject.model, subject.held_out(4096, first)
    gone = {criterion: [(kind, layer, head) for kind, layer, head in some] for criterion, some in out.items()}
    index = heads.index(model, ("encoder",))
    choices = [(criterion, 0, chosen) for criterion, chosen in gone.items()]
    choices += [(criterion, draw + 1, removal.matched(index, chosen, draw))
                for criterion, chosen in gone.items() for draw in range(draws)]  # fmt: skip
    losses = [training.dev_loss(heads.remove(copy.deepcopy(model), chosen), dev) for *_, chosen in choices]
    table = pd.DataFrame([labels for *labels, _ in choices], columns=["criterion", "draw"])
    return table.assign(dev_loss=losses)


AT_ONCE = Analysis("matched heads removed at once", 1, _at_once)


def at_once(sweep: Mapping[str, Any], draws: int = 20) -> study.Recipe:
    """The recipe of dev losses without further training: criterion, draw (as in `rows`), dev_loss."""
    out = {}
    for row in (row for row in rows(sweep) if not row["draw"]):
        kept = pruning.retained(row["spec"])
        every = {place: range(sweep["start"]["model"]["heads"]) for place in kept if place[0] == "encoder"}
        out[row["criterion"]] = [[*place, head] for place in every for head in every[place] if head not in kept[place]]
    made = translators.trained(sweep["start"], sweep["name"])
    return AT_ONCE.recipe(made, out=out, first=sweep["settings"]["pruning"]["dev"], draws=draws)


def recipe(sweep: Mapping[str, Any], row: Row) -> study.Recipe:
    """What is read of a row: what a choice put out, which other tables read too; of random heads the scores alone."""
    label = f"{sweep['name']}, seed {row['seed']}: like {row['criterion']}, draw {row['draw']}"
    made, beam = pruning.pruned(row["spec"], label), sweep["settings"]["pruning"]["beam"]
    return SCORE.recipe(made, beam=beam) if row["draw"] else outputs.recipe(made, beam)


def recipes(sweep: Mapping[str, Any]) -> Iterator[study.Recipe]:
    """Those of all rows, one draw after another, so that every choice has one early."""
    for row in sorted(rows(sweep), key=lambda row: row["draw"]):
        yield recipe(sweep, row)


def table(sweeps: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """What is made already: criterion, penalty, draw, seed, dev_loss, test set, BLEU, and in layers the heads left in each."""
    parts = []
    for sweep in sweeps:
        beam = sweep["settings"]["pruning"]["beam"]
        for row in rows(sweep):
            made, run = recipe(sweep, row), pruning.pruned(row["spec"])
            if not made.made():
                continue
            kept = pruning.retained(row["spec"])
            left = {f"layer {at + 1}": len(stay) for (kind, at), stay in kept.items() if kind == "encoder"}
            scored = SCORE.read(run, beam=beam) if row["draw"] else scores(row["spec"], beam)
            loss = scored.pop("dev_loss")
            labels = {name: value for name, value in row.items() if name != "spec"} | {"dev_loss": loss}
            parts += [{**labels, "test set": split, "BLEU": value, **left} for split, value in scored.items()]
    return pd.DataFrame(parts)


def scores(spec: Mapping[str, Any], beam: int) -> dict[str, float]:
    """Dev loss and the BLEU on every test set of a run that has put its translations out."""
    subject, run = subjects.text_of(spec), pruning.pruned(spec)
    written = {split: outputs.read(run, split, beam) for split in subject.tests}
    return {"dev_loss": _dev_loss(run), **_bleu(subject, written)}


def means(table: pd.DataFrame) -> pd.DataFrame:
    """Of `table` the BLEU of every choice and the mean of its random heads: method (in pairs as in `COMPARED`), seed, BLEU."""
    method = table.criterion.where(table.draw == 0, "random like " + table.criterion)
    return table.assign(method=method).groupby(["method", "seed"], as_index=False).BLEU.mean()
