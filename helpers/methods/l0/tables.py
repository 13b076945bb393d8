"""Tables of Voita et al. 2019, section 6, from the runs of a sweep: quality, what is kept, what the kept heads do."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.stats import hypergeom

from helpers import heads, models, study
from helpers.heads.families import ADDRESS, KINDS
from helpers.measures import measured
from helpers.measures.analysis import Analysis
from helpers.methods.l0 import runs
from helpers.methods.l0.figures import OF_NEVER, OF_REMOVAL, UNDECIDED
from helpers.methods.l0.gates import HardConcrete
from helpers.models import inputs
from helpers.runs import outputs, subjects, training
from helpers.scores import intervals, scoring

LOSS = 0.25  # BLEU that the paper accepts to lose
ENDS = ("", "_low", "_high")  # a value, and its interval's
# Table 2 of the paper: heads kept (encoder, decoder, cross), BLEU pruned from the trained model, BLEU of the same from scratch
PRINTED = {
    "WMT": [((48, 48, 48), None, 29.6), ((14, 31, 30), 29.62, 29.47), ((12, 21, 25), 29.36, 28.95), ((8, 13, 15), 29.06, 28.56),
            ((5, 9, 12), 28.90, 28.41)],
    "OpenSubtitles": [((48, 48, 48), None, 32.4), ((27, 31, 46), 32.24, 32.23), ((13, 17, 31), 32.23, 31.98),
                      ((6, 9, 13), 32.27, 31.84)],
}  # fmt: skip
# the abstract and section 6.2.1: BLEU lost with so many of 48 encoder heads left
PRINTED_ENCODER = {"WMT": {48: 0.0, 10: -0.15}, "OpenSubtitles": {48: 0.0, 4: -0.25}}
NAMES = {
    "none": "further training", "floor": "no encoder attention", "l0": "L0", "map": "L0's heads", "gradual": "gradual",
    "scratch": "from scratch",
}  # fmt: skip


def quality(sweep: Mapping[str, Any], subject: subjects.Subject, repeats: int = 1000) -> pd.DataFrame:
    """How well every run of a sweep translates, and with how many heads; `subject` is the model that it starts from.

    Returns
    -------
    pandas.DataFrame
        A row each (run, test set), first the model before further training ("start"): method; penalty; encoder, decoder,
        cross (heads kept); heads (kept, of the kinds in question), total; bleu, low, high; change against the control that
        trained as long with all heads, and from_start against "start", both with low and high (paired bootstrap); dev_loss;
        soft_dev_loss (with the public code's soft gates); undecided (gates); steps and schedule (`schedule`); over (what
        intervals are over).
    """
    everything = subject.kept
    specs = {"start": None} | dict(sweep["runs"])
    beam = sweep["settings"]["pruning"]["beam"]
    drawn = {
        (name, split): scoring.bleu_draws(_statistics(subject, run, split, beam), repeats)
        for name, run in specs.items()
        for split in subject.tests
    }
    rows = {}
    for name, run in specs.items():
        row = _counts(everything if run is None else runs.retained(run), sweep["kinds"])
        row |= {"total": _counts(everything, sweep["kinds"])["heads"], "method": _method(name, run)}
        row |= dict(zip(("steps", "schedule"), schedule(sweep["start"], run), strict=True))
        row |= dict.fromkeys(("penalty", "dev_loss", "soft_dev_loss", "undecided"), np.nan)
        if run:
            row |= {"penalty": _penalty(run)} | study.read_json(runs.run(run).results / "losses.json")
            if run["method"]["name"] == "l0":
                row["undecided"] = int(closing(run).iloc[-1].between(*UNDECIDED).sum())
        for split in subject.tests:
            own = drawn[name, split]
            parts = {"": own, "change": own - drawn["control", split], "from_start": own - drawn["start", split]}
            scored = {}
            for part, draws in parts.items():
                names = (part, f"{part}_low", f"{part}_high") if part else ("bleu", "low", "high")
                scored |= zip(names, scoring.of_draws(draws), strict=True)
            rows[name, split] = row | scored | {"over": intervals.SENTENCES}
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(table.index, names=["run", "test set"])
    return table


def schedule(start: Mapping[str, Any], run: Mapping[str, Any] | None = None) -> tuple[int, str]:
    """How many steps a run was trained for in all, and in words at which highest learning rates, one phase after another.

    Parameters
    ----------
    start : mapping
        Spec of the model that runs start from; of a pretrained one the steps are not known and do not count.
    run : mapping, optional
        Without it those of the start.
    """
    plans = [start["training"]] if "training" in start else []
    if run:
        plans = [*plans, run["training"]]
    said = [f"{plan['steps']:,} at {plan['learning_rate']:g}" for plan in plans]
    if "training" not in start:
        said.insert(0, "pretrained")
    return sum(plan["steps"] for plan in plans), ", then ".join(said)


WORTH = ("worth", "share", "floor gap", "worth from the start", "share from the start")


def worth(
    sweep: Mapping[str, Any], subject: subjects.Subject, none: subjects.Subject | None = None, repeats: int = 1000
) -> pd.DataFrame:
    """What encoder attention is worth in BLEU, and which share of that every run of a sweep keeps.

    There are two floors: all encoder heads removed from the trained model, which is then trained on as every run is; and none
    from the first step of all on (the model `none`). The gap between them is what such a short training cannot make up for,
    and no worth of heads.

    Returns
    -------
    pandas.DataFrame
        On (run, test set), each with low and high (paired bootstrap over sentences): worth (control minus floor); share ((run
        minus floor) / worth); and where there is a model without from the start, floor gap (it minus floor), worth from the
        start (control minus it) and share from the start ((run minus it) / that). Empty where a sweep has no floor.
    """
    rows, specs, beam = {}, {"start": None, **sweep["runs"]}, sweep["settings"]["pruning"]["beam"]
    for split in subject.tests if "floor" in specs else ():
        drawn = {name: scoring.bleu_draws(_statistics(subject, run, split, beam), repeats) for name, run in specs.items()}
        control, floor = drawn["control"], drawn["floor"]
        without = scoring.bleu_draws(_statistics(none, None, split, beam), repeats) if none else None
        for name, own in drawn.items():
            with np.errstate(invalid="ignore", divide="ignore"):
                parts = [control - floor, (own - floor) / (control - floor)]
                if without is not None:
                    parts += [without - floor, control - without, (own - without) / (control - without)]
            found = dict(zip(WORTH, map(scoring.of_draws, parts), strict=False))
            named = {part: (part, f"{part}_low", f"{part}_high") for part in found}
            rows[name, split] = {column: x for part in found for column, x in zip(named[part], found[part], strict=True)}
    index = pd.MultiIndex.from_tuples(rows, names=["run", "test set"])
    return pd.DataFrame(list(rows.values()), index)


def removed_and_trained(settings: Mapping[str, Any], subject: subjects.Subject, repeats: int = 1000) -> pd.DataFrame:
    """BLEU of a model trained further, with all its heads and with its encoder heads removed: rows as of `outputs.quality`.

    Between the two lies what encoder attention is worth to this model.
    """
    sweep, rows = runs.sweeps(settings, [subject.name], subject.run.spec["seed"])[0], []
    for title, name in (("trained on", "control"), ("encoder heads removed, trained on", "floor")):
        for split in subject.tests:
            references = [pair.target for pair in subject.pairs(split)]
            written = outputs.read(runs.run(sweep["runs"][name]), split, sweep["settings"]["pruning"]["beam"])
            row = {"model": f"{subject.title}, {title}", "test set": split, "sentences": len(written)}
            rows.append(row | scoring.bleu(written, references, repeats))
    return pd.DataFrame(rows)


def without_attention(sweep: Mapping[str, Any], first: str) -> subjects.Subject | None:
    """The model of a sweep without encoder attention from the start, if the setting "without_encoder" asks for one."""
    own = sweep["name"] == first and list(sweep["kinds"]) == ["encoder"] and "pretrained" not in sweep["start"]
    never = subjects.never_attending(sweep["settings"], first).get(first) if own else None
    return subjects.of_name(sweep["settings"], never, sweep["seed"]) if never else None


def _statistics(subject: subjects.Subject, run: Mapping[str, Any] | None, split: str, beam: int) -> np.ndarray:
    hypotheses = outputs.read(runs.run(run), split, beam) if run else outputs.written_by(subject, split, beam)
    return scoring.bleu_statistics(hypotheses, [pair.target for pair in subject.pairs(split)])


def _method(name: str, run: Mapping[str, Any] | None) -> str:
    if run is None:
        return "start"
    known = run["method"]["name"]
    if known == "cut":
        return runs.called(run["method"]["by"])
    return name.rpartition(" ")[0].rstrip(",") if name.startswith("L0,") else NAMES[known]


def _penalty(run: Mapping[str, Any]) -> float:
    """The price of gates of a run, or of the run that it imitates."""
    method = run["method"]
    return method.get("penalty", method.get("like", {"method": {}})["method"].get("penalty", np.nan))


def _counts(kept: Mapping[tuple[str, int], Sequence[int]], kinds: Sequence[str]) -> dict[str, int]:
    counts = {kind: sum(len(left) for (k, _), left in kept.items() if k == kind) for kind in KINDS}
    return counts | {"heads": sum(counts[kind] for kind in kinds)}


ALL = "all heads"


def one_shot_quality(sweep: Mapping[str, Any], subject: subjects.Subject, repeats: int = 1000) -> pd.DataFrame:
    """`helpers.methods.l0.runs.one_shot` with BLEU: a row each (by, draw, heads, test set), dev_loss, bleu, low, high; last the
    model with all its heads, on the same sentences."""
    rows, beam = [], sweep["settings"]["pruning"]["beam"]
    shots = [(row.by, row.draw, row.heads, row.dev_loss, row.translations) for row in runs.one_shot(sweep).itertuples()]
    written = shots[-1][-1] if shots else {}
    whole = {split: outputs.written_by(subject, split, beam)[: len(each)] for split, each in written.items()}
    total = _counts(subject.kept, sweep["kinds"])["heads"]
    for by, draw, heads_left, loss, translations in [*shots, (ALL, 0, total, np.nan, whole)]:
        for split, hypotheses in translations.items():
            references = [pair.target for pair in subject.pairs(split, bare=True)[: len(hypotheses)]]
            interval = scoring.bleu_interval(scoring.bleu_statistics(hypotheses, references), None, repeats)
            rows.append((by, draw, heads_left, split, loss, *interval))
    return pd.DataFrame(rows, columns=["by", "draw", "heads", "test set", "dev_loss", "bleu", "low", "high"])


def largest_pruning(table: pd.DataFrame, loss: float = LOSS) -> pd.DataFrame:
    """The L0 run with the fewest heads that loses at most `loss` BLEU against the control, by test set.

    Returns
    -------
    pandas.DataFrame
        A row a test set: total, kept (fewest heads by the change itself), pruned, change, low, high; kept_surely (fewest heads
        whose whole interval is above minus `loss`). All heads where no run qualifies.
    """
    rows = {}
    for split, part in table[table.method == "L0"].groupby(level="test set"):
        total = int(part.total.iloc[0])
        within = part[part.change >= -loss].sort_values(["heads", "change"], ascending=[True, False])
        surely = part[part.change_low >= -loss].heads
        best = within.iloc[0] if len(within) else pd.Series({"heads": total, "change": 0.0})
        rows[split] = {
            "total": total, "kept": round(best.heads), "pruned": total - round(best.heads), "change": best.change,
            "low": best.get("change_low", np.nan), "high": best.get("change_high", np.nan),
            "kept_surely": round(surely.min()) if len(surely) else total,
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("test set")


MEASURED = ("bleu", "change", "from_start", *WORTH)  # by test sentences; all else of `quality` is a number of heads, or a loss


def over_trainings(trained: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """`quality` joined with `worth` of trainings of one model, the first one first, as means with t-intervals over them.

    Returns
    -------
    pandas.DataFrame
        Rows of the first, with trainings (how many have that row), worth_first and heads_first (its own). Heads and losses are
        means too: a price closes other heads each time. What one training alone has keeps its interval over sentences.
    """
    every, rows = pd.concat(list(trained)), {}
    for place, row in trained[0].iterrows():
        own = every.loc[[place]]
        rows[place] = row.to_dict() | {"trainings": len(own), "worth_first": row.get("worth", np.nan)}
        rows[place] |= {"heads_first": row["heads"]}
        if len(own) > 1:
            rows[place] |= own.select_dtypes("number").mean().to_dict() | {"over": intervals.TEXTS}
            for value in (name for name in MEASURED if name in own and own[name].notna().all()):
                ends = ("low", "high") if value == "bleu" else (f"{value}_low", f"{value}_high")
                rows[place] |= zip((value, *ends), intervals.over_runs(own[value])[:3], strict=True)
    return pd.DataFrame(list(rows.values()), pd.MultiIndex.from_tuples(rows, names=["run", "test set"]))


def table_2(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Our rows in the shape of the paper's Table 2, its own last: pruned from the trained model, same head map from scratch.

    Parameters
    ----------
    tables : mapping of title -> `quality`

    Returns
    -------
    pandas.DataFrame
        On (text, heads as "encoder/decoder/cross"): pruned, trained further (control) and from scratch (BLEU), each with low,
        high and schedule (steps and highest learning rates), and over. In the first row of a text, that of all heads, "from
        scratch" is the one plain training that the paper starts from; the control has the further training of the pruned models
        too, with all heads, and does not stand in the paper. A pruned model and its twin from scratch train as many steps, but
        at other rates.
    """
    rows = []
    for title, table in tables.items():
        for split, part in table.groupby(level="test set", sort=False):
            text, part = f"{title}, {split}", part.droplevel("test set")
            whole = _renamed(part.loc["control"], CONTROL) | _renamed(part.loc["start"], SCRATCH)
            rows.append({"text": text, "heads": _map(part.loc["control"]), **whole})
            scratch = part[part.method == NAMES["scratch"]].set_index("penalty")
            for name, row in part[part.method == "L0"].sort_values("heads", ascending=False).iterrows():
                rows.append({"text": text, "heads": _map(row), **_renamed(row, "pruned")})
                if row.penalty in scratch.index and "#" not in name:  # the map of the first seed
                    rows[-1] |= _renamed(scratch.loc[row.penalty], SCRATCH)
    for row in rows:
        row["over"] = intervals.SENTENCES
    for text, lines in PRINTED.items():
        rows += [
            {"text": f"printed, EN-RU {text}", "heads": "/".join(map(str, kept)), "pruned": pruned, SCRATCH: scratch}
            for kept, pruned, scratch in lines
        ]
    order = [f"{name}{part}" for name in ("pruned", CONTROL, SCRATCH) for part in ("", ", low", ", high", ", schedule")]
    return pd.DataFrame(rows).set_index(["text", "heads"]).reindex(columns=[*order, "over"])


CONTROL, SCRATCH = "trained further (control)", "from scratch"


def _renamed(row: pd.Series, name: str) -> dict[str, Any]:
    return {name: row.bleu, f"{name}, low": row.low, f"{name}, high": row.high, f"{name}, schedule": row.schedule}


def _map(row: pd.Series) -> str:
    return "/".join(str(int(row[kind])) for kind in KINDS)


def against_scratch(sweep: Mapping[str, Any], subject: subjects.Subject, repeats: int = 1000) -> pd.DataFrame:
    """Pruned minus the same head map from scratch, by run and test set: BLEU (paired bootstrap), and steps to adapt to it."""
    rows, ends = {}, ("change", "low", "high")
    for name, run in sweep["runs"].items():
        if run["method"]["name"] == "scratch":
            for split in subject.tests:
                beam, pair = sweep["settings"]["pruning"]["beam"], (run["method"]["like"], run)
                both = [_statistics(subject, one, split, beam) for one in pair]
                steps = {"steps": schedule(sweep["start"], run)[0], "steps_pruned": pair[0]["training"]["steps"]}
                rows[name, split] = dict(zip(ends, scoring.bleu_interval(*both, repeats), strict=True)) | steps
    table = pd.DataFrame.from_dict(rows, orient="index", columns=[*ends, "steps", "steps_pruned"])
    table.index = pd.MultiIndex.from_tuples(table.index, names=["run", "test set"])
    return table


def curve_points(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Points of the pruning curves (Fig. 7) from `quality` of several models, a title each.

    Returns
    -------
    pandas.DataFrame
        model (title, with the test set where there are several), method, heads, total, bleu, low, high.
    """
    parts, drawn = [], ("start", NAMES["none"], NAMES["l0"], NAMES["floor"])
    for title, table in tables.items():
        for split, part in table.groupby(level="test set", sort=False):
            shown = part.loc[part.method.isin(drawn), ["method", "heads", "total", "bleu", "low", "high"]]
            several = table.index.get_level_values("test set").nunique() > 1
            parts.append(shown.assign(model=f"{title}, {split}" if several else title))
    return pd.concat(parts, ignore_index=True)


def half_left(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Of each model the L0 run that keeps most heads among those with at most half of them: rows of `quality`, by model.

    Models without such a run are left out; a test set is a row of its own. gone, with low and high: how many heads can go for
    `LOSS` BLEU (`gone_within`), by the change and by the ends of its interval.
    """
    found = pd.concat(tables, names=["model"]).query(f"method == '{NAMES['l0']}'")
    for end in ENDS:
        gone = {at: gone_within(own, f"change{end}") for at, own in found.groupby(level=[0, 2])}
        found[f"gone{end}"] = [gone[model, split] for model, _, split in found.index]
    found = found[found.heads <= found.total / 2]
    return found.loc[found.groupby(["model", "test set"], sort=False).heads.idxmax()].reset_index("run")


def gone_within(runs_: pd.DataFrame, change: str = "change", loss: float = LOSS) -> float:
    """How many heads can go before the loss first passes `loss` BLEU, on a line from run to run; at most what was tried."""
    own = runs_[runs_.heads < runs_.total].sort_values("heads", ascending=False)
    gone, values = np.array([0, *own.total - own.heads]), np.array([0, *own[change]])
    past = int((values < -loss).argmax())  # 0: none
    return np.interp(loss, -values[past - 1 : past + 1], gone[past - 1 : past + 1]) if past else gone[-1]


def beside_other_texts(
    tables: Mapping[str, pd.DataFrame], first: Mapping[str, pd.DataFrame] | None = None, least: float = 1.0, alone: bool = False
) -> pd.DataFrame:
    """Pruning of encoder heads on several texts beside the paper's, as `figures.beside_other_texts` takes it.

    Parameters
    ----------
    tables : mapping of title -> `quality` joined with `worth`
        Of a text whose encoder attention is worth less than `least` BLEU nothing is shown: a share of it says nothing.
    first : mapping of title -> the same of one training, optional
        Where a model was trained without encoder heads: its BLEU as a level (kept 0), and shares of what they add to it.
    alone : bool
        The first test set of each model alone.

    Returns
    -------
    pandas.DataFrame
        panel, series (a title, or "printed, ..."), kept (% of encoder heads), value, low, high, unit, worth (BLEU), over (what
        the row's interval is over). Of models without encoder heads there is the share alone.
    """
    parts, later, changed, shared = [], [], "BLEU minus control", OF_REMOVAL
    for title, table in tables.items():
        known = table[table.method.isin(["L0", *map(NAMES.get, ("none", "floor"))])]
        for split, rows in [*known.groupby("test set", sort=False)][: 1 if alone else None]:
            rows = rows[rows.worth >= least]
            called = split.partition("_")[0].capitalize() if "_" in split else split
            series = f"{title}, {called}" if table.index.get_level_values("test set").nunique() > 1 else title
            later += _never(first[title], split, series, changed) if title in (first or {}) else []
            for panel, name, scale in ((changed, "change", 1), (shared, "share", 100)):
                own = rows[rows.encoder > 0] if name == "change" else rows  # the floor is the other panel's zero
                ends = {end: scale * own[f"{name}_{end}"] if f"{name}_{end}" in own else np.nan for end in ("low", "high")}
                kept = 100 * own.encoder / own.total
                part = pd.DataFrame({"kept": kept, "value": scale * own[name], "worth": own.worth, **ends})
                over = own.get("over", intervals.SENTENCES)  # a text of one training does not say
                parts.append(part.assign(panel=panel, series=series, unit=panel, over=over))
    parts += later
    for text, losses in PRINTED_ENCODER.items():
        kept = [100 * heads / max(losses) for heads in losses]
        part = pd.DataFrame({"kept": kept, "value": losses.values(), "low": np.nan, "high": np.nan, "worth": np.nan})
        parts.append(part.assign(panel=changed, series=f"printed, EN-RU {text}", unit=changed))
    return pd.concat(parts, ignore_index=True)


def summarised(path: Path, text: str) -> pd.DataFrame:
    """Pruning of encoder heads in a published summary (`helpers.publish.summary`) as `beside_other_texts` and
    `largest_pruning` take it, on one text's test set; intervals of shares are of the loss alone."""
    told = pd.read_csv(path, index_col="what")
    left, without = told.value.filter(regex="^encoder heads left, "), f"BLEU without encoder attention, {{}}, {text}_test"
    worth = told.value[f"worth of encoder attention, removed, {text}_test"]
    never = told.value[without.format("removed")] + worth - told.value.get(without.format("from the start"), np.nan)
    rows = {}
    for name, heads_left in left.rename(lambda what: what.partition(", ")[2]).items():
        method = {"control": NAMES["none"], "floor": NAMES["floor"]}.get(name, NAMES["l0"])
        row = {"method": method, "encoder": heads_left, "heads": heads_left, "total": left.max()}
        own = told.reindex([f"BLEU minus control, {name}, {text}_test"]).iloc[0][["value", "low", "high"]].fillna(0)
        row |= dict(zip(("change", "change_low", "change_high"), own, strict=True))
        rows[name, text] = row | {"worth": worth, "worth from the start": never, "schedule": f"{told.value['steps']:,.0f}"}
    table = pd.DataFrame(list(rows.values()), pd.MultiIndex.from_tuples(rows, names=["run", "test set"]))
    table[["worth from the start_low", "worth from the start_high"]] = np.nan
    parts = {"share": worth, "share from the start": never}
    return table.assign(**{f"{part}{end}": 1 + table[f"change{end}"] / of for part, of in parts.items() for end in ENDS})


def _never(table: pd.DataFrame, split: str, series: str, changed: str) -> list[pd.DataFrame]:
    """Of one training, against a model trained without encoder heads: its level, and shares of what they add to it."""
    rows, name = table.xs(split, level="test set"), "share from the start"
    if name not in rows or rows[name].isna().all():
        return []
    rows, whole = rows[rows.method == NAMES["l0"]], rows.loc["control"]
    level = {"low": -whole["worth from the start_high"], "high": -whole["worth from the start_low"]}
    level |= {"kept": 0.0, "value": -whole["worth from the start"], "panel": changed, "series": series}
    shares = {"value": 100 * rows[name], "low": 100 * rows[f"{name}_low"], "high": 100 * rows[f"{name}_high"]}
    part = pd.DataFrame({"kept": 100 * rows.encoder / rows.total, **shares, "panel": OF_NEVER, "series": series})
    both = [pd.DataFrame([level]), part]
    return [one.assign(unit=one.panel, worth=whole["worth from the start"], over=intervals.SENTENCES) for one in both]


def pruned_minus_scratch(tables: Mapping[str, pd.DataFrame], gaps: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Pruned minus the same head map from scratch by the share of heads kept, beside the paper's table 2.

    Parameters
    ----------
    tables, gaps : mapping of title -> `quality`, and -> `against_scratch`

    Returns
    -------
    pandas.DataFrame
        panel, series, kept (% of all heads), value (BLEU), low, high (nan of printed ones).
    """
    rows = []
    for title, gap in gaps.items():
        for (run, split), row in gap.iterrows():
            whole = tables[title].loc[(run, split)]
            several = gap.index.get_level_values("test set").nunique() > 1
            rows.append({"series": f"{title}, {split}" if several else title, "kept": 100 * whole.heads / whole.total,
                         "value": row.change, "low": row.low, "high": row.high})  # fmt: skip
    for text, lines in PRINTED.items():
        total = sum(lines[0][0])
        for kept, pruned, scratch in lines[1:]:
            rows.append({"series": f"printed, EN-RU {text}", "kept": 100 * sum(kept) / total, "value": pruned - scratch})
    return pd.DataFrame(rows, columns=["series", "kept", "value", "low", "high"]).assign(panel="")


def removed_at_once(shot: pd.DataFrame, title: str) -> pd.DataFrame:
    """`one_shot_quality` of a sweep as `figures.methods_at_equal_heads` takes it, a panel a test set."""
    several = shot["test set"].nunique() > 1
    panels = [f"{title}, removed at once{f', {split}' if several else ''}" for split in shot["test set"]]
    found = shot.assign(panel=panels, value=shot.bleu).rename(columns={"by": "method"})
    return found[["panel", "method", "heads", "value", "low", "high"]]


def trained_on(table: pd.DataFrame, penalty: float) -> pd.DataFrame:
    """Of `quality` or `over_trainings` the ways to choose heads at one price's count, trained on alike, best first."""
    part = table[np.isclose(table.penalty, penalty) & ~table.method.str.startswith("L0,")]
    columns = ["heads", "dev_loss", "bleu", "low", "high", "change", "change_low", "change_high", "over", "trainings"]
    return part.sort_values("bleu", ascending=False)[[name for name in columns if name in part]]


# --- gates over training ---------------------------------------------------------------------------------------------


def gates(run: Mapping[str, Any]) -> tuple[HardConcrete, pd.DataFrame]:
    """The gates of an L0 run after every step, from step 0; log alpha as a frame, rows steps, columns (kind, layer, head)."""
    trace = pd.read_csv(runs.run(run).results / "trace.csv", index_col=0, header=[0, 1, 2])
    trace.columns = pd.MultiIndex.from_tuples([(k, int(n), int(h)) for k, n, h in trace.columns], names=list(ADDRESS))
    return HardConcrete(torch.tensor(trace.to_numpy()), run["method"]["temperature"]), trace


def closing(run: Mapping[str, Any]) -> pd.DataFrame:
    """P(g = 0) of every gate after every step of an L0 run, from step 0: rows are steps, columns (kind, layer, head)."""
    distribution, trace = gates(run)
    return pd.DataFrame(distribution.p_closed().numpy(), index=trace.index, columns=trace.columns)


def closings(sweep: Mapping[str, Any], looks: int = 200) -> tuple[dict[float, pd.DataFrame], dict[float, int]]:
    """`closing` of the L0 runs of a sweep by price, at so many steps or so, the first and the last among them; how many heads
    each keeps."""
    found = {run["method"]["penalty"]: run for run in l0_runs(sweep)}
    kept = {price: int(gates(run)[0].value()[-1].sum()) for price, run in found.items()}
    traces = {price: closing(run) for price, run in found.items()}
    shown = {price: np.linspace(0, len(trace) - 1, min(len(trace), looks + 1)).round() for price, trace in traces.items()}
    return {price: trace.iloc[shown[price].astype(int)] for price, trace in traces.items()}, kept


def settled(table: pd.DataFrame) -> pd.DataFrame:
    """How far the gates of L0 runs settled: price, heads, undecided gates (nan where no gate closes: such a run cannot tell),
    dev loss with binary and with soft gates."""
    part = table[table.undecided.notna()]
    part = part.xs(part.index.get_level_values("test set")[0], level="test set")
    part = part.assign(undecided=part.undecided.where(part.heads < part.total))
    return part[["penalty", "heads", "total", "undecided", "dev_loss", "soft_dev_loss"]]


def survival(sweep: Mapping[str, Any]) -> pd.Series:
    """How long L0 keeps every head: at how many prices, plus less than 1 for how likely its gate is open in the end.

    Returns
    -------
    pandas.Series
        On (kind, layer, head), larger = stays longer.
    """
    found = [gates(run) for run in l0_runs(sweep)]
    kept = sum(distribution.value()[-1] for distribution, _ in found)
    likely = sum(distribution.p_open()[-1] for distribution, _ in found) / len(found)
    return pd.Series((kept + 0.99 * likely).numpy(), found[0][1].columns)


# --- what is kept, and what it does ----------------------------------------------------------------------------------


def kept_by_kind(sweep: Mapping[str, Any], subject: subjects.Subject) -> pd.DataFrame:
    """Heads that each L0 run kept (Fig. 9).

    Returns
    -------
    pandas.DataFrame
        A row a run: penalty, total_kept, total, and for every kind how many and of how many; gap: the least rise of the share
        kept from encoder to decoder to cross-attention, above 0 where the paper's order holds, nan where all heads of
        the last two are left, as such a price cannot tell; starts alike: whether all kinds of attention begin training alike.
    """
    every, rows = _counts(subject.kept, KINDS), []
    alike = "pretrained" not in sweep["start"] and sweep["start"]["model"].get("start") is not None
    for run in l0_runs(sweep):
        kept = _counts(runs.retained(run), KINDS)
        row = {"penalty": _penalty(run), "total_kept": kept["heads"], "total": every["heads"]}
        row |= {kind: kept[kind] for kind in KINDS} | {f"{kind}_total": every[kind] for kind in KINDS}
        shares = [kept[kind] / every[kind] if every[kind] else np.nan for kind in KINDS]
        rows.append(row | {"gap": gap(*shares), "starts alike": alike})
    return pd.DataFrame(rows)


def gap(encoder: float, decoder: float, cross: float) -> float:
    """Of shares kept the least rise in the paper's order of kinds; nan where no head of the last two has gone."""
    return np.nan if decoder == cross == 1 else min(decoder - encoder, cross - decoder)


def printed_by_kind() -> pd.DataFrame:
    """The paper's table 2 as `kept_by_kind`, with the text as model."""
    rows = []
    for text, lines in PRINTED.items():
        for kept, *_ in lines[1:]:
            row = {"model": f"printed, EN-RU {text}", "total_kept": sum(kept), "total": sum(lines[0][0])}
            rows.append(row | dict(zip(KINDS, kept, strict=True)) | {f"{kind}_total": 48 for kind in KINDS})
    return pd.DataFrame(rows)


def kept_by_layer(sweep: Mapping[str, Any]) -> pd.Series:
    """Heads that each L0 run kept in every layer (Fig. 10), on (total_kept, kind, layer)."""
    found = [runs.retained(run) for run in l0_runs(sweep)]
    rows = {(sum(map(len, kept.values())), *place): len(left) for kept in found for place, left in kept.items()}
    return pd.Series(rows, name="kept").rename_axis(["total_kept", "kind", "layer"])


def retained_functions(sweep: Mapping[str, Any], subject: subjects.Subject) -> dict[int, pd.Series]:
    """What the retained encoder heads do at each sparsity (Fig. 8), measured on the pruned models.

    Returns
    -------
    dict of int -> Series
        Heads kept, most first (the model before pruning leads) -> on (kind, layer, head) in the numbering of the model before
        pruning, lists of (function, label).
    """
    found = {}
    for made in (None, *map(runs.run, l0_runs(sweep))):
        kept = subject.kept if made is None else training.kept(made)
        if not any(kept[kind, layer] for kind, layer in kept if kind == "encoder"):
            continue  # no encoder heads, no functions
        read, value = measured.FUNCTIONS.read, measured.FUNCTIONS.value
        told = value(subject, repeats=1) if made is None else read(made, parser=subject.parser, repeats=1)
        roles = told["functions"].xs("encoder", drop_level=False)
        old = [(kind, layer, kept[kind, layer][head]) for kind, layer, head in roles.index]
        roles.index = pd.MultiIndex.from_tuples(old, names=ADDRESS)
        found.setdefault(len(roles), roles)  # two prices that keep as many heads: the first
    return dict(sorted(found.items(), reverse=True))


def retained_more_than_chance(functions: Mapping[str, Mapping[int, pd.Series]]) -> pd.DataFrame:
    """Do heads with a function stay more often than others? By the hypergeometric distribution, as if heads went at random.

    Parameters
    ----------
    functions : mapping of title -> `retained_functions`

    Returns
    -------
    pandas.DataFrame
        A row each (model, heads kept, function before pruning, "any" for any): of (all heads), had (those with the function),
        stay (of them), expected (at random), p (one-sided: as many or more), p_holm and family (all rows). All heads have
        rows only where no price took any.
    """
    rows = []
    for title, by_count in functions.items():
        before = next(iter(by_count.values())).map(lambda cell: {name for name, _ in cell})
        known = ["any", *sorted(set().union(*before))]
        for count, roles in by_count.items():
            for name in known if count < len(before) or len(by_count) == 1 else ():
                has = before.map(lambda cell, name=name: bool(cell) if name == "any" else name in cell)
                had, stay = int(has.sum()), int(has[roles.index].sum())
                row = {"model": title, "heads": count, "function": name, "of": len(before), "had": had, "stay": stay}
                expected = had * count / len(before)
                rows.append(row | {"expected": expected, "p": hypergeom.sf(stay - 1, len(before), had, count)})
    columns = ["model", "heads", "function", "of", "had", "stay", "expected", "p"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(p_holm=intervals.holm(table.p), family=len(table))


def l0_runs(sweep: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The L0 runs of a sweep with the usual start and temperature, of its first seed."""
    usual = sweep["settings"]["pruning"]
    wanted = {"start": usual["start"], "temperature": usual["temperature"]}
    specs = [run for run in sweep["runs"].values() if run["method"]["name"] == "l0" and run["seed"] == sweep["seed"]]
    return [run for run in specs if {name: run["method"][name] for name in wanted} == wanted]


# --- removed for good ------------------------------------------------------------------------------------------------


def removal(run: Mapping[str, Any], subject: subjects.Subject) -> pd.DataFrame:
    """What it means to remove the heads that a run closed from the model that it started from: one row.

    Returns
    -------
    pandas.DataFrame
        By heads kept: parameters (without embeddings) and FLOPs of a forward pass over a dev batch, before and after; FLOPs
        left as a share, and the speed-up that this allows at most; largest difference between the logits of the removed and
        of the masked model, relative to the largest logit, and between removed, saved, loaded again and removed.
    """
    kept, model = runs.retained(run), copy.deepcopy(subject.model)
    gone = [address for address in heads.index(model) if address[2] not in kept[address[:2]]]
    batch = inputs(subject.batches(first=64)[0])
    with heads.gate(model, dict.fromkeys(gone, 0.0)):
        masked = _logits(model, batch)
    full = models.size(model, batch)
    left = models.size(heads.remove(model, gone), batch)
    with tempfile.TemporaryDirectory() as folder:
        heads.save(model, Path(folder) / "model")
        again = heads.load(Path(folder) / "model").to(models.device())
    logits = _logits(model, batch)
    row = {
        "parameters": full[0], "parameters left": left[0], "FLOPs": full[1], "FLOPs left": left[1],
        "FLOPs, share": left[1] / full[1], "speed-up at most": full[1] / left[1],
        "removed minus masked": float((logits - masked).abs().max() / masked.abs().max()),
        "reloaded minus removed": float((_logits(again, batch) - logits).abs().max()),
    }  # fmt: skip
    return pd.DataFrame([row], index=pd.Index([sum(map(len, kept.values()))], name="heads kept"))


def _logits(model, batch: Mapping[str, Any]) -> torch.Tensor:
    with torch.no_grad():
        return model(**batch, use_cache=False).logits


def _removed(subject) -> pd.DataFrame:
    return removal(subject.run.spec, runs.subject_of(subject.run.spec["start"]))


REMOVED = Analysis("removed for good", 1, _removed)  # `removal` of a pruned run


def recipes(sweep: Mapping[str, Any]) -> Iterator[study.Recipe]:
    """The analyses of a sweep's runs that notebook 03 reads: functions of encoder heads, or what removal means."""
    if list(sweep["kinds"]) == ["encoder"]:
        yield measured.FUNCTIONS.recipe(training.trained(sweep["start"], sweep["name"]), repeats=1)
    for run in l0_runs(sweep):
        made = runs.run(run, f"{runs.title(sweep)}: lambda {run['method']['penalty']:g}")
        yield measured.FUNCTIONS.recipe(made, repeats=1) if list(sweep["kinds"]) == ["encoder"] else REMOVED.recipe(made)
