"""Grouped Head Attention (Ni et al. 2023): what is run, and the tables that come of it.

A row of a table is a model that was trained in two stages (`helpers.experiments.grouping_runs`); "NAME, seed N" is the same
with other random numbers. Layers and heads count from 0 in tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy import stats

from helpers import heads, models, papers, study
from helpers.experiments import grouping_runs as runs
from helpers.experiments.grouping_runs import FEWER, GHT, NARROWER, PS, VANILLA
from helpers.measures.analysis import FILE, Analysis
from helpers.measures.trainings import over_seeds
from helpers.methods import grouping as units
from helpers.runs import outputs, subjects, training
from helpers.scores import intervals
from helpers.study import values

LENGTH = 30  # tokens of an input, as the paper counts FLOPs
SCORES = {name: (name, f"{name}_low", f"{name}_high") for name in ("change", "gain")} | {"value": ("value", "low", "high")}
SEED = ", seed "  # between a row's name and its seed
NAMES = {  # of rows, where it is another one that readers see
    runs.NO_HOMOGENISATION: "no pull", runs.NO_DIVERSIFICATION: "no push", runs.AT_START: "vote before training",
    runs.NO_CONSTRAINT: "no constraint", runs.RANDOM: "random heads", runs.MEMBER: "random head of each group",
}  # fmt: skip
TASKS = ("translation, BLEU", "summarization, ROUGE-1", "language modelling, perplexity")
REGIMES = study.ROOT / "figures" / "regimes"  # fresh trainings at ten times the weight
PUBLISHED = study.ROOT / "figures" / "natural" / "04_grouped_heads" / "tables"
Runs = Mapping[str, Mapping[str, Any]]  # row -> spec of its second stage
Counted = Mapping[tuple[str, str], np.ndarray]  # (row, test set) -> what its scores are computed from


# --- what is run -----------------------------------------------------------------------------------------------------


def tasks(settings: Mapping[str, Any], seed: int) -> dict[str, dict[str, Mapping[str, Any]]]:
    """The rows of each task that a profile trains: task -> row -> spec of its second stage."""
    every = {task: runs.rows_of(settings, task, seed) for task in subjects.METRICS}
    return {task: specs for task, specs in every.items() if specs}


def recipes(settings: Mapping[str, Any], seed: int) -> Iterator[study.Recipe]:
    """Every run of grouped heads with what it puts out, then sizes and what attention is worth."""
    yield from runs.recipes(settings, seed)
    for specs in tasks(settings, seed).values():
        yield from attention_off(specs, settings["grouping"]["beam"], settings["bootstrap"]).values()
    yield from sizes(runs.equal_size(settings, seed)).values()


def needs(settings: Mapping[str, Any], names: Sequence[str], seed: int) -> Iterator[study.Recipe | study.Need]:
    """What notebook 04 reads: a translator that was never grouped, and every run."""
    yield from outputs.of_models(settings, names[:1], seed, weights=True)
    yield from recipes(settings, seed)


# --- scores ----------------------------------------------------------------------------------------------------------


def statistics(specs: Runs, beam: int) -> Counted:
    """What scores are computed from, by (row, test set): computed one time for every table."""
    counted = {}
    for name, spec in specs.items():
        task = subjects.text_of(spec)
        for split in task.tests:
            counted[name, split] = task.statistics(outputs.read(runs.run(spec), split, beam), split)
    return counted


def scores(specs: Runs, counted: Counted, reference: str = VANILLA, repeats: int = 1000) -> pd.DataFrame:
    """Scores of the rows of a task and what they are above a reference row, of `statistics`.

    On (row, test set, metric): method and seed ("" for the first) of the row; value, low, high; change, change_low, change_high
    against the reference of the same seed (paired bootstrap); gain, gain_low, gain_high, the same in percent of the reference,
    positive = better; dev_loss (nats a token); over.
    """
    task, rows = subjects.text_of(next(iter(specs.values()))), {}
    for name, spec in specs.items():
        losses = study.read_json(runs.run(spec).results / "losses.json")
        method, again, seed = name.partition(SEED)
        for split in task.tests:
            mine, other = counted[name, split], counted[reference + again + seed, split]
            value, change = task.interval(mine, None, repeats), task.interval(mine, other, repeats)
            level = task.interval(other, None, 0)
            for metric in task.metrics:
                percent = _better(metric) * 100 / (level[metric][0] or np.nan)
                low, high = sorted(percent * part for part in change[metric][1:])
                parts = {"value": value[metric], "change": change[metric], "gain": (percent * change[metric][0], low, high)}
                rows[name, split, metric] = {
                    "method": method, "seed": seed,
                    **{name: number for part, names in SCORES.items() for name, number in zip(names, parts[part], strict=True)},
                    **losses, "over": intervals.BLOCKS if metric == "perplexity" else intervals.SENTENCES,
                }  # fmt: skip
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(table.index, names=["row", "test set", "metric"])
    return table


def trainings(scored: pd.DataFrame) -> pd.DataFrame:
    """`scores` as means over trainings with t intervals, on (test set, metric, method); a lone training keeps its own."""
    by = ["test set", "metric", "method"]
    means = over_seeds(scored.reset_index(), by, SCORES, ("dev_loss",), keep=True)
    single = scored.groupby(by, sort=False).over.first().to_numpy()
    return means.assign(over=np.where(means.seeds > 1, intervals.TRAININGS, single))


def first(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of `scores` or `trainings` of the first test set and metric alone, on the row or method."""
    where = dict(zip(table.index.names, table.index[0], strict=True))
    return table.xs((where["test set"], where["metric"]), level=["test set", "metric"])


def _better(metric: str) -> int:
    """1 where more is better, else -1."""
    return -1 if metric == "perplexity" else 1


def printed(metric: str) -> pd.Series:
    """The paper's scores by row, of BLEU means over seven sets."""
    return papers.GROUPED_TABLE_1.mean(axis=1) if metric == "BLEU" else papers.GROUPED_OTHERS[metric]


def gain(row: str, metric: str, scores: Any) -> Any:
    """What a row's score is above vanilla's, in percent of it, positive = better."""
    return _better(metric) * 100 * (scores[row] / scores[VANILLA] - 1)


def gains(scored: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """GHT and GHT-PS by task, of `scores` by task: relative gains over vanilla in percent beside the paper's, and levels.

    task has the metric, and the test set where there are several; method; seeds; gain, low, high; printed (the paper's gain);
    vanilla and level (mean scores of vanilla and of the row); change, change_low, change_high; over.
    """
    parts = []
    for task, table in scored.items():
        means = trainings(table).drop(columns=["low", "high"]).reset_index().query("method in [@GHT, @PS]")
        known = [gain(row.method, row.metric, printed(row.metric)) for row in means.itertuples()]
        several = ", " + means["test set"] if means["test set"].nunique() > 1 else ""
        parts.append(means.assign(task=task + ", " + means.metric + several, vanilla=means.value - means.change, printed=known))
    table = pd.concat(parts, ignore_index=True).sort_values("method", key=lambda names: names != GHT, kind="stable")
    table = table.rename(columns={"value": "level", "gain_low": "low", "gain_high": "high"})
    return table[["task", "method", "seeds", "gain", "low", "high", "printed", "vanilla", "level", *SCORES["change"], "over"]]


def worth_of_attention(rows: Mapping[str, Runs], beam: int, repeats: int = 1000) -> pd.DataFrame:
    """What all heads of a kind are worth to the vanilla models of tasks: test scores with all of them off, no training after.

    On (task, row, kind, test set, metric): heads; whole (score with all heads); change (with the kind off minus whole), low,
    high (paired bootstrap); percent, percent_low, percent_high (the change in percent of the whole score); over.
    """
    read = {(task, name): values.read(recipe.results / FILE) for task, specs in rows.items()
            for name, recipe in attention_off(specs, beam, repeats).items()}  # fmt: skip
    return pd.concat(read, names=["task", "row"])


def attention_off(rows: Runs, beam: int, repeats: int = 1000) -> dict[str, study.Recipe]:
    """The analyses that `worth_of_attention` reads of a task, by row."""
    plain = {name: spec for name, spec in rows.items() if name.partition(SEED)[0] == VANILLA}
    return {name: OFF.recipe(runs.run(spec), beam=beam, repeats=repeats) for name, spec in plain.items()}


def _off(subject, beam: int, repeats: int) -> pd.DataFrame:
    model, rows = subject.model, {}
    addresses = heads.index(model)

    def counted(split: str) -> np.ndarray:
        return subject.statistics(subject.put_out(model, split, beam), split)

    for split in subject.tests:
        whole = counted(split)
        score = subject.interval(whole, None, 0)
        for kind in addresses.unique("kind"):
            chosen = [address for address in addresses if address[0] == kind]
            with heads.gate(model, dict.fromkeys(chosen, 0.0)):
                change = subject.interval(counted(split), whole, repeats)
            for metric in subject.metrics:
                value = score[metric][0]
                ends = dict(zip(("change", "low", "high"), change[metric], strict=True))
                shares = {f"percent{end}": 100 * part / (value or np.nan)
                          for end, part in zip(("", "_low", "_high"), change[metric], strict=True)}  # fmt: skip
                over = intervals.BLOCKS if metric == "perplexity" else intervals.SENTENCES
                rows[kind, split, metric] = {"heads": len(chosen), "whole": value, **ends, **shares, "over": over}
    index = pd.MultiIndex.from_tuples(rows, names=["kind", "test set", "metric"])
    return pd.DataFrame(list(rows.values()), index)


OFF = Analysis("test scores with kinds off", 1, _off)


# --- models of one size (tables 1, 2 and 5) -------------------------------------------------------------------------


def equal_size(specs: Runs, counted: Counted, repeats: int = 1000) -> pd.DataFrame:
    """GHT-PS beside models of its size, seed by seed: each training starts from weights of the same seed.

    On control, the best first: seeds; value and change (GHT-PS minus the control), means with their ends; over; p, p_holm and
    family of the controls that table 3 does not test; heads, parameters without embeddings and FLOPs of an example of 30 tokens
    (millions).
    """
    table = first(trainings(scores(specs, counted, PS, repeats))).rename_axis("control")
    value, low, high = SCORES["change"]
    table = table.assign(**{value: -table[value], low: -table[high], high: -table[low]})
    table.loc[PS, [value, low, high]] = np.nan
    table = intervals.corrected(table, trainings=table.seeds.where(table.seeds > 1), compared=table.index.isin(runs.EQUAL))
    cost = pd.DataFrame.from_dict({name: COST.read(runs.run(specs[name])) for name in sizes(specs)}, orient="index")
    cost = cost.reindex(table.index).fillna(cost.loc[PS])  # other rows have the shape of GHT-PS
    columns = ["seeds", *SCORES["value"], *SCORES["change"], "over", "p", "p_holm", "family", *cost]
    return table.join(cost)[columns].sort_values("value", ascending=False)


def same_size(specs: Runs, counted: Counted, equal: pd.DataFrame, repeats: int = 1000) -> pd.DataFrame:
    """What the models of `equal_size` are above vanilla, on row: group, change, low, high, over, printed (mean over test sets),
    and name (the row's, with the share of vanilla's weights)."""
    groups = dict.fromkeys((NARROWER, FEWER), "small from the start")
    groups |= dict.fromkeys((PS, runs.L0, runs.LITE), "heads removed after stage 1")
    shown = [name for name in groups if name in specs]
    table = first(trainings(scores(specs, counted, VANILLA, repeats))).loc[shown, [*SCORES["change"], "over"]]
    table = table.set_axis(["change", "low", "high", "over"], axis=1).rename_axis("row")
    printed = (papers.GROUPED_TABLE_1 - papers.GROUPED_TABLE_1.loc[VANILLA]).mean(axis=1)
    printed[runs.LITE] = papers.GROUPED_LITE
    weights = (100 * equal.parameters / equal.parameters[VANILLA]).map(" ({:.0f} %)".format)
    return table.assign(group=pd.Series(groups), printed=printed, name=table.index + weights[table.index])


def sizes(specs: Runs) -> dict[str, study.Recipe]:
    """The recipes of what models cost, of those rows of `equal_size` that have a shape of their own."""
    shaped = (VANILLA, GHT, PS, runs.LITE, *runs.EQUAL)
    return {name: COST.recipe(runs.run(specs[name])) for name in shaped if name in specs}


def _cost(subject) -> dict[str, float]:
    model = subject.model
    ids = torch.full((1, LENGTH), 3, device=model.device)
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids}
    parameters, flops = models.size(model, batch if subject.kind != subjects.LANGUAGE else {"input_ids": ids})
    return {"heads": sum(map(len, heads.kept(model).values())), "parameters": parameters / 1e6, "FLOPs": flops / 1e6}


COST = Analysis("size", 1, _cost)


def ladder(rungs: Mapping[int, Runs], beam: int, repeats: int = 1000) -> pd.DataFrame:
    """`trainings` of models with heads of other widths, on (head, row): head is how many numbers a head has."""
    parts = {head: first(trainings(scores(rows, statistics(rows, beam), repeats=repeats))) for head, rows in rungs.items()}
    return pd.concat(parts).rename_axis(["head", "row"])


# --- without a part of the method (table 3) --------------------------------------------------------------------------


def ablation(specs: Runs, counted: Counted, repeats: int = 1000) -> pd.DataFrame:
    """Table 3: every row against the GHT or, where heads are gone, the GHT-PS of its seed (its model), as of `trainings`.

    printed is the mean change over the paper's five sets; p, p_holm, family and what `together` adds are of both models.
    """
    parts = []
    for model in (GHT, PS):
        rows = {name: spec for name, spec in specs.items() if ("cut" in spec or "cut" in spec["start"]) == (model == PS)}
        table = first(trainings(scores(rows, counted, model, repeats))).rename_axis("row").reset_index().assign(model=model)
        table.loc[table.row == model, [*SCORES["change"]]] = np.nan
        mean = papers.GROUPED_TABLE_3.mean(axis=1)
        parts.append(table.assign(printed=(table.row.map(mean) - mean[model]).where(table.row != model)))
    frame = pd.concat(parts, ignore_index=True)
    columns = ["row", "model", *SCORES["value"], *SCORES["change"], "printed", "dev_loss", "seeds", "over"]
    compared = frame.row != frame.model
    return together(intervals.corrected(frame[columns], trainings=frame.seeds.where(frame.seeds > 1), compared=compared))


def together(table: pd.DataFrame) -> pd.DataFrame:
    """The table with 95 % intervals of the changes of all its rows together (Bonferroni): together_low, together_high."""
    freedom, sides = table.seeds - 1, 0.025 / table.family
    half = (table.change_high - table.change_low) / 2 * stats.t.isf(sides, freedom) / stats.t.isf(0.025, freedom)
    return table.assign(together_low=table.change - half, together_high=table.change + half)


def parts(ablated: pd.DataFrame) -> pd.DataFrame:
    """What each row of `ablation` changes, and in fresh trainings at ten times the weight: weight, model, row, change, printed,
    low, high (of all rows of a weight together)."""
    fresh = pd.read_csv(REGIMES / "parts_claims.csv").rename(columns={"method": "model", "against": "row"})
    fresh = fresh.assign(change=-fresh.change, change_low=-fresh.high, change_high=-fresh.low, family=len(fresh))
    fresh = together(fresh).merge(ablated[["row", "printed"]]).assign(weight="ten times our weight")
    ends = {"together_low": "low", "together_high": "high"}
    table = pd.concat([ablated[ablated.change.notna()].assign(weight="our weight"), fresh]).replace({"row": NAMES})
    return table[["weight", "model", "row", "change", "printed", *ends]].rename(columns=ends)


def by(scored: pd.DataFrame, specs: Runs, setting: str, usual: float) -> pd.DataFrame:
    """`scores` by groups (figure 3) or by weight, as a factor on the usual one (figure 2), on (panel, method, setting).

    panel is the test set; `usual` is the setting of the main rows; silhouette is the mean of `tightness` over attentions.
    """
    rows = []
    for (name, split, _), line in scored.iterrows():
        method, comma, rest = name.partition(", ")
        found = re.fullmatch({"groups": r"(\d+) groups", "weight": r"weight x (.+)"}[setting], rest)
        if method not in (VANILLA, GHT, PS) or (comma and not found):
            continue
        tight = tightness(specs[name], runs.stages(specs[name])[0]["watch"]["groups"])
        row = {"panel": split, "method": method, setting: type(usual)(found[1]) if found else usual}
        row |= dict(line[[*SCORES["value"], *SCORES["change"], "over"]])
        rows.append(row | {"silhouette": tight.silhouette.mean()})
    return pd.DataFrame(rows).sort_values(setting, kind="stable").set_index(["panel", "method", setting])


def above(table: pd.DataFrame) -> pd.DataFrame:
    """What GHT and GHT-PS are above vanilla, of a table of `by`: its columns, with low and high of the change."""
    table = table.drop(columns=["low", "high"]).rename(columns={"change_low": "low", "change_high": "high"})
    return table.drop(index=VANILLA, level="method").reset_index()


def on_tasks(gained: pd.DataFrame) -> pd.DataFrame:
    """`gains` of this run, of fresh trainings at ten times the weight and, as published, of natural text.

    panel (method and task); text; method, task; gain, low, high and printed, in points, of perplexity in percent.
    """
    translation, summaries, language = TASKS
    name = "toy language" if translation in set(gained.task) else "text of this run"
    mine = {task: gained[gained.task.str.startswith(task)] for task in TASKS}
    gains, seeds = (pd.read_csv(PUBLISHED / f"{part}.csv") for part in ("gains", "seeds"))
    tight, debates, english = (pd.read_csv(REGIMES / f"{part}_claims.csv") for part in ("tight", "debates", "language"))
    own, fresh, percent = SCORES["change"], ("change", "low", "high"), ("gain", "low", "high")
    published = ("change_mean", *own[1:])
    sources = [  # of each task from top to bottom: text, table, its columns
        (translation, "toy language, weight × 10", tight, fresh),
        (translation, name, mine[translation], own),
        (translation, "natural text, weight × 10", debates, fresh),
        (translation, "natural text", seeds[seeds.panel == "translation: europarl_test"], published),
        (summaries, name, mine[summaries], own),
        (summaries, "natural text", seeds[seeds.panel == "summarization: test, ROUGE-1"], published),
        (language, name, mine[language], percent),
        (language, "natural text, weight × 10", english, fresh),
        (language, "natural text", gains[gains.task == language], percent),
    ]
    parts = [table[["method", *columns]].set_axis(["method", *percent], axis=1).assign(task=task, text=text)
             for task, text, table, columns in sources]  # fmt: skip
    table = pd.concat([part[part.method == method] for method in (GHT, PS) for part in parts])
    return table.assign(
        printed=[_printed_gain(*row) for row in zip(table.method, table.task, strict=True)],
        panel=table.method + ": " + table.task.str.replace(", ", "\n").str.replace("perplexity", "perplexity, %"),
    )


def _printed_gain(row: str, task: str) -> float:
    scores = printed(task.split(", ")[1])
    return gain(row, "perplexity", scores) if task == TASKS[2] else scores[row] - scores[VANILLA]


# --- groups ----------------------------------------------------------------------------------------------------------


def grams(spec: Mapping[str, Any]) -> dict[tuple[str, int], np.ndarray]:
    """Inner products of the heads of each attention (kind, layer) on the probe, at each look during a row's stage 1.

    Arrays [looks, heads, heads] (`helpers.methods.grouping.Grouped`).
    """
    made = runs.run(runs.stages(spec)[0])
    places = [place for place, left in training.kept(made).items() if left]
    with np.load(made.results / "trace.npz") as stored:
        tables = [stored[f"grams_{number}"] for number in range(len(places))]
    return {place: table[~np.isnan(table).any((1, 2))] for place, table in zip(places, tables, strict=True)}


def grouped(specs: Runs, groups: int) -> pd.DataFrame:
    """`tightness` of rows, on (row, kind, layer); their means over all attentions are of the kind "mean"."""
    each = pd.concat({name: tightness(spec, groups) for name, spec in specs.items()}, names=["row"])
    means = each.groupby("row", sort=False).mean().assign(kind="mean", layer=0)
    return pd.concat([each, means.set_index(["kind", "layer"], append=True)])


def alike(specs: Runs, groups: int, place: tuple[str, int] = ("encoder", 0)) -> pd.DataFrame:
    """Cosines of each two heads of an attention on the probe at the end of a row's stage 1: row, head, other head, cosine.

    Heads are numbered from 1 anew, so that those of a group stand side by side.
    """
    parts = {}
    for name, spec in specs.items():
        table = torch.tensor(grams(spec)[place][-1])
        order = units.clusters(table, groups).argsort(stable=True)
        cells, places = units.cosines(table)[order][:, order], range(1, len(order) + 1)
        parts[name] = pd.DataFrame(cells.numpy(), places, places).stack()
    return pd.concat(parts, names=["row", "head", "other head"]).rename("cosine").reset_index()


def terms(specs: Runs, groups: int) -> pd.DataFrame:
    """Both parts of the constraint on the probe while stage 1 trains (figure 4), means over all attentions.

    text and row; step; pull (cosine of heads and the centre of their group), push (of two centres).
    """
    parts = []
    for name, spec in specs.items():
        tables, every = torch.tensor(np.stack(list(grams(spec).values()), 1)), runs.stages(spec)[0]["watch"]["every"]
        pull, push = units.group_loss(tables, units.clusters(tables, groups), groups, 1.0, 1.0)[1:]
        looks = {"step": every * np.arange(len(tables)), "pull": pull.mean(1), "push": push.mean(1)}
        text = "toy language" if spec["corpus"]["corpus"] == "controlled" else "text of this run"
        parts.append(pd.DataFrame({"text": text, "row": name, **looks}))
    return pd.concat(parts, ignore_index=True)


def with_europarl(table: pd.DataFrame) -> pd.DataFrame:
    """`terms` and those published of Europarl (one training), both of stage 1: panel, row, step, cosine."""
    published = pd.read_csv(PUBLISHED / "fig4_constraint.csv").query("step <= 3000")
    published = published.rename(columns={"homogeneity": "pull", "diversity": "push"})
    published = published.replace({"row": {VANILLA: "without", GHT: "our weight"}})
    every = pd.concat([table, published.assign(text="Europarl")])
    every = every.melt(["text", "row", "step"], ["pull", "push"], "part", "cosine")
    return every.assign(panel=every.part + ", " + every.text)


def tightness(spec: Mapping[str, Any], groups: int) -> pd.DataFrame:
    """How grouped the heads of each attention are at the end of a row's stage 1, on (kind, layer).

    same, other (mean cosine of two heads of one group, of two groups); formed, their difference as a part of that of full
    grouping: members alike, centres as far from each other as can be; silhouette and dunn.
    """
    rows = {}
    for place, tables in grams(spec).items():
        table = torch.tensor(tables[-1])
        labels, cosine = units.clusters(table, min(groups, len(table))), units.cosines(table)
        together, pairs = labels[:, None] == labels, ~torch.eye(len(table), dtype=torch.bool)
        same, other = float(cosine[together & pairs].mean()), float(cosine[~together].mean())
        formed = (same - other) / (1 + 1 / max(groups - 1, 1))
        rows[place] = {"same": same, "other": other, "formed": formed, **units.compactness(table, labels)}
    return pd.DataFrame(list(rows.values()), pd.MultiIndex.from_tuples(rows, names=["kind", "layer"]))
