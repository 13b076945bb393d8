"""Coreference links in heads that hardly matter (Liu & Chen 2023): what is run, and the tables that come of it.

A row is a training run, with what stands in the place of which heads while it trains and writes; it is described by
`helpers.methods.coreference.runs`. Layers and heads count from 0 in tables, unless a docstring says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from helpers import corpora, papers, study
from helpers.heads.families import ADDRESS
from helpers.measures import trainings
from helpers.methods.coreference import runs
from helpers.methods.coreference.runs import INJECTED, MAIN, PLAIN
from helpers.records import Dialogue
from helpers.runs import outputs, subjects
from helpers.scores import intervals, scoring
from helpers.scores.coreference import conll_f1
from helpers.world import conversations

EVENTS = "events"  # factual consistency: share of the reference's events with the right people, in percent
Row = Mapping[str, Any]  # as `helpers.methods.coreference.runs.row` makes it
Rows = Mapping[str, Row]  # by name
HEADS = {  # by how they are chosen
    "lowest": "idle heads", "highest": "most important heads", "random": "random heads", "probing": "heads by probing"
}  # fmt: skip
WRITERS = {PLAIN: "our model", MAIN: "with the resolver's links"}  # whose summaries are shown


# --- what is run -----------------------------------------------------------------------------------------------------


def ranked_after(parts: Mapping[str, Rows]) -> dict[str, Row]:
    """The main rows whose injected heads are ranked in the trained model too, by name.

    They are those with the usual links, shuffled ones and none, in heads that importance chose.
    """
    controls = {name: one["run"].get("control", {}) for name, one in parts["main"].items()}
    usual = controls[MAIN]["links"]
    return {
        name: parts["main"][name]
        for name, control in controls.items()
        if control.get("form") == INJECTED and control["heads"]["by"] == "importance"
        if control["links"] in (usual, f"{usual}+shuffled", "none")
    }


def recipes(settings: Mapping[str, Any], seed: int, checkpoint: str = "") -> Iterator[study.Recipe]:
    """What the tables below read: every stage of every row, what the rows' models write, and rankings of heads."""
    parts, plan = runs.rows_of(settings, seed, checkpoint), settings["coreference"]
    after = ranked_after(parts) if parts else {}
    for part, rows in parts.items():
        for name, one in rows.items():
            label = f"{subjects.SUMMARIZATION}: {name}, {part}"
            yield from _written(one, label, plan["beam"])
            if "heads" in (control := one.get("control", one["run"].get("control")) or {}):
                yield runs.ranked_for(control["heads"])
            if "control" not in one["run"]:
                yield runs.ranked(one["run"], plan["probe"])
            elif name in after:
                yield runs.ranked(one["run"], plan["probe"], None, one["run"]["control"])


def side_by_side(settings: Mapping[str, Any], seed: int) -> Iterator[study.Recipe]:
    """What `side_by_side_table` reads of one training."""
    yield from made_of(settings, runs.Rows(settings, seed, 1).side_by_side(), f"side by side, seed {seed}")


def made_of(settings: Mapping[str, Any], rows: Rows, label: str) -> Iterator[study.Recipe]:
    """Rows stage by stage, each with what its model writes."""
    for name, one in rows.items():
        yield from _written(one, f"{subjects.SUMMARIZATION}, {label}: {name}", settings["coreference"]["beam"])


def _written(one: Row, label: str, beam: int) -> Iterator[study.Recipe]:
    for stage in reversed(list(runs.stages(one["run"]))):
        yield runs.run(stage, f"{label}, stage {stage['stage']}")
    yield outputs.recipe(runs.run(one["run"], label), beam, one.get("control"))


def side_by_side_table(settings: Mapping[str, Any], seeds: Iterable[int]) -> pd.DataFrame:
    """Of complete trainings seed, columns of `scores`, and `labels`; conll (CoNLL F1, percent) of links in idle heads."""
    tables = {}
    for seed in (seed for seed in seeds if all(one.made() for one in side_by_side(settings, seed))):
        rows = runs.Rows(settings, seed, 1).side_by_side()
        board = Board(settings, rows)
        given = {name: one["run"]["control"]["links"] for name, one in rows.items() if name.startswith(MAIN)}
        clusters = {by: runs.clusters_of(board.task.folder, board.split, by) for by in {"gold", *given.values()}}
        quality = {name: conll_f1(clusters[by], clusters["gold"]) for name, by in given.items()}
        table = labelled(scores(board), rows)
        tables[seed] = table.assign(conll=table.row.map(quality))
    return pd.concat(tables, names=["seed", None]).reset_index("seed") if tables else pd.DataFrame()


# --- labels of rows --------------------------------------------------------------------------------------------------


def named(links: str) -> str:
    """What people call clusters by their name in rows: whose they are, and whether they are shuffled."""
    whose, _, change = links.partition("+")
    known = {"rule": "resolver", "nearest": "nearest name", "match": "same words", "none": "no links", "gold": "true links"}
    whose = known.get(whose, whose)
    return f"{whose}, {change}" if change else whose


def labels(one: Row) -> dict[str, Any]:
    """What a row is, as columns, "" where it has none: choice (of heads), links (as `named`)."""
    control = one.get("control", one["run"].get("control")) or {}
    heads = control.get("heads", {})
    choice = HEADS[heads["by"] if heads["by"] == "probing" else heads["order"]] if heads else ""
    return {"choice": choice, "links": named(control.get("links", ""))}


def labelled(table: pd.DataFrame, rows: Rows) -> pd.DataFrame:
    """A table with a column `row`, with `labels` of these rows as further columns."""
    return table.merge(pd.DataFrame([{"row": name} | labels(one) for name, one in rows.items()]), on="row")


def spoken(links: pd.Series) -> pd.Series:
    """Links as a figure says it: "resolver's links"."""
    words = {"resolver": "resolver's links", "resolver, shuffled": "shuffled links", "no links": "each token at itself"}
    return links.replace(words | {"": "nothing: they are off"})


# --- scores ----------------------------------------------------------------------------------------------------------


class Board:
    """Scores of rows on the test set of their dialogues."""

    def __init__(self, settings: Mapping[str, Any], rows: Rows) -> None:
        self.settings, self.rows = settings, dict(rows)
        self.task = subjects.text_of(next(iter(self.rows.values()))["run"])
        self.split = self.task.tests[0]
        self.dialogues = corpora.read_dialogues(corpora.file(self.task.folder, self.split, "dialogues"))
        self.known_events = bool(self.dialogues[0].events)  # whether it is known who does what
        self.metrics = [*self.task.metrics, *([EVENTS] if self.known_events else [])]
        self._known: dict[str, np.ndarray] = {}

    def written(self, name: str) -> list[str]:
        """What the model of a row writes of the test set."""
        return runs.written(self.rows[name], self.split, self.settings["coreference"]["beam"])

    def statistics(self, name: str) -> np.ndarray:
        """Scores of each summary [texts, metrics] in percent, whose means are those of the row."""
        if name not in self._known:
            texts = self.written(name)
            counts = self.task.statistics(texts, self.split)
            right = [right_people(texts, self.dialogues)] if self.known_events else []
            self._known[name] = np.column_stack([counts, *right])
        return self._known[name]

    def interval(self, mine: np.ndarray, other: np.ndarray | None = None) -> dict[str, tuple[float, float, float]]:
        """Scores with their 95 % bootstrap interval, or how much they are above others' (paired), by metric."""
        columns = zip(*scoring.mean_interval(mine, other, self.settings["bootstrap"]), strict=True)
        return dict(zip(self.metrics, (tuple(map(float, row)) for row in columns), strict=True))


def boards(settings: Mapping[str, Any], parts: Mapping[str, Rows], seed: int) -> dict[int, Board]:
    """A board for each training, by its seed, of rows by part; the first holds the rows of all parts."""
    rows: dict[int, dict[str, Row]] = {seed: {}}
    for part, more in parts.items():
        first, _, number = part.partition(" ")
        rows.setdefault(int(number) if first == "seed" else seed, {}).update(more)
    return {number: Board(settings, of_one) for number, of_one in rows.items()}


def right_people(texts: Sequence[str], dialogues: Sequence[Dialogue]) -> np.ndarray:
    """Events that each summary tells with the right people, such that the mean over texts is their share of all, percent."""
    counts = conversations.consistency(texts, dialogues)
    return 100 * counts[:, 1] / counts[:, 0].mean()


def scores(board: Board, names: Iterable[str] | None = None, against: str = PLAIN) -> pd.DataFrame:
    """Scores of rows, and how they differ from one of them.

    row, metric; value, low, high (95 % bootstrap over texts); change, change_low, change_high (paired); percent (the change in
    percent of the other's value, percent_low, percent_high); over.
    """
    rows, other = [], board.statistics(against)
    base = other.mean(0)
    for name in names or board.rows:
        mine = board.statistics(name)
        values, changes = board.interval(mine), board.interval(mine, other)
        for metric, whole in zip(board.metrics, base, strict=True):
            row = {"row": name, "metric": metric, **dict(zip(("value", "low", "high"), values[metric], strict=True))}
            row |= dict(zip(("change", "change_low", "change_high"), changes[metric], strict=True))
            shares = [100 * end / (whole or np.nan) for end in changes[metric]]
            row |= dict(zip(("percent", "percent_low", "percent_high"), shares, strict=True))
            rows.append(row | {"over": intervals.SENTENCES})
    return pd.DataFrame(rows)


def over_seeds(boards: Mapping[int, Board], names: Sequence[str], against: str = PLAIN) -> pd.DataFrame:
    """Scores and changes over several trainings, each from weights of its own.

    row, metric, seeds; value, change and percent are means over trainings, with 95 % t-intervals, of one training those of
    `scores`; over.
    """
    parts = pd.concat([scores(board, names, against).assign(seed=seed) for seed, board in boards.items()])
    values = {name: (name, f"{name}_low", f"{name}_high") for name in ("change", "percent")}
    table = trainings.over_seeds(parts, ("row", "metric"), {"value": ("value", "low", "high")} | values, keep=True)
    return table.reset_index().assign(over=intervals.TRAININGS if len(boards) > 1 else intervals.SENTENCES)


def against_controls(boards: Mapping[int, Board], names: Iterable[str], row: str = MAIN) -> pd.DataFrame:
    """How a row differs from each control, pair by pair: in every training from the control of the same weights.

    control, metric, seeds; change with its ends: a mean with its 95 % t-interval, of one training a bootstrap over texts.
    """
    parts = {name: over_seeds(boards, [row], name) for name in names if name != row}
    columns = ["control", "metric", "seeds", "change", "change_low", "change_high", "over"]
    return pd.concat(parts, names=["control", None]).reset_index("control")[columns]


def by_place(table: pd.DataFrame, rows: Rows) -> pd.DataFrame:
    """What links in heads gain, of `over_seeds`: what, change, low, high, by group (by the links of idle heads, by the heads
    that have the resolver's links) and panel (ROUGE-1, events).

    Hollow is what the paper is said to gain: so many per cent of the score without injection, in points.
    """
    table = labelled(table, rows)
    score, percent = table[(table.row == PLAIN) & (table.metric == "ROUGE-1")].value.iloc[0], papers.INJECTION
    table = table[table.choice != ""].assign(low=lambda rows: rows.change_low, high=lambda rows: rows.change_high)
    idle, guessed = table[table.choice == HEADS["lowest"]], table[table.links == "resolver"]
    paper = {"what": f"the paper: {percent} % of our {score:.0f}", "metric": "ROUGE-1", "change": percent * score / 100}
    groups = {
        "What idle heads follow": pd.concat([idle.assign(what=spoken(idle.links)), pd.DataFrame([paper | {"hollow": True}])]),
        "Which heads follow the resolver's links": guessed.assign(what=guessed.choice),
    }
    both = pd.concat([panels(part).assign(group=name) for name, part in groups.items()])
    return both.assign(hollow=both.hollow.eq(True))[["group", "panel", "what", "change", "low", "high", "hollow"]]


def panels(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of ROUGE-1 and events of a table with a column metric, that which gains most first; panel says what is measured."""
    names = {"ROUGE-1": "ROUGE-1, points", EVENTS: "events with the right people, points"}
    kept = table[table.metric.isin(names)].sort_values(["metric", "change"], ascending=[True, False])
    return kept.assign(panel=kept.metric.map(names))


def side_by_side_means(table: pd.DataFrame) -> pd.DataFrame:
    """What links gain in idle heads or mixed into every layer, means of `side_by_side_table`.

    metric (ROUGE-1 or events), where, links, seeds; mean, low, high (t interval over trainings).
    """
    kept = table[table.metric.isin(["ROUGE-1", EVENTS]) & table.links.isin(["true links", "resolver", "resolver, shuffled"])]
    kept = kept.assign(where=kept.choice.fillna("mixed, every layer"))
    kept = kept[kept["where"] != HEADS["random"]]
    return trainings.over_seeds(kept, ("metric", "where", "links"), {"change": ("mean", "low", "high")}).reset_index()


def mixed(table: pd.DataFrame, further: pd.DataFrame) -> pd.DataFrame:
    """What mixing gains, and idle heads, of `over_seeds` and `side_by_side_means`: as of `by_place`."""
    what = (spoken(further.links) + " in " + further["where"]).str.replace("in mixed, ", "mixed into ")
    more = panels(further.assign(what=what, change=further["mean"], group="Three further trainings"))
    names = {MAIN: "resolver's links in idle heads", "layer of its own, upper": "resolver's links mixed into the last layer"}
    first = panels(table[table.row.isin(names)].assign(group="The five trainings above"))
    first = first.assign(what=first.row.map(names), low=first.change_low, high=first.change_high)
    return pd.concat([more, first])[["group", "panel", "what", "change", "low", "high"]]


def link_differences(*tables: pd.DataFrame) -> pd.DataFrame:
    """What `link_gains` and `nobody_gains` say of least important heads, a panel a metric: what, metric, change, low, high."""
    names = {"rule": "resolver's links", "first token": "links of nobody", "shuffled": "shuffled", "no links": "no injection"}
    metrics = {"loss": "loss (less is better)", "ROUGE-1": "ROUGE-1, points", "ROUGE-L": "ROUGE-L, points"}
    table = pd.concat(tables).query("minus_heads in ['none', 'lowest'] and metric in @metrics").replace({"metric": metrics})
    return table.assign(what=table.links.map(names) + "\nminus " + table.minus_links.map(names))


def gains(table: pd.DataFrame, by: str, repeats: int) -> pd.DataFrame:
    """How far the mean of each group of scores is above that of the first: by, metric; score, change, low, high (paired)."""
    groups = {name: part.drop(columns=by) for name, part in table.groupby(by, sort=False)}
    rows, first = [], next(iter(groups.values()))
    for name, part in groups.items():
        ends = dict(zip(("change", "low", "high"), scoring.mean_interval(part, first, repeats), strict=True))
        rows.append(pd.DataFrame({by: name, "metric": part.columns, "score": part.mean().to_numpy()} | ends))
    return pd.concat(rows, ignore_index=True)


def best_example(board: Board, name: str, against: str = PLAIN) -> int:
    """Place of the shortest of those dialogues in which a row tells the most events more of the right people than another."""
    gap = board.statistics(name)[:, -1] - board.statistics(against)[:, -1]
    words = [len(pair.words) for pair in board.task.pairs(board.split)]
    return int(np.lexsort((words, -gap))[0])


# --- dialogues -------------------------------------------------------------------------------------------------------


def marked(board: Board, by: str, place: int) -> str:
    """A dialogue with its clusters (`helpers.methods.coreference.runs.clusters_of`), as "[number: mention]", a line a turn."""
    row, clusters = board.dialogues[place], runs.clusters_of(board.task.folder, board.split, by)[place]
    words = list(row.words)
    for number, cluster in enumerate(clusters):
        for start, stop in cluster:
            words[start] = f"[{number}: {words[start]}"
            words[stop - 1] += "]"
    return "\n".join(" ".join(words[start:stop]).removeprefix("# ") for start, _, stop in row.turns)


def example(board: Board, by: str, place: int, names: Iterable[str]) -> str:
    """A dialogue as of `marked`, its reference summary, and what the models of rows write."""
    texts = {"reference": board.task.references[board.split][place]}
    texts |= {WRITERS.get(name, name): board.written(name)[place] for name in names}
    width = max(map(len, texts))
    return "\n".join([marked(board, by, place), "", *(f"{name:>{width}} => {text}" for name, text in texts.items())])


# --- heads -----------------------------------------------------------------------------------------------------------


def masking(board: Board, rows: Rows) -> pd.DataFrame:
    """The masking curves: order, number (heads a layer that are off), and the columns of `scores` against the plain model.

    Random draws are told apart by `draw`; no heads and all heads are points of every curve.
    """
    choices = {name: one["control"]["heads"] for name, one in rows.items()}
    most = max(heads["count"] for heads in choices.values())
    every = {heads["order"] for heads in choices.values() if heads["count"] == most} == {"lowest"}  # the same in any order
    points = []
    for row in scores(board, [PLAIN, *rows]).to_dict("records"):
        heads = choices.get(row["row"], {"order": "", "count": 0, "draw": 0})
        curves = [(heads["order"], heads["draw"])]
        if heads["count"] == 0 or (every and heads["count"] == most):
            curves = sorted({(other["order"], other["draw"]) for other in choices.values()})
        points += [row | {"order": order, "number": heads["count"], "draw": draw} for order, draw in curves]
    return pd.DataFrame(points)


def masking_curves(table: pd.DataFrame) -> pd.DataFrame:
    """ROUGE-1 of `masking`: order (in words), number, percent with its ends low and high."""
    words = {"lowest": "least important first", "highest": "most important first", "random": "random, three draws"}
    table = table[table.metric == "ROUGE-1"].assign(low=table.percent_low, high=table.percent_high)
    return table.replace({"order": words}).sort_values("order")[["order", "number", "percent", "low", "high"]]


def importance_after(boards: Mapping[int, Board], names: Sequence[str], probe: int) -> pd.DataFrame:
    """How important the heads that each row injects are in the model trained with them: row, kind, layer, head, after, seed."""
    table = []
    for seed, board in boards.items():
        for name in names:
            run = board.rows[name]["run"]
            after = runs.ranking(run, probe, control=run["control"]).importance
            for address in runs.addresses(run["control"]["heads"]):
                table.append({"row": name, **dict(zip(ADDRESS, address, strict=True)), "after": after[address], "seed": seed})
    return pd.DataFrame(table)


def matter_more(table: pd.DataFrame) -> pd.DataFrame:
    """How much more important the injected heads end than the same heads do under each matrix that says nothing.

    Of `importance_after`, whose rows named after the main one (other links in the same heads) are its controls: control,
    layer, seeds; more (mean over trainings of the difference in importance after training, which is normalised by layer), with
    low and high of a 95 % t-interval (nan for one training); over.
    """
    place, controls = ["seed", *ADDRESS], table[table.row.str.startswith(f"{MAIN}, ")]
    both = controls.merge(table[table.row == MAIN], on=place, suffixes=("", "_injected"))
    both = both.assign(control=both.row, more=both.after_injected - both.after)
    means = trainings.over_seeds(both, ("control", "layer"), {"more": ("more", "low", "high")})
    return means.reset_index().assign(over=intervals.TRAININGS)
