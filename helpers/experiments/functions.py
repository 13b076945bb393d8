"""Functions of heads in trained translators (Voita et al. 2019, section 5): what is measured, and the tables that come of it.

Every head is scored on the dev set of its translator: positions, four syntactic relations in two directions, rare tokens. A
model of the same shape with random weights stands beside it. Layers and heads count from 1 in tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from helpers import study
from helpers.corpora.describe import arcs_of
from helpers.experiments import pretrained_functions
from helpers.measures import measured
from helpers.measures.analysis import Analysis
from helpers.measures.functions import POSITIONAL, RAREST, Syntactic, roles
from helpers.measures.reducers import one_pass
from helpers.papers import JOBS, MARGIN, TABLE_1
from helpers.runs import outputs, subjects
from helpers.scores import intervals

FIGURES = study.ROOT / "figures"
SUMMARIES = FIGURES / "summaries"
NAMES = {"EN-FR europarl, paper's size": "our translator", "smollm2": "SmolLM2", "minilm": "MiniLM"}  # measured before
TESTS = {  # of each job: its table, the offset (0: none), the bar
    "the token before": ("positional", -1, POSITIONAL), "the token after": ("positional", 1, POSITIONAL),
    "rare words": ("rare", 0, RAREST),
}  # fmt: skip
BEST = {"best head": "score", "best head with random weights": "best_random", "chance": "chance"}


# --- what is measured ------------------------------------------------------------------------------------------------


def _scored(subject, repeats: int, untrained: bool = False) -> dict[str, pd.DataFrame]:
    return measured.measure(subject, subject.untrained() if untrained else subject.model, repeats)


def _held(subject, repeats: int, untrained: bool = False) -> pd.DataFrame:
    model, reducer = subject.untrained() if untrained else subject.model, Syntactic(arcs_of(subject.sentences))
    return reducer.held_out(one_pass(model, subject.batches(), reducer, label=f"held out {subject.title}"), repeats)


SCORED = Analysis("scores of functions", 1, _scored)  # `measured.measure`
HELD = Analysis("syntactic heads held out", 1, _held)  # `Syntactic.held_out`


def recipes(settings: Mapping[str, Any], runs: Sequence[study.Recipe]) -> Iterator[study.Recipe]:
    """What the tables of these trained models read."""
    for run in runs:
        for analysis in (SCORED, HELD):
            yield analysis.recipe(run, repeats=settings["bootstrap"])
            yield analysis.recipe(run, repeats=settings["bootstrap"], untrained=True)


def needs(settings: Mapping[str, Any], names: Sequence[str], seed: int) -> Iterator[study.Recipe | study.Need]:
    """What notebook 02 reads of translators."""
    yield from outputs.of_models(settings, names, seed)
    yield from recipes(settings, subjects.recipes(settings, names, seed))
    for run in subjects.recipes(settings, names, seed):
        yield measured.EXPLAINED.recipe(run, rule="alpha_beta", first=settings["relevance"])
        yield measured.WITHOUT.recipe(run, first=settings["relevance"])


# --- tables ----------------------------------------------------------------------------------------------------------


def positional(studied: Sequence[subjects.Subject], repeats: int = 1000) -> pd.DataFrame:
    """The best positional head of every model and kind of attention.

    On (model, kind): layer, head, offset, score, low, high, of_all, verdict; best at random (at the same offset, with random
    weights), heads, over.
    """
    rows = {}
    for subject in studied:
        scores, random = (SCORED.value(subject, repeats=repeats, **more)["positional"] for more in ({}, {"untrained": True}))
        for kind, frame in scores.groupby(level="kind", sort=False):
            address = frame.score.idxmax()
            row = {"layer": address[1] + 1, "head": address[2] + 1, **frame.loc[address]}
            luck = random.xs(kind, level="kind")
            row |= {"best at random": luck.score[luck.offset == row["offset"]].max(), "heads": len(frame)}
            rows[subject.title, kind] = row | {"over": intervals.SENTENCES}
    return pd.DataFrame(list(rows.values()), pd.MultiIndex.from_tuples(rows, names=["model", "kind"]))


def syntactic(studied: Sequence[subjects.Subject], repeats: int = 1000) -> pd.DataFrame:
    """The best head of every relation and direction, chosen on even sentences and scored on odd ones (table 1).

    Columns model and relation, direction; layer and head of the best head (from 1), accuracy, low, high, baseline (of the most
    frequent offset), offset, gain, gain_low, gain_high (paired), n (arcs), heads (of how many), passes (10 points or more above
    the baseline), best_random (accuracy of the best head with random weights), over.
    """
    parts = []
    for subject in studied:
        frame, random = (HELD.value(subject, repeats=repeats, **more) for more in ({}, {"untrained": True}))
        table = frame.assign(layer=frame.layer + 1, head=frame["head"] + 1, passes=frame.gain >= MARGIN - 1e-9)
        table["best_random"] = random.accuracy.reindex(frame.index)
        parts.append(pd.concat({subject.title: table}, names=["model"]).reset_index())
    return pd.concat(parts, ignore_index=True).assign(over=intervals.SENTENCES)


def rare(studied: Sequence[subjects.Subject], repeats: int = 1000) -> pd.DataFrame:
    """The head of every model that looks most at one of the two rarest tokens; the best of random weights, and chance."""
    rows = {}
    for subject in studied:
        frame, random = (SCORED.value(subject, repeats=repeats, **more)["rare"] for more in ({}, {"untrained": True}))
        best = frame.two_rarest.fillna(0).idxmax()
        row = frame.loc[best]
        rows[subject.title] = {
            "layer": best[1] + 1, "head": best[2] + 1, "heads": len(frame), "two rarest": row.two_rarest,
            "low": row.two_rarest_low, "high": row.two_rarest_high, "best at random": random.two_rarest.max(),
            "chance": row.chance_two, "tokens": row.tokens, "over": intervals.SENTENCES,
        }  # fmt: skip
    whole = dict.fromkeys(("layer", "head", "heads", "tokens"), int)
    return pd.DataFrame(rows).T.infer_objects().astype(whole)


def pretrained(settings: Mapping[str, Any]) -> pd.DataFrame:
    """`syntactic` of pretrained models on both treebanks, of the cases with 30 words or more."""
    table = pretrained_functions.syntactic(settings).replace({"model": NAMES})
    return table[table.n >= pretrained_functions.LEAST]


def table_1(settings: Mapping[str, Any]) -> pd.DataFrame:
    """The paper's table 1 beside our translator and pretrained models on two treebanks, as `helpers.plots.gains` draws it."""
    parts = [TABLE_1, pd.read_csv(SUMMARIES / "gpu-quarter-syntactic.csv"), pretrained(settings)]
    return _named(pd.concat(parts, ignore_index=True))[[*TABLE_1, "layer", "head", "gain_low", "gain_high"]]


def jobs() -> pd.DataFrame:
    """How often the best head looks at the token before or after and at rare words: ours, with random weights, by chance.

    Columns job, model (and treebank), what, layer, head, bar, value with low and high, printed, in per cent.
    """
    tables = []
    for job, (name, offset, bar) in TESTS.items():
        ours = pd.read_csv(SUMMARIES / f"gpu-quarter-{name}.csv")
        ours = ours.rename(columns={"two rarest": "score", "best at random": "best_random"})
        both = _named(pd.concat([ours, pd.read_csv(FIGURES / "pretrained" / f"{name}.csv")]))
        tables.append((both[both.offset == offset] if offset else both).assign(job=job, bar=bar))
    table = pd.concat(tables)
    best, *others = (table.assign(value=table[name], what=what) for what, name in BEST.items())
    best["printed"] = best.job.map(JOBS).where(best.model == "our translator")  # beside the paper's own
    others = [one.drop(columns=["low", "high", "layer", "head"]) for one in others]
    whole = pd.concat([best, *others], ignore_index=True)
    return whole[["job", "model", "what", "layer", "head"]].join(100 * whole[["bar", "value", "low", "high", "printed"]])


def _named(table: pd.DataFrame) -> pd.DataFrame:
    """Models by their names in figures, pretrained ones with their treebank (trees)."""
    return table.replace({"model": NAMES}).assign(model=lambda each: each.model + each.trees.str.upper().radd(", ").fillna(""))


def _tested(settings: Mapping[str, Any]) -> pd.Series:
    """Of the best head of each test: test, "passes" or "open" by its interval, on (model, layer, head, functions)."""
    syntax, other = table_1(settings), jobs()
    syntax = syntax.assign(low=syntax.gain_low, high=syntax.gain_high, bar=MARGIN, functions=syntax.relation)
    rows = pd.concat([syntax, other.assign(functions=[TESTS[job][0] for job in other.job])]).query("high > bar")
    result = rows.low.gt(rows.bar).map({True: "passes", False: "open"}).rename("test")
    return result.groupby([rows[name] for name in ("model", "layer", "head", "functions")]).max()  # to pass one is enough


def all_heads(studied: Sequence[subjects.Subject], settings: Mapping[str, Any]) -> pd.DataFrame:
    """What heads do and how much they matter, in every model.

    Columns model, layer, head (from 1), functions (with commas), relevance (by LRP αβ, in SmolLM2 AttnLRP), removal (rise of
    the loss without it), alone (others on GUM), test (`_tested`, or empty), place (by relevance); of MiniLM no measures.
    """
    keys, columns = ["layer", "head"], ["functions", "relevance", "removal"]
    known = pd.read_csv(FIGURES / "pretrained" / "head_table.csv").assign(model="smollm2")
    known = known.rename(columns={"leave-one-out": "removal", "attnlrp": "relevance"})[["model", *keys, *columns[1:]]]
    gold = pretrained_functions.by_head(settings)
    gold["alone"] = ~gold.duplicated(["model", *keys, "functions"], keep=False)
    gold = gold.query("trees == 'ewt'").merge(known, "left", on=["model", *keys])
    parts = [pd.read_csv(SUMMARIES / "gpu-quarter-heads.csv").rename(columns={"without it": "removal"}), gold]
    for subject in studied:
        scores = SCORED.value(subject, repeats=settings["bootstrap"])
        does = roles(*(scores[name] for name in measured.FUNCTIONAL)).map(lambda cell: ", ".join(dict(cell)))
        relevance = measured.EXPLAINED.value(subject, rule="alpha_beta", first=settings["relevance"]).series()
        removal = measured.WITHOUT.value(subject, first=settings["relevance"]).loss
        own = pd.DataFrame({"functions": does, "relevance": relevance, "removal": removal}).loc["encoder"].reset_index()
        title = f"toy {subject.title}" if settings["corpus"] == "controlled" else subject.title
        parts.append(measured.from_one(own).assign(model=title))
    table = _named(pd.concat([part.reindex(columns=["model", "trees", *keys, *columns, "alone"]) for part in parts]))
    table = table.drop(columns="trees").drop_duplicates(["model", *keys], keep="last", ignore_index=True)
    table = table.fillna({"functions": "", "alone": False}).join(_tested(settings), on=["model", *keys, "functions"])
    return table.fillna({"test": ""}).assign(place=table.groupby(["model", "layer"]).relevance.rank(ascending=False))
