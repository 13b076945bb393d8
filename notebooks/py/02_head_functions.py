# ---
# jupyter:
#   jupytext:
#     formats: notebooks//ipynb,notebooks/py//py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 2 · Do attention heads have functions that one can read?
#
# [← notebook 1, relevance and confidence](01_relevance_and_confidence.ipynb) · [notebook 3, L0 pruning
# →](03_l0_pruning.ipynb) · [all claims](../docs/results.md) · [figures](../figures/README.md)
#
# Voita et al. 2019, section 5 ([arXiv 1905.09418](https://arxiv.org/abs/1905.09418)): some encoder heads have a plain job, a
# *function*. *Positional* heads look at a neighbouring word. *Syntactic* heads look along a dependency (object to verb), `10`
# points more often right than a *fixed offset* (two words back). One looks at the *rarest tokens*. Heads that matter most have
# a function.
#
# Which return, and do they matter? A head above its test's bar has a function *by estimate*, and *passes* if significantly
# (`5 %`, corrected for many tests). A *case*: relation, direction, model. *Cost*: added loss without a head. *Places*: ranks in
# a layer.

# %% jupyter={"source_hidden": true} tags=["parameters"]
profile = "laptop"  # tiny, quick, laptop, natural or paper: sizes only, every one can be overridden below
corpus = ""  # "controlled" or "natural"; empty: the profile's own
models = ""  # e.g. "ru-news de-news"; empty: the corpus's own
pretrained = ""  # a Marian or BART checkpoint (Hub name or folder) to study instead
data_root = ""  # folder of natural corpora; empty: HEADS_DATA_ROOT
parser = "spacy"  # of natural text: "spacy", "stanza" or the path of a CoNLL-U file
seed = 1
overrides = ""  # settings to change, NAME=VALUE separated by spaces, such as training.steps=200
output = ""  # where figures and tables go; empty: runs/PROFILE-CORPUS

# %% jupyter={"source_hidden": true}
from helpers import study
from helpers.plan import sources

run = study.begin("02_head_functions", globals())
print(run.summary(), sources(run), sep="\n")

# %% jupyter={"source_hidden": true}
import pandas as pd
from IPython.display import Markdown, display

from helpers import drawing
from helpers.measures import figures, functions, measured, ranks, said, snapshots
from helpers.methods import contest
from helpers.publish import claims
from helpers.reading import ends, folded, readable
from helpers.runs import subjects
from helpers.scores import intervals
from helpers.study import layout, values

drawing.style()
studied, repeats = subjects.study_models(run), run.settings["bootstrap"]
first = studied[0]
print(snapshots.said_of_study(studied, run.settings["beam"]))

# %%
verdicts = claims.Box(run)

# %% jupyter={"source_hidden": true}
# what the answer and the sections below draw on
found = {subject.title: measured.SCORED.value(subject, repeats=repeats) for subject in studied}
untrained = {subject.title: measured.SCORED.value(subject, repeats=repeats, untrained=True) for subject in studied}
held = {subject.title: measured.HELD.value(subject, repeats=repeats) for subject in studied}
random_held = {subject.title: measured.HELD.value(subject, repeats=repeats, untrained=True) for subject in studied}
best = run.table(measured.positional_table(found, untrained), "positional_heads", split="dev")
rare = run.table(measured.rare_table(found, untrained), "rare_tokens", split="dev").rename_axis("model")
relations = measured.syntactic_relations(held, random_held)
run.table(relations.set_index(["model", "relation", "direction"]), "syntactic_relations", split="dev")
for subject in studied:
    for name, frame in found[subject.title].items():
        run.table(frame, f"{name}_{subject.name}", split="dev", sentences=len(subject.sentences), over=intervals.SENTENCES)
encoder = best.xs("encoder", level="kind")
judged = {one.claim.id: one for one in claims.of_run(run.folder, run.corpus)}
sides = {}
for name, table in (("positional", encoder), ("syntax", relations), ("rare", rare)):
    of = [row.side for row in judged[name].rows]
    sides[name] = of if len(of) == len(table) else [""] * len(table)  # without a verdict there are no rows
relations = relations.assign(side=sides["syntax"], passes=[side == "for" for side in sides["syntax"]])
printed_for = {s.title: "OpenSubtitles" if s.name == "ru-subtitles" else "WMT" for s in studied if s.name.startswith("ru-")}
cases = measured.functions_found(encoder, relations, rare, sides, sorted(set(printed_for.values()), reverse=True))
run.table(cases.set_index(["function", "case", "model"]), "functions_found", split="dev")
run.figure(
    figures.functions_found(cases),
    "functions_found",
    caption="How far the best head of each function and model lies from what its test asks, beside the paper's heads.",
    takeaway=said.found(cases, printed_for),
    split="dev",
    show=False,
)

# %% [markdown]
# ## How is a head scored?
#
# A head is scored by where its largest weight falls. Take objects: does an object's largest weight fall on its verb? A head
# can be right just because verbs often stand at the same distance. So a *syntactic* head has to be right `10` points more often
# than a *baseline*, which always guesses the relation's most frequent offset (place of the other word minus place of the word).
# That bar is called *the line*.
#
# The code below looks for the *object→verb* head of the first model. Head and offset are chosen on every second sentence and
# tested on the others. A word's weights are the mean over its pieces; on a word fall the weights of all its pieces.

# %% tags=["method"]
from collections import Counter

import torch

model, usual = first.model, first.model.config._attn_implementation
model.set_attn_implementation("eager")  # this way the library returns attention weights
offsets, hits, tested = Counter(), 0, []
for n, (pieces, owner, text) in enumerate(zip(first.encoded.source, first.encoded.words, first.sentences, strict=True)):
    verb = {word: to for word, (to, name) in enumerate(zip(text.heads, text.relations, strict=True)) if name == "dobj"}
    if verb:
        maps = model.get_encoder()(torch.tensor([pieces]).to(model.device), output_attentions=True).attentions
        A = torch.cat(maps).flatten(0, 1).detach().cpu()  # softmax(QKᵀ / √d), heads × pieces × pieces
        member = (torch.tensor(owner)[:, None] == torch.arange(len(text.words))).float()  # the sentence's end has no word
        A = (member / member.sum(0).clamp(min=1)).T @ A @ member  # pieces → words
        correct = A.argmax(-1)[:, list(verb)] == torch.tensor(list(verb.values()))  # heads by objects
        if n % 2 == 0:  # choose head and offset
            offsets.update(to - word for word, to in verb.items())
            hits = hits + correct.sum(1)
        else:  # test
            tested += zip(correct.T, (to - word for word, to in verb.items()), strict=True)
model.set_attn_implementation(usual)
top, offset = int(hits.argmax()), max(sorted(offsets), key=offsets.get)
share = torch.tensor([[float(correct[top]), distance == offset] for correct, distance in tested]).double().mean(0)
case = relations.set_index(["model", "relation", "direction"]).loc[first.title, "dobj", "dependent to head"]  # the project's
torch.testing.assert_close(share.tolist(), [*case[["accuracy held out", "offset baseline"]]], rtol=0, atol=1.5 / len(tested))
layer, head = divmod(top, maps[0].shape[1])
print(f"Layer {layer + 1} head {head + 1}: {share[0]:.1%} of {len(tested)} objects right; offset {offset:+d}: {share[1]:.1%}.")

# %% [markdown]
# The other two tests work alike. A head is *positional* if its largest weight lies at one offset for `90 %` of the tokens that
# have a neighbour there. It is a *rare-token* head if its largest weight falls on one of the sentence's two rarest tokens at
# least half of the time. `helpers.measures` has all three for any model ([functions](../helpers/measures/functions.py)).

# %% jupyter={"source_hidden": true}
display(
    folded(
        "More: details of the three tests",
        "All scores come from the dev set. The end of the sentence is left out of syntactic and rare-token tests. For rare"
        " tokens only sentences count whose rarest token is outside the `500` most frequent ones of the training text."
        " Dependencies are gold on generated text and a parser's on natural text. The paper's relations are subject (nsubj),"
        " object (dobj), adjective (amod), and adverb (advmod).",
    )
)

# %% [markdown]
# ## What does a head of each kind look at?
#
# For each function we take the best head of any model, whether it passes or not. On the left is a typical word at which it
# looks where it should, on the right a typical word at which it does not. The looking word is yellow. The dashed arc above
# leads to where it should look. The arcs below lead to where it does look, thicker for more weight, coloured where that is
# right and grey elsewhere. A triangle marks the word at the fixed offset.

# %% jupyter={"source_hidden": true}
by_model = {subject.title: measured.TYPICAL.value(subject, repeats=repeats) for subject in studied}
by_name = {name: dict(zip(found, sides[name], strict=True)) for name in ("positional", "rare")}
typical = measured.held_numbers(measured.best_of_models(by_model), relations, by_name)
tests = {functions.way(label): list(cases.side[cases.case == functions.way(label)]) for label in functions.LABELS.values()}
tests |= {"one offset": sides["positional"], "rare tokens": sides["rare"]}
run.figure(
    figures.hits_and_misses(typical),
    "hits_and_misses",
    caption="The best head of each function at a word where it looks as it should and at one where it does not.",
    takeaway=said.works(tests),
    split="dev",
)
display(
    folded(
        "More: how heads and words were chosen",
        "*Best* is by how far a head lies above what its test needs on all dev sentences, in any model. Numbers of syntactic"
        " heads are those on odd sentences, if the same head is chosen on even ones. Of all hits (of syntactic heads those that"
        " the offset misses, if any), and of all misses, in the first `150` dev sentences of `6` to `10` words we show the one"
        " with the median largest weight. The two rarest tokens can be pieces of one word.",
    )
)

# %% [markdown]
# ## Which relations have a syntactic head?
#
# A panel is a model, a dot the best head for a relation in one direction: for how many words it is right. The grey bar is the
# baseline, the tick the line. In *word→adverb* the word is a verb or an adjective. [All
# cases](../figures/controlled/02_head_functions/tables/syntactic_relations.csv)

# %% jupyter={"source_hidden": true}
run.figure(
    figures.syntactic_cases(relations),
    "fig4_syntactic_heads",
    caption="For how many words the best head of each relation and direction is right, beside the best fixed offset.",
    answers="Voita et al., figure 4",
    takeaway=said.no_better(relations),
    table="syntactic_relations",
    split="dev",
)

# %% [markdown]
# ## Are there positional and rare-token heads?
#
# Each mark is one encoder head, ordered by layer from left to right. Crosses are heads with random weights: what the
# best of many reaches by luck. In the paper the rare-token head sits in the first layer.

# %% jupyter={"source_hidden": true}
siblings = subjects.siblings(run.settings, first.name) if first.run else []
other = next(track for track in layout.TRACKS if track != run.corpus)
published = layout.Chapter(study.ROOT / "figures" / other / run.name)
called = "generated" if other == "controlled" else other
elsewhere, luck = measured.published_scores(published.folder / "tables", called)
rare_printed = {title: measured.PRINTED_RARE[text]["two"] for title, text in printed_for.items()}
run.figure(
    figures.offsets_and_rare(found | elsewhere, untrained | luck, rare_printed),
    "offsets_and_rare_tokens",
    caption="How often every encoder head looks at its most frequent offset, and at the rarest tokens of a sentence.",
    takeaway=said.others(encoder, rare, sides, elsewhere, luck),
    table="positional_heads",
    split="dev",
)
aligned = pd.concat({title: f["alignment"] for title, f in found.items()}, names=["model"])
by_luck = pd.Series({title: frames["alignment"].predicted.max() for title, frames in untrained.items()})
cross = aligned.loc[aligned.predicted.groupby("model", sort=False).idxmax()].reset_index(["kind", "layer", "head"])
cross = cross.assign(layer=cross.layer + 1, head=cross["head"] + 1, **{"best at random": by_luck})
cross = run.table(cross.drop(columns="kind"), "cross_heads", split="dev", over=intervals.SENTENCES)
columns = {"model": "model", "layer": "layer", "head": "head", "two rarest": "looks at the two rarest"}
columns |= {"best at random": "best head, random weights", "layer 1": "best of layer 1", "chance, two": "chance"}
forms = dict.fromkeys(("two rarest", "best at random", "layer 1", "chance, two"), "%")
display(folded("More: the best rare-token head of each model", readable(rare, columns, forms, {"two rarest": "most"})))

# %% [markdown]
# ## Are heads with a function the ones that matter?
#
# Here a head has a function if it lies above the bar of any of the three tests, by estimate, on all dev sentences. A mark is an
# encoder head, its shape the model: its cost (in nats a token, by which cross-entropy is measured).
# [Notebook 1](01_relevance_and_confidence.ipynb) has relevance, the share of a prediction that goes back to a head.

# %% jupyter={"source_hidden": true}
roles = {title: functions.roles(f["positional"], f["syntactic"], f["rare"]) for title, f in found.items()}
random_roles = {title: functions.roles(f["positional"], f["syntactic"], f["rare"]) for title, f in untrained.items()}
counts = {"trained": measured.count_roles(roles), "random weights": measured.count_roles(random_roles)}
run.table(pd.concat(counts, axis=1).rename_axis("function"), "function_counts", split="dev")
few = run.settings["relevance"]
relevance = {
    s.title: measured.relevance_columns({"alpha_beta": measured.EXPLAINED.value(s, rule="alpha_beta", first=few)})["alpha_beta"]
    for s in studied
}
without = {s.title: measured.WITHOUT.value(s, first=few) for s in studied}
matter = ranks.places({"relevance": relevance, said.LOSS: {title: lost.loss for title, lost in without.items()}}, roles)
run.table(matter, "heads_that_matter", split="dev", over=intervals.HEADS)
every = measured.lost_by_head(without, roles)
there_called = "Europarl" if other == "natural" else f"{called} text"
there = pd.read_csv(published.table("heads_that_matter"), index_col=["measure", "model"])
far = values.read(published.inputs("loss_by_layer"))["every"]
display(Markdown(f"{said.counted(*counts.values())} {said.dearest(every, far, there_called)}"))
run.figure(
    figures.loss_by_layer(every),
    "loss_by_layer",
    caption="The loss that is added without each encoder head, heads with a function apart, in the costliest layer and others.",
    answers="Voita et al., section 5",
    takeaway=said.surely(every, far, there_called),
    split="dev",
)
display(
    Markdown(said.matter(matter, there, there_called, study.ROOT / "figures")),
    folded(
        "More: how places are compared",
        "The difference is one of mean places, in layers that have both. The interval draws heads anew within layers. *Surely*:"
        " it lies above zero, and the difference above those of functions dealt at random. Rank"
        " correlations: [notebook 6](06_do_measures_agree.ipynb).",
    ),
)

# %% [markdown]
# ## How much depends on the training?
#
# The same tests, a row a training. Another seed draws generated text anew, too. A case counts if one head lies above the line
# by estimate; *o→v* is short for *object→verb*, *w→adv* for *word→adverb*. *Places higher* are by cost, as above. [Other sizes
# and settings](../figures/controlled/02_head_functions/tables/models_beside.csv)

# %% jupyter={"source_hidden": true}
leads = bool(first.run) and subjects.leads(run.settings, first.name)
again = contest.runs.again(run.settings, subjects.names(run.settings, models), seed) if leads else {}
again = {place: pair for place, pair in again.items() if place[0] in found or place[0].startswith(first.title)}
tables = {place: contest.runs.measured(described)[0] for place, (described, _) in again.items()}
each = run.table(measured.by_training(found, tables, seed, without), "functions_by_training", split="dev")
columns = {"model": "model", "seed": "seed", "with functions": "heads with a function", "heads": "of"}
columns |= {"difference": "places higher", "cases": "cases above the line"}
text = "generated" if run.corpus == "controlled" else "natural"
beside = snapshots.beside(run.settings, [first.name, *siblings], seed) if siblings else pd.DataFrame({"cases": []})
told = f"{said.seeds(each, seed, beside, text)} {said.on_natural(study.ROOT / 'figures')}"
display(Markdown(told), readable(snapshots.shown(each, beside), columns, {"difference": ".1f"}))
if run.settings["snapshots"] and leads:
    recipe = snapshots.followed(first.run.spec, run.settings["snapshots"], few, repeats)
    last = snapshots.DESCRIBED.value(first, first=few, repeats=repeats)
    over_training = snapshots.over_training(recipe, last, first.run.spec["training"]["steps"])
    run.table(over_training, "heads_over_training", split="dev", over=intervals.SENTENCES)
    display(Markdown(f"*While {first.title} is trained*, {snapshots.said_of_training(over_training)}"))
if siblings:
    run.table(beside, "models_beside", split="dev", over=intervals.SENTENCES)

# %% [markdown]
# ## In short

# %% jupyter={"source_hidden": true}
ruled = {one.claim.id: one for one in claims.judge(other)}
details = f"""*How to read the figure.* A cell is the best head of a model; of the paper's heads those at or above what is
asked are bold. Of syntactic cases head and offset are chosen on even sentences and tested on odd ones. *Fails* means
significantly below what is asked; Holm's correction is over all tests of the paper's claims, in all notebooks. The best
random head lies {ends(100 * (relations["best at random"] - relations["offset baseline"]), "+.0f")} points from the baseline.
The paper prints whole per cents, and some of its cases lie on the line: so its count is a range. Of the larger count those
*return* that our EN-RU model of the like text has too; *by chance* deals each text's cases at random.

{said.elsewhere(ruled, called, " and ".join(t.partition(": ")[2] for t in elsewhere))}"""
closing = f"""
- **Hold a head against the best fixed offset** before you call it syntactic.
- **Train more than one seed** before you name what a head does.
- **Prune by gradient importance**, how steeply the loss moves as a gate on a head closes, **not by syntactic score**.
  {said.kept(study.ROOT / "figures")}.

*Limits.* Text and trees are {"generated" if run.corpus == "controlled" else "natural, and the trees are a parser's"}. Intervals
of functions are over sentences, of places over heads, of BLEU over trainings. The models are far smaller than the paper's,
which are trained on millions of natural pairs ([all differences](../docs/differences.md)).
"""
answer = said.answer(cases, matter, rare, every, study.ROOT / "figures")
verdicts.fill("functions_found", closing, first=answer, more=details)
