"""What the tables of notebooks 01 and 02 say, in a sentence or two each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.measures import ranks
from helpers.measures.functions import LABELS, MARGIN, RAREST, RELATIONS, way
from helpers.measures.lrp import RULES
from helpers.measures.sentence import against_fixed, needing
from helpers.measures.table import TRUTH, named
from helpers.reading import count, ends, interval, listed, number
from helpers.study import layout, values


def carried(table: pd.DataFrame, natural: pd.DataFrame | None = None) -> str:
    """Of `measured.few_heads`: what part of a layer its largest head carries, by each rule, here and on natural text."""
    rules, told, alike = [named(rule).removeprefix("relevance, ") for rule in RULES], [], []
    for frame in (one for one in (table, natural) if one is not None):
        own = frame[frame.heads == 1].pivot(index="rule", columns="weights", values="value").loc[[*RULES]]
        told += [", ".join(number(100 * share, ".0f") for share in own[weights]) for weights in ("trained", "random")]
        alike = [rule for rule, gap in zip(rules, own.trained - own.random, strict=True) if abs(gap) < 0.05]
    said = f"The largest head carries by {listed(rules)} {told[0]} % of a layer (random weights {told[1]})"
    said += f"; on Europarl {told[2]} % ({told[3]})" if told[2:] else ""
    return f"{said}{f', by {listed(alike)} much as random weights' * bool(alike)}."


def ranked_alike(mean: pd.DataFrame, natural: pd.DataFrame | None = None) -> str:
    """Of rank correlations of rules, here and on natural text: how far rules agree."""
    two = ["attnlrp ratio", "cp ratio"]
    told = [(number(f.loc[*two], ".2f"), ends(f.loc[two, "alpha_beta"], ".2f")) for f in (mean, natural) if f is not None]
    signed, default = (", on Europarl at ".join(parts) for parts in zip(*told, strict=True))
    return f"The rankings of the two signed rules correlate at {signed}; with the default rule at {default}."


def beyond(root: Path) -> dict[str, tuple[float, float, float]]:
    """Relevance (default rule; of Europarl by each) and confidence in published runs elsewhere: rho, low, high by run.

    `root`: the folder of all tracks' figures; what is not there is left out.
    """
    found: dict[str, tuple[float, float, float]] = {}
    table = root / "natural" / "01_relevance_and_confidence" / "tables" / "relevance_and_confidence.csv"
    summed, whole = {"what": "relevance with confidence, encoder"}, {"kind": "encoder", "weights": "trained"}
    for name, path, where in (
        ("Europarl", table, whole | {"rule": "alpha_beta"}),
        ("Europarl (conservative)", table, whole | {"rule": "cp", "normalised": "ratio"}),
        ("Europarl (AttnLRP)", table, whole | {"rule": "attnlrp", "normalised": "ratio"}),
        ("documentation", root / "summaries" / "techdocs.csv", summed),
        ("Europarl at the paper's width", root / "summaries" / "gpu-quarter.csv", summed),
    ):
        rows = pd.read_csv(path).rename(columns={"value": "rho"}) if path.exists() else pd.DataFrame(columns=[*where])
        if (own := (rows[[*where]] == pd.Series(where)).all(axis=1)).any():
            found[name] = tuple(rows.loc[own, ["rho", "low", "high"]].iloc[0])
    return found


def of_natural(root: Path) -> dict[str, Any]:
    """What notebook 01 draws of the published run of natural text beside its own, {} where there is none.

    relevance, functions, confidence: Series by title; ranks: trained rows of `ranks.confidence_by_rank`; follows:
    `ranks.follows_function`; bleu: with encoder attention, without, both trained on: with, heads removed; words_and_heads:
    `sentence.one_by_one`; rules: `ranks.rank_agreement` by size; few_heads, dominance: as `measured` has them; removed: BLEU
    lost by removal, over trainings; gradient: gradient importance.
    """
    chapter = layout.Chapter(root / "natural" / "01_relevance_and_confidence")
    if not (drawn := chapter.inputs("relevance_by_function")).exists():
        return {}
    ranked, follows, bleu = (pd.read_csv(chapter.table(name)) for name in ("confidence_by_rank", "follows_function", "bleu"))
    found: dict[str, Any] = values.read(drawn)
    title, first = next(iter(found["relevance"])), bleu[bleu["test set"] == bleu["test set"].iloc[0]].set_index("model").bleu
    found |= {"ranks": ranked[ranked.weights == "trained"].assign(weights="natural"), "follows": follows.iloc[0]}
    found["confidence"] = values.read(chapter.inputs("fig1_relevance_and_confidence"))["confidence"]
    found |= {name: pd.read_csv(chapter.table(name)) for name in ("dominance", "few_heads", "words_and_heads")}
    several = pd.read_csv(layout.Chapter(root / "controlled" / "03_l0_pruning").table("half_left"), index_col="model")
    found["removed"] = several.loc[several.trainings > 1, ["worth", "worth_low", "worth_high", "trainings"]]
    heads = next((root / "natural" / "06_do_measures_agree" / "tables").glob("head_table_*.csv"))
    heads = pd.read_csv(heads, index_col=["kind", "layer", "head"]).rename(columns={r: f"{r} ratio" for r in ("attnlrp", "cp")})
    found["gradient"] = heads["gradient, example"]
    found["rules"] = ranks.rank_agreement(heads[["alpha_beta", "attnlrp ratio", "cp ratio"]].abs())
    on = (title, f"{title}, no encoder heads", f"{title}, trained on", f"{title}, encoder heads removed, trained on")
    return found | {"bleu": (*first[[*on]],)}


def judged(root: Path) -> dict[str, pd.DataFrame]:
    """How measures correlate with the loss without a head, in published trainings where half of the encoder heads change it.

    By "model, training n", natural text first: `ranks.correlations` within layers, by size, and with the sign (signed rho, …);
    differ, holm: how many heads change the loss, by single intervals and after Holm's correction.
    """
    found, names = {}, ["alpha_beta", "cp", "attnlrp", "confidence", "gradient, example"]
    for tables in (root / track / "06_do_measures_agree" / "tables" for track in ("natural", "controlled")):
        path = tables / "effects_of_heads.csv"
        for row in pd.read_csv(path).query("kind == 'encoder' and shown").itertuples() if path.exists() else ():
            name = row.model.lower().removeprefix("en-").replace(",", "").replace(" ", "-")
            name += f"-seed-{row.seed}" * (row.seed > 1)
            heads = pd.read_csv(tables / f"head_table_{name}.csv", index_col=["kind", "layer", "head"])
            size, signed = (
                ranks.correlations(heads[TRUTH], dict(own.items()), kinds="encoder", within_layer=True)
                for own in (heads[names].abs(), heads[names])
            )
            own = size.join(signed.add_prefix("signed ")).assign(differ=row.differ, holm=row.differ_holm)
            found[f"{row.model}, training {row.seed}"] = own
    return found


def finding(need: pd.DataFrame, found: pd.DataFrame, same: pd.DataFrame, gradient: pd.Series) -> str:
    """Of `sentence.needing` and `fixed`: which rules name the needed head for more words than a fixed head, or fewer.

    gradient: gradient importance, whose largest heads are fixed before the words are looked at.
    """
    within, inside = ", in its layer", found["in its layer"]
    beside, hindsight, before = against_fixed(need), against_fixed(need, within), against_fixed(need, within, gradient)
    each = ", ".join(f"{name} {beside.said[name]} (p={beside.p[name]:.1g})" for name in found.index)
    told, ahead = hindsight.index[hindsight.p < 0.05], before.index[before.said == "more"]
    layers = f"Within layers {listed(told)} ({ends(inside)}) is told from it ({same['in its layer'].iloc[-1]})"
    more = f"; {listed(ahead)} beat gradient importance's heads ({same['in its layer'].iloc[0]})" * bool(len(ahead))
    return f"Sign tests (Holm) against the best fixed head: {each}. {layers}{more}."


def answered(elsewhere: Mapping[str, Any], frames: Mapping[str, pd.DataFrame], words: pd.DataFrame) -> str:
    """The answer of notebook 01: `beyond`; `judged` and this run's; `one_by_one`."""
    sure = {name: 2 * frame.differ.iloc[0] >= frame.heads.iloc[0] for name, frame in frames.items()}
    enough, few = ([frame for name, frame in frames.items() if sure[name] == which] for which in (True, False))
    if not enough:
        return "**Single removals cost too little to judge.**"
    every, rest = (pd.concat([pd.Series(dtype=float), *(frame.rho for frame in some)]) for some in (enough, few))
    groups = ["gradient, example"], [*RULES], ["confidence"]
    (gradient, rules, confidence), others = ([ends(rho[rho.index.isin(g)], ".2f") for g in groups] for rho in (every, rest))
    need, found = needing(words)
    beside = against_fixed(need).said
    best = beside.index[beside == "more"]
    who = f"only *{best[0]}* beats" if len(best) == 1 else f"{len(best) or 'no'} rules beat"
    partly = "partly" if every.drop("gradient, example").min() > 0 else "not by every measure"
    confidence += "; Europarl's intervals overlap" * bool(elsewhere and enough[0].low.max() < enough[0].high.min())
    first = "; Europarl, small model" * bool(elsewhere)
    told = (
        f"**For a model, {partly}; for one word, {who} one fixed head.** Gradient importance ranks a layer's heads like the"
        f" loss without each at {gradient} (rank correlation{first}), relevance at {rules}, confidence at {confidence}."
    )
    told += f" In {len(few)} others, where fewer cost: {', '.join(others)}." * bool(few)
    same = f" Of {len(need)} {'Europarl ' * bool(elsewhere)}words {need.needs.value_counts().max()} need the same head most;"
    each = [f"{name}{' is right' * (i < 1)} for {found.found[name]} ({beside[name]})" for i, name in enumerate(found.index)]
    return told + f"{same} {', '.join(each)}." * bool(len(need))


def by_rank(confidence: pd.DataFrame) -> str:
    """Of `ranks.confidence_by_rank`: the rank of confidence of the most relevant head."""
    first = {weights: number(own.value.iloc[0], ".1f") for weights, own in confidence.groupby("weights")}
    there = f" ({first['natural']} in the Europarl model)" if "natural" in first else ""
    said = f"The most relevant head of a layer has on average rank {first['trained']} of confidence{there}."
    return f"{said} Chance gives {number(confidence.even.iloc[0], '.1f')}."


def worth(title: str, lost: str, never: float, natural: Sequence[float] = ()) -> str:
    """BLEU that encoder attention is worth: lost by removal; by training without (never, or nan); `of_natural`'s bleu."""
    told = f"Trained without encoder attention, {title} is {number(never, '.1f')} BLEU worse" * bool(never == never)
    there = f", the Europarl model {number(natural[2] - natural[3], '.1f')} (one training)" if natural else ""
    if told and natural:
        told += f", the Europarl model, whose decoder is smaller, {number(natural[0] - natural[1], '.1f')}"
    removed = f"If all its encoder heads are removed after training, {title} loses {lost}{there};"
    return f"{told}{'. ' * bool(told)}{removed} the decoder was frozen and could not adapt."


def repeats(root: Path) -> str:
    """How far the loss without a head repeats on other sentences, in published runs of both texts; and what it bounds."""
    paths = [root / track / "06_do_measures_agree" / "tables" / "stability.csv" for track in ("natural", "controlled")]
    if not all(path.exists() for path in paths):
        return ""
    row, own = (pd.read_csv(path).query("measure == 'leave-one-out' and kind == 'encoder'").iloc[0] for path in paths)
    most = interval(own.bound, own.reliability_low**0.5, own.reliability_high**0.5)
    told = (
        f"On Europarl the loss on one half of the sentences ranks heads like that on the other at {number(row.rho)}: no measure"
    )
    return f"{told} can be expected above {number(row.bound)}; on generated text {most}."


def natural(figures: Path) -> pd.DataFrame:
    """Of published runs of natural text, the paper's width last: encoder heads, those with functions; relations with a head."""
    there = pd.read_csv(layout.Chapter(figures / "natural" / "02_head_functions").table("models_beside"), index_col="model")
    found = there[["with functions", "heads", "positional heads"]].join(there[[*RELATIONS]] >= MARGIN)
    for name, title in (("techdocs", "EN-RU technical documentation"), ("gpu-quarter", "EN-FR europarl at the paper's width")):
        own = pd.read_csv(figures / "summaries" / f"{name}.csv", index_col="what")
        title += f" ([{own.value['minutes']:.0f} GPU minutes](../docs/clusters.md))" * name.startswith("gpu")
        (none, of), place = own.loc["encoder heads, none"][["value", "n"]], own.value["encoder heads, positional"]
        found.loc[title] = [of - none, of, place, *(own.value[f"encoder heads, {relation}"] > 0 for relation in RELATIONS)]
    return found


def on_natural(figures: Path) -> str:
    """Of `natural`: how many encoder heads of each training have a function."""
    rows = natural(figures)
    told = [
        f"{name} {has:.0f} of {of:.0f}{f', {at:.0f} of them positional' * bool(at)}"
        for name, has, of, at, *_ in rows.itertuples()
    ]
    more = f"{rows.dobj.sum()} of the {len(rows)} have an object head"
    return f"Heads with a function in trainings of natural text: {'; '.join(told)}; {more}."


def seeds(each: pd.DataFrame, seed: int, beside: pd.DataFrame, text: str) -> str:
    """Of `measured.by_training` and `snapshots.beside`: which case has a head in most trainings; and what seeds agree on."""
    known = {title for title, _ in each.index}
    rows = [(title, cell) for (title, _), cell in each.cases.items()]
    rows += [(title, cell) for title, cell in beside.cases.items() if title not in known]
    have = {label: [label in cell.split(", ") for _, cell in rows] for label in LABELS.values()}
    most = max(have, key=lambda label: sum(have[label]))
    lack = [str(title).rpartition(", ")[2] for (title, _), has in zip(rows, have[most], strict=True) if not has]
    lack = ["shorter word pieces" if name == "short pieces" else f"*{name}*" for name in lack]
    but = f" (the model with {lack[0]} has none)" if len(lack) == 1 < len(rows) else ""
    told = f"*{way(most)}* has a head in {sum(have[most]) or 'none'} of {count(len(rows), 'training')} of {text} text{but}"
    sets = [frozenset(filter(None, cell.split(", "))) for cell in each.cases[each.index[0][0]]]
    always, some = len(frozenset.intersection(*sets)), len(frozenset.union(*sets))
    if always < some:
        told += f". Of {count(some, 'case')} above the line in some seed of {each.index[0][0]}, {always or 'none'}"
        told += f" {'are' if always > 1 else 'is'} in all {len(sets)}"
        if (~each.xs(seed, level="seed").index.str.contains(", ")).sum() > 1:  # without siblings
            told += ". So we cannot tell whether languages and registers differ"
    higher = (
        f"{(each.difference > 0).sum()} of {count(len(each), 'training')} below (interval above zero: {(each.low > 0).sum()})"
    )
    return f"{told}. Heads with a function cost more than the others of their layer in {higher}."


def kept(figures: Path) -> str:
    """Of the published contests (notebook 06): what choices of heads gain over random ones, on generated text and Europarl."""
    told, names = [], {"gradient, example": "gradient", "syntactic": "syntactic", "positional": "positional"}
    for track in layout.TRACKS:
        chapter = layout.Chapter(figures / track / "06_do_measures_agree")
        gains = pd.read_csv(chapter.table("contest_paired"), index_col=0, header=[0, 1])["random"].astype(float)
        left = pd.read_csv(chapter.table("contest"), index_col="criterion")["heads"].loc[["syntactic"]].iloc[0]
        rows = ((names[name], gains.loc[name]) for name in names)
        told.append((left, *(f"{name} {interval(row.difference, row.low, row.high, '+.1f')}" for name, row in rows)))
    (left, *here), (most, *there) = told
    return (
        f"BLEU gained over random heads, chosen over all layers and trained on: on generated text with {left:.0f} encoder heads"
        f" {listed(here)}; over the tests of Europarl and news, in one training with {most:.0f}, {listed(there)} ([notebook"
        " 6](06_do_measures_agree.ipynb))"
    )


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


def matter(table: pd.DataFrame, elsewhere: pd.DataFrame, text: str, figures: Path) -> str:
    """Of `ranks.places`, and of those of other text: in which models heads with a function stand above others of their layer.

    figures: of all tracks, published, of which it is told how positional score ranks heads.
    """
    if not table.layers.any():
        return "No layer has both heads with a function and heads without."
    every, relevant = table.loc[LOSS, "all models"], table.loc["relevance"].drop(index="all models")
    rows = pd.concat([table.loc[LOSS].drop(index="all models"), elsewhere.loc[LOSS].loc[["all models"]].set_axis([text])])
    generated, natural = graded(figures)
    return (
        f"Of {(every.functional + every.others) / every.layers:.0f} places, heads with a function stand higher by cost in their"
        f" layer: surely in {listed(higher(rows, True))}; undecided in {listed(higher(rows, False))}. By relevance it is"
        f" {ends(relevant.difference, '.1f')} places, surely in {listed(relevant.index[relevant.clear.astype(bool)])}. No head"
        f" of Europarl passes as positional, yet there more positional heads of a layer cost more (rank correlation {natural});"
        f" on generated text it is undecided ({generated})."
    )


def higher(rows: pd.DataFrame, clear: bool) -> list[str]:
    """Of rows of `ranks.places` each model with its places, where the difference is clear or where it is not."""
    return [f"{x.Index} {interval(x.difference, x.low, x.high, '.1f')}" for x in rows.itertuples() if bool(x.clear) == clear]


def graded(figures: Path, measure: str = "positional") -> list[str]:
    """How a score of encoder heads ranks a layer's like their cost, published, on generated and natural text."""
    where = f"kind == 'encoder' and truth == 'leave-one-out' and heads == 'within layers' and measure == '{measure}'"
    paths = (layout.Chapter(figures / track / "06_do_measures_agree").table("predictors") for track in layout.TRACKS)
    rows = [pd.read_csv(path).query(where).iloc[0] for path in paths]
    return [f"{interval(row.rho, row.low, row.high, '.2f')}, {count(int(row.models), 'model')}" for row in rows]


def most_relevant(rows: pd.DataFrame, natural: Mapping[str, float] | None = None) -> str:
    """Of `ranks.follows_function` by rule, elsewhere by LRP αβ: in how many layers the most relevant head has a function."""
    row = rows.loc["alpha_beta"]
    if not row["layers"]:
        return "No layer has both heads with a function and heads without."
    of = (row["functional"] + row["others"]) / row["layers"]  # heads of a layer
    having, luck = row["layers"] + row["left_out"] / of, (row["functional"] + row["left_out"]) / of
    told = listed(f"{n:.0f} by {named(rule).removeprefix('relevance, ')}" for rule, n in (rows.top - rows.top_none).items())
    there = natural if natural is not None else {"layers": 0, "top": 0, "top_none": 0}
    more = f"; on Europarl in {there['top'] - there['top_none']:.0f} of {there['layers']:.0f} by LRP αβ" * bool(there["layers"])
    return (
        f"Of {having:.0f} layers that have a head with a function, the most relevant has one in {told}"
        f" ({luck:.1f} by chance){more}."
    )


def dearest(every: pd.DataFrame, far: pd.DataFrame, text: str) -> str:
    """Of `measured.lost_by_head` here and of other text: in how many models one layer costs most; its heads with a function."""
    layer = ranks.costliest(every)
    models = [ranks.costliest(own) for part in (every, far) for _, own in part.groupby(level=0)]
    return (
        f"Layer {layer + 1} costs most in {models.count(layer)} of {count(len(models), 'model')} of both texts, and"
        f" {of_layer(every, layer)} heads there has a function (on {text} {of_layer(far, layer)})."
    )


def of_layer(every: pd.DataFrame, layer: int) -> str:
    """Of `measured.lost_by_head`: how many heads of a layer have a function."""
    has = every.has.xs(layer, level="layer")
    return f"{has.sum() or 'none'} of {len(has)}"


def surely(every: pd.DataFrame, far: pd.DataFrame, text: str) -> str:
    """Of `measured.lost_by_head` here and of other text: how many heads with a function surely cost loss, and how many without.

    Of each model, beside the costliest layer.
    """
    layer, told = ranks.costliest(every), []
    for name, own in [*every.groupby(level=0, sort=False), (text, far)]:
        own = own.drop(index=layer, level="layer")
        has, lack = (f"{part.sum()}/{len(part)}" for part in (own.sure[own.has], own.sure[~own.has]))
        told.append(f"{name} {has} ({lack})")
    return f"Outside layer {layer + 1} surely cost, of heads with a function (without): {listed(told)}."


LOSS = "loss without the head"
_KINDS = {"syntactic": RELATIONS, "positional": ("positional",), "rare-token": ("rare",)}


def answer(found: pd.DataFrame, table: pd.DataFrame, rare: pd.DataFrame, every: pd.DataFrame, figures: Path) -> str:
    """The answer of notebook 02: which functions pass (`measured.functions_found`), and whether their heads matter.

    table: `ranks.places`; rare: `measured.rare_table`; every: `measured.lost_by_head`; figures: of all tracks, published.
    """
    own, printed = found[~found.printed], found[found.printed & (found.function == "rare")]
    syntax = own[own.function.isin(RELATIONS)]
    have = [name for name, keys in _KINDS.items() if own.passes[own.function.isin(keys)].any()]
    lack = [f"no {name} head" for name in _KINDS if name not in have]
    if "positional" not in have:
        place, of = natural(figures).iloc[-1][["positional heads", "heads"]]
        lack[lack.index("no positional head")] += f" (Europarl, paper's width: {place:.0f} of {of:.0f})"
    if "rare-token" not in have:
        best, undecided = rare.loc[rare["two rarest"].fillna(0).idxmax()], (own.side[own.function == "rare"] == "open").sum()
        paper = f"; paper {number(RAREST + printed.beyond.max(), '%')}" * bool(len(printed))
        reached = interval(best["two rarest"], best.low, best.high, "%")
        lack[-1] += f" ({f'{undecided} undecided: ' * bool(undecided)}{reached}{paper})"
    told = "Yes" if not lack else "Only in part" if have else "No"
    paper = found.beyond[found.function.isin(RELATIONS) & found.printed]  # whole per cents
    share = f"; paper {ends([(paper > 1e-9).sum(), (paper >= -1e-9).sum()], '.0f')} of {len(paper)}" * bool(len(paper))
    above = f" (by estimate {(syntax.beyond >= -1e-9).sum()} of {len(syntax)} cases{share})"
    parts = [listed(f"{name} heads{above * (name == 'syntactic')}" for name in have)] * bool(have) + [listed(lack)] * bool(lack)
    rows, layer = table.loc[LOSS].drop(index="all models"), ranks.costliest(every)
    sure, unsure = higher(rows, True), higher(rows, False)
    often = f"In {len(sure)} of {len(rows)} models yes, in {len(unsure)} we cannot tell" if sure else "We cannot tell"
    one, two = (graded(figures, name)[1].rpartition(",")[0] for name in ("positional", "syntactic"))
    value, low, high = table.loc[LOSS].loc["all models", ["difference", "low", "high"]]
    pooled = interval(value, low, high, ".1f")
    more = (
        f" Do they matter? {often}** (pooled {pooled} places higher by cost). In layer {layer + 1}, the costliest,"
        f" {of_layer(every, layer)} has one. On Europarl more positional ({one}) and syntactic heads ({two}) cost more"
        f" (rank correlation)."
    )
    return f"**{told}: {', but '.join(parts)}.{more if table.layers.any() else '**'}"


def found(cases: pd.DataFrame, texts: Mapping[str, str]) -> str:
    """The takeaway of the figure of `measured.functions_found`; texts: the like text of the paper by our title, if any."""
    own, alike = cases[~cases.printed], cases.function.isin(RELATIONS)
    told = f"{own.passes[alike].sum()} of {alike[~cases.printed].sum()} syntactic cases pass."
    if texts:
        beyond = cases[alike].pivot(index="case", columns="model", values="beyond")
        paper, ours = (beyond[[*names]].to_numpy() >= -1e-9 for names in (texts.values(), texts))
        luck = (paper.sum(0) * ours.sum(0)).sum() / len(paper)
        told = f"{told[:-1]}; the paper, without tests of significance, counts estimates. Of its {paper.sum()},"
        told += f" {(paper & ours).sum() or 'none'} return by estimate ({luck:.1f} by chance)"
        best = beyond[[*own.model.unique()]]
        never = beyond[paper.any(1) & (best < -1e-9).all(axis=1)]
        if len(never):  # the one that the paper sees most clearly
            there, name = never[[*texts.values()]], never[[*texts.values()]].max(axis=1).idxmax()
            told += f"; {name} (there {listed(f'{100 * x:+.0f}' for x in sorted(there.loc[name]))})"
            told += f" in none of these models ({ends(100 * best.loc[name], '+.0f')})"
        told += "."
    return told


def works(sides: Mapping[str, Iterable[str]]) -> str:
    """For which functions no head passes, because even the best one fails or is undecided: the takeaway of examples."""
    best = {name: "for" if "for" in own else "open" if "open" in own else "against" for name, own in sides.items()}
    parts = {"against": "of these models even the best head fails for {}", "open": "it is undecided for {}"}
    told = [said.format(listed(names)) for side, said in parts.items() if (names := [n for n in best if best[n] == side])]
    return f"{'; '.join(told).capitalize()}." if told else "A head passes for each function."


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
        text = next(iter(elsewhere), "").rpartition(": ")[2]
        more = f"{text}: {number(max(there), '%')}; " if max(there, default=0) > row[column] else ""
        most = number(max([table["best at random"].max(), *chance]), "%")
        told.append(f"{what}: {listed(parts) or 'no verdict'}; the best head reaches {reached} ({more}random weights: {most}).")
    return " ".join(told)


_VERDICTS = {"for": ("passes", "pass"), "against": ("fails", "fail"), "open": ("is undecided", "are undecided")}


CLAIMS = {"positional": "positional", "syntax": "syntactic", "rare": "rare-token"}


def elsewhere(judged: Mapping[str, Any], text: str, which: str, names: Mapping[str, str] = CLAIMS) -> str:
    """Of the verdicts on a published run of other text (`which` models), by claim: number and verdict of each in a line."""
    told = []
    for key, one in ((key, judged[key]) for key in names if judged[key].number):
        near = sum(row.side == "open" and row.value >= row.threshold for row in one.rows) if key == "syntax" else 0
        told.append(f"{names[key]} {one.number}{f' significantly, {near} more by estimate' * bool(near)} (*{one.verdict}*)")
    return f"**{text.capitalize()} text** (published run of {which}): {'; '.join(told)}." if told else ""
