"""Tables of coreference injection (Liu & Chen 2023): what runs of `helpers.methods.coreference.runs` come to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from helpers import corpora, study
from helpers.corpora import dialogues
from helpers.corpora.clusters import first_words, spoken
from helpers.corpora.gum import gum
from helpers.corpora.resolvers import resolver
from helpers.measures import trainings
from helpers.methods.coreference import matrices, runs
from helpers.records import Dialogue
from helpers.runs import subjects
from helpers.scores import intervals, scoring
from helpers.scores.coreference import conll_f1, coreference_scores
from helpers.world import conversations

EVENTS = "events"  # factual consistency: share of the reference's events told with the right people, in percent
Named = Mapping[str, Mapping[str, Any]]


class Board:
    """Scores of rows on the one test set of their task.

    Parameters
    ----------
    settings : mapping
        A profile's settings.
    rows : mapping of name -> row
        As `helpers.methods.coreference.runs.row` makes them, all of one task and test set.
    """

    def __init__(self, settings: Mapping[str, Any], rows: Named) -> None:
        self.settings, self.rows = settings, dict(rows)
        self.task = subjects.text_of(next(iter(self.rows.values()))["run"])
        self.split = self.task.tests[0]
        self._known: dict[str, np.ndarray] = {}

    @property
    def known_events(self) -> bool:
        """Whether it is known who does what in the texts."""
        return bool(self.dialogues and self.dialogues[0].events)

    @property
    def dialogues(self) -> list[Dialogue]:
        """The dialogues of the test set; none where the task has other texts."""
        if self.task.kind != subjects.SUMMARIZATION:
            return []
        return _dialogues(self.task.folder, self.split)

    @property
    def metrics(self) -> list[str]:
        """The task's scores, and `EVENTS` where events are known."""
        return [*self.task.metrics, *([EVENTS] if self.known_events else [])]

    def written(self, name: str) -> list[str]:
        """What the model of a row writes of the test set."""
        return runs.written(self.rows[name], self.split, self.settings["coreference"]["beam"])

    def statistics(self, name: str) -> np.ndarray:
        """Per text what scores are computed from: of summaries [texts, metrics] in percent, whose means are the scores."""
        if name not in self._known:
            self._known[name] = self.count(self.written(name))
        return self._known[name]

    def count(self, texts: Sequence[str]) -> np.ndarray:
        """`statistics` of any summaries."""
        found = self.task.statistics(texts, self.split)
        return np.column_stack([found, right_people(texts, self.dialogues)]) if self.known_events else found

    def interval(self, own: np.ndarray, other: np.ndarray | None = None) -> dict[str, tuple[float, float, float]]:
        """Scores with their 95 % bootstrap interval, or how much they are above others' (paired), by metric."""
        repeats = self.settings["bootstrap"]
        if self.task.kind == subjects.TRANSLATION:
            return self.task.interval(own, other, repeats)
        columns = zip(*scoring.mean_interval(own, other, repeats), strict=True)
        return dict(zip(self.metrics, (tuple(map(float, row)) for row in columns), strict=True))


def boards(settings: Mapping[str, Any], parts: Mapping[str, Named], seed: int) -> dict[int, Board]:
    """A board for each training seed of `helpers.methods.coreference.runs.rows_of`; the first holds the rows of all parts."""
    found = {seed: {}}
    for part, named in parts.items():
        first, _, number = part.partition(" ")
        found.setdefault(int(number) if first == "seed" else seed, {}).update(named)
    return {number: Board(settings, rows) for number, rows in found.items()}


@lru_cache(maxsize=4)
def _dialogues(folder: Path, split: str) -> list[Dialogue]:
    return corpora.read_dialogues(corpora.file(folder, split, "dialogues"))


def right_people(texts: Sequence[str], told: Sequence[Dialogue]) -> np.ndarray:
    """Events that each summary tells with the right people, such that the mean over texts is their share of all, percent."""
    counts = conversations.consistency(texts, told)
    return 100 * counts[:, 2] / counts[:, 0].mean()


def scores(board: Board, names: Iterable[str] | None = None, against: str = runs.PLAIN) -> pd.DataFrame:
    """Scores of rows, and how they differ from one of them.

    Returns
    -------
    pandas.DataFrame
        row, metric; value, low, high (95 % bootstrap over texts); change, change_low, change_high (paired); percent (the change
        in percent of the other's value, percent_low, percent_high); heads (how many are masked or injected); over.
    """
    found = []
    for name in names or board.rows:
        found += _compared(board, name, board.statistics(name), against, heads_of(board.rows[name]))
    return pd.DataFrame(found)


def _compared(board: Board, name: str, own: np.ndarray, against: str, heads: int = 0) -> Iterator[dict[str, Any]]:
    """Rows of `scores` from what they are computed from, one a metric."""
    other = board.statistics(against)
    values, base, changes = board.interval(own), board.interval(other), board.interval(own, other)
    for metric, value in values.items():
        row = {"row": name, "metric": metric, **dict(zip(("value", "low", "high"), value, strict=True))}
        row |= dict(zip(("change", "change_low", "change_high"), changes[metric], strict=True))
        shares = [100 * end / base[metric][0] if base[metric][0] else np.nan for end in changes[metric]]
        row |= dict(zip(("percent", "percent_low", "percent_high"), shares, strict=True))
        yield row | {"heads": heads, "over": intervals.SENTENCES}


def heads_of(one: Mapping[str, Any]) -> int:
    """How many heads are masked or injected in a row."""
    control = one.get("control", one["run"].get("control")) or {}
    return len(runs.addresses(control["heads"])) if "heads" in control else 0


def ranks(importance: pd.Series, row: str, heads: Iterable[tuple[str, int, int]]) -> pd.DataFrame:
    """Where chosen heads stand in a model, of a column of `rankings`: row, layer, rank_before (1 is the most important)."""
    places = importance.groupby(level=["kind", "layer"]).rank(ascending=False)
    return pd.DataFrame([(row, at[1], places[at]) for at in heads], columns=["row", "layer", "rank_before"])


def over_seeds(boards: Mapping[int, Board], names: Sequence[str], against: str = runs.PLAIN) -> pd.DataFrame:
    """Scores and changes over several trainings, each from weights of its own.

    Returns
    -------
    pandas.DataFrame
        row, metric, seeds; value, change and percent are means over trainings, with 95 % t-intervals (nan for one); over.
    """
    parts = pd.concat([scores(board, names, against).assign(seed=seed) for seed, board in boards.items()])
    values = {"value": ("value", "low", "high")} | {
        what: (what, f"{what}_low", f"{what}_high") for what in ("change", "percent")
    }
    found = trainings.over_seeds(parts, ("row", "metric"), values)
    return found.reset_index().assign(over=intervals.TRAININGS)


def against_controls(boards: Mapping[int, Board], names: Iterable[str], row: str = runs.MAIN) -> pd.DataFrame:
    """How a row differs from each control, pair by pair: in every training from the control of the same weights.

    Returns
    -------
    pandas.DataFrame
        control, metric, seeds; change with its ends: a mean with its 95 % t-interval, of one training a bootstrap over texts.
    """
    first, *more = boards.values()
    found = {name: over_seeds(boards, [row], name) if more else scores(first, [row], name).assign(seeds=1)
             for name in names if name != row}  # fmt: skip
    columns = ["control", "metric", "seeds", "change", "change_low", "change_high", "over"]
    return pd.concat(found, names=["control", None]).reset_index("control")[columns]


def choices(boards: Mapping[int, Board], names: Iterable[str], alone: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """What links gain in each choice of heads, and what these heads cost in the plain model: a row a choice and training.

    Parameters
    ----------
    names : iterable of str
        Rows; a board may lack some.
    alone : mapping
        As `ablation` returns it for these boards.

    Returns
    -------
    pandas.DataFrame
        row, seed; loss (rises of the loss with each of these heads off alone, added up, thousandths of a nat a token), first
        (the part of the first layer's); change (of the first metric, with links).
    """
    found = []
    for (seed, board), frame in zip(boards.items(), alone.values(), strict=True):
        plain = board.statistics(runs.PLAIN)[:, 0].mean()
        for name in (name for name in names if name in board.rows):
            heads = runs.addresses(board.rows[name]["run"]["control"]["heads"])
            lost, change = 1000 * frame.loss[heads], board.statistics(name)[:, 0].mean() - plain
            first = lost[lost.index.get_level_values("layer") == 0].sum()
            found.append({"row": name, "seed": seed, "loss": lost.sum(), "first": first, "change": change})
    return pd.DataFrame(found)


def baselines(board: Board, seed: int = 0, against: str = runs.PLAIN) -> pd.DataFrame:
    """Scores of summaries that tell the right events of guessed people: columns as of `scores`, rows "baseline: ..."."""
    ways = {"random people": "random", "the speaker": "speaker", "nearest name": "nearest"}
    found = []
    for name, way in ways.items():
        guessed = board.count(conversations.guesses(board.dialogues, way, seed))
        found += _compared(board, f"baseline: {name}", guessed, against)
    return pd.DataFrame(found)


def best_example(board: Board, name: str, against: str = runs.PLAIN) -> int:
    """Place of the shortest of those dialogues in which a row tells the most events more of the right people than another."""
    gap = board.statistics(name)[:, -1] - board.statistics(against)[:, -1]
    words = [len(pair.words) for pair in board.task.pairs(board.split)]
    return int(np.lexsort((words, -gap))[0])


# --- text and resolvers ----------------------------------------------------------------------------------------------


def text_statistics(folder: Path, splits: Sequence[str], by: str) -> pd.DataFrame:
    """What is in dialogues and their clusters, a row a split."""
    found = []
    for split in splits:
        told, clusters = _dialogues(folder, split), dialogues.resolved(folder, split, by)
        sizes = [len(cluster) for row in clusters for cluster in row]
        linked = [sum(stop - start for cluster in row for start, stop in cluster) for row in clusters]
        found.append({
            "split": split, "dialogues": len(told), "words": np.mean([len(row.words) for row in told]),
            "longest": max(len(row.words) for row in told), "turns": np.mean([len(row.turns) for row in told]),
            "speakers": np.mean([len(row.speakers) for row in told]),
            "summary words": np.mean([len(row.target.split()) for row in told]),
            "events": np.mean([len(row.events) for row in told]), "clusters": np.mean([len(row) for row in clusters]),
            "mentions a cluster": np.mean(sizes) if sizes else np.nan,
            "linked words, %": 100 * sum(linked) / sum(len(row.words) for row in told),
        })  # fmt: skip
    return pd.DataFrame(found)


def resolver_scores(folder: Path, split: str, names: Sequence[str], gold: str = "gold") -> pd.DataFrame:
    """MUC, B-cubed, CEAF-e and CoNLL F1 of clusters against others, percent: a row for each name (`runs.clusters_of`)."""
    truth, found = runs.clusters_of(folder, split, gold), []
    for name in names:
        pair = runs.clusters_of(folder, split, name), truth
        if "stored" in name:  # where a mention is its first word
            pair = tuple([first_words(row) for row in side] for side in pair)
        found.append({"clusters": runs.shown(name), "against": gold, **coreference_scores(*pair).f1.to_dict()})
    return pd.DataFrame(found)


def gum_scores(root: str, names: Sequence[str] = ("rule",)) -> pd.DataFrame:
    """The same on the gold coreference of GUM's conversations and interviews; labels of turns do not count."""
    told = gum(root)
    truth, found = [row.clusters for row in told], []
    for name in names:
        system = [spoken(row, one) for row, one in zip(told, resolver(name)(told), strict=True)]
        scored = coreference_scores(system, truth)
        found.append({"clusters": name, "against": f"GUM, {len(told)} documents", **scored.f1.to_dict()})
    return pd.DataFrame(found)


# --- heads -----------------------------------------------------------------------------------------------------------


def rankings(rows: Named, probe: int) -> pd.DataFrame:
    """Importance of encoder heads (normalised by layer) in the model of each row: a column a row."""
    return pd.DataFrame({name: runs.ranking(one["run"], probe).importance for name, one in rows.items()})


def masking(board: Board, rows: Named) -> pd.DataFrame:
    """The masking curves: order, number (heads a layer that are off), and the columns of `scores` against the plain model.

    Random draws are told apart by `draw`. "all off" is the change with all encoder heads off, "share of all" the change in
    units of that: where all heads together cost next to nothing, no masking of some can show what they are worth.
    """
    table, found = scores(board, [runs.PLAIN, *rows]), []
    most = max(one["control"]["heads"]["count"] for one in rows.values())
    last = {one["control"]["heads"]["order"] for one in rows.values() if one["control"]["heads"]["count"] == most}
    for row in table.to_dict("records"):
        if row["row"] == runs.PLAIN:
            found += [row | {"order": order, "number": 0, "draw": 0} for order in matrices.ORDERS]
            continue
        heads = board.rows[row["row"]]["control"]["heads"]
        found.append(row | {"order": heads["order"], "number": heads["count"], "draw": heads["draw"]})
        if heads["count"] == most and len(last) == 1:  # all heads are the same heads in any order
            found += [found[-1] | {"order": order} for order in matrices.ORDERS[1:]]
    curves, full = pd.DataFrame(found), len(last) == 1
    every = curves[(curves.number == most) & full].drop_duplicates("metric").set_index("metric").change
    curves["all off"] = curves.metric.map(every)
    return curves.assign(**{"share of all": curves.change / curves["all off"].replace(0, np.nan)})


def before_after(rows: Named, names: Sequence[str], probe: int, plain: str = runs.PLAIN) -> pd.DataFrame:
    """Importance of the heads that each row injects: where they were chosen, and in the model trained with the matrix.

    Returns
    -------
    pandas.DataFrame
        row, kind, layer, head; before, after (normalised by layer), rank_before and rank_after (1 is the most important of its
        layer), loss_before and loss_after (rise of the loss with the head off, nats a token), heads (of the layer).
    """
    found = []
    before = runs.ranking(rows[plain]["run"], probe)
    for name in names:
        run = rows[name]["run"]
        after = runs.ranking(run, probe, control=run["control"])
        places = [table.importance.groupby(level=["kind", "layer"]).rank(ascending=False) for table in (before, after)]
        for address in runs.addresses(run["control"]["heads"]):
            row = {"row": name, **dict(zip(("kind", "layer", "head"), address, strict=True))}
            row |= {"before": before.importance[address], "after": after.importance[address]}
            row |= {"rank_before": places[0][address], "rank_after": places[1][address]}
            row |= {"loss_before": before.loss[address], "loss_after": after.loss[address]}
            found.append(row | {"heads": int((before.index.get_level_values("layer") == address[1]).sum())})
    return pd.DataFrame(found)


def before_after_over_seeds(boards: Mapping[int, Board], names: Sequence[str], probe: int) -> pd.DataFrame:
    """`before_after` of every training that has the rows, with its seed."""
    parts = [before_after(board.rows, [name for name in names if name in board.rows], probe).assign(seed=seed)
             for seed, board in boards.items() if runs.MAIN in board.rows]  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def rises(table: pd.DataFrame) -> pd.DataFrame:
    """How much the loss rises with one injected head off, before and after training: means over seeds.

    Parameters
    ----------
    table : pandas.DataFrame
        As of `before_after_over_seeds`.

    Returns
    -------
    pandas.DataFrame
        row, layer (from 1; 0: the mean over layers), seeds; before and after (thousandths of a nat a token), each with _low and
        _high of a 95 % t-interval (nan for one seed); over.
    """
    names = ("before", "after")
    scaled = table.assign(layer=table.layer + 1, **{name: 1000 * table[f"loss_{name}"] for name in names})
    scaled = pd.concat([scaled.assign(layer=0), scaled])
    found = trainings.over_seeds(scaled, ("row", "layer"), {name: (name, f"{name}_low", f"{name}_high") for name in names})
    return found.reset_index().assign(over=intervals.TRAININGS)


def matter_more(table: pd.DataFrame, row: str = runs.MAIN, value: str = "after", mean: bool = False) -> pd.DataFrame:
    """How much more important injected heads end than the same heads do under each matrix that says nothing.

    Parameters
    ----------
    table : pandas.DataFrame
        As of `before_after_over_seeds`.
    row : str
        The injected row; rows named after it (other links in the same heads) are its controls.
    value : str
        "after", importance as the claim asks, or "loss_after", the rise of the loss (nats a token).
    mean : bool
        Whether the mean of layers comes first, as layer -1.

    Returns
    -------
    pandas.DataFrame
        control, layer, seeds; more (mean over trainings of the difference after training; importance is normalised by
        layer), with low and high of a 95 % t-interval (nan for one training); over.
    """
    place, controls = ["seed", "kind", "layer", "head"], table[table.row.str.startswith(f"{row}, ")]
    both = controls.merge(table[table.row == row], on=place, suffixes=("", "_injected"))
    both = both.assign(control=both.row, more=both[f"{value}_injected"] - both[value])
    both = pd.concat([both.assign(layer=-1), both]) if mean else both
    found = trainings.over_seeds(both, ("control", "layer"), {"more": ("more", "low", "high")})
    return found.reset_index().assign(over=intervals.TRAININGS)


def masking_by_setting(board: Board, rows: Named, settings: Named) -> pd.DataFrame:
    """What masking costs in the model of every training setting, against that model with all heads.

    Parameters
    ----------
    rows : mapping of name -> row
        `helpers.methods.coreference.runs.Rows.settings`.
    settings : mapping of name -> row
        The models themselves, the plain one among them.

    Returns
    -------
    pandas.DataFrame
        setting, order, number (heads a layer that are off), metric; value, change, change_low, change_high, percent; over.
    """
    found = []
    for name, one in rows.items():
        setting, heads = name.partition(": ")[0], one["control"]["heads"]
        if setting not in settings:
            raise study.StudyError(f"There is no training setting {setting!r}: choose from {', '.join(settings)}.")
        scored = scores(board, [name], setting)
        told = scored[["metric", "value", "change", "change_low", "change_high", "percent", "over"]]
        found.append(told.assign(setting=setting, order=heads["order"], number=heads["count"]))
    table = pd.concat(found, ignore_index=True)
    return table[["setting", "order", "number", *(name for name in table if name not in ("setting", "order", "number"))]]


def quality_curve(board: Board, rows: Named, main: str = runs.MAIN, truth: str = "") -> pd.DataFrame:
    """Gain over the plain model against the quality of the clusters that the model was given.

    Parameters
    ----------
    truth : str
        The clusters that they are held against; those of the main row if not given.

    Returns
    -------
    pandas.DataFrame
        As `scores`, with `clusters` (what was given), `conll` (their CoNLL F1 on the test set, percent), and where people are
        known the shares of `pronouns` (percent): `people` of he and she, `speakers` of I and you.
    """
    folder, split = board.task.folder, board.split
    table = scores(board, [main, *rows])
    by = {name: board.rows[name]["run"]["control"]["links"] for name in table.row.unique()}
    best = runs.clusters_of(folder, split, truth or by[main])
    given = {name: runs.clusters_of(folder, split, links) for name, links in by.items()}
    table = table.assign(
        clusters=table.row.map(by).map(runs.shown), conll=table.row.map({k: conll_f1(v, best) for k, v in given.items()})
    )
    if not board.known_events:
        return table
    shares = {name: conversations.pronouns(board.dialogues, found) for name, found in given.items()}
    kinds = conversations.PRONOUNS
    return table.assign(**{kind: table.row.map({name: share[kind] for name, share in shares.items()}) for kind in kinds})


def by_group(board: Board, groups: Mapping[str, Named]) -> pd.DataFrame:
    """`scores` of the main row and those of several groups, which "group" tells apart."""
    found = [scores(board, [runs.MAIN, *named]).assign(group=group) for group, named in groups.items() if named]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def ablation(plain: Mapping[int, Mapping[str, Any]], probe: int) -> dict[str, pd.DataFrame]:
    """Rise of the dev loss with each encoder head off, for the plain model of each training seed: by its name."""
    return {f"seed {seed}": runs.ranking(one["run"], probe)[["loss", "low", "high"]] for seed, one in plain.items()}


def resolvers(settings: Mapping[str, Any], folder: Path, split: str, truth: str = "") -> pd.DataFrame:
    """`resolver_scores` of what a profile trains or writes with, against `truth` or its own; of the rules on GUM if there."""
    chosen, by = settings["coreference"], settings["coreference"]["summarization"]["links"]
    best = truth or by
    names = [name for name in dict.fromkeys([by, *chosen["resolvers"], *chosen["written"]]) if name != best]
    names += [f"{best}+corrupt:{rate:g}" for rate in chosen["rates"]] + [f"{by}+shuffled"]
    found = [resolver_scores(folder, split, names, best)]
    root = study.data_root()
    if root and any(Path(root, "gum").glob("*")):
        found.append(gum_scores(root))
    return pd.concat(found, ignore_index=True)


def marked(folder: Path, split: str, by: str, place: int) -> str:
    """A dialogue with its clusters, as "[number: mention]", a line a turn."""
    row, clusters = _dialogues(folder, split)[place], runs.clusters_of(folder, split, by)[place]
    words = list(row.words)
    for number, cluster in enumerate(clusters):
        for start, stop in cluster:
            words[start] = f"[{number}: {words[start]}"
            words[stop - 1] += "]"
    return "\n".join(" ".join(words[start:stop]) for start, _, stop in row.turns)


def linked_tokens(
    spec: Mapping[str, Any], split: str, by: str, span: str, place: int
) -> tuple[list[str], list[int], list[list[int]]]:
    """The tokens of a text and their ids, and of each person or thing the places of the tokens that stand for it."""
    text = subjects.text_of(spec)
    pair = text.pairs(split)[place]
    ids, words = text.source.encode(pair.source), text.source.word_ids(pair.source, pair.words)
    found, _ = matrices.tokens_of(runs.clusters_of(text.folder, split, by)[place], words, span)
    return text.source.pieces(ids), ids, [[token for mention in cluster for token in mention] for cluster in found]


def events_told(board: Board, names: Sequence[str], at: slice = slice(None)) -> pd.DataFrame:
    """Of events (of the texts `at`) those told, those of the right people, those right in full (time too), percent."""
    rows = {"reference": [pair.target for pair in board.task.pairs(board.split)]} | {
        name: board.written(name) for name in names
    }
    counts = {name: conversations.consistency(texts[at], board.dialogues[at]).sum(0) for name, texts in rows.items()}
    shares = {name: 100 * found[1:] / found[0] for name, found in counts.items()}
    return pd.DataFrame.from_dict(shares, "index", columns=["told", "of the right people", "right in full"])


def _injected(boards: Mapping[int, Board]) -> dict[int, Board]:
    """Those with links in the least important heads."""
    return {seed: board for seed, board in boards.items() if runs.MAIN in board.rows}


def injected(boards: Mapping[int, Board], parts: Mapping[str, Named]) -> pd.DataFrame:
    """As `over_seeds`, of the main rows and the controls, over trainings with links in the least important heads."""
    return over_seeds(_injected(boards), [*parts["main"], *parts.get("controls", {})])


def summed(boards: Mapping[int, Board], parts: Mapping[str, Named]) -> pd.DataFrame:
    """Injection in one table, for a summary of text that no notebook shows.

    Parameters
    ----------
    boards, parts : mapping
        As `boards` returns it of parts with masks; the first is of the first training.

    Returns
    -------
    pandas.DataFrame
        On `what`: value, low, high (scores, their changes, and the rise of the loss with injected heads off in thousandths of
        a nat a token: means over trainings with 95 % t-intervals; all heads off: of the first, over texts), n (trainings).
    """
    first, trained, rows = next(iter(boards.values())), _injected(boards), injected(boards, parts)
    moved = rises(before_after_over_seeds(trained, list(runs.moved(parts)), first.settings["coreference"]["probe"]))
    moved = moved[moved.layer == 0].assign(metric="loss without these heads")
    off = masking(first, parts["masks"]).assign(seeds=1, row="all heads off")
    off, changed = off[(off.number == off.number.max()) & (off.order == "lowest")], rows[rows.row != runs.PLAIN]
    columns = {name: [name, f"{name}_low", f"{name}_high"] for name in ("change", "before", "after")}
    columns["value"], found = ["value", "low", "high"], []
    for name, table in (("value", rows), ("change", changed), ("change", off), ("before", moved), ("after", moved)):
        named = table.assign(what=table.row + ": " + table.metric + ("" if name == "value" else f", {name}")).set_index("what")
        found.append(named[[*columns[name], "seeds"]].set_axis(["value", "low", "high", "n"], axis=1))
    return pd.concat(found)


def lost(spec: Mapping[str, Any], splits: Sequence[str]) -> pd.DataFrame:
    """What a run's links lose where its dialogues are cut to the length that the model takes: mentions, a row a split."""
    text, found = subjects.text_of(spec), []
    for split in splits:
        clusters = runs.clusters_of(text.folder, split, spec["control"]["links"])
        mentions = sum(len(cluster) for row in clusters for cluster in row)
        _, dropped = runs.links_of(spec, spec["control"], [split])
        share = 100 * dropped / mentions if mentions else 0.0
        found.append({"split": split, "mentions": mentions, "beyond the cut": dropped, "percent": share})
    return pd.DataFrame(found)
