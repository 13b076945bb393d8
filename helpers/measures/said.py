"""What the tables of notebooks 01 and 02 say, in a sentence or two each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.measures import ranks
from helpers.measures.functions import LABELS, MARGIN, RELATIONS, way
from helpers.measures.lrp import RULES
from helpers.measures.sentence import needing
from helpers.measures.table import named
from helpers.reading import count, ends, interval, listed, number
from helpers.study import layout, values


def carried(table: pd.DataFrame, natural: pd.DataFrame | None = None) -> str:
    """Of `measured.few_heads`: what part of a layer its two largest heads carry, by the default rule and by the signed ones."""
    two, told = min(2, table.heads.max()), []
    for frame in [table] if natural is None else [table, natural]:
        own = frame[frame.heads == two]
        mean = own.groupby([own.rule == "alpha_beta", "weights"]).value.mean().map(lambda value: number(value, "%"))
        told.append([(mean[default, "trained"], mean[default, "random"]) for default in (True, False)])
    (default, luck), signed = told[0]
    more = "".join(f"; on Europarl {own[0]} ({own[1]}) and {other[0]} ({other[1]})" for own, other in told[1:])
    return (
        f"By the default rule the {two} largest heads carry {default} of a layer (random weights {luck}), by the signed rules"
        f" {signed[0]} ({signed[1]}){more}."
    )


def ranked_alike(mean: pd.DataFrame, natural: pd.DataFrame | None = None) -> str:
    """Of rank correlations of rules, here and on natural text: how far the two signed rules agree, and with the default one."""
    two = ["attnlrp ratio", "cp ratio"]
    told = [(number(f.loc[*two], ".2f"), ends(f.loc[two, "alpha_beta"], ".2f")) for f in (mean, natural) if f is not None]
    signed, default = (", on Europarl at ".join(parts) for parts in zip(*told, strict=True))
    return f"The rankings of the two signed rules correlate at {signed}; with the default rule at {default}."


def beyond(root: Path) -> dict[str, tuple[float, float, float]]:
    """Relevance (default rule) and confidence in published runs of other text and size: rho, low, high by run.

    `root`: the folder of all tracks' figures; what is not there is left out.
    """
    found: dict[str, tuple[float, float, float]] = {}
    tables = root / "natural" / "01_relevance_and_confidence" / "tables"
    for name, path, where in (
        ("Europarl", tables / "relevance_and_confidence.csv", {"kind": "encoder", "rule": "alpha_beta", "weights": "trained"}),
        ("the paper's width", root / "summaries" / "gpu-quarter.csv", {"what": "relevance with confidence, encoder"}),
    ):
        rows = pd.read_csv(path).rename(columns={"value": "rho"}) if path.exists() else pd.DataFrame(columns=[*where])
        if (own := (rows[[*where]] == pd.Series(where)).all(axis=1)).any():
            found[name] = tuple(rows.loc[own, ["rho", "low", "high"]].iloc[0])
    return found


def of_natural(root: Path) -> dict[str, Any]:
    """What notebook 01 draws of the published run of natural text beside its own, {} where there is none.

    relevance, functions: Series by title; ranks: trained rows of `ranks.confidence_by_rank`; follows:
    `ranks.follows_function`; differ: encoder row of `measured.effects_that_differ`; bleu: with encoder attention, and without;
    told: how measures correlate with the loss without a head, by measure, no row where too few heads change it; confidence:
    Series by title; words: `sentence.one_by_one`; rules: `ranks.rank_agreement`; few: `measured.few_heads`.
    """
    chapter = layout.Chapter(root / "natural" / "01_relevance_and_confidence")
    if not (drawn := chapter.inputs("relevance_by_function")).exists():
        return {}
    names = ("confidence_by_rank", "effects_that_differ", "follows_function", "truth_agreement", "bleu")
    ranked, differ, follows, told, bleu = (pd.read_csv(chapter.table(name)) for name in names)
    found: dict[str, Any] = values.read(drawn)
    title, first = next(iter(found["relevance"])), bleu[bleu["test set"] == bleu["test set"].iloc[0]].set_index("model").bleu
    found |= {"ranks": ranked[ranked.weights == "trained"].assign(weights="natural"), "follows": follows.iloc[0]}
    found["told"] = told[(told.truth == "loss, all models") & told.shown].set_index("measure")
    found["confidence"] = values.read(chapter.inputs("fig1_relevance_and_confidence"))["confidence"]
    found |= {"words": pd.read_csv(chapter.table("words_and_heads")), "few": pd.read_csv(chapter.table("few_heads"))}
    found["rules"] = pd.read_csv(chapter.table("rule_agreement")).set_index("measure").drop(columns="model")
    found |= {"differ": differ[differ.kind == "encoder"].iloc[0], "bleu": (*first[[title, f"{title}, no encoder heads"]],)}
    return found


def two_questions(told: pd.DataFrame, words: pd.DataFrame) -> pd.DataFrame:
    """How well each rule of relevance ranks the heads of a whole model, and names the head of one word, best ranking first.

    told: correlations with the loss without a head, by measure; words: `sentence.one_by_one`. On the rules' names: rule; rho,
    low, high; found and words, for how many of the words that need a head the rule names it.
    """
    rows = {rule: told.loc[rule if rule == "alpha_beta" else f"{rule} ratio", ["rho", "low", "high"]] for rule in RULES}
    table = pd.DataFrame(rows).T.astype(float).rename_axis("rule").reset_index()
    need, found = needing(words)
    table.index = pd.Index([named(rule).removeprefix("relevance, ") for rule in table.rule], name="rule of relevance")
    return table.assign(found=found, words=len(need)).sort_values("rho", ascending=False)


def turned(table: pd.DataFrame) -> str:
    """Of `two_questions`: that the rule which ranks heads best is not the one that names the head of a word; "" if it is."""
    best = table.iloc[0]
    if not best.low > 0 or best.found == table.found.max():
        return ""
    names = "names the head of one word worst" if best.found == table.found.min() else "is not the best for one word"
    return f"The rule of relevance that ranks the heads of a whole model best {names}"


def guessed(table: pd.DataFrame, heads: int) -> str:
    """Of `two_questions`: what a guess at one of so many heads would name, and how the two questions differ."""
    told = "for one word all heads of all layers compete, and nothing is averaged over words"
    return f"A guess would name the needed head for {table.words.iloc[0] / heads:.0f} of {table.words.iloc[0]} words: {told}."


def answered(
    alike: pd.Series, shown: bool, table: pd.DataFrame, elsewhere: Mapping[str, Any], natural: Mapping[str, Any],
    follows: pd.DataFrame,
) -> str:  # fmt: skip
    """The answer of notebook 01: rho and low of relevance with confidence; whether enough heads change the loss here.

    table: `two_questions` of natural text, or of this run where there is none; elsewhere: `beyond`; natural: `of_natural`;
    follows: `ranks.follows_function` by (model, rule).
    """
    there = "Europarl" in elsewhere and len(natural.get("told", ())) > 0
    own = f"relevance agrees {ranks.strength(alike.rho, alike.low)} with confidence ({number(alike.rho)})"
    own += "; single removals cost too little to judge" * (not shown)
    said = [f"**By the rule of the authors' later code, {own}.**"]
    if (first := turned(table)) and (there or shown):
        best, finder, sure = table.iloc[0], table.loc[table.found.idxmax()], elsewhere["Europarl"][0] if there else alike.rho
        also = f" and confidence ({number(sure)}) do" if best.rule == "alpha_beta" else " does"
        where = "On Europarl, our one model of natural text, " * there
        said = [
            f"**{first}.** {where}{best.name} ranks heads {'much' if best.rho >= 0.7 else 'partly'} as their removal (rank"
            f" correlation {number(best.rho)}){also}; it names the needed head for {best.found:.0f} of {best.words:.0f} words,"
            f" {finder.name} ({number(finder.rho)}) for {finder.found:.0f}."
        ]
        said += [f"On generated text {own}."] * there
    each = follows.xs("alpha_beta", level="rule")  # all models first, where there are several
    if each.layers.iloc[0]:
        clearly = f"more relevant{' there' * there}" if each.low.iloc[0] > 0 else "not clearly more relevant"
        few = there and each.low.iloc[0] > 0 >= natural["follows"].low
        clearly += f"; Europarl has {natural['follows'].functional:.0f}, too few to tell" if few else ""
        said.append(f"Heads with a function are {clearly}.")
    return " ".join(said)


def by_rank(confidence: pd.DataFrame) -> str:
    """Of `ranks.confidence_by_rank`: the rank of confidence of the most relevant head."""
    first = {weights: number(own.value.iloc[0], ".1f") for weights, own in confidence.groupby("weights")}
    there = f" ({first['natural']} in the Europarl model)" if "natural" in first else ""
    said = f"The most relevant head of a layer has on average rank {first['trained']} of confidence{there}."
    return f"{said} Chance gives {number(confidence.even.iloc[0], '.1f')}."


def worth(
    title: str, lost: float, gained: float, natural: Sequence[float] = (), marks: pd.Series | None = None, much: float = 5
) -> str:  # fmt: skip
    """What encoder attention is worth, in BLEU: by removal, and by training without it (nan: not done); `of_natural`'s bleu.

    marks: by phenomenon, how many points of 100 are lost by training without it; the largest is named if above `much`.
    """
    never = f"Trained without encoder attention, {title} is {number(gained, '.1f')} BLEU worse" if gained == gained else ""
    if never and natural and natural[0] - natural[1] > gained:
        there, high, low = (number(value, ".1f") for value in (natural[0] - natural[1], *natural))
        never += f", the Europarl model {there} ({high} to {low}). So the text of {title} hardly needs it"
        if marks is not None and marks.max() > much:
            rest = ends(marks.drop(marks.idxmax()), ".0f")
            never += f", except for the {marks.idxmax()} ({marks.max():.0f} points of 100; about {rest} elsewhere)"
    return (
        f"{never}{'. ' * bool(never)}If all its encoder heads are removed after training, {title} loses {number(lost, '.1f')}"
        " BLEU; the decoder was frozen and could not adapt."
    )


def foretold(natural: pd.DataFrame, loss: pd.Series, shown: bool) -> str:
    """Of correlations with the loss without a head, `of_natural` and relevance here: which measures tell it."""
    own = interval(loss.rho, loss.low, loss.high, ".2f")
    here = f"relevance correlates with the loss at {own}" if shown else "too few heads change the loss to judge"
    if natural.empty:
        return f"Here {here}."
    rows = natural.drop(index=["attnlrp step", "cp step"], errors="ignore").sort_values("rho", ascending=False)
    called = (named(name).removeprefix("relevance, ").partition(" (")[0] for name in rows.index)
    names = [f"{name} ({number(rho)})" for name, rho in zip(called, rows.rho, strict=True)]
    does, less = ([name for name, low in zip(names, rows.low, strict=True) if (low > 0) == clear] for clear in (True, False))
    but = f"; {listed(less)} {'do' if len(less) > 1 else 'does'} so less clearly" * bool(less)
    return f"On Europarl {listed(does)} rank heads much as removal does{but}. On generated text {here}."


def larger(path: Path) -> str:
    """Of the stored summary of a model of the paper's size (`docs/clusters.md`): how many encoder heads are positional."""
    if not path.exists():
        return ""
    table = pd.read_csv(path, index_col="what")
    row, minutes = table.loc["encoder heads, positional"], number(table.value.get("minutes"), ".0f")
    told = f"A model of the paper's width, trained on Europarl for {minutes} GPU minutes, has {row.value:.0f} of {row.n:.0f}"
    return f"{told} heads positional ([one training](../docs/clusters.md))."


def seeds(each: pd.DataFrame, seed: int, beside: pd.DataFrame, text: str) -> str:
    """Of `measured.by_training` and `snapshots.beside` of some text: which cases have a head in most trainings and seeds."""
    known = {title for title, _ in each.index}
    rows = [(title, cell) for (title, _), cell in each.cases.items()]
    rows += [(title, cell) for title, cell in beside.cases.items() if title not in known]
    have = {label: [label in cell.split(", ") for _, cell in rows] for label in LABELS.values()}
    most, of = max(have, key=lambda label: sum(have[label])), f"{count(len(rows), 'training')} of {text} text"
    lack = [str(title).rpartition(", ")[2] for (title, _), there in zip(rows, have[most], strict=True) if not there]
    lack = ["shorter word pieces" if name == "short pieces" else f"*{name}*" for name in lack]
    but = f"; the model with {lack[0]} has none" if len(lack) == 1 < len(rows) else ""
    told, own = f"*{way(most)}* has a head in {sum(have[most]) or 'none'} of {of}{but}.", each.xs(seed, level="seed")
    if varies := come_and_go(each):
        told += f" {varies[0].upper()}{varies[1:]}."
        if (~own.index.str.contains(", ")).sum() > 1:  # without siblings
            told += " So we cannot tell whether languages and registers differ."
    return told


def come_and_go(each: pd.DataFrame) -> str:
    """Of `measured.by_training` on how many cases the seeds of the first model agree; "" where they agree on all."""
    sets = [frozenset(filter(None, cell.split(", "))) for cell in each.cases[each.index[0][0]]]
    always, some = len(frozenset.intersection(*sets)), len(frozenset.union(*sets))
    told = f"of {count(some, 'case')} above the line in some seed of {each.index[0][0]}, {always or 'none'}"
    return f"{told} {'are' if always > 1 else 'is'} in all {len(sets)}" * (always < some)


def kept(path: Path) -> str:
    """Of a published contest (notebook 06), its first model and test set: what it costs to keep heads by a function."""
    if not path.exists():
        return ""
    table = pd.read_csv(path, index_col=0)
    own = table[(table.model == table.model[0]) & (table["test set"] == table["test set"][0])].set_index("criterion")
    function, random, gradient = (number(-own.value[name], ".1f") for name in ("syntactic", "random", "gradient, example"))
    return (
        f": with {own['heads'].iloc[0]:.0f} encoder heads left, the most syntactic ones cost {function} BLEU, random ones"
        f" {random}, those that gradient importance chooses {gradient} ([notebook 6](06_do_measures_agree.ipynb))"
    )


def cases(table: pd.DataFrame) -> str:
    """Of `measured.syntactic_relations`: which relations go one way in every model, and the other way in none."""
    labels = pd.Series([LABELS[key] for key in zip(table.relation, table.direction, strict=True)], table.index)
    share, told = table["passes +10"].groupby(labels, sort=False).mean(), []
    for one, other in zip(list(LABELS.values())[::2], list(LABELS.values())[1::2], strict=True):
        if sorted((share.get(one, 0), share.get(other, 0))) == [0, 1]:
            always, never = (one, other) if share[one] else (other, one)
            told.append(f"*{way(always)}* lies above the line in every model, *{way(never)}* in none")
    if not told:
        return f"{table['passes +10'].sum()} of {len(table)} cases lie above it."
    return (
        f"In {'these' * (table.model.nunique() > 1) or 'this'} {count(table.model.nunique(), 'training')}, {'; '.join(told)}."
    )


def printed_above(table: pd.DataFrame) -> pd.DataFrame:
    """Whether the paper's head lies at or above the line, a row a case of `measured.syntactic_relations`, a column a text."""
    texts = ("WMT", "OpenSubtitles")
    return pd.DataFrame({x: table[f"printed accuracy, {x}"] - table[f"printed offset, {x}"] for x in texts}) >= MARGIN - 1e-9


def no_better(table: pd.DataFrame) -> str:
    """Of `measured.syntactic_relations` the most accurate head that stays below the line: why a baseline is needed."""
    below = table[~table["passes +10"]]
    if below.empty:
        return ""
    row = below.loc[below["accuracy held out"].idxmax()]
    right, guess = (number(row[name], "%") for name in ("accuracy held out", "offset baseline"))
    return (
        f"The baseline is what makes this a test: the best {way(LABELS[row.relation, row.direction])} head of {row.model} is"
        f" right for {right} of words, and the fixed offset for {guess}."
    )


def matter(table: pd.DataFrame) -> str:
    """Of `ranks.places`: whether heads with a function stand above the others of their layer, and in which models alone."""
    if not table.layers.any():
        return "No layer has both heads with a function and heads without."
    last = table.groupby(level="measure", sort=False).last()
    gaps = [
        f"{interval(row.difference, row.low, row.high, '.1f')} by {name.replace('loss', 'the loss')}"
        for name, row in last.iterrows()
    ]
    heads = (last.functional + last.others).iloc[0] / last.layers.iloc[0]
    gaps[0] = gaps[0].replace(" by ", f" of {number(heads, '.0f')} places by ", 1)
    told = f"Heads with a function {'' if last.clear.all() else 'do not clearly '}stand higher in their layer: {listed(gaps)}"
    alone = table.xs(LOSS, level="measure").drop(index="all models").clear
    if len(alone) > 1:
        told += f". By the loss alone this is clear in {listed(alone.index[alone]) if alone.any() else 'no model'}"
    return f"{told}."


def most_relevant(row: Mapping[str, float]) -> str:
    """Of `ranks.follows_function`: in how many layers the most relevant head has a function."""
    if not row["layers"]:
        return "No layer has both heads with a function and heads without."
    hits, of = row["top"] - row["top_none"], (row["functional"] + row["others"]) / row["layers"]  # of: heads of a layer
    having, luck = row["layers"] + row["left_out"] / of, (row["functional"] + row["left_out"]) / of
    return (
        f"In {hits:.0f} of the {having:.0f} layers that have a head with a function, the most relevant head is one of them"
        f" ({luck:.1f} by chance)."
    )


def matter_elsewhere(path: Path, text: str) -> str:
    """Of a published table of `ranks.places` on other text, all models: whether the same can be told there."""
    if not path.exists() or not (last := pd.read_csv(path).groupby("measure").last()).layers.any():
        return ""
    heads = count(int(last.functional.iloc[0]), "head")
    return f"On {text} text ({heads}) {'they do' if last.clear.all() else 'we cannot tell'}."


def dearest(every: pd.DataFrame) -> str:
    """Of `measured.lost_by_head`: the layer whose heads cost most, and how many of them have a function."""
    there = every.has.xs(layer := ranks.costliest(every), level="layer")
    have = f"{there.sum() or 'none'} of {count(len(there), 'head')} {'have' if there.sum() > 1 else 'has'} a function"
    return f"removing heads costs most in layer {layer + 1}, where {have}."


def dear_elsewhere(every: pd.DataFrame, most: int = 10) -> str:
    """Of `measured.lost_by_head`: how many of the costliest heads outside the costliest layer have a function."""
    rest = every.drop(index=ranks.costliest(every), level="layer")
    if rest.empty:
        return ""
    top = rest.nlargest(most, "loss").has
    have = f"{top.sum() or 'none'} of the {len(top)} costliest heads {'have' if top.sum() > 1 else 'has'} one"
    return f" Outside it {have}, and {rest.has.sum() or 'none'} of all {len(rest)}."


def costs(every: pd.DataFrame) -> str:
    """Of `measured.lost_by_head`: what heads with a function cost beside others, and whether that turns without one layer."""
    rest = every.drop(index=(layer := ranks.costliest(every)), level="layer")
    if rest.has.nunique() < 2:
        return ""
    means = [1000 * table.loss[table.has == has].mean() for table in (every, rest) for has in (True, False)]
    (own, others, later, less), turns = (number(mean, ".1f") for mean in means), " it is the other way round"
    told = f"Over all layers a head with a function costs {own} thousandths of a nat per token on average, another one {others}"
    return f"{told}. Without layer {layer + 1}{turns * bool(means[0] < means[1] and means[2] > means[3])}: {later} and {less}."


LOSS = "loss without the head"
_KINDS = {"syntactic": RELATIONS, "positional": ("positional",), "rare-token": ("rare",)}


def answer(found: pd.DataFrame, least: int, table: pd.DataFrame, every: pd.DataFrame) -> str:
    """The answer of notebook 02: which functions pass (`measured.functions_found`), and whether their heads matter.

    least: syntactic cases that the claim's rule needs; table: `ranks.places`; every: `measured.lost_by_head`.
    """
    own = found[~found.printed]
    syntax = own[own.function.isin(RELATIONS)]
    tests = {name: own[own.function.isin(keys)] for name, keys in _KINDS.items()}
    have, lack = [name for name, rows in tests.items() if rows.passes.any()], []
    for name, rows in ((name, rows) for name, rows in tests.items() if name not in have):
        maybe = rows.model[rows.side == "open"]
        where = f" at most in {listed(dict.fromkeys(maybe))}" if len(maybe) < len(rows) else " perhaps"
        lack.append(f"a {name} head{where}" if len(maybe) else f"no {name} head")
    told = "Yes" if not lack else "Only in part" if have else "We cannot tell" if "perhaps" in "".join(lack) else "No"
    parts = [f"{listed(have)} heads"] * bool(have) + [", and ".join(lack)] * bool(lack)
    models, above = syntax.model.nunique(), (syntax.beyond >= -1e-9).sum()
    of = f"{syntax.case.nunique()} relations with direction{f', {models} models' * (models > 1)}"
    said = [
        f"**{told}: {', but '.join(parts)}.** Of {len(syntax)} cases ({of}) {above} {'has' if above == 1 else 'have'} a"
        f" head `10` points above a fixed offset, {syntax.passes.sum()} of them significantly (*pass*); at the paper's rate it"
        f" would be {least}."
    ]
    if models > 1:
        always = syntax.groupby("case", sort=False).passes.all()
        names = [f"*{name}*" for name in always.index[always]]
        said.append(
            f"Only {listed(names)} passes in every model." if len(names) == 1 else f"In every model passes: {listed(names)}."
        )
    higher = table.clear.groupby(level="measure").last().all()
    ranked = f"Within a layer heads with a function rank higher{' (all models together)' * (models > 1)}, but " * bool(higher)
    told = f"{ranked}{dearest(every)}"
    return " ".join([*said, f"{told[0].upper()}{told[1:]}"])


def found(cases: pd.DataFrame) -> str:
    """The takeaway of the figure of `measured.functions_found`."""
    own = cases[~cases.printed]
    syntax = own[own.function.isin(RELATIONS)]
    told = f"{syntax.passes.sum()} of {len(syntax)} syntactic cases pass."
    for key, name in (("positional", "one fixed offset"), ("rare", "rare tokens")):
        sides = list(own.side[own.function == key])
        told += f" For {name} {sides.count('for') or 'none'} of {count(len(sides), 'model')} pass"
        told += f", {sides.count('open')} undecided." if "open" in sides else "."
    return told


def works(sides: Mapping[str, Iterable[str]]) -> str:
    """For which functions a head passes, is undecided, or even the best one fails: the takeaway of examples."""
    best = {name: "for" if "for" in own else "open" if "open" in own else "against" for name, own in sides.items()}
    parts = {"for": "a head passes for {}", "open": "for {} the best one is undecided", "against": "for {} even the best fails"}
    told = [said.format(listed(names)) for side, said in parts.items() if (names := [n for n in best if best[n] == side])]
    return f"{'; '.join(told).capitalize()}."


def least(table: pd.DataFrame) -> int:
    """Of `measured.syntactic_relations`: how many cases have to pass for the paper's own share of its EN-RU cases."""
    there = printed_above(table[table.model == table.model.iloc[0]]).to_numpy().mean()
    return math.ceil(there * len(table) - 1e-9)


def counted(trained: pd.DataFrame, random: pd.DataFrame) -> str:
    """Of `measured.count_roles` of trained models and of random weights: how many encoder heads have a function."""
    own, luck = ((table.loc["heads"] - table.loc["none"]).sum() for table in (trained, random))
    of = count(int(trained.loc["heads"].sum()), "encoder head")
    return f"By estimate {own} of {of} have a function, and {luck or 'none'} of as many with random weights."


def others(
    best: pd.DataFrame, rare: pd.DataFrame, sides: Mapping[str, Sequence[str]],
    elsewhere: Mapping[str, Any], luck: Mapping[str, Any],
) -> str:  # fmt: skip
    """Of `measured.positional_table` (encoder heads by model) and `rare_table`: how near the best heads come to the tests.

    elsewhere, luck: `measured.published_scores` of other text, whose best head is told where it is better.
    """
    told = []
    for name, table, column, score, what in (
        ("positional", best, "score", "score", "One offset"), ("rare", rare, "two rarest", "two_rarest", "Rare tokens")
    ):  # fmt: skip
        row, own = table.loc[table[column].fillna(0).idxmax()], list(sides[name])
        parts = [f"{n} {words[n > 1]}" for side, words in _VERDICTS.items() if (n := own.count(side))]
        there, chance = ([frames[name].loc["encoder"][score].max() for frames in x.values()] for x in (elsewhere, luck))
        reached = interval(row[column], row.low, row.high, "%") if "open" in own else number(row[column], "%")
        text = next(iter(elsewhere), "").partition(":")[0]
        more = f"{text}: {number(max(there), '%')}; " if max(there, default=0) > row[column] else ""
        most = number(max([table["best at random"].max(), *chance]), "%")
        told.append(f"{what}: {listed(parts) or 'no verdict'}; the best head reaches {reached} ({more}random weights: {most}).")
    return " ".join(told)


_VERDICTS = {"for": ("passes", "pass"), "against": ("fails", "fail"), "open": ("is undecided", "are undecided")}


CLAIMS = {"positional": "positional", "syntax": "syntactic", "rare": "rare-token"}


def sizes(frames: Mapping[str, pd.DataFrame]) -> str:
    """Which models other text has (tables on (kind, layer, head) by "text: title"), and how many encoder layers and heads."""
    heads = [frame.loc["encoder"].index for frame in frames.values()]
    shapes = sorted({f"{one.unique('layer').size} × {one.unique('head').size}" for one in heads})
    return f"{listed(title.partition(': ')[2] for title in frames)}, {listed(shapes)} encoder heads, one training each"


def elsewhere(judged: Mapping[str, Any], text: str, which: str, names: Mapping[str, str] = CLAIMS) -> str:
    """Of the verdicts on a published run of other text (`which` models), by claim: number and verdict of each in a line."""
    told = []
    for key, one in ((key, judged[key]) for key in names if judged[key].number):
        near = sum(row.side == "open" and row.value >= row.threshold for row in one.rows) if key == "syntax" else 0
        told.append(f"{names[key]} {one.number}{f' significantly, {near} more by estimate' * bool(near)} (*{one.verdict}*)")
    return f"**{text.capitalize()} text** (published run of {which}): {'; '.join(told)}." if told else ""
