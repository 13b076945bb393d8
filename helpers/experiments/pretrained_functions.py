"""What heads of pretrained models do: positions, syntax, rare tokens (part b)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from helpers import study
from helpers.corpora.parsing import Parse
from helpers.experiments.pretrained_measured import LEFT_OUT, Settings, Spec, column, part, read, recipe, text_spec
from helpers.experiments.pretrained_text import TREES, parsed, pretrained, sentences
from helpers.measures import ranks
from helpers.measures.functions import POSITIONAL, RAREST, Positional, Rare, Syntactic, reads
from helpers.measures.measured import from_one
from helpers.measures.reducers import one_pass
from helpers.papers import MARGIN

NEAR = 2  # offsets that the table of positions shows, either way
LEAST = 30  # arcs of odd sentences without which a relation shows nothing


@part(version=1)
def functions(spec: Spec) -> dict[str, pd.DataFrame]:
    """Scores of every head on a treebank: frames positional and rare, the best heads of relations, and gains over offsets.

    With a seed of a model of the same shape with random weights.
    """
    text = sentences(spec["model"], spec["corpus"], spec["sentences"])
    model = pretrained(spec["model"], spec.get("seed"))[0]
    kind = reads(model)
    positions, syntax, rarity = Positional(), Syntactic(text.arcs, kind), Rare(text.counts, kind)
    heads = one_pass(model, text.batches, positions, syntax, rarity)
    every = syntax.frame(heads, repeats=1)
    gains = (every.score - every.baseline).unstack(["relation", "direction"])
    best = syntax.held_out(heads)
    return {"positional": positions.frame(heads), "best": best, "gains": gains, "rare": rarity.frame(heads)}


@part(version=1)
def verbs(spec: Spec) -> pd.DataFrame:
    """`last_verb` of a treebank."""
    return last_verb(parsed(spec["corpus"], spec["sentences"]))


def last_verb(parses: Sequence[Parse]) -> pd.DataFrame:
    """A guess for each object of odd sentences whose verb stands before it: is the last verb before the object its own?

    A row an object: sentence, right.
    """
    rows = []
    for number, parse in list(enumerate(parses))[1::2]:
        for word, (head, relation) in enumerate(zip(parse.heads, parse.relations, strict=True)):
            if relation == "dobj" and 0 <= head < word:
                last = max((verb for verb in range(word) if parse.tags[verb] == "VERB"), default=-1)
                rows.append((number, last == head))
    return pd.DataFrame(rows, columns=["sentence", "right"])


def verb_recipes(settings: Settings) -> list[study.Recipe]:
    """Recipes of `verbs`, a treebank each."""
    return [recipe("verbs", {"corpus": trees, "sentences": settings["pretrained"]["sentences"]}) for trees in TREES]


def last_verbs(settings: Settings) -> pd.DataFrame:
    """How often `last_verb` is right: trees, accuracy, n (objects)."""
    found = {one.spec["corpus"]: read(one).right for one in verb_recipes(settings)}
    rows = [(trees, right.mean(), len(right)) for trees, right in found.items()]
    return pd.DataFrame(rows, columns=["trees", "accuracy", "n"])


def function_recipes(settings: Settings) -> list[study.Recipe]:
    """Recipes of functions: both models on both treebanks, with their own weights and with random ones."""
    chosen = settings["pretrained"]
    models, size = (chosen["decoder"], chosen["encoder"]), chosen["sentences"]
    specs = [{"corpus": trees, "model": model, "sentences": size} for model in models for trees in TREES]
    return [recipe("functions", spec, **drawn) for drawn in ({}, {"seed": 0}) for spec in specs]


def _found(settings: Settings) -> list[tuple[dict[str, str], dict[str, pd.DataFrame], dict[str, pd.DataFrame]]]:
    """For each model and treebank: labels, what was measured, and the same of random weights."""
    made = function_recipes(settings)
    half = len(made) // 2
    labels = [{"model": one.spec["model"], "trees": one.spec["corpus"]} for one in made[:half]]
    return [(label, read(one), read(other)) for label, one, other in zip(labels, made[:half], made[half:], strict=True)]


def positional(settings: Settings) -> pd.DataFrame:
    """The best head of each offset of at most two tokens, either way, on both treebanks.

    Columns model, trees, offset (key minus query), layer and head (from 1), score (share of the tokens that have a key there),
    low, high, passes (0.9 or more), heads (how many of the model pass at this offset), best_random (the best score at the same
    offset in a model with random weights).
    """
    rows = []
    for labels, found, random in _found(settings):
        near, luck = (one["positional"].query(f"abs(offset) <= {NEAR}") for one in (found, random))
        for offset, frame in near.groupby("offset"):
            (_, layer, head), best = frame.score.idxmax(), frame.loc[frame.score.idxmax()]
            row = labels | {"offset": offset, "layer": layer + 1, "head": head + 1, **best[["score", "low", "high"]]}
            row |= {"passes": best.score >= POSITIONAL, "heads": int(frame.verdict.sum())}
            rows.append(row | {"best_random": luck.score[luck.offset == offset].max()})
    return pd.DataFrame(rows)


def syntactic(settings: Settings) -> pd.DataFrame:
    """The best head of each relation and direction, chosen on even sentences and scored on odd ones.

    Columns model, trees, relation, direction, layer and head (from 1), accuracy, low, high, baseline (of the most frequent
    offset), gain, gain_low, gain_high, n (arcs), passes (10 points or more above the baseline, on 30 arcs or more), heads (how
    many of the model pass, on all sentences), best_random (accuracy of the best head of a model with random weights). A decoder
    sees earlier words alone: only arcs whose partner stands earlier count, for the baseline too.
    """
    tables = {}
    for labels, found, random in _found(settings):
        best = found["best"].drop(columns=["heads", "offset"])
        passes = (best.gain >= MARGIN - 1e-9) & (best.n >= LEAST)
        table = best.assign(layer=best.layer + 1, head=best["head"] + 1, passes=passes)
        table["heads"] = following(found).sum().reindex(table.index, fill_value=0)
        table["best_random"] = random["best"].accuracy.reindex(table.index)
        tables[*labels.values()] = table
    return pd.concat(tables, names=["model", "trees"]).reset_index()


def rare(settings: Settings) -> pd.DataFrame:
    """The head that looks most at one of a sentence's two rarest tokens.

    Columns model, trees, layer and head (from 1), score, low, high, passes (above a half), heads (how many of the model pass),
    chance, best_random (of a model with random weights), tokens (that count).
    """
    rows = []
    for labels, found, random in _found(settings):
        frame = found["rare"].fillna(0)
        (_, layer, head), best = frame.two_rarest.idxmax(), frame.loc[frame.two_rarest.idxmax()]
        row = labels | {"layer": layer + 1, "head": head + 1, "score": best.two_rarest}
        row |= {"low": best.two_rarest_low, "high": best.two_rarest_high, "passes": best.two_rarest > RAREST}
        row |= {"heads": int(frame.verdict.sum()), "chance": best.chance_two}
        rows.append(row | {"best_random": random["rare"].two_rarest.max(), "tokens": int(best.tokens)})
    return pd.DataFrame(rows)


def following(found: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Whether each head follows each relation and direction that there are enough arcs of."""
    return found["gains"][found["best"].index[found["best"].n >= LEAST]] >= MARGIN - 1e-9


def roles(found: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Whether each head has a function: columns positional (of another token), syntactic, rare on (kind, layer, head)."""
    keeps, syntax = found["positional"].query("verdict and offset != 0").index, following(found).any(axis=1)
    return pd.DataFrame({"positional": syntax.index.isin(keeps), "syntactic": syntax, "rare": found["rare"].verdict})


def by_head(settings: Settings) -> pd.DataFrame:
    """Functions of every head on both treebanks: columns model, trees, layer, head (from 1), functions (joined by a comma)."""
    tables = []
    for labels, found, _ in _found(settings):
        does = following(found).T.groupby(level="relation").any().T
        does = does.join(roles(found)[["positional", "rare"]])
        table = from_one(pd.DataFrame({"functions": [", ".join(does.columns[row]) for row in does.to_numpy(bool)]}, does.index))
        tables.append(table.reset_index()[["layer", "head", "functions"]].assign(**labels))
    return pd.concat(tables, ignore_index=True)[["model", "trees", "layer", "head", "functions"]]


def counted(settings: Settings) -> pd.DataFrame:
    """How many heads have a function, and whether these matter more than the others of their layer.

    Columns model, trees, function ("any" for one or more), heads (with it), all (heads of the model), random (heads with it in
    a model with random weights); of the decoder difference, low, high, p: by how many places of nine heads with the function
    stand above the others of their layer in leave-one-out (`helpers.measures.ranks.follows_function`).
    """
    rows, places = [], column(text_spec(settings, LEFT_OUT)).groupby(level=ranks.LAYER).rank()
    for labels, found, random in _found(settings):
        (does, luck), decoder = (roles(one) for one in (found, random)), labels["model"] == settings["pretrained"]["decoder"]
        for name in ("any", *does):
            has, drawn = (one.any(axis=1) if name == "any" else one[name] for one in (does, luck))
            row = labels | {"function": name, "heads": int(has.sum()), "all": len(has), "random": int(drawn.sum())}
            if decoder:
                lists = has.map({True: [name], False: []})
                gap = ranks.follows_function({"": places}, {"": lists}, scale=lambda one: one, kind="decoder")
                row |= {end: gap[end] for end in ("difference", "low", "high", "p")}
            rows.append(row)
    return pd.DataFrame(rows)
