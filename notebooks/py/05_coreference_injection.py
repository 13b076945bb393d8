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
# # 5 · Can underused heads be put to work? Coreference in the heads that matter least
#
# [← notebook 4, grouped heads](04_grouped_heads.ipynb) · [notebook 6, do the measures agree →](06_do_measures_agree.ipynb) ·
# [all claims](../docs/results.md) · [figures](../figures/README.md) · functions:
# [matrices.py](../helpers/methods/coreference/matrices.py), [runs.py](../helpers/methods/coreference/runs.py),
# [measures/worth.py](../helpers/measures/worth.py), [corpora/resolvers.py](../helpers/corpora/resolvers.py)
#
# Liu & Chen 2023 ([arXiv 2312.09541](https://arxiv.org/abs/2312.09541)), after Liu, Shi & Chen 2021.
#
# **The paper's claims.** Fine-tune BART on dialogue summarization and rank the encoder's heads by gradient importance: in
# each layer some are *underused*, and masking them costs next to nothing, whatever the training settings. So let them do
# something useful: replace their attention weights by a matrix that says who is who in the dialogue. Without a single new
# parameter ROUGE rises, more so in higher layers; heads chosen by importance serve better than heads that resemble the
# matrix already (*probing*, the way of 2021); and the heads that hardly mattered come to matter.
#
# What we find stands below; then the matrix, what it gains beside controls, and what the paper's abstract and summaries do not
# mention: is it the coreference that helps or the freed head, how good must the clusters be, does a layer of its own do
# better, does it carry over to translation? On the *controlled* dialogues we know who did what, so that beside ROUGE there is
# a score of *factual consistency*. The paper's tables are not public: nothing but its relative gains can be set beside ours.
# *By interval* says that a 95 % interval leaves out zero, each by itself; only verdicts (seen, partly, no, inconclusive, not
# testable) are corrected, for all tests of this paper's claims (Holm). *Least important heads* are one head of each encoder
# layer, by gradient importance. A *seed* is a model trained from its own random weights; a *setting* is a way to train on from
# the first seed. *No links*: every word attends to itself.

# %% tags=["parameters"]
profile = "laptop"  # tiny, quick, laptop, natural or paper: sizes only, every one can be overridden below
corpus = ""  # the texts are settings of their own (coreference.summarization.text); kept for the notebooks' common face
models = ""  # as corpus
pretrained = ""  # a BART checkpoint (Hub name or folder) to start from instead
data_root = ""  # folder of natural corpora; empty: HEADS_DATA_ROOT
parser = "spacy"  # as corpus
seed = 1
overrides = ""  # settings to change, NAME=VALUE separated by spaces, such as coreference.matrix=adjacent
output = ""  # where figures and tables go; empty: runs/PROFILE-CORPUS

# %%
from helpers import study
from helpers.plan import sources

run = study.begin("05_coreference_injection", globals())
print(run.summary(), sources(run), sep="\n")

# %% jupyter={"source_hidden": true}
import numpy as np
import pandas as pd
from IPython.display import Markdown, display

from helpers import drawing
from helpers.measures.measured import from_one
from helpers.measures.ranks import rank_agreement
from helpers.methods import coreference
from helpers.methods.coreference import figures, said, tables
from helpers.methods.coreference.runs import MAIN, PLAIN
from helpers.publish import claims
from helpers.reading import number, readable
from helpers.runs import subjects
from helpers.scores import intervals
from helpers.study import layout

drawing.style()
plan, repeats = run.settings["coreference"], run.settings["bootstrap"]
parts = coreference.runs.rows_of(run.settings, subjects.SUMMARIZATION, seed, pretrained)
boards = tables.boards(run.settings, parts, seed)
board = boards[seed]
folder, links = board.task.folder, plan["summarization"]["links"]
truth = coreference.runs.truth(board.task.corpus, links)
trained = {number: one for number, one in boards.items() if MAIN in one.rows}  # the main rows, from several weights
names = list(dict.fromkeys(name for part in ("main", "selection", "controls") for name in parts.get(part, {})))
again = [*parts["main"], *parts.get("controls", {})]  # the rows that were trained from several weights
over = tables.over_seeds(trained, again) if len(trained) > 1 else tables.scores(board, names)
behind = f"{len(trained)} seeds" if len(trained) > 1 else "one seed"
allowed = {one.id: one for one in claims.ledger()}["masking-free"].controlled.threshold / 100  # of ROUGE-1
count = f"n = {len(board.task.pairs(board.split))} {'dialogues' if board.dialogues else 'texts'}"
once = f"seed {seed} of {len(boards)}" if len(boards) > 1 else ""

# %%
verdicts = claims.Box(run)

# %% [markdown]
# ## The dialogues
#
# On the controlled track two to four people settle who will do what and tell who has done what. Facts move across turns: one
# asks, another declines, a third accepts; where the deed is named its doer is mostly a pronoun. The summary tells each fact
# in one sentence, with names. Below: one dialogue with its clusters, as `[number: mention]`.

# %% jupyter={"source_hidden": true}
print(tables.marked(folder, board.split, truth, 0), "\n\n=>", board.task.pairs(board.split)[0].target)

# %% [markdown]
# ## The matrix, in five lines
#
# In the *full* link matrix every mention attends alike to all mentions of its cluster, every other word to itself. With the
# first words of the mentions of each cluster, as in the code of 2021:

# %%
# board, folder and truth are of the folded cell on top: the texts, where they lie, and whose clusters are shown
words, found = board.task.pairs(board.split)[0].words, coreference.runs.clusters_of(folder, board.split, truth)[0]
clusters = [[start for start, _ in cluster if start < len(words)] for cluster in found]  # of what the model reads
clusters = [cluster for cluster in clusters if cluster]

matrix = np.eye(len(words))
for cluster in clusters:
    for mention in cluster:
        matrix[mention] = 0
        matrix[mention, cluster] = 1 / len(cluster)

print("the same as full_link:", bool(np.allclose(matrix, coreference.matrices.full_link(clusters, len(words)))))

# %% [markdown]
# With *adjacent* links each mention attends equally to itself, the mention before and the one after; with *previous* ones to
# the mention before only (the first to itself); with *no links* every word to itself. In the head of a model the matrix is one
# of subwords, and stands where the attention weights stood: no parameter is added.

#
# Gold clusters come with the controlled dialogues; the rule resolver is our own. *Corrupted* clusters are gold ones with errors
# made at random: some are split, some merged, some mentions missing. *Shuffled* clusters have the same mentions, assigned to
# clusters at random: a resolver has to be better than these.

# %% jupyter={"source_hidden": true}
run.figure(
    figures.mechanism(),
    "mechanism",
    caption="What injection does to one of the least important heads: its attention weights are set, the rest is kept.",
    takeaway="The head no longer compares queries with keys: its weights are the matrix, in training and in writing. Values and"
    " output projection are trained on with the rest of the model.",
)
pieces, drawn, whole = tables.shown_matrices(parts["main"][PLAIN]["run"], board.split, truth, plan["span"], 0, 36)
mentions = sum(len(cluster) for cluster in clusters)
run.figure(
    figures.matrices(pieces, drawn),
    "matrices",
    caption="The coreference matrices of one dialogue.",
    takeaway=f"The first {len(pieces)} of {whole} tokens of a dialogue with {mentions} mentions in {len(clusters)} clusters."
    " Rows are cut there: weights seen may add up to less than one. Grey: tokens without links, or first mentions under"
    " *previous* links, attend to themselves.",
)
text = run.table(tables.text_statistics(folder, ["dev", board.split], truth), "text")
run.table(pd.read_csv(folder / "report.csv"), "report")
run.table(tables.lost(parts["main"][MAIN]["run"], ["dev", board.split]), "lost")
linked = {"split": "split", "dialogues": "n (dialogues)", "words": "words", "speakers": "speakers", "clusters": "clusters"}
linked |= {"mentions a cluster": "mentions per cluster", "linked words, %": "linked words, %"}
display(readable(text, linked, {"words": ".0f", "linked words, %": ".0f"}, caption="What is in the dialogues (means)"))
scored = run.table(tables.resolvers(run.settings, folder, board.split, truth), "resolvers")
run.figure(figures.resolvers(scored), "resolvers", caption="How good the resolvers' clusters are.", show=False)
f1 = dict.fromkeys(("MUC", "B-cubed", "CEAF-e", "CoNLL"), ".0f")
named = scored.assign(clusters=scored.clusters.map(said.links)).drop(columns="against" if scored.against.nunique() == 1 else [])
named[list(f1)] = named[list(f1)].round()  # what is written alike is best alike
readable(named, forms=f1, best=dict.fromkeys(f1, "most"), caption=f"How good are the links? F1 in %, {count}")

# %% [markdown]
# ## The summarizer
#
# All rows of this notebook start from one model and train the same number of further steps. `events` is the share of the
# reference's events that a summary tells with the right people. The baselines are references whose people are guessed: at
# random, the one who speaks where the deed is named, the names nearest before it. In the dialogues below, bold is the cluster
# of the person in whom the two summaries first differ, as the resolver has it; *chosen* is the shortest of the dialogues that
# gain most.

# %% jupyter={"source_hidden": true}
quality = tables.scores(board, [PLAIN])
if board.known_events:
    quality = pd.concat([quality, tables.baselines(board)])
run.table(quality, "quality", resamples=repeats)

display(said.wide(quality, "value", f"The plain model and references with guessed people, {count}", what="summaries"))
if board.known_events:
    guessed = quality[quality.row != PLAIN].groupby("metric").value.agg(["min", "max"]).map(number, form=".1f")
    kept, told = (" to ".join(guessed.loc[metric]) for metric in ("ROUGE-1", tables.EVENTS))
    note = f"ROUGE-1 scarcely sees who did it: with guessed people it is {kept}, though only {told} % of the events are right."
    gain = f"{said.change(over, MAIN, tables.EVENTS)} points ({behind})"
    display(
        Markdown(f"{note} So read it beside *events*, which {said.links(links)} in the least important heads change by {gain}.")
    )
    events = run.table(tables.events_told(board, [PLAIN, MAIN]).rename_axis("summaries"), "events")
    events = events.rename(index=said.named)
    title = f"Of all events, %, {count}, seed {seed}"
    display(readable(events, forms=dict.fromkeys(events, ".0f"), caption=title))
places = {"the first of the test set": 0} | ({"*chosen*": tables.best_example(board, MAIN)} if board.known_events else {})
written = tables.examples(board, [PLAIN, MAIN], places, links).rename(columns=said.named).rename_axis("which")
display(readable(written, caption=f"Dialogues summarized, seed {seed}"))
if board.known_events:
    right = {
        which: tables.events_told(board, [PLAIN, MAIN], slice(at, at + 1))["of the right people"]
        for which, at in places.items()
    }
    apart = board.statistics(MAIN)[:, -1] - board.statistics(PLAIN)[:, -1]  # the last column is that of events
    display(Markdown(said.example(right, said.change(over, MAIN, tables.EVENTS), apart)))

# %% [markdown]
# A summary that tells *what* was done but not *who* did it lacks just what a coreference matrix could give.
#
# ## Underused heads: does the ranking hold?
#
# Importance of encoder heads (Michel et al. 2019: mean over examples of the absolute derivative of the loss in the head's
# gate, divided by the norm over its layer), after further training in other settings from the same start, and in models
# trained from other random weights, if there are such: what agreement by chance looks like. These cannot agree: the first head
# of one has nothing to do with the first of another. ρ is the rank correlation of all heads with the plain model's.

# %% jupyter={"source_hidden": true}
settings_of = {PLAIN: parts["main"][PLAIN], **parts.get("training", {})}
settings_of |= {name: named[PLAIN] for name, named in parts.items() if name.startswith("seed")}
ranked = tables.rankings(settings_of, plan["probe"])
run.table(ranked, "importance")
alone = {} if "other order 2" in ranked else {"other order 1": "other order"}
agreement = run.table(rank_agreement(ranked), "rank_agreement")
run.figure(
    figures.agreement(agreement), "rank_agreement", caption="How far trainings agree on the ranking of heads.", show=False
)
same = run.table(tables.same_lowest(ranked, PLAIN), "same_lowest")
shown = agreement.rename(columns=alone).loc[PLAIN]
correlated = {name: f"ρ = {number(value, '.2f')}" for name, value in shown.items() if name != PLAIN}
run.figure(
    figures.importance_maps(ranked.rename(columns=alone), [name for name in ranked if name.startswith("seed")], correlated),
    "importance",
    caption="Importance of encoder heads after several trainings, the least important of each layer marked; ρ: rank"
    " correlation with the plain model.",
    takeaway=said.ranking(agreement, same, len(ranked.index.droplevel("head").unique())),
)

# %% [markdown]
# ## Masking curves
#
# One to all heads of every layer off at inference, in the order of importance, in the reverse order, and at random. The last
# point, all encoder heads off, says what encoder attention is worth to this model: where that is little, masking a few heads
# costs little of necessity, and the paper's claim has not been put to the test. The claim is about the left end of the blue
# curve; the verdict on top asks about three heads per layer, in the first seed: heads were masked in no other.

# %% jupyter={"source_hidden": true}
curves = None
if "masks" in parts:
    curves = run.table(tables.masking(board, parts["masks"]), "masking", resamples=repeats)
    panels, limit = ["ROUGE-1", *board.metrics[3:]], (3, allowed) if 3 in set(curves.number) else None
    run.figure(
        figures.masking_curves(curves, panels, limit, once),
        "masking",
        caption=f"What masking the least or most important or random heads of each layer costs, seed {seed}, {count}.",
        takeaway=said.masking(curves, allowed),
        resamples=repeats,
    )

# %% [markdown]
# The paper says so *in any training setting*: first the same of the settings above, each against itself. Then how well
# importance predicts the rise of the loss with a head off. Importance is the size of the first-order term of that rise, example
# by example. *Rise not above zero*: heads with which off, alone, the interval of the rise reaches zero.

# %% jupyter={"source_hidden": true}
if "settings" in parts:
    models = {PLAIN: board.rows[PLAIN], **parts.get("training", {})}
    settings_masked = tables.masking_by_setting(board, parts["settings"], models)
    run.table(settings_masked, "masking_by_setting", resamples=repeats)
    first = settings_masked[settings_masked.metric == "ROUGE-1"]
    number_off = first.number.astype(str) + " " + first.order.replace(figures.CALLED) + " per layer"
    first = first.assign(row=first.setting.replace(alone), metric=number_off)
    display(said.wide(first, "change", f"Change of ROUGE-1 with heads off, by setting, {count}", "+.1f", what="setting"))
    display(Markdown(said.masked(settings_masked, allowed)))
losses = tables.ablation({number: one.rows[PLAIN] for number, one in boards.items()}, plan["probe"])
run.table(pd.concat(losses, names=["seed"]), "ablation", over=intervals.SENTENCES)
run.figure(figures.ablation(losses), "ablation", caption="How much the loss rises with one head off.", show=False)
ablated = run.table(tables.against_ablation(losses, boards, plan["probe"]), "importance_and_ablation")
named = {
    "model": "plain model of",
    "heads": "n (heads)",
    "all heads (nats)": "rank correlation",
    "within layers": "within layers",
}
named |= {"largest rise": "largest rise, nats", "heads that cost nothing": "rise not above zero"}
readable(ablated, named, {"largest rise": ".3f"}, caption="Importance beside the rise of the loss with one head off")

# %% [markdown]
# ## Injection
#
# The least important heads attend by the full link matrix, in further training and in writing. The figure on top holds them
# against the same heads with nothing, with themselves and with shuffled or gold links, and against other heads with the same
# links. *Off in training too* shows what it does to free these heads without a matrix; *by probing*: heads whose weights
# resemble the matrix already. Below: the difference from each, trained alike.

# %% jupyter={"source_hidden": true}
table = tables.scores(board, names)
run.table(tables.beside_baselines(table, board), "injection", resamples=repeats)
if len(trained) > 1:
    over = run.table(over, "seeds")
several = again if len(trained) > 1 else names
against = run.table(tables.against_controls(trained if len(trained) > 1 else {seed: board}, several), "against_controls")
every = tables.before_after_over_seeds(boards, list(coreference.runs.moved(parts)), plan["probe"])
drawn_once = [name for name in names if name.startswith("injected, random") and name not in set(over.row)]
chosen = {name: coreference.runs.addresses(board.rows[name]["run"]["control"]["heads"]) for name in drawn_once}
known = [every, *(tables.ranked_otherwise(ranked, [PLAIN], name, heads) for name, heads in chosen.items())]
drawn = said.draws(pd.concat(known))
shown = pd.concat([over.assign(hollow=False), table[table.row.isin(drawn_once)].assign(hollow=True)])
run.figure(
    figures.changes(said.arranged(shown, links, drawn), ["ROUGE-1", *board.metrics[3:]]),
    "injection",
    caption=f"What coreference links change by the heads that get them, and other links in the same heads, {count}, {behind};"
    " white: one seed.",
    answers="Liu & Chen, abstract",
    table="seeds" if len(trained) > 1 else "injection",
    takeaway=said.headline(over),
    show=False,
    resamples=repeats,
)
single = pd.concat([table, tables.by_group(board, {"": parts.get("where", {})}).reindex(columns=table.columns)])
own = against[against.metric == "ROUGE-1"].set_index("control")
title = f"Least important heads with {said.links(links)} minus each control, {behind}"
display(said.wide(against.rename(columns={"control": "row"}), "change", title, "+.1f", what="minus"))
track = "controlled" if board.known_events else "natural"
elsewhere = next(name for name in layout.TRACKS if name != track)
folders = {track: run.folder, elsewhere: study.ROOT / "figures" / elsewhere}
judged = {
    name: next(one for one in claims.of_run(at, name) if one.claim.id == "injection-helps") for name, at in folders.items()
}
chapter = layout.Chapter(folders[elsewhere] / run.name)
stored = {name: pd.read_csv(path) for name in ("seeds", "resolvers") if (path := chapter.table(name)).exists()}
resolved, changed = {track: scored, elsewhere: stored.get("resolvers")}, {track: over, elsewhere: stored.get("seeds")}
empty = {name: said.hollow(changed[name], one.worth, claims.least_worth("injection-helps", name), resolved[name])
         for name, one in judged.items() if one.hollow and changed[name] is not None}  # fmt: skip

# %% [markdown]
# ## Where, how many, which matrix, or a layer of its own?
#
# *A layer of its own* is the alternative of 2021, extra computation for which no head is given up: after an encoder layer its
# output H becomes $0.7\,H + 0.3\,M H$. It has no weights of its own either, and the paper's abstract and summaries do not
# mention it.
#
# The paper says that higher layers work better, and that large clusters hamper *full* links, since a name has little weight in
# the mean over many mentions: *adjacent* links would then gain more than full ones towards the bottom of the last two tables.
# Heads that attend to themselves alone (*no links*) are the control for the matrix.

# %% jupyter={"source_hidden": true}
grouped = tables.by_group(board, {"heads and layers": parts.get("where", {}), "matrices": parts.get("matrices", {})})
if len(grouped):
    run.table(grouped, "where", resamples=repeats)
    upper, below = (f"{MAIN}, {part} layers" for part in ("upper", "middle"))
    pair = [upper] if {upper, below} <= {*board.rows} else []
    layers = said.layers(grouped, tables.scores(board, pair, below) if pair else grouped[:0], board)
    run.figure(
        figures.changes(said.placed(grouped, board), ["ROUGE-1", *board.metrics[3:]], title=once),
        "where",
        caption=f"In which layers, in how many heads and with which matrix injection helps, seed {seed}, {count}.",
        takeaway=layers,
        resamples=repeats,
    )
    far = said.elsewhere(single, own, over, links)
    display(Markdown(f"{far[:1].upper()}{far[1:]}." if far else ""))

# %% jupyter={"source_hidden": true}
sizes = tables.by_cluster_size(board, [MAIN, *parts.get("matrices", {})], truth)
run.table(sizes, "cluster_sizes", resamples=repeats)
shown = sizes[sizes.metric == "ROUGE-1"]
largest = shown.mentions.astype(str) + " (n = " + shown.dialogues.astype(str) + ")"
few = list(dict.fromkeys(shown.row))[:6]
titles = shown.row.map(said.named).str.removeprefix(f"{said.named(MAIN)}, ").replace(said.named(MAIN), "full links")
shown = shown.assign(metric=titles, row=largest)[shown.row.isin(few)]
display(said.wide(shown, "change", f"Change of ROUGE-1, seed {seed}", "+.1f", what="mentions in largest cluster"))
if (near := f"{MAIN}, adjacent links") in parts.get("matrices", {}):
    paired = run.table(tables.by_cluster_size(board, [near], truth, against=MAIN), "cluster_sizes_paired", resamples=repeats)
    title = f"Adjacent links minus full ones, paired, seed {seed}"
    display(said.wide(paired.assign(row=paired.mentions), "change", title, "+.1f", what="mentions in largest cluster"))
    display(Markdown(said.adjacent(paired)))

# %% [markdown]
# ## Do injected heads come to matter?
#
# Random and most important heads show whether it takes an *underused* head; shuffled links, or none, whether it takes
# *coreference*: the rest of the model may come to use any head whose attention is fixed. The figure is of the loss with a head
# off, the verdict of importance. The least important can only rise in rank, so ranks are told beside the settings of
# *Underused heads*, which start from the same weights: what rises there is chance.

# %% jupyter={"source_hidden": true}
run.table(from_one(every), "before_after")
more, rises = run.table(tables.matter_more(every), "matter_more"), run.table(tables.rises(every), "rises")
free = tables.ranked_otherwise(ranked, parts.get("training", {}), MAIN)
heads = said.arranged(rises, links, {})
loss, ranks = said.moved(rises, every, free)
run.figure(
    figures.before_after(heads[heads.group == heads.group.iloc[0]]),
    "before_after",
    caption=f"How much the loss rises with one injected head off, before and after training, by layer, {every.seed.nunique()}"
    " seeds: the least important heads under three matrices.",
    table="rises",
    takeaway=loss,
)
matter = {one.claim.id: one for one in claims.of_run(run.folder, run.corpus)}["come-to-matter"]
apart = tables.matter_more(every, value="loss_after") if len(more) else more
run.table(from_one(apart), "loss_more")
moved = said.rise(rises)
display(Markdown(f"{moved[:1].upper()}{moved[1:]}." if moved else ""))
display(Markdown(" ".join([ranks, said.matters(more, apart, [row.side for row in matter.rows])])))

# %% [markdown]
# ## How good must the clusters be?
#
# Shuffled clusters say where mentions are, not which belong together: a resolver's links have to be better than these.

# %% jupyter={"source_hidden": true}
if "quality" in parts:
    curve = tables.quality_curve(board, parts["quality"], truth=truth)
    run.table(tables.beside_baselines(curve, board), "clusters", resamples=repeats)
    run.figure(
        figures.quality(curve, ["ROUGE-1"], title=once),
        "clusters",
        caption=f"How good the clusters must be for injection to help, by F1 and by pronouns, {count}, seed {seed}.",
        takeaway=said.clusters(curve, links),
        resamples=repeats,
    )
    for other in said.nearest(curve):
        gap = run.table(tables.scores(board, [MAIN], other.row), "clusters_as_good", resamples=repeats)
        display(Markdown(said.errors(curve, gap) if links != truth else ""))

# %% [markdown]
# ## At inference alone
#
# A public summary of the paper reads as if the matrix were put in at inference alone. The table shows that first. Then it shows
# the model that was trained with the matrix when it writes its summaries with other clusters, or with these heads off.

# %% jupyter={"source_hidden": true}
if "inference" in parts:
    table = tables.scores(board, [MAIN, *parts["inference"]])
    run.table(table, "inference", resamples=repeats)
    run.figure(
        figures.changes(said.called(table)),
        "inference",
        caption="What the matrix does at inference, with and without training on it.",
        resamples=repeats,
        show=False,
    )
    table = table[table.row != f"{MAIN}, written with {links}"]  # which is the lowest heads' own row
    told = ", ".join(filter(None, ["Change against the plain model", count, once]))
    display(said.wide(table, "change", told, "+.1f"))
    display(Markdown(said.at_inference(table, said.change(curves, "lowest, 1 a layer") if curves is not None else "")))

# %% [markdown]
# ## Does it carry over to translation?
#
# The paper says that the method is general. We put gold syntax in the place of coreference: in the least important heads
# every word attends to itself, its syntactic governor and its dependents. An interval that holds zero does not show that
# nothing is gained: short sentences may leave little for syntax to add.

# %% jupyter={"source_hidden": true}
others = coreference.runs.rows_of(run.settings, subjects.TRANSLATION, seed)
if others:
    translation = tables.Board(run.settings, others["main"])
    table = tables.scores(translation)
    run.table(table, "translation", resamples=repeats)
    run.figure(
        figures.changes(said.called(table[table.row != PLAIN])),
        "translation",
        caption="Injection of syntax into a translation model.",
        resamples=repeats,
        show=False,
    )
    sentences = f"n = {len(translation.task.pairs(translation.split))} sentences"
    shown = table[table.row != PLAIN].assign(metric="change of BLEU")
    display(said.wide(shown, "change", f"Beside the plain model, {sentences}", "+.1f"))
    display(Markdown(said.too_small(table, "BLEU")))

# %% [markdown]
# Saved and not shown: resolvers, agreement of rankings, heads off one by one, seeds, inference, translation ([all
# figures](../figures/README.md)).
#
# ## In short

# %% jupyter={"source_hidden": true}
ruled = {one.claim.id: one for one in claims.of_run(run.folder, run.corpus)}
found = said.findings(own, over, single, links, drawn, ruled["resolver-links"].verdict)
found["Heads that matter little"] = said.underused(curves) if curves is not None else ""
found |= {f"{name.capitalize()} text": text for name, text in empty.items() if name == elsewhere}
helps = ruled["injection-helps"]
paper = helps.rows[0].holm if helps.rows else float("nan")
tests = sum(row.p == row.p for one in ruled.values() if one.claim.paper == helps.claim.paper for row in one.rows)
told = single[:0] if track in empty else single  # of a text that says nothing of the method, the rest is details
answer = said.answer(own, over, links, behind, helps.verdict, paper, tests, told)
closing = f"""
{said.short(own, over, single, links, behind, helps.verdict)}

{said.bullets({"Injected heads": moved})}

*Limits.* A small BART, *further training* in place of fine-tuning ([all differences](../docs/differences.md)).
"""
first = "\n\n".join(filter(None, [empty.get(track, ""), answer]))
verdicts.fill("injection", closing, first=first, more=said.bullets(found))
