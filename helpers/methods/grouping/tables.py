"""Tables of Ni et al. 2023 from the runs of grouped heads: scores, costs, ablations, groups, votes, which heads stay."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.linalg import orthogonal_procrustes
from scipy.optimize import linear_sum_assignment

from helpers import heads, models, study
from helpers.corpora import tokens
from helpers.heads.families import ADDRESS
from helpers.measures import measured
from helpers.measures.analysis import FILE, Analysis
from helpers.measures.trainings import over_seeds
from helpers.methods.grouping import runs, units
from helpers.methods.grouping.runs import GHT, PS, VANILLA
from helpers.models import inputs
from helpers.runs import outputs, subjects, training
from helpers.scores import intervals
from helpers.study import StudyError, values

EXPLAINED = 100  # dev examples that relevance is measured on
LENGTH, NEW = 30, 10  # tokens of an input, as the paper counts FLOPs; tokens that are generated when speed is measured
# Tables 1 and 2: BLEU on IWSLT de-en, it-en, en-de, en-it, en-fr and WMT en-de, en-fr; parameters and FLOPs in millions, and
# sentences a second between them
PRINTED = {
    VANILLA: ((34.4, 32.3, 28.0, 30.8, 40.1, 27.3, 38.1), 44, 1012.1, 1996),
    GHT: ((35.4, 32.8, 29.1, 31.6, 41.5, 28.6, 40.7), 44, 1016.4, 1996),
    PS: ((35.2, 32.7, 28.9, 31.6, 41.4, 28.2, 40.5), 30, 1122.1, 1558),
    runs.FEWER: ((33.8, 31.9, 27.9, 29.3, 39.9, 26.9, 37.7), 30, 1175.4, 1549),
    runs.NARROWER: ((34.0, 32.2, 28.2, 29.5, 40.0, 26.7, 37.8), 30, 1108.7, 1465),
    runs.L0: ((32.2, 30.8, 26.5, 30.3, 39.8, 22.0, 34.0), 30, 1099.1, 1558),
    runs.DISAGREE: ((34.7, 31.8, 28.5, 30.7, 40.7, 27.3, 39.3), 44, 1011.2, 1996),
}
PRINTED_LITE = (16, 1170.2, 1181)  # Table 5; its BLEU (26.6, newstest2013) has the base model's 25.8 beside it
# Table 3: BLEU on IWSLT de-en, it-en, en-de, en-it, en-fr
PRINTED_ABLATION = {
    GHT: (35.4, 32.8, 29.1, 31.6, 41.5), runs.NO_DIVERSIFICATION: (34.7, 31.8, 28.5, 30.7, 40.7),
    runs.NO_HOMOGENISATION: (34.3, 32.0, 28.2, 30.9, 40.2), PS: (35.2, 32.7, 28.9, 31.6, 41.4),
    runs.AT_START: (33.8, 31.9, 28.1, 30.5, 39.8), runs.NO_CONSTRAINT: (34.0, 32.0, 28.4, 31.0, 40.2),
    runs.RANDOM: (33.7, 32.0, 28.1, 30.9, 40.3), runs.MEMBER: (33.6, 31.7, 27.9, 30.7, 40.2),
    runs.SECOND: (33.2, 31.8, 28.1, 30.8, 40.3), runs.BOTH: (33.4, 31.9, 27.7, 30.6, 40.2),
}  # fmt: skip
PRINTED_OTHERS = {  # Tables 4 and 6
    "ROUGE-1": {VANILLA: 38.45, GHT: 40.00, PS: 40.01}, "ROUGE-2": {VANILLA: 17.97, GHT: 21.10, PS: 21.31},
    "ROUGE-L": {VANILLA: 36.03, GHT: 37.51, PS: 37.62}, "perplexity": {VANILLA: 19.14, GHT: 18.60, PS: 18.59},
}  # fmt: skip
CHANGES = {"value": ("value", "low", "high"), "change": ("change", "change_low", "change_high")}  # means and their ends
Runs = Mapping[str, Mapping[str, Any]]  # row -> spec of its second stage
Counted = Mapping[tuple[str, str], np.ndarray]  # (row, test set) -> what its scores are computed from


# --- scores ----------------------------------------------------------------------------------------------------------


def statistics(specs: Runs, beam: int) -> Counted:
    """What scores are computed from, by (row, test set): made once, used by every table."""
    found = {}
    for name, spec in specs.items():
        task = subjects.text_of(spec)
        for split in task.tests:
            found[name, split] = task.statistics(runs.written(spec, split, beam), split)
    return found


def scores(specs: Runs, counted: Counted, reference: str = VANILLA, repeats: int = 1000) -> pd.DataFrame:
    """Scores of rows and what they are above a reference row.

    Parameters
    ----------
    specs : mapping of row -> spec
        Of one task; a name that ends in ", seed N" is compared with the reference of that seed.
    counted : `statistics` of them

    Returns
    -------
    pandas.DataFrame
        On (row, test set, metric): value, low, high; change, change_low, change_high against the reference (paired bootstrap);
        gain, gain_low, gain_high, the same in percent of the reference, positive = better; dev_loss (nats a token); over;
        p of the changes of all rows but the references (`helpers.scores.intervals.corrected`).
    """
    task, rows = subjects.text_of(next(iter(specs.values()))), {}
    for name, spec in specs.items():
        losses = study.read_json(runs.run(spec).results / "losses.json")
        again = "".join(name.partition(", seed ")[1:])
        for split in task.tests:
            own, other = counted[name, split], counted[reference + again, split]
            value, change = task.interval(own, None, repeats), task.interval(own, other, repeats)
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
    compared = [name.partition(", seed ")[0] != reference for name, *_ in table.index]
    return intervals.corrected(table, compared=compared).drop(columns=["p_holm", "family"])


def _better(metric: str) -> int:
    """1 where more is better, else -1."""
    return -1 if metric == "perplexity" else 1


def printed_gain(row: str, metric: str) -> float:
    """The paper's gain over vanilla in percent, positive = better; of BLEU that of the sum over seven sets; nan for none."""
    known = {name: sum(bleu) for name, (bleu, *_) in PRINTED.items()} if metric == "BLEU" else PRINTED_OTHERS[metric]
    return _better(metric) * 100 * (known.get(row, np.nan) / known[VANILLA] - 1)


def first_scores(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of `scores` for the first test set and metric alone, on the row's name."""
    _, split, metric = table.index[0]
    return table.xs((split, metric), level=("test set", "metric"))


def costs(specs: Runs) -> pd.DataFrame:
    """What the models of rows cost: heads, parameters without embeddings (millions), FLOPs at input length 30 (millions).

    FLOPs are those of the paper's setting, one example of 30 tokens a side, as torch counts products of matrices.
    """
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

    Examples a second that get 10 new tokens (greedy, as many for every model); for language models tokens a second read.

    Returns
    -------
    pandas.DataFrame
        On row: rate (median), ratio to the reference's of the same round (median), low, high (quartiles).
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
        times = pd.DataFrame([{name: _timed(work) for name, work in works.items()} for _ in range(repeats)])
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


def _timed(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def worth_of_attention(rows: Mapping[str, Runs], beam: int, repeats: int = 1000) -> pd.DataFrame:
    """What all heads of a kind are worth to the vanilla models of tasks: test scores with all of them off, no training after.

    Parameters
    ----------
    rows : mapping of task -> rows by name
        As `helpers.methods.grouping.runs.rows_of`; every seed of vanilla counts.

    Returns
    -------
    pandas.DataFrame
        On (task, row, kind, test set, metric): heads; whole (score with all heads); change (with the kind off minus whole),
        low, high (paired bootstrap); percent, percent_low, percent_high (the change in percent of the whole score); over.
    """
    read = {(task, name): values.read(recipe.results / FILE) for task, found in rows.items()
            for name, recipe in attention_off(found, beam, repeats).items()}  # fmt: skip
    return pd.concat(read, names=["task", "row"])


def attention_off(rows: Runs, beam: int, repeats: int = 1000) -> dict[str, study.Recipe]:
    """The analyses that `worth_of_attention` reads of a task, by row."""
    plain = {name: spec for name, spec in rows.items() if name.partition(", seed ")[0] == VANILLA}
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
                told = dict(zip(("change", "low", "high"), change[metric], strict=True))
                shares = {f"percent{end}": 100 * part / (value or np.nan)
                          for end, part in zip(("", "_low", "_high"), change[metric], strict=True)}  # fmt: skip
                over = intervals.BLOCKS if metric == "perplexity" else intervals.SENTENCES
                rows[kind, split, metric] = {"heads": len(chosen), "whole": value, **told, **shares, "over": over}
    index = pd.MultiIndex.from_tuples(rows, names=["kind", "test set", "metric"])
    return pd.DataFrame(list(rows.values()), index)


OFF = Analysis("test scores with kinds off", 1, _off)


def table_1(scored: pd.DataFrame, cost: pd.DataFrame, fast: pd.DataFrame) -> pd.DataFrame:
    """Our rows in the shape of the paper's Tables 1, 2 and 5, the paper's numbers beside them.

    Printed columns: BLEU on IWSLT en-de; gain over vanilla in percent of the sum over all seven sets; parameters, sentences a
    second and FLOPs.
    """
    ours = first_scores(scored)[["value", "low", "high", "gain", "gain_low", "gain_high", "over"]]
    ours = intervals.corrected(ours, "gain", compared=ours.index != VANILLA)
    ours = ours.join(cost).join(fast[["ratio"]].rename(columns={"ratio": "speed"}))
    base = PRINTED[VANILLA]
    printed = {
        name: {"printed BLEU": bleu[2], "printed gain": printed_gain(name, "BLEU"), "printed parameters": parameters,
               "printed speed": speed / base[2], "printed FLOPs": flops}
        for name, (bleu, parameters, speed, flops) in PRINTED.items()
    }  # fmt: skip
    printed[runs.LITE] = {
        "printed parameters": PRINTED_LITE[0], "printed speed": PRINTED_LITE[1] / base[2], "printed FLOPs": PRINTED_LITE[2]
    }  # fmt: skip
    return ours.join(pd.DataFrame.from_dict(printed, orient="index")).rename_axis("row")


def table_others(scored: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Summarization and language modelling in the shape of Tables 4 and 6, the paper's numbers beside ours."""
    parts = []
    for task, table in scored.items():
        bare = [(row.partition(", ")[0], metric) for row, _, metric in table.index]  # of every seed
        printed = [PRINTED_OTHERS[metric].get(row, np.nan) for row, metric in bare]
        gain = [printed_gain(row, metric) for row, metric in bare]
        parts.append(pd.concat({task: table.assign(printed=printed, **{"printed gain": gain})}, names=["task"]))
    return pd.concat(parts)


def gains(scored: Mapping[str, pd.DataFrame], room: Mapping[str, int], rows: Sequence[str] = (GHT, PS)) -> pd.DataFrame:
    """Relative gains over vanilla, ours and the paper's, for `helpers.methods.grouping.figures.gains`.

    `room` says how many numbers a head of each task has (column head). Of rows that are trained with several seeds (names that
    end in ", seed N") means over trainings with t-intervals; seeds says how many.
    """
    found = []
    for task, table in scored.items():
        many = table.index.get_level_values("test set").nunique() > 1
        for (row, split, metric), line in table.iterrows():
            base, _, seed = row.partition(", seed ")
            if base in rows:
                told = {"task": f"{task}, {metric}" + (f", {split}" if many else ""), "method": base, "seed": seed}
                gain = {"head": room[task], "gain": line.gain, "low": line.gain_low, "high": line.gain_high}
                found.append(told | gain | {"printed": printed_gain(base, metric), "alone": line.over})
    found = pd.DataFrame(found).sort_values("method", key=lambda each: each.map([*rows].index), kind="stable")
    table = over_seeds(found, ("task", "method"), {"gain": ("gain", "low", "high")}, ("printed", "head"), keep=True)
    alone = found.groupby(["task", "method"], sort=False).alone.first().to_numpy()
    return table.assign(over=np.where(table.seeds > 1, intervals.TRAININGS, alone)).reset_index()


def summed(settings: Mapping[str, Any], task: str, seed: int) -> pd.DataFrame:
    """Vanilla, the constraint and one head a group on a task's text, for a summary of text that no notebook shows.

    Returns
    -------
    pandas.DataFrame
        On `what`: value, low, high (means over trainings with 95 % t-intervals; gains in percent), n (trainings). What all
        heads of a kind are worth is of the first training, with an interval over its test set.

    Raises
    ------
    StudyError
        If the task has no rows, or one of its runs is neither in the store nor published.
    """
    plan, repeats = settings["grouping"], settings["bootstrap"]
    rows = {name: spec for name, spec in runs.rows_of(settings, task, seed).items()
            if name.partition(", seed ")[0] in (VANILLA, GHT, PS)}  # fmt: skip
    missing = [name for name, spec in rows.items() if not outputs.recipe(runs.run(spec), plan["beam"]).made()]
    if missing or not rows:
        raise StudyError(
            f"Not made of {task}: {', '.join(missing) or 'any row'}; first run make study ONLY=04, settings alike."
        )
    scored = {task: scores(rows, statistics(rows, plan["beam"]), repeats=repeats)}
    shape = plan[subjects.setting(task)]["model"]
    means = means_over_seeds(per_seed(scored, seed=seed)).reset_index().rename(columns={"mean": "value"})
    gained = gains(scored, {task: shape["width"] // shape["heads"]}).rename(columns={"gain": "value"})
    off = worth_of_attention({task: rows}, plan["beam"], repeats).xs(VANILLA, level="row").reset_index()
    off = off[["kind", "metric", "test set"]].join(off.filter(like="percent").set_axis(["value", "low", "high"], axis=1))
    off = off.assign(what=off.kind + " heads off, change in %: " + off["test set"] + ", " + off.metric, seeds=1)
    gained = gained.assign(what=gained.method + ", gain in %: " + gained.task)
    found = pd.concat([means.assign(what=means.method + ": " + means.panel), gained, off]).rename(columns={"seeds": "n"})
    return found.set_index("what")[["value", "low", "high", "n"]]


def of_one_size(table: pd.DataFrame, several: pd.DataFrame | None = None) -> pd.DataFrame:
    """Vanilla, GHT-PS and controls of its size for `helpers.methods.grouping.figures.equal_size`.

    Parameters
    ----------
    table : pandas.DataFrame
        `table_1`: one training.
    several : pandas.DataFrame, optional
        Of several trainings, on the row: value, low, high, seeds; they stand in place of the one.

    Returns
    -------
    pandas.DataFrame
        row, value, low, high (BLEU), seeds, heads, parameters (millions), speed (vanilla's is 1; nan where it is not
        timed, which are models of the shape of GHT-PS).
    """
    columns, found = ["value", "low", "high", "seeds"], table.assign(seeds=1)
    if several is not None:
        found = found.reindex(found.index.union(several.index, sort=False))
        found.loc[several.index, columns] = several[columns].to_numpy(float)
    shape = ["heads", "parameters"]
    found[shape] = found[shape].fillna(found.loc[PS, shape])
    rows = (VANILLA, runs.NARROWER, runs.FEWER, runs.AT_START, PS, runs.RANDOM, runs.GRADIENT, runs.L0, runs.LITE)
    return (
        found.loc[[name for name in rows if name in found.index], [*columns, *shape, "speed"]].rename_axis("row").reset_index()
    )


def ablation(specs: Runs, counted: Counted, repeats: int = 1000) -> pd.DataFrame:
    """Table 3 and the variants: every row against GHT or, where heads are gone, against GHT-PS.

    Returns
    -------
    pandas.DataFrame
        row, model (family), value, low, high, change, change_low, change_high (against the family's reference), printed (mean
        change over the paper's five sets), dev_loss; over; p, p_holm and family, of both models together but not of vanilla,
        which is no part; shares: the other rows with the same stage 1 and the same heads cut from it, no further observations;
        ``attrs["references"]``.
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
    mean = {name: np.mean(bleu) for name, bleu in PRINTED_ABLATION.items()}
    frame["printed"] = [mean[row] - mean[family] if row in mean and row != family else np.nan
                        for row, family in zip(frame.row, frame.model, strict=True)]  # fmt: skip
    columns = ["row", "model", "value", "low", "high", "change", "change_low", "change_high", "printed", "dev_loss", "over"]
    frame = intervals.corrected(frame[columns], compared=(frame.row != frame.model) & (frame.row != VANILLA))
    frame = frame.assign(shares=[_sharing(specs, name) for name in frame.row])
    frame.attrs["references"] = {GHT: GHT, PS: PS}
    return frame


def by_seed(specs: Runs) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Rows by the end of their names, "" or ", seed N", and then by what stands before it."""
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for name, spec in specs.items():
        base, mark, number = name.partition(", seed ")
        found.setdefault(mark + number, {})[base] = spec
    return found


def ablation_over_seeds(specs: Runs, counted: Counted) -> pd.DataFrame:
    """Table 3 over trainings: every row against the GHT or GHT-PS of its own seed.

    Parameters
    ----------
    specs : mapping of row -> spec
        Names that end in ", seed N" are those of another seed.
    counted : `statistics` of them

    Returns
    -------
    pandas.DataFrame
        As `ablation`, values and changes being means over seeds with their t-intervals; seeds.
    """
    parts = []
    for number, (end, rows) in enumerate(by_seed(specs).items()):
        own = {(name, split): counted[name + end, split] for name in rows for split in subjects.text_of(rows[name]).tests}
        parts.append(ablation(rows, own, 0).assign(seed=number))
    whole = pd.concat(parts)
    found = over_seeds(whole, ("row", "model"), CHANGES, ("printed", "dev_loss")).reset_index()
    found["shares"] = whole.drop_duplicates(["row", "model"]).shares.to_numpy()
    columns = ["row", "model", *(name for names in CHANGES.values() for name in names), "printed", "dev_loss", "seeds"]
    compared = ((found.row != found.model) & (found.row != VANILLA)).to_numpy()
    frame = found[columns].assign(over=intervals.TRAININGS, shares=found.shares)
    frame = intervals.corrected(frame, "change", ("change_low", "change_high"), frame.seeds, compared)
    frame.attrs["references"] = {GHT: GHT, PS: PS}
    return frame


def equal_size(specs: Runs, counted: Counted, own: str = PS) -> pd.DataFrame:
    """GHT-PS against controls of its size, pair by pair: in every training from weights of the same seed.

    Parameters
    ----------
    specs : mapping of row -> spec
        As `helpers.methods.grouping.runs.equal_size`, and as many heads chosen before training or at random (`runs.AT_START`,
        `runs.RANDOM`) if wanted.
    counted : `statistics` of them
    own : str
        The row that is held against all others.

    Returns
    -------
    pandas.DataFrame
        On control: value and change (GHT-PS minus the control), means with t-intervals; seeds; over; p, p_holm and family, none
        against those that Table 3 tests. With heads chosen before training, what they change: early, early_low, early_high,
        early_p_holm.
    """
    table = first_scores(scores(specs, counted, own, 0)).reset_index()
    names = table.row.str.partition(", seed ")
    table = table.assign(control=names[0], seed=names[2], change=-table.change)[names[0] != own]
    found = over_seeds(table, ("control",), CHANGES).reset_index().set_index("control").assign(over=intervals.TRAININGS)
    sized = found.drop([runs.AT_START, runs.RANDOM], errors="ignore")
    tested = intervals.corrected(sized, "change", ("change_low", "change_high"), sized.seeds)
    found = found.join(tested[tested.columns.difference(found.columns, sort=False)])
    if own != PS or runs.AT_START not in specs:
        return found
    others = {name: spec for name, spec in specs.items() if name.partition(", seed ")[0] != PS}
    early = equal_size(others, counted, runs.AT_START)[["change", "change_low", "change_high", "p_holm"]]
    return found.join(early.set_axis([f"early{end}" for end in ("", "_low", "_high", "_p_holm")], axis=1))


def ladder(scored: Mapping[int, pd.DataFrame], seed: int = 1) -> pd.DataFrame | None:
    """Scores of every training by the width of its heads.

    Parameters
    ----------
    scored : mapping of numbers of a head -> `scores` of its rows
        Rows by name as `helpers.methods.grouping.runs.ladder`.
    seed : int
        That of bare names.

    Returns
    -------
    pandas.DataFrame
        On (head, row, seed): value, low, high; change, change_low, change_high against vanilla of the same width and seed
        (paired bootstrap), gain likewise in percent; dev_loss; over. None without scores.
    """
    if not scored:
        return None
    parts = {}
    for head, one in scored.items():
        table = first_scores(one).reset_index()
        names = table.row.str.partition(", seed ")
        parts[head] = table.assign(row=names[0], seed=[int(number or seed) for number in names[2]])
    table = pd.concat(parts, names=["head", "place"]).reset_index("head").set_index(["head", "row", "seed"])
    return table.drop(columns="p")


def ladder_over_seeds(table: pd.DataFrame, few: pd.DataFrame | None = None) -> pd.DataFrame:
    """`ladder` with one line a width and row: means over trainings with t-intervals, or one training's over its sentences.

    Parameters
    ----------
    few : pandas.DataFrame, optional
        `ladder` of scores whose reference are as many heads from the start: what GHT-PS changes against these.

    Returns
    -------
    pandas.DataFrame
        On (head, row): seeds, value, low, high, change, change_low, change_high, gain, gain_low, gain_high, over;
        with `few`, of GHT-PS, against_start with its ends. The verdicts and table 3 test these changes.
    """
    values = CHANGES | {"gain": ("gain", "gain_low", "gain_high")}
    found = over_seeds(table.reset_index(), ("head", "row"), values, ("dev_loss",), keep=True)
    alone = table.groupby(["head", "row"], sort=False).over.first().to_numpy()
    found["over"] = np.where(found.seeds > 1, intervals.TRAININGS, alone)
    if few is None:
        return found
    beside = ladder_over_seeds(few.xs(PS, level="row", drop_level=False))[["change", "change_low", "change_high"]]
    return found.join(beside.set_axis([f"against_start{end}" for end in ("", "_low", "_high")], axis=1))


def chosen_on_dev(table: pd.DataFrame, trainings: pd.DataFrame) -> pd.DataFrame:
    """What choosing on dev brings: the best GHT and GHT-PS of a sweep beside the best of as many plain trainings as there are.

    Parameters
    ----------
    table : pandas.DataFrame
        `scores` of all rows of a seed.
    trainings : pandas.DataFrame
        `ladder`, of the same width: its vanilla rows of several seeds are the control.

    Returns
    -------
    pandas.DataFrame
        On method: row (the one of least dev loss), tried, dev_loss, value, usual (the test score of the usual setting).
    """
    first = first_scores(table)
    found = {}
    for method in (GHT, PS):
        swept = [name for name in first.index if name == method or name.startswith(_SWEPT[method])]
        best = first.loc[swept].dev_loss.idxmin()
        told = {"row": best, "tried": len(swept), **first.loc[best, ["dev_loss", "value"]]}
        found[method] = told | {"usual": first.value[method]}
    plain = trainings.xs(VANILLA, level="row")
    best = plain.loc[plain.dev_loss.idxmin()]
    told = {"row": f"seed {plain.dev_loss.idxmin()}", "tried": len(plain), **best[["dev_loss", "value"]]}
    found[VANILLA] = told | {"usual": first.value[VANILLA]}
    return pd.DataFrame.from_dict(found, orient="index").rename_axis("method")


_SWEPT = {name: tuple(f"{name}, {what} " for what in ("alpha", "beta", "map", "weight x")) for name in (GHT, PS)}


def today(specs: Runs, counted: Counted, repeats: int = 1000) -> pd.DataFrame:
    """A decoder of today's make on the first test set: each row against one that kept all its heads, and against rivals.

    Rivals by chance are random groupings where heads come to share, random heads off where heads go; those by importance keep
    the heads of most gradient importance. Their loss is the mean over draws, at as many heads: on the line between two counts
    that were tried (no head off is one), and none with fewer heads than were tried.

    Parameters
    ----------
    specs : mapping of row -> spec
        `helpers.methods.grouping.runs.today`.
    counted : `statistics` of them

    Returns
    -------
    pandas.DataFrame
        On (asked, row): seeds; value, low, high (perplexity); change (from vanilla; of heads that go from those that share keys
        from the start), chance, importance (from these rivals), each with its ends and p_holm; heads (query heads left), pairs
        (key-value heads a layer, before any go); dev_loss; before (dev loss before training went on, of heads that came to
        share); over. Asked is "shared" where heads come to share, "removed" where heads go, "whole" elsewhere.
    """
    task, frames = subjects.text_of(next(iter(specs.values()))), []
    ends = CHANGES | {what: (what, f"{what}_low", f"{what}_high") for what in RIVALS}
    for number, (end, rows) in enumerate(by_seed(specs).items()):
        own = {name: counted[name + end, task.tests[0]] for name in rows}
        left = {name: sum(map(len, training.kept(runs.run(spec)).values())) for name, spec in rows.items()}
        for name, spec in rows.items():
            shape, made = runs.stages(spec)[0]["shape"], runs.run(spec).results
            plain = runs.FEW_PAIRS if name != runs.FEW_PAIRS and shape["key_value_heads"] < shape["heads"] else VANILLA
            asked = "shared" if "share" in spec else "removed" if "cut" in spec else "whole"
            row = {"asked": asked, "row": name, "seed": number, "heads": left[name], **study.read_json(made / "losses.json")}
            row["pairs"] = spec.get("share", {}).get("groups", shape["key_value_heads"])
            row["before"] = study.read_json(made / "shared.json")["dev_loss"] if asked == "shared" else np.nan
            others = {"value": [None], "change": [own[plain]] if name != plain else []}
            others |= {what: _rivals(rows, own, left, name, plain, by) for what, by in RIVALS.items()}
            for what, other in others.items():
                found = task.interval(own[name], *other, repeats)["perplexity"] if other else (np.nan,) * 3
                row |= dict(zip(ends[what], found, strict=True))
            frames.append(row)
    table = over_seeds(pd.DataFrame(frames), ("asked", "row"), ends, ("heads", "pairs", "before", "dev_loss"), keep=True)
    several = table.seeds.where(table.seeds > 1)
    for what in ("change", *RIVALS):
        compared = intervals.corrected(table, what, trainings=several, compared=table[what].notna())
        table[f"{what}_p_holm"] = compared.p_holm
    return table.assign(over=np.where(table.seeds > 1, intervals.TRAININGS, intervals.BLOCKS))


RIVALS = {"chance": "random", "importance": "gradient"}


def _rivals(rows: Runs, own: Mapping[str, np.ndarray], left: Mapping[str, int], name: str, plain: str, by: str) -> list:
    """What the score of a row's rivals is computed from, at as many heads as it has; empty where it has none."""
    what, first, found = "share" if "share" in rows[name] else "cut", runs.stages(rows[name])[0], {}
    for other, spec in rows.items():
        if spec.get(what, {}).get("by") == by and runs.stages(spec)[0] == first:
            found.setdefault(left[other], []).append(own[other])
    if not found or left[name] < min(found) or rows[name].get(what, {}).get("by", by) == by:  # chosen likewise, or not
        return []
    found |= {} if what == "share" else {left[plain]: [own[plain]]}
    counts = sorted(found)
    place = np.interp(left[name], counts, range(len(counts)))
    low, high = (np.mean(found[counts[int(end(place))]], 0) for end in (np.floor, np.ceil))
    return [low + place % 1 * (high - low)]


def _sharing(specs: Runs, name: str) -> str:
    """The other rows that start from the same stage 1 and cut the same heads."""
    own = specs[name]
    if "cut" not in own:
        return ""
    same = [other for other, spec in specs.items() if all(spec.get(part) == own.get(part) for part in ("start", "cut"))]
    return "; ".join(other for other in same if other != name)


def by_groups(scored: pd.DataFrame, groups: int, heads_a_layer: int) -> pd.DataFrame:
    """Scores by number of groups (Fig. 3) for `figures.score_by_groups`, with changes and their p-values."""
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
    """What a run's heads were compared by while it trained (`helpers.methods.grouping.Grouped.trace`)."""
    with np.load(runs.run(spec).results / "trace.npz") as stored:
        return dict(stored)


def sites(spec: Mapping[str, Any]) -> list[tuple[str, int]]:
    """(kind, layer) of every attention of a run's model that has heads."""
    return [place for place, left in training.kept(runs.run(spec)).items() if left]


def _grams(seen: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Gram matrices of each layer over the looks: a list of arrays [looks, heads, heads]."""
    return [seen[f"grams_{number}"] for number in range(sum(name.startswith("grams_") for name in seen))]


def constraint_terms(spec: Mapping[str, Any], groups: int) -> pd.DataFrame:
    """The two terms of the group constraint on the probe over a stage (Fig. 4), also where it is not trained on.

    Returns
    -------
    pandas.DataFrame
        step, homogeneity, diversity (means over layers of mean cosines), shift (of centres since the last look).
    """
    seen = trace(spec)
    rows = []
    for look, step in enumerate(seen["step"]):
        near, apart = [], []
        for grams in _grams(seen):
            if np.isnan(grams[look]).any():
                break
            table = torch.tensor(grams[look])
            number = min(groups, len(table))
            _, close, far = units.group_loss(table, units.clusters(table, number), number, 1.0, float(number > 1))
            near.append(float(close))
            apart.append(float(far))
        if near:
            means = {"homogeneity": np.mean(near), "diversity": np.mean(apart)}
            rows.append({"step": int(step), **means, "shift": seen["shift"][look]})
    return pd.DataFrame(rows)


def both_stages(spec: Mapping[str, Any], groups: int) -> pd.DataFrame:
    """`constraint_terms` of a row that keeps all heads, from the first step of stage 1 to the last of stage 2."""
    first, two = runs.stages(spec)[0], constraint_terms(spec, groups)
    parts = [constraint_terms(first, groups), two.assign(step=two.step + first["training"]["steps"])]
    return pd.concat(parts, ignore_index=True)


def compactness(specs: Runs, scored: pd.DataFrame, strengths: Mapping[str, float], groups: int) -> pd.DataFrame:
    """How compact groups are where all heads stay, beside what both scores (Fig. 2): for `figures.score_by_compactness`.

    Parameters
    ----------
    strengths : mapping of row -> size of its constraint
        0 for vanilla.
    """
    first, rows, line = first_scores(scored), [], ["label", "value", "low", "high", "change", "change_low", "change_high"]
    for name, strength in strengths.items():
        last = [torch.tensor(grams[_last(grams)]) for grams in _grams(trace(specs[name]))]
        found = pd.DataFrame([units.compactness(gram, units.clusters(gram, groups)) for gram in last]).mean()
        few = runs.NO_CONSTRAINT if name == VANILLA else name.replace(GHT, PS)
        lines = first.loc[[row for row in (name, few) if row in first.index]].rename_axis("label").reset_index()
        rows.append(lines[line].assign(strength=strength, **found))
    return pd.concat(rows, ignore_index=True).assign(unit=scored.index[0][2], over=intervals.SENTENCES)


def _last(grams: np.ndarray) -> int:
    """The last look that was taken."""
    return int(np.flatnonzero(~np.isnan(grams).any((1, 2)))[-1])


def similarity(spec: Mapping[str, Any], groups: int) -> tuple[dict, dict, dict, dict]:
    """Cosines between heads on the probe at the first and the last look of a stage 1, and their groups.

    Returns
    -------
    before, after : dict of (kind, layer) -> array [heads, heads]
    labels_before, labels_after : dict of (kind, layer) -> array [heads]
    """
    found = ({}, {}, {}, {})
    for site, grams in zip(sites(spec), _grams(trace(spec)), strict=True):
        for place, look in enumerate((0, _last(grams))):
            table = torch.tensor(grams[look])
            found[place][site] = units.cosines(table).numpy()
            found[place + 2][site] = units.clusters(table, groups).numpy()
    return found


def pictured(specs: Runs, groups: int, clearest: str) -> tuple[tuple[str, int], dict, dict, pd.DataFrame]:
    """One layer's heads and groups, for `figures.groups`: before training, and at the end of each row's stage 1.

    Parameters
    ----------
    specs : mapping of row -> spec of its second stage
    clearest : str
        The row by which the layer is chosen: that in which its groups stand out most.

    Returns
    -------
    site : (kind, layer)
    matrices, labels : dict of title -> array [heads, heads] or [heads]
    apart : pandas.DataFrame
        On (title, kind, layer): same, other (mean cosine of two heads of the same group, of different groups), contrast.
    """
    found: dict[str, tuple[dict, dict]] = {}
    for name, spec in specs.items():
        before, after, labels_before, labels_after = similarity(runs.stages(spec)[0], groups)
        found = {"random weights": (before, labels_before)} | found | {name: (after, labels_after)}
    rows = {(title, *site): units.contrast(cosines[site], labels[site]) for title, (cosines, labels) in found.items()
            for site in cosines}  # fmt: skip
    apart = pd.DataFrame.from_dict(rows, orient="index", columns=["same", "other"]).assign(contrast=lambda t: t.same - t.other)
    apart.index = pd.MultiIndex.from_tuples(apart.index, names=["title", "kind", "layer"])
    site = apart.contrast[clearest].idxmax()
    matrices, labels = ({title: part[place][site] for title, part in found.items()} for place in (0, 1))
    return site, matrices, labels, apart


def _renamed(labels: np.ndarray, known: np.ndarray, groups: int) -> np.ndarray:
    """Groups called as those of the known labels with which they share most heads."""
    shared = np.array([[np.sum((labels == a) & (known == b)) for b in range(groups)] for a in range(groups)])
    return linear_sum_assignment(-shared)[1][labels]


def map_of_heads(spec: Mapping[str, Any], groups: int, kept: Mapping[tuple[str, int], Sequence[int]]) -> pd.DataFrame:
    """Heads in two dimensions over a stage 1: classical scaling of the angles between heads, each look turned onto the last.

    Distances are 1 - cosine. Groups are named alike at all looks where they share most heads.

    Parameters
    ----------
    kept : mapping of (kind, layer) -> heads that stay

    Returns
    -------
    pandas.DataFrame
        step, site (its title), head, x, y, group, kept.
    """
    seen, rows = trace(spec), []
    for (kind, layer), grams in zip(sites(spec), _grams(seen), strict=True):
        target, named = None, None
        for look in range(_last(grams), -1, -1):
            table = torch.tensor(grams[look])
            labels = units.clusters(table, groups).numpy()
            points = _scaled(1 - units.cosines(table).numpy())
            if target is None:
                target, named = points, labels
            else:
                points = points @ orthogonal_procrustes(points, target)[0]
                labels = _renamed(labels, named, groups)
                target, named = points, labels
            for head, (x, y) in enumerate(points):
                where = {"step": int(seen["step"][look]), "site": f"{kind} {layer + 1}", "head": head, "x": x, "y": y}
                rows.append(where | {"group": int(labels[head]), "kept": head in kept[kind, layer]})
    return pd.DataFrame(rows).sort_values(["step"], kind="stable").reset_index(drop=True)


def _scaled(distances: np.ndarray) -> np.ndarray:
    """Classical multidimensional scaling of squared distances 2 * `distances` to the plane: array [points, 2]."""
    size = len(distances)
    centring = np.eye(size) - 1 / size
    values, vectors = np.linalg.eigh(-centring @ distances @ centring)
    return vectors[:, -2:][:, ::-1] * np.sqrt(np.clip(values[-2:][::-1], 0, None))


def padding(spec: Mapping[str, Any], groups: int, which: str = "V", batches: int = 20, rows: int = 32) -> pd.DataFrame:
    """What it changes to count padding as the public code does, on dev batches of a run's model.

    Returns
    -------
    pandas.DataFrame
        On "like length" (as training batches are) and "any length": padded (share of source and target positions that are
        padding), regrouped (share of heads whose group differs), cosine (mean absolute difference of the cosine of a head with
        its centre).
    """
    return values.read(paddings(spec, groups, which, batches, rows).results / FILE)


def paddings(spec: Mapping[str, Any], groups: int, which: str = "V", batches: int = 20, rows: int = 32) -> study.Recipe:
    """The recipe of `padding`."""
    return PADDING.recipe(runs.run(spec), groups=groups, which=which, batches=batches, rows=rows)


def _padding(subject, groups: int, which: str, batches: int, rows: int) -> pd.DataFrame:
    model, task = subject.model, subject
    data, found = task.dev, {}
    order = np.random.default_rng(0).permutation(len(data.source))
    by_length = sorted(order, key=lambda row: (len(data.source[row]), len(data.target[row])))
    for name, chosen in (("like length", by_length), ("any length", order)):
        parts = [chosen[at : at + rows] for at in range(0, len(chosen), rows)]
        every = max(1, len(parts) // batches)
        fed = (tokens.collate(data, [int(row) for row in part], task.source.pad) for part in parts[::every])
        measured = [_with_padding(model, {n: t.to(model.device) for n, t in batch.items()}, groups, which) for batch in fed]
        found[name] = pd.DataFrame(measured).mean()
    return pd.DataFrame(found).T.rename_axis("batches of")


PADDING = Analysis("padding counted", 1, _padding)


def _with_padding(model, batch: Mapping[str, torch.Tensor], groups: int, which: str) -> dict[str, float]:
    both = []
    for counted in (False, True):
        with torch.no_grad(), units.watch(model, which, padding=counted) as watched:
            watched.feed(batch)
            model(**inputs(batch), use_cache=False)
        labels, own = [], []
        for _, table in units.stacked(watched.grams):
            labels.append(units.clusters(table, min(groups, table.shape[-1])).flatten())
            parts = labels[-1].view(table.shape[:-1])
            own.append(units.closeness(table.double(), parts, min(groups, table.shape[-1]))[0].flatten())
        both.append((torch.cat(labels), torch.cat(own)))
    (labels, own), (other, padded) = both
    real = torch.cat([batch["attention_mask"].flatten().bool(), (batch["labels"] != -100).flatten()]).double().mean()
    moved = (labels != other).double().mean()
    return {"padded": 1 - float(real), "regrouped": float(moved), "cosine": float((own - padded).abs().mean())}


# --- votes, and which heads stay -------------------------------------------------------------------------------------


def votes(spec: Mapping[str, Any]) -> pd.DataFrame:
    """The votes of a row with Voting-to-Stay: kind, layer, head, group, share (of batches won), kept."""
    table = pd.read_csv(runs.run(spec).results / "ballot.csv").rename(columns={"labels": "group"})
    return table.assign(share=table.votes / table.batches)[["kind", "layer", "head", "group", "share", "kept"]]


def of_sites(share: pd.DataFrame, site: tuple[str, int]) -> pd.DataFrame:
    """Of `votes`: the rows of one attention and of the one in which the vote of a group is least decided."""
    open_vote = share.groupby(["kind", "layer", "group"]).share.max().idxmin()[:2]
    return share[[(row.kind, row.layer) in (site, open_vote) for row in share.itertuples()]]


def kept(spec: Mapping[str, Any]) -> pd.Series:
    """Which heads of its start a row kept: bool on (kind, layer, head)."""
    return pd.read_csv(runs.run(spec).results / "ballot.csv", index_col=list(ADDRESS)).kept


def remaining(spec: Mapping[str, Any]) -> dict[tuple[str, int], list[int]]:
    """The heads of its start that a row kept: (kind, layer) -> heads."""
    found: dict[tuple[str, int], list[int]] = {}
    for (kind, layer, head), stays in kept(spec).items():
        found.setdefault((kind, layer), []).extend([head] if stays else [])
    return found


def pillars(
    specs: Runs, start: Mapping[str, Any], parser: str = "spacy", repeats: int = 1, first: int = EXPLAINED
) -> pd.DataFrame:
    """Heads of one stage 1 with what they do, how relevant they are and which rows that start from it keep them.

    Parameters
    ----------
    specs : mapping of method -> spec
        Rows that cut heads of the model of `start`.
    first : int
        Dev examples that relevance is measured on.

    Returns
    -------
    pandas.DataFrame
        kind, layer, head, method, kept, relevance, functions (as `helpers.methods.grouping.figures.kept_heads` takes it).
    """
    made, parts = runs.run(start), []
    roles = measured.FUNCTIONS.read(made, parser=parser, repeats=repeats)["functions"]
    relevance = measured.EXPLAINED.read(made, parser=parser, rule="alpha_beta", first=first).series()
    for name, spec in specs.items():
        table = pd.DataFrame({"kept": kept(spec), "relevance": relevance})
        said = [", ".join(sorted({function for function, _ in cell})) for cell in roles.reindex(table.index)]
        parts.append(table.assign(functions=said, method=name).reset_index())
    return pd.concat(parts, ignore_index=True)


def overlap(table: pd.DataFrame) -> pd.DataFrame:
    """How many kept heads two methods share, of how many and how many by chance; and what kept heads are, from `pillars`.

    Returns
    -------
    pandas.DataFrame
        On method: heads, kept; functional (kept heads with a function) and functional_all (of all); relevance (mean of kept
        heads) and relevance_all; for every other method "with NAME", the heads shared, and "with NAME, chance".
    """
    marked = table.pivot_table(index=list(ADDRESS), columns="method", values="kept", sort=False).astype(bool)
    of = table.drop_duplicates(list(ADDRESS)).set_index(list(ADDRESS))
    functional, rows = of.functions.ne(""), {}
    for name in marked:
        stays = marked[name]
        row = {"heads": len(marked), "kept": int(stays.sum()), "functional": int(functional[stays].sum())}
        row |= {"functional_all": int(functional.sum()), "relevance": of.relevance[stays].mean()}
        row |= {"relevance_all": of.relevance.mean()}
        for other in (column for column in marked if column != name):
            row[f"with {other}"] = int((stays & marked[other]).sum())
            row[f"with {other}, chance"] = float(stays.sum() * marked[other].sum() / len(marked))
        rows[name] = row
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


def per_seed(scored: Mapping[str, pd.DataFrame], rows: Sequence[str] = (VANILLA, GHT, PS), seed: int = 1) -> pd.DataFrame:
    """Scores of every seed, by panel (task and test set) and method; the bare names are those of `seed`."""
    found = []
    for title, table in scored.items():
        for (name, split, metric), line in table.iterrows():
            base, mark, number = name.partition(", seed ")
            if base in rows:
                panel = f"{title}: {split}" + (f", {metric}" if metric.startswith("ROUGE") else "")
                which = {"panel": panel, "method": base, "seed": int(number) if mark else seed}
                found.append(which | {"value": line.value, "unit": metric})
    return pd.DataFrame(found)


def means_over_seeds(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean over seeds with its 95 % t-interval, and the paired change against vanilla, from `per_seed`."""
    base = frame[frame.method == VANILLA].set_index(["panel", "seed"]).value
    frame = frame.assign(change=frame.value - base.reindex(pd.MultiIndex.from_frame(frame[["panel", "seed"]])).to_numpy())
    values = {"value": ("mean", "low", "high"), "change": ("change_mean", "change_low", "change_high")}
    return over_seeds(frame, ("panel", "method"), values).assign(over=intervals.TRAININGS)


# --- what notebook 04 reads ------------------------------------------------------------------------------------------

METHODS = {runs.NO_CONSTRAINT: "votes", runs.L0: "L0", runs.GRADIENT: "gradient importance"}


def of_table_1(rows: Runs) -> dict[str, Mapping[str, Any]]:
    """The rows of translation that stand in the papers' Tables 1, 2 and 5, or beside them."""
    return {name: spec for name, spec in rows.items() if name in (*PRINTED, runs.LITE, runs.GRADIENT)}


def ways(rows: Runs) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Rows that choose among the heads of one model, with the constraint and without: name -> method -> spec."""
    plain = {method: rows[name] for name, method in METHODS.items() if name in rows}
    return {"constraint": {PS: rows[PS]}} | ({"plain": plain} if plain else {})


def decoders(rows: Runs) -> dict[str, dict[str, Mapping[str, Any]]]:
    """The rows of `today` that kept all heads, as `worth_of_attention` takes them."""
    kinds = {"a decoder of today": VANILLA, "its heads sharing keys": runs.FEW_PAIRS}
    return {title: {VANILLA: rows[name]} for title, name in kinds.items() if name in rows}


def recipes(settings: Mapping[str, Any], seed: int, start: Mapping[str, Any] | None = None) -> Iterator[study.Recipe]:
    """Every run of grouped heads with what it puts out, then sizes, speeds, worth, padding, functions and relevance."""
    yield from runs.recipes(settings, seed, start)
    plan = settings["grouping"]
    for kind in subjects.METRICS:
        rows = runs.rows_of(settings, kind, seed)
        if not rows:
            continue
        shown = of_table_1(rows) if kind == subjects.TRANSLATION else {name: rows[name] for name in (VANILLA, GHT, PS)}
        yield from (COST.recipe(runs.run(spec)) for spec in shown.values())
        yield speeds(shown)
        yield from attention_off(rows, plan["beam"], settings["bootstrap"]).values()
        if kind == subjects.TRANSLATION:
            yield paddings(rows[GHT], plan["translation"]["groups"], plan["which"])
            for methods in ways(rows).values():
                made = runs.run(runs.stages(next(iter(methods.values())))[0])
                yield measured.FUNCTIONS.recipe(made, repeats=1)
                yield measured.EXPLAINED.recipe(made, rule="alpha_beta", first=EXPLAINED)
    for rows in decoders(runs.today(settings, seed)).values():
        yield from attention_off(rows, plan["beam"], settings["bootstrap"]).values()
