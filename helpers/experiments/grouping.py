"""Grouped Head Attention (Ni et al. 2023): what is run, and the tables that come of it.

A row of a table is a model that was trained in two stages (`helpers.experiments.grouping_runs`); "NAME, seed N" is the same
with other random numbers. Layers and heads count from 0 in tables.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

from helpers import heads, models, papers, study
from helpers.experiments import grouping_runs as runs
from helpers.experiments.grouping_runs import GHT, PS, VANILLA, table_3
from helpers.measures.analysis import FILE, Analysis
from helpers.measures.trainings import over_seeds
from helpers.methods import grouping as units
from helpers.runs import outputs, subjects, training
from helpers.scores import intervals
from helpers.study import StudyError, values

LENGTH, NEW = 30, 10  # tokens of an input, as the paper counts FLOPs; tokens that are generated when speed is measured
CHANGES = {"value": ("value", "low", "high"), "change": ("change", "change_low", "change_high")}  # means and their ends
SEED = ", seed "  # between a row's name and its seed
Runs = Mapping[str, Mapping[str, Any]]  # row -> spec of its second stage
Counted = Mapping[tuple[str, str], np.ndarray]  # (row, test set) -> what its scores are computed from


# --- what is run -----------------------------------------------------------------------------------------------------


def tasks(settings: Mapping[str, Any], seed: int) -> dict[str, dict[str, Mapping[str, Any]]]:
    """The rows of each task that a profile trains: task -> row -> spec of its second stage."""
    every = {task: runs.rows_of(settings, task, seed) for task in subjects.METRICS}
    return {task: specs for task, specs in every.items() if specs}


def translator(
    settings: Mapping[str, Any], names: Sequence[str], seed: int, checkpoint: str = "", parser: str = "spacy"
) -> subjects.Subject:
    """A trained translator that was never grouped: a pretrained checkpoint, or the first of the names."""
    if checkpoint:
        return subjects.of_checkpoint(settings, checkpoint, names[0], seed, parser)
    return subjects.of_name(settings, names[0], seed, parser)


def recipes(settings: Mapping[str, Any], seed: int, start: Mapping[str, Any] | None = None) -> Iterator[study.Recipe]:
    """Every run of grouped heads with what it puts out, then sizes, speeds and what attention is worth."""
    yield from runs.recipes(settings, seed, start)
    for task, specs in tasks(settings, seed).items():
        timed = of_table_1(specs) if task == subjects.TRANSLATION else main_rows(specs)
        yield from (COST.recipe(runs.run(spec)) for spec in timed.values())
        yield speeds(timed)
        yield from attention_off(specs, settings["grouping"]["beam"], settings["bootstrap"]).values()


def needs(settings: Mapping[str, Any], names: Sequence[str], seed: int) -> Iterator[study.Recipe | study.Need]:
    """What notebook 04 reads: a translator that was never grouped, every run, and the model that is grouped late."""
    late = runs.start(settings, names, seed)
    yield from outputs.of_models(settings, names[:1], seed, weights=True)
    yield from recipes(settings, seed, late)
    yield from subjects.needs(late) if late else ()


def main_rows(specs: Runs) -> dict[str, Mapping[str, Any]]:
    """The rows without constraint, with it, and with one head a group, of the first seed."""
    return {name: specs[name] for name in (VANILLA, GHT, PS)}


def of_table_1(specs: Runs) -> dict[str, Mapping[str, Any]]:
    """The rows of translation that stand in the paper's tables 1, 2 and 5, and those of gradient importance."""
    return {name: spec for name, spec in specs.items() if name in (*papers.GROUPED_TABLE_1.index, runs.LITE, runs.GRADIENT)}


def peers(settings: Mapping[str, Any], seed: int) -> dict[str, Mapping[str, Any]]:
    """GHT-PS, controls of its size, and as many heads chosen before training or at random, of every seed of table 3."""
    sized, few = runs.equal_size(settings, seed), (runs.AT_START, runs.RANDOM)
    return sized and sized | {name: spec for name, spec in table_3(settings, seed).items() if name.startswith(few)}


def table_3_and_variants(settings: Mapping[str, Any], seed: int, specs: Runs) -> dict[str, Mapping[str, Any]]:
    """Of the rows of translation those of table 3 and its variants, of the first seed."""
    parts = runs.Rows(settings, subjects.TRANSLATION, seed)
    return {name: specs[name] for name in (*parts.main(), *parts.ablations()) if name in specs}


# --- scores ----------------------------------------------------------------------------------------------------------


def statistics(specs: Runs, beam: int) -> Counted:
    """What scores are computed from, by (row, test set): computed one time for every table."""
    counted = {}
    for name, spec in specs.items():
        task = subjects.text_of(spec)
        for split in task.tests:
            counted[name, split] = task.statistics(runs.written(spec, split, beam), split)
    return counted


def scores(specs: Runs, counted: Counted, reference: str = VANILLA, repeats: int = 1000) -> pd.DataFrame:
    """Scores of the rows of a task and what they are above a reference row, of `statistics`.

    On (row, test set, metric): value, low, high; change, change_low, change_high against the reference of the same seed (paired
    bootstrap); gain, gain_low, gain_high, the same in percent of the reference, positive = better; dev_loss (nats a token);
    over; p of the changes of all rows but the references (`helpers.scores.intervals.corrected`).
    """
    task, rows = subjects.text_of(next(iter(specs.values()))), {}
    for name, spec in specs.items():
        losses = study.read_json(runs.run(spec).results / "losses.json")
        again = "".join(name.partition(SEED)[1:])
        for split in task.tests:
            mine, other = counted[name, split], counted[reference + again, split]
            value, change = task.interval(mine, None, repeats), task.interval(mine, other, repeats)
            level = task.interval(other, None, 0)
            for metric in task.metrics:
                percent = _better(metric) * 100 / (level[metric][0] or np.nan)
                gain = sorted(percent * part for part in change[metric][1:])
                rows[name, split, metric] = {
                    **dict(zip(("value", "low", "high"), value[metric], strict=True)),
                    **dict(zip(("change", "change_low", "change_high"), change[metric], strict=True)),
                    "gain": percent * change[metric][0], "gain_low": gain[0], "gain_high": gain[1],
                    **losses, "over": intervals.BLOCKS if metric == "perplexity" else intervals.SENTENCES,
                }  # fmt: skip
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(table.index, names=["row", "test set", "metric"])
    compared = [name.partition(SEED)[0] != reference for name, *_ in table.index]
    return intervals.corrected(table, compared=compared).drop(columns=["p_holm", "family"])


def _better(metric: str) -> int:
    """1 where more is better, else -1."""
    return -1 if metric == "perplexity" else 1


def printed_gain(row: str, metric: str) -> float:
    """The paper's gain over vanilla in percent, positive = better; of BLEU that of the sum over seven sets; nan for none."""
    known = papers.GROUPED_TABLE_1[papers.GROUPED_SETS].sum(axis=1) if metric == "BLEU" else papers.GROUPED_OTHERS[metric]
    return _better(metric) * 100 * (known.get(row, np.nan) / known[VANILLA] - 1)


def changes(table: pd.DataFrame) -> pd.DataFrame:
    """A table with value and change, each with its ends, as points of the change alone: low and high are its ends."""
    return table.drop(columns=["value", "low", "high"]).rename(columns={"change_low": "low", "change_high": "high"})


def labelled(table: pd.DataFrame) -> pd.DataFrame:
    """`scores` with the columns method and seed ("" for the first) in place of a name with both."""
    table = table.reset_index()
    names = table.row.str.partition(SEED)
    return table.assign(method=names[0], seed=names[2])


def first_scores(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of `scores` for the first test set and metric alone, on the row's name."""
    _, split, metric = table.index[0]
    return table.xs((split, metric), level=("test set", "metric"))


def costs(specs: Runs) -> pd.DataFrame:
    """What the models of rows cost: heads, parameters without embeddings and FLOPs of an example of 30 tokens (millions)."""
    rows = {name: COST.read(runs.run(spec)) for name, spec in specs.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("row")


def _cost(subject) -> dict[str, float]:
    model = subject.model
    ids = torch.full((1, LENGTH), 3, device=model.device)
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids}
    parameters, flops = models.size(model, batch if subject.kind != subjects.LANGUAGE else {"input_ids": ids})
    return {"heads": sum(map(len, heads.kept(model).values())), "parameters": parameters / 1e6, "FLOPs": flops / 1e6}


COST = Analysis("size", 1, _cost)


def speed(specs: Runs, rows: int = 64, repeats: int = 15, reference: str = VANILLA) -> pd.DataFrame:
    """How fast the models of rows work, one after the other in each of `repeats` rounds, on one processor thread (or the GPU).

    Examples a second that get 10 new tokens (greedy, as many for every model); for language models tokens a second read. rate
    (median), ratio to the reference's of the same round (median), low, high (quartiles).
    """
    return values.read(speeds(specs, rows, repeats, reference).results / FILE)


def speeds(specs: Runs, rows: int = 64, repeats: int = 15, reference: str = VANILLA) -> study.Recipe:
    """The recipe of `speed`."""
    return SPEED.recipe(*map(runs.run, specs.values()), names=list(specs), rows=rows, repeats=repeats, reference=reference)


def _speed(subject, names: Sequence[str], rows: int, repeats: int, reference: str) -> pd.DataFrame:
    works, sizes = {}, {}
    for name, one in zip(names, subject if isinstance(subject, list) else [subject], strict=True):
        works[name], sizes[name] = _work(one, rows)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for work in works.values():
            work()
        times = pd.DataFrame([{name: timeit.timeit(work, number=1) for name, work in works.items()} for _ in range(repeats)])
    finally:
        torch.set_num_threads(threads)
    rates = pd.Series(sizes) / times
    ratio = rates.div(rates[reference], axis=0)
    table = {"rate": rates.median(), "ratio": ratio.median(), "low": ratio.quantile(0.25), "high": ratio.quantile(0.75)}
    return pd.DataFrame(table).rename_axis("row")


SPEED = Analysis("speed", 1, _speed)


def _work(subject: subjects.Subject, rows: int) -> tuple[Callable[[], Any], int]:
    """A call to be timed, and how many examples or tokens it handles."""
    batch, model = subject.held_out(10**9, rows)[0], subject.model
    fed = {name: batch[name] for name in ("input_ids", "attention_mask")}
    if subject.kind == subjects.LANGUAGE:
        return torch.no_grad()(lambda: model(**fed, use_cache=False)), batch["input_ids"].numel()
    options = {"min_new_tokens": NEW, "max_new_tokens": NEW, "max_length": None, "do_sample": False, "num_beams": 1}
    return torch.no_grad()(lambda: model.generate(**fed, **options)), len(batch["input_ids"])


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


def table_1(scored: pd.DataFrame, cost: pd.DataFrame, fast: pd.DataFrame) -> pd.DataFrame:
    """The rows of the paper's tables 1, 2 and 5; "printed ..." is BLEU on IWSLT en-de and the gain of all seven sets."""
    table = first_scores(scored)[["value", "low", "high", "gain", "gain_low", "gain_high", "over"]]
    table = intervals.corrected(table, "gain", compared=table.index != VANILLA)
    table = table.join(cost).join(fast[["ratio"]].rename(columns={"ratio": "speed"}))
    printed = papers.GROUPED_TABLE_1[["en-de", "parameters", "speed", "FLOPs"]].rename(columns={"en-de": "BLEU"})
    printed = pd.concat([printed, papers.GROUPED_TABLE_5.loc[[runs.LITE], ["parameters", "speed", "FLOPs"]]])
    printed.insert(1, "gain", [printed_gain(row, "BLEU") for row in printed.index])
    printed["speed"] /= printed.speed[VANILLA]
    return table.join(printed.add_prefix("printed ")).rename_axis("row")


def table_others(scored: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """`scores` of summarization and language modelling with the paper's numbers of tables 4 and 6, on (task, ...)."""
    parts = []
    for task, table in scored.items():
        bare = [(row.partition(", ")[0], metric) for row, _, metric in table.index]  # of every seed
        printed = [papers.GROUPED_OTHERS[metric].get(row, np.nan) for row, metric in bare]
        gain = [printed_gain(row, metric) for row, metric in bare]
        parts.append(pd.concat({task: table.assign(printed=printed, **{"printed gain": gain})}, names=["task"]))
    return pd.concat(parts)


def gains(scored: Mapping[str, pd.DataFrame], widths: Mapping[str, int], rows: Sequence[str] = (GHT, PS)) -> pd.DataFrame:
    """Relative gains over vanilla in percent and the paper's, of `scores` by task; over trainings where there are several.

    task has the metric, and the test set where there are several; head (numbers of a head, `widths` by task); over.
    """
    frames = []
    for task, table in scored.items():
        part, splits = labelled(table).rename(columns={"test set": "split"}), table.index.unique("test set")
        for row in part[part.method.isin(rows)].itertuples():
            title = [task, row.metric, row.split] if len(splits) > 1 else [task, row.metric]
            gain = {"head": widths[task], "gain": row.gain, "low": row.gain_low, "high": row.gain_high, "single": row.over}
            printed = printed_gain(row.method, row.metric)
            frames.append({"task": ", ".join(title), "method": row.method, "seed": row.seed, **gain, "printed": printed})
    frame = pd.DataFrame(frames).sort_values("method", key=lambda each: each.map([*rows].index), kind="stable")
    table = over_seeds(frame, ("task", "method"), {"gain": ("gain", "low", "high")}, ("printed", "head"), keep=True)
    single = frame.groupby(["task", "method"], sort=False).single.first().to_numpy()
    return table.assign(over=np.where(table.seeds > 1, intervals.TRAININGS, single)).reset_index()


def widths(settings: Mapping[str, Any]) -> dict[str, int]:
    """How many numbers a head has, by task."""
    shapes = {task: settings["grouping"][subjects.setting(task)]["model"] for task in subjects.METRICS}
    return {task: shape["width"] // shape["heads"] for task, shape in shapes.items()}


def summed(settings: Mapping[str, Any], task: str, seed: int) -> pd.DataFrame:
    """Vanilla, the constraint and one head a group on a task's text, for a summary of text that no notebook shows.

    On `what`: value, low, high (means over trainings with 95 % t-intervals; gains in percent), n (trainings). What all heads of
    a kind are worth is of the first training, with an interval over its test set.

    Raises
    ------
    StudyError
        If the task has no rows, or one of its runs is neither in the store nor published.
    """
    plan, repeats = settings["grouping"], settings["bootstrap"]
    rows = {name: spec for name, spec in runs.rows_of(settings, task, seed).items()
            if name.partition(SEED)[0] in (VANILLA, GHT, PS)}  # fmt: skip
    missing = [name for name, spec in rows.items() if not outputs.recipe(runs.run(spec), plan["beam"]).made()]
    if missing or not rows:
        raise StudyError(
            f"Not made of {task}: {', '.join(missing) or 'any row'}; first run make study ONLY=04, settings alike."
        )
    scored = {task: scores(rows, statistics(rows, plan["beam"]), repeats=repeats)}
    means = means_over_seeds(per_seed(scored, seed=seed)).reset_index().rename(columns={"mean": "value"})
    gained = gains(scored, widths(settings)).rename(columns={"gain": "value"})
    off = worth_of_attention({task: rows}, plan["beam"], repeats).xs(VANILLA, level="row").reset_index()
    off = off[["kind", "metric", "test set"]].join(off.filter(like="percent").set_axis(["value", "low", "high"], axis=1))
    off = off.assign(what=off.kind + " heads off, change in %: " + off["test set"] + ", " + off.metric, seeds=1)
    gained = gained.assign(what=gained.method + ", gain in %: " + gained.task)
    every = pd.concat([means.assign(what=means.method + ": " + means.panel), gained, off]).rename(columns={"seeds": "n"})
    return every.set_index("what")[["value", "low", "high", "n"]]


def of_one_size(table: pd.DataFrame, means: pd.DataFrame | None = None, sized: pd.DataFrame | None = None) -> pd.DataFrame:
    """Vanilla, GHT-PS and models of its size, by `table_1`; by `means_over_seeds` and `equal_size` where they are known.

    value, low, high (BLEU), seeds (trainings), heads, parameters (millions), speed (vanilla's is 1; nan where it is not timed,
    which are models of the shape of GHT-PS), printed gain (percent).
    """
    columns, joined = ["value", "low", "high", "seeds"], table.assign(seeds=1)
    several = [] if means is None else [means.loc[means.index[0][0]].rename(columns={"mean": "value"})[columns]]
    for part in several + ([] if sized is None else [sized[columns]]):
        joined = joined.reindex(joined.index.union(part.index, sort=False))
        joined.loc[part.index, columns] = part.to_numpy(float)
    shape = ["heads", "parameters"]
    joined[shape] = joined[shape].fillna(joined.loc[PS, shape])
    order = (VANILLA, GHT, runs.NARROWER, runs.FEWER, runs.AT_START, PS, runs.RANDOM, runs.GRADIENT, runs.L0, runs.LITE)
    present = [name for name in order if name in joined.index]
    return joined.loc[present, [*columns, *shape, "speed", "printed gain"]].rename_axis("row")


def ablation(specs: Runs, counted: Counted, repeats: int = 1000) -> pd.DataFrame:
    """Table 3 and the variants: every row against GHT or, where heads are gone, against GHT-PS (its model).

    printed is the mean change over the paper's five sets; p, p_holm and family are of both models together but not of vanilla,
    which is no part; shares: the other rows with the same stage 1 and the same heads cut from it, no further observations.
    """
    families = {PS: {}, GHT: {}}
    for name, spec in specs.items():
        pruned = "cut" in spec or "cut" in spec.get("start", {})
        families[PS if pruned else GHT][name] = spec
    parts = []
    for family in (GHT, PS):
        table = first_scores(scores(families[family], counted, family, repeats)).reset_index()
        table.loc[table.row == family, ["change", "change_low", "change_high"]] = np.nan
        parts.append(table.assign(model=family))
    frame = pd.concat(parts, ignore_index=True)
    mean = papers.GROUPED_TABLE_3.mean(axis=1)
    frame["printed"] = [mean[row] - mean[family] if row in mean.index and row != family else np.nan
                        for row, family in zip(frame.row, frame.model, strict=True)]  # fmt: skip
    columns = ["row", "model", "value", "low", "high", "change", "change_low", "change_high", "printed", "dev_loss", "over"]
    frame = intervals.corrected(frame[columns], compared=(frame.row != frame.model) & (frame.row != VANILLA))
    return frame.assign(shares=[_sharing(specs, name) for name in frame.row])


def ablation_over_seeds(specs: Runs, counted: Counted) -> pd.DataFrame:
    """`ablation` over trainings: every row against the GHT or GHT-PS of its seed, means with their t-intervals; seeds."""
    parts = []
    for seed in dict.fromkeys(name.partition(SEED)[2] for name in specs):
        rows = {name.partition(SEED)[0]: spec for name, spec in specs.items() if name.partition(SEED)[2] == seed}
        part = {
            (name.partition(SEED)[0], split): one for (name, split), one in counted.items() if name.partition(SEED)[2] == seed
        }
        parts.append(ablation(rows, part, 0).assign(seed=seed))
    whole = pd.concat(parts)
    table = over_seeds(whole, ("row", "model"), CHANGES, ("printed", "dev_loss")).reset_index()
    table["shares"] = whole.drop_duplicates(["row", "model"]).shares.to_numpy()
    columns = ["row", "model", *(name for names in CHANGES.values() for name in names), "printed", "dev_loss", "seeds"]
    compared = ((table.row != table.model) & (table.row != VANILLA)).to_numpy()
    frame = table[columns].assign(over=intervals.TRAININGS, shares=table.shares)
    return intervals.corrected(frame, "change", ("change_low", "change_high"), frame.seeds, compared)


def equal_size(specs: Runs, counted: Counted, against: str = PS) -> pd.DataFrame:
    """GHT-PS (or another row) against controls of its size, pair by pair: in every training from weights of the same seed.

    On control: value and change (GHT-PS minus the control), means with t-intervals; seeds; over; p, p_holm and family, none
    against those that Table 3 tests. With heads chosen before training, what they change: early, with ends and early_p_holm.
    """
    table = labelled(first_scores(scores(specs, counted, against, 0))).rename(columns={"method": "control"})
    table = table.assign(change=-table.change)[table.control != against]
    means = over_seeds(table, ("control",), CHANGES).reset_index().set_index("control").assign(over=intervals.TRAININGS)
    sized = means.drop([runs.AT_START, runs.RANDOM], errors="ignore")
    tested = intervals.corrected(sized, "change", ("change_low", "change_high"), sized.seeds)
    means = means.join(tested[tested.columns.difference(means.columns, sort=False)])
    if against != PS or runs.AT_START not in specs:
        return means
    others = {name: spec for name, spec in specs.items() if name.partition(SEED)[0] != PS}
    early = equal_size(others, counted, runs.AT_START)[["change", "change_low", "change_high", "p_holm"]]
    return means.join(early.set_axis([f"early{end}" for end in ("", "_low", "_high", "_p_holm")], axis=1))


def ladder(scored: Mapping[int, pd.DataFrame], seed: int = 1) -> pd.DataFrame:
    """`scores` of every training by the numbers of a head, on (head, row, seed); `seed` is that of bare names."""
    table = pd.concat({head: labelled(first_scores(one)) for head, one in scored.items()}, names=["head", "place"])
    table = table.assign(row=table.method, seed=[int(number or seed) for number in table.seed]).reset_index("head")
    return table.set_index(["head", "row", "seed"]).drop(columns=["p", "method"])


def ladders(
    rungs: Mapping[int, Runs], beam: int, seed: int = 1, repeats: int = 1000
) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """`ladder` of scores against vanilla, and of those against as many heads from the start, None without such rows."""
    counted = {head: statistics(specs, beam) for head, specs in rungs.items()}
    plain, few = (
        {head: scores(specs, counted[head], name, repeats) for head, specs in rungs.items() if name in specs}
        for name in (VANILLA, runs.AT_START)
    )
    return ladder(plain, seed), ladder(few, seed) if few else None


def ladder_over_seeds(table: pd.DataFrame, few: pd.DataFrame | None = None) -> pd.DataFrame:
    """`ladder` with one line a (head, row): means over trainings with t-intervals, or one training's over its sentences.

    With `few`, a `ladder` whose reference are as many heads from the start, what GHT-PS changes against these: against_start.
    """
    columns = CHANGES | {"gain": ("gain", "gain_low", "gain_high")}
    means = over_seeds(table.reset_index(), ("head", "row"), columns, ("dev_loss",), keep=True)
    single = table.groupby(["head", "row"], sort=False).over.first().to_numpy()
    means["over"] = np.where(means.seeds > 1, intervals.TRAININGS, single)
    if few is None:
        return means
    against = ladder_over_seeds(few.xs(PS, level="row", drop_level=False))[["change", "change_low", "change_high"]]
    return means.join(against.set_axis([f"against_start{end}" for end in ("", "_low", "_high")], axis=1))


def chosen_on_dev(table: pd.DataFrame, trainings: pd.DataFrame) -> pd.DataFrame:
    """What choosing on dev brings: the best GHT and GHT-PS of a sweep, and the best of as many plain trainings as there are.

    `table` are the `scores` of all rows of a seed; the vanilla rows of `trainings`, a `ladder` of the same width, are the
    control. On method: row (the one of least dev loss), tried, dev_loss, value, usual (the test score of the usual setting).
    """
    first, tried = first_scores(table), {}
    for method in (GHT, PS):
        varied = tuple(f"{method}, {what} " for what in ("alpha", "beta", "map", "weight x"))
        tried[method] = first.loc[[name for name in first.index if name == method or name.startswith(varied)]]
    tried[VANILLA] = trainings.xs(VANILLA, level="row").rename("seed {}".format)
    lines = {}
    for method, part in tried.items():
        best = part.dev_loss.idxmin()
        lines[method] = {"row": best, "tried": len(part), **part.loc[best, ["dev_loss", "value"]], "usual": first.value[method]}
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis("method")


def _sharing(specs: Runs, name: str) -> str:
    """The other rows that start from the same stage 1 and cut the same heads."""
    mine = specs[name]
    if "cut" not in mine:
        return ""
    same = [other for other, spec in specs.items() if all(spec.get(part) == mine.get(part) for part in ("start", "cut"))]
    return "; ".join(other for other in same if other != name)


def by_groups(scored: pd.DataFrame, groups: int, heads_a_layer: int) -> pd.DataFrame:
    """`scores` by number of groups (figure 3): panel (test set), method, groups, unit (metric), value, change and p.

    A group for each of the `heads_a_layer` heads is GHT and GHT-PS in one: every head stays.
    """
    rows = []
    for (name, split, metric), line in scored.iterrows():
        method, comma, rest = name.partition(", ")
        if method not in (VANILLA, GHT, PS) or (comma and not rest.endswith(" groups")):
            continue
        number = int(rest.split()[0]) if comma else groups
        row = {"panel": split, "method": method, "groups": number, "unit": metric, **line[["value", "low", "high"]]}
        rows.append(row | dict(line[["change", "change_low", "change_high", "over"]]))
        if method == GHT and number == heads_a_layer:
            rows.append({**rows[-1], "method": PS})  # every head is a group of its own and stays
    table = pd.DataFrame(rows)
    twice = table.duplicated([name for name in table if name != "method"])  # the same run is one comparison
    return intervals.corrected(table, compared=(table.method != VANILLA) & ~twice).drop(columns=["p_holm", "family"])


# --- groups ----------------------------------------------------------------------------------------------------------


def trace(spec: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """What a run's heads were compared by while it trained (`helpers.methods.grouping.Grouped`)."""
    with np.load(runs.run(spec).results / "trace.npz") as stored:
        return dict(stored)


def sites(spec: Mapping[str, Any]) -> list[tuple[str, int]]:
    """(kind, layer) of every attention of a run's model that has heads."""
    return [place for place, left in training.kept(runs.run(spec)).items() if left]


def _grams(looks: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Gram matrices of each layer over the looks: a list of arrays [looks, heads, heads]."""
    return [looks[f"grams_{number}"] for number in range(sum(name.startswith("grams_") for name in looks))]


def _last(grams: np.ndarray) -> int:
    """The last look that was taken."""
    return int(np.flatnonzero(~np.isnan(grams).any((1, 2)))[-1])


def constraint_terms(spec: Mapping[str, Any], groups: int) -> pd.DataFrame:
    """The two terms of the group constraint on the probe over a stage (figure 4), also where it is not trained on.

    step, homogeneity, diversity (means over layers of mean cosines), shift (of centres since the last look).
    """
    looks, lines = trace(spec), []
    for look, step in enumerate(looks["step"]):
        terms = []
        for table in (torch.tensor(grams[look]) for grams in _grams(looks)):
            number = min(groups, len(table))
            if not table.isnan().any():
                terms.append(units.group_loss(table, units.clusters(table, number), number, 1.0, float(number > 1))[1:])
        if terms:
            means = dict(zip(("homogeneity", "diversity"), np.mean(np.array(terms, float), 0), strict=True))
            lines.append({"step": int(step), **means, "shift": looks["shift"][look]})
    return pd.DataFrame(lines)


def both_stages(spec: Mapping[str, Any], groups: int) -> pd.DataFrame:
    """`constraint_terms` of a row that keeps all heads, from the first step of stage 1 to the last of stage 2."""
    first, two = runs.stages(spec)[0], constraint_terms(spec, groups)
    parts = [constraint_terms(first, groups), two.assign(step=two.step + first["training"]["steps"])]
    return pd.concat(parts, ignore_index=True)


def cosines(specs: Runs, groups: int) -> pd.DataFrame:
    """How alike any two heads of an attention are, with random weights and at the end of each row's stage 1 (title).

    A row each (title, kind, layer, head, other): cosine of all value vectors of the probe; group and other group by K-means.
    """
    parts = []
    for title, spec in {"random weights": next(iter(specs.values())), **specs}.items():
        first = runs.stages(spec)[0]
        for (kind, layer), grams in zip(sites(first), _grams(trace(first)), strict=True):
            table = torch.tensor(grams[0 if title == "random weights" else _last(grams)])
            labels, (one, other) = units.clusters(table, groups).numpy(), np.indices(table.shape).reshape(2, -1)
            pairs = {"head": one, "other": other, "cosine": units.cosines(table).numpy().ravel()}
            pairs |= {"group": labels[one], "other group": labels[other]}
            parts.append(pd.DataFrame({"title": title, "kind": kind, "layer": layer, **pairs}))
    return pd.concat(parts, ignore_index=True)


def contrasts(pairs: pd.DataFrame) -> pd.DataFrame:
    """`cosines` by attention, on (title, kind, layer): same and other (mean cosine of two heads of one group, of two groups),
    contrast (same minus other)."""
    pairs = pairs[pairs["head"] != pairs.other]
    places, same = [pairs[name] for name in ("title", "kind", "layer")], pairs.group == pairs["other group"]
    table = pd.DataFrame({name: pairs.cosine.where(part).groupby(places, sort=False).mean()
                          for name, part in (("same", same), ("other", ~same))})  # fmt: skip
    return table.assign(contrast=table.same - table.other)


def redundancy(specs: Runs, scored: pd.DataFrame, groups: int) -> pd.DataFrame:
    """How far each row's heads are grouped at the end of stage 1, and what all its heads score in the end.

    pull, push (weights of the constraint's halves), same, other (means over attentions of `contrasts`), reached (their
    difference in percent of that of full grouping: members alike, centres as far from each other as can be), silhouette (mean
    over attentions), change, low, high (BLEU against vanilla).
    """
    means = contrasts(cosines(specs, groups)).groupby(level="title", sort=False).mean().loc[[*specs]]
    forms = {name: spec.get("objective", {}) for name, spec in specs.items()}
    halves = {half: [form.get(half, 0.0) * form.get("weight", 0.0) for form in forms.values()] for half in ("alpha", "beta")}
    tight = [_compact(runs.stages(spec)[0], groups)["silhouette"] for spec in specs.values()]
    change = first_scores(scored)[["change", "change_low", "change_high"]].set_axis(["change", "low", "high"], axis=1)
    table = pd.DataFrame({"pull": halves["alpha"], "push": halves["beta"]}, index=[*specs]).join(means[["same", "other"]])
    reached = 100 * means.contrast / (1 + 1 / max(groups - 1, 1))
    return table.assign(reached=reached, silhouette=tight).join(change).assign(over=intervals.SENTENCES).rename_axis("row")


def _compact(spec: Mapping[str, Any], groups: int) -> pd.Series:
    """Silhouette and Dunn index of the groups at a stage's end, means over attentions."""
    tables = [torch.tensor(grams[_last(grams)]) for grams in _grams(trace(spec))]
    return pd.DataFrame([units.compactness(table, units.clusters(table, groups)) for table in tables]).mean()


def compactness(specs: Runs, scored: pd.DataFrame, plan: Mapping[str, Any]) -> pd.DataFrame:
    """How compact groups are where all heads stay, and what a row scores with all heads and with one a group (figure 2).

    label (row), value, change with ends, strength (weight of the constraint, 0 for vanilla), silhouette, dunn, unit, over.
    """
    strengths = {VANILLA: 0.0, GHT: plan["weight"]}
    strengths |= {f"{GHT}, weight x {factor:g}": factor * plan["weight"] for factor in plan["strengths"]}
    strengths |= {runs.NO_HOMOGENISATION: plan["weight"] / 2, runs.NO_DIVERSIFICATION: plan["weight"] / 2}
    first, parts, columns = first_scores(scored), [], ["label", "value", "low", "high", "change", "change_low", "change_high"]
    for name, strength in strengths.items() if set(strengths) <= set(specs) else ():
        few = runs.NO_CONSTRAINT if name == VANILLA else name.replace(GHT, PS)
        lines = first.loc[[row for row in (name, few) if row in first.index]].rename_axis("label").reset_index()
        parts.append(lines[columns].assign(strength=strength, **_compact(specs[name], plan["translation"]["groups"])))
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
    return table.assign(unit=scored.index[0][2], over=intervals.SENTENCES)


# --- over trainings --------------------------------------------------------------------------------------------------


def per_seed(scored: Mapping[str, pd.DataFrame], rows: Sequence[str] = (VANILLA, GHT, PS), seed: int = 1) -> pd.DataFrame:
    """Scores of every seed, by panel (task and test set) and method; the bare names are those of `seed`."""
    parts = []
    for title, table in scored.items():
        part = labelled(table)
        panel = title + ": " + part["test set"] + part.metric.map(lambda name: f", {name}" if name.startswith("ROUGE") else "")
        part = part.assign(panel=panel, seed=[int(number or seed) for number in part.seed], unit=part.metric)
        parts.append(part.loc[part.method.isin(rows), ["panel", "method", "seed", "value", "unit"]])
    return pd.concat(parts, ignore_index=True)


def means_over_seeds(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean over seeds with its 95 % t-interval, and the paired change against vanilla, from `per_seed`."""
    base = frame[frame.method == VANILLA].set_index(["panel", "seed"]).value
    frame = frame.assign(change=frame.value - base.reindex(pd.MultiIndex.from_frame(frame[["panel", "seed"]])).to_numpy())
    columns = {"value": ("mean", "low", "high"), "change": ("change_mean", "change_low", "change_high")}
    return over_seeds(frame, ("panel", "method"), columns).assign(over=intervals.TRAININGS)
