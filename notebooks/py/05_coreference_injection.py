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
# testable) are corrected for the number of rows (Holm). *Hollow*: all attention of a kind is worth too little there for a
# verdict. *GUM*: an English corpus with gold coreference. *Lowest heads* are the least important head of each encoder layer by
# gradient importance, one per layer if no number is given.

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
import re

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
behind = f"{len(trained)} trainings" if len(trained) > 1 else "one training"
allowed = {one.id: one for one in claims.ledger()}["masking-free"].controlled.threshold / 100  # of ROUGE-1
count = f"n = {len(board.task.pairs(board.split))} {'dialogues' if board.dialogues else 'texts'}"
once = f"first of {len(boards)} trainings" if len(boards) > 1 else ""

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
# the mention before only (the first to itself). In the head of a model the matrix is one of subwords, and stands where the
# attention weights stood: no parameter is added.

# %% jupyter={"source_hidden": true}
pieces, drawn = tables.shown_matrices(parts["main"][PLAIN]["run"], board.split, truth, plan["span"], 0, 36)
mentions = sum(len(cluster) for cluster in clusters)
run.figure(
    figures.matrices(pieces, drawn),
    "matrices",
    caption="The coreference matrices of one dialogue.",
    takeaway=f"The first {len(pieces)} tokens; rows are cut there, so that weights seen may add up to less than one. The whole"
    f" dialogue has {len(words)} words, {mentions} of which start a mention of one of {len(clusters)} clusters. All others"
    " attend to themselves (grey).",
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
# Gold clusters come with the controlled dialogues; the rule resolver is our own. *Corrupted* clusters are gold ones with errors
# made at random: some are split, some merged, some mentions missing. *Shuffled* clusters have the same mentions, assigned to
# clusters at random: a resolver has to be better than these.

# %% [markdown]
# ## The summarizer
#
# All rows of this notebook start from one model and train the same number of further steps. `events` is the share of the
# reference's events that a summary tells with the right people. The baselines are references whose people are guessed: at
# random, the one who speaks where the deed is named, the names nearest before it.

# %% jupyter={"source_hidden": true}
quality = tables.scores(board, [PLAIN])
if board.known_events:
    quality = pd.concat([quality, tables.baselines(board)])
run.table(quality, "quality", resamples=repeats)

display(said.wide(quality, "value", f"The plain model and references with guessed people, {count}", what="summaries"))
if board.known_events:
    guessed = quality[quality.row != PLAIN].groupby("metric").value.agg(["min", "max"]).map(number, form=".1f")
    kept, told = (" to ".join(guessed.loc[metric]) for metric in ("ROUGE-1", tables.EVENTS))
    more = f"{said.change(over, MAIN, tables.EVENTS)} points ({behind})"
    note = f"ROUGE-1 scarcely sees who did it: with guessed people it is {kept}, though only {told} % of the events are right."
    display(Markdown(f"{note} So read it beside *events*, which {said.links(links)} in the lowest heads change by {more}."))
    events = run.table(tables.events_told(board, [PLAIN, MAIN]).rename_axis("summaries"), "events")
    events = events.rename(index=said.named)
    display(readable(events, forms=dict.fromkeys(events, ".0f"), caption=f"Of all events, %, {count}"))
display(readable(tables.examples(board, [PLAIN, MAIN], 1).rename(columns=said.named), caption="One dialogue summarized"))
if board.known_events:
    right = tables.events_told(board, [PLAIN, MAIN], 1)["of the right people"]
    apart = board.statistics(MAIN)[:, -1] - board.statistics(PLAIN)[:, -1]  # the last column is that of events
    display(Markdown(said.example(right, said.change(over, MAIN, tables.EVENTS), apart)))
    display(Markdown(said.told_right(board, links)))

# %% [markdown]
# A summary that tells *what* was done but not *who* did it lacks just what a coreference matrix could give. A gain that ends
# below *nearest name* is a gain over very little.
#
# ## Underused heads: does the ranking hold?
#
# Importance of encoder heads (Michel et al. 2019: mean over examples of the absolute derivative of the loss in the head's
# gate, divided by the norm over its layer), after further training in other ways, which the panels name. Seeds are models
# trained from other random weights, if there are such: what agreement by chance looks like.

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
run.figure(
    figures.importance_maps(ranked.rename(columns=alone)),
    "importance",
    caption="Importance of encoder heads after several trainings, the lowest of each layer marked.",
    takeaway=said.ranking(agreement, same, len(ranked.index.droplevel("head").unique())),
)

# %% [markdown]
# Trainings from other random weights cannot agree: the first head of one model has nothing to do with the first of another.
#
# ## Masking curves
#
# One to all heads of every layer off at inference, in the order of importance, in the reverse order, and at random. The last
# point, all encoder heads off, says what encoder attention is worth to this model: where that is little, masking a few heads
# costs little of necessity, and the paper's claim has not been put to the test.

# %% jupyter={"source_hidden": true}
curves = None
if "masks" in parts:
    curves = run.table(tables.masking(board, parts["masks"]), "masking", resamples=repeats)
    panels, limit = ["ROUGE-1", *board.metrics[3:]], (3, allowed) if 3 in set(curves.number) else None
    run.figure(
        figures.masking_curves(curves, panels, limit, once),
        "masking",
        caption=f"What masking the lowest, the highest or random heads of each layer costs, first training, {count}.",
        takeaway=said.masking(curves, allowed),
        resamples=repeats,
    )

# %% [markdown]
# The claim is about the left end of the *lowest* curve; the verdict on top asks about three heads per layer, in the first
# training: heads were masked in no other. The paper says so *in any training setting*: the same of the models above that were
# trained otherwise, from the same start, each against itself.

# %% jupyter={"source_hidden": true}
if "settings" in parts:
    models = {PLAIN: board.rows[PLAIN], **parts.get("training", {})}
    settings_masked = tables.masking_by_setting(board, parts["settings"], models)
    run.table(settings_masked, "masking_by_setting", resamples=repeats)
    first = settings_masked[settings_masked.metric == "ROUGE-1"]
    number_off = first.order + ", " + first.number.astype(str) + " per layer"
    first = first.assign(row=first.setting.replace(alone), metric=number_off)
    display(said.wide(first, "change", f"Change of ROUGE-1 with heads off, by training, {count}", "+.1f", what="training"))
    display(Markdown(said.masked(settings_masked, allowed)))
losses = tables.ablation({number: one.rows[PLAIN] for number, one in boards.items()}, plan["probe"])
run.table(pd.concat(losses, names=["seed"]), "ablation", over=intervals.SENTENCES)
run.figure(figures.ablation(losses), "ablation", caption="How much the loss rises with one head off.", show=False)
ablated = run.table(tables.against_ablation(losses, boards, plan["probe"]), "importance_and_ablation")
named = {"model": "model", "heads": "n (heads)", "all heads (nats)": "rank correlation", "within layers": "within layers"}
named |= {"largest rise": "largest rise, nats", "heads that cost nothing": "heads that cost nothing"}
readable(ablated, named, {"largest rise": ".3f"}, caption="Importance beside the rise of the loss with one head off")

# %% [markdown]
# A head costs nothing alone where the interval of its rise reaches zero; the table counts such heads, and says how well
# importance predicts the rise. Importance is the size of the first-order term of that rise, example by example.
#
# ## Injection
#
# The lowest heads attend by the full link matrix, in further training and in writing. Against it: no control (*plain*), the
# same heads *masked* all along, and other heads.

# %% jupyter={"source_hidden": true}
table = tables.scores(board, names)
run.table(tables.beside_baselines(table, board), "injection", resamples=repeats)
rivals = [name for name in names if re.fullmatch("injected, (random.*|highest|probing)", name)]
if len(trained) > 1:
    over = run.table(over, "seeds")
several = again if len(trained) > 1 else names
against = run.table(tables.against_controls(trained if len(trained) > 1 else {seed: board}, several), "against_controls")
better = said.choice(against[against.control.isin(rivals)])
every = tables.before_after_over_seeds(boards, list(coreference.runs.moved(parts)), plan["probe"])
drawn_once = [name for name in names if name.startswith("injected, random") and name not in set(over.row)]
chosen = {name: coreference.runs.addresses(board.rows[name]["run"]["control"]["heads"]) for name in drawn_once}
known = [every, *(tables.ranked_otherwise(ranked, [PLAIN], name, heads) for name, heads in chosen.items())]
display(Markdown(said.drawn(pd.concat(known))))
gold = said.with_links("gold")
beside = {"masked": "masked, lowest"} | ({"with gold links": gold} if gold in set(over.row) else {})
others = "".join(f", {name} {said.change(over, row, ends=False)}" for name, row in beside.items())
share = f"= {number(over[(over.row == MAIN) & (over.metric == 'ROUGE-1')].percent.iloc[0], '.1f')} %"
rows = ["masked, lowest", said.with_links("none"), said.with_links(f"{links}+shuffled"), "injected, random", *drawn_once, MAIN]
order = list(dict.fromkeys([*rows, gold, *names]))  # as in the figure on top
shown = pd.concat([over.assign(hollow=False), table[table.row.isin(drawn_once)].assign(hollow=True)])
shown = shown.sort_values("row", key=lambda called: called.map(order.index), kind="stable")
run.figure(
    figures.changes(said.called(shown[shown.row != PLAIN])),
    "injection",
    caption=f"What coreference in chosen heads changes, beside masking and other choices of heads, {count}, {behind} per row.",
    table="seeds" if len(trained) > 1 else "injection",
    takeaway=f"With {said.links(links)} in the lowest heads ROUGE-1 changes by {said.change(over, MAIN)} ({share}){others}."
    f" {better}.",
    resamples=repeats,
)
track = "controlled" if board.known_events else "natural"
elsewhere = next(name for name in layout.TRACKS if name != track)
folders = {track: run.folder, elsewhere: study.ROOT / "figures" / elsewhere}
judged = {
    name: next(one for one in claims.of_run(at, name) if one.claim.id == "injection-helps") for name, at in folders.items()
}
void = {name: f"{name} text (hollow)" if one.hollow else f"{name} text" for name, one in judged.items()}
chapter, found = layout.Chapter(folders[elsewhere] / run.name), {f"{void[track]}, {behind}": over}
if (path := next((path for path in map(chapter.table, ("seeds", "injection")) if path.exists()), None)) is not None:
    committed = pd.read_csv(path, index_col=0)
    number_of = int(committed.seeds.max()) if "seeds" in committed else 1
    title = f"{void[elsewhere]}, {number_of} training{'s' * (number_of > 1)} (published)"
    found[title] = committed[committed.row.isin(names)]
resolved = {track: scored, elsewhere: pd.read_csv(path) if (path := chapter.table("resolvers")).exists() else None}
empty = [(name, one.worth, claims.least_worth("injection-helps", name)) for name, one in judged.items() if one.hollow]
hollow = " ".join(said.hollow(*told, resolved[told[0]]) for told in empty)
both = pd.concat([tables.relative(part, group) for group, part in found.items()], ignore_index=True)
both = run.table(both, "gain_on_both_tracks")
single = pd.concat([table, tables.by_group(board, {"": parts.get("where", {})}).reindex(columns=table.columns)])
chosen = run.table(tables.headline(over, single, [*rows, gold]), "gain", resamples=repeats)
run.figure(
    figures.changes(said.called(chosen)),
    "gain",
    caption=f"What coreference in the least important heads gains, beside controls and the printed gain, {count}, {behind}.",
    answers="Liu & Chen, abstract",
    takeaway=f"Lowest heads: {said.headline(over, behind)}",
    show=False,
    resamples=repeats,
)

# %% [markdown]
# Masked heads show what it does to free these heads without a matrix. *By probing*: heads whose weights resemble the matrix
# already. The choice of heads is judged by the difference from the lowest heads, trained alike.
#
# ## Where, how many, which matrix, or a layer of its own?
#
# *A layer of its own* is the alternative of 2021, extra computation for which no head is given up: after an encoder layer its
# output H becomes $0.7\,H + 0.3\,M H$.

# %% jupyter={"source_hidden": true}
grouped = tables.by_group(board, {"heads and layers": parts.get("where", {}), "matrices": parts.get("matrices", {})})
if len(grouped):
    run.table(grouped, "where", resamples=repeats)
    layers, far = said.layers(grouped), said.where(grouped, over)
    run.figure(
        figures.changes(said.placed(grouped, board), title=once),
        "where",
        caption=f"In which layers, in how many heads and with which matrix injection helps, first training, {count}.",
        takeaway=layers or far,
        resamples=repeats,
    )
    if layers:
        display(Markdown(far))

# %% jupyter={"source_hidden": true}
sizes = tables.by_cluster_size(board, [MAIN, *parts.get("matrices", {})], truth)
run.table(sizes, "cluster_sizes", resamples=repeats)
shown = sizes[sizes.metric == "ROUGE-1"]
largest = shown.mentions.astype(str) + " (n = " + shown.dialogues.astype(str) + ")"
few = list(dict.fromkeys(shown.row))[:6]
shown = shown.assign(metric=shown.row.map(said.named), row=largest)[shown.row.isin(few)]
display(said.wide(shown, "change", "Change of ROUGE-1, one training per column", "+.1f", what="mentions in largest cluster"))
if (near := f"{MAIN}, adjacent links") in parts.get("matrices", {}):
    paired = run.table(tables.by_cluster_size(board, [near], truth, against=MAIN), "cluster_sizes_paired", resamples=repeats)
    display(Markdown(said.adjacent(paired)))

# %% [markdown]
# The paper says that higher layers work better, and that large clusters hamper *full* links, since a name has little weight in
# the mean over many mentions: *adjacent* links would then gain more than full ones towards the bottom of the table. Heads that
# look at themselves alone (*no links*) are the control for the matrix. A layer of its own, which has no weights of its own
# either, is a comparison that the paper's abstract and summaries do not mention.
#
# ## Do injected heads come to matter?

# %% jupyter={"source_hidden": true}
run.table(from_one(every), "before_after")
more = run.table(tables.matter_more(every), "matter_more")
free, beside = tables.ranked_otherwise(ranked, parts.get("training", {}), said.FREE), said.called(every)
beside = pd.concat([beside.assign(seed=beside.seed.astype(str)), *([free] if len(free) else [])], ignore_index=True)
run.figure(
    figures.before_after(beside),
    "before_after",
    caption=f"Rank of the injected heads by importance before and after training, {every.seed.nunique()} trainings, and of the"
    " lowest heads in trainings without injection (file `importance`).",
    takeaway=said.moved(every, free),
)
matter = {one.claim.id: one for one in claims.of_run(run.folder, run.corpus)}["come-to-matter"]
display(Markdown(said.matters(more, [row.side for row in matter.rows])))

# %% [markdown]
# Ranks count from the most important head of a layer: the lowest can only rise. Random and highest heads show whether it takes
# an *underused* head; shuffled links, or none, whether it takes *coreference*: the rest of the model may come to use any head
# whose attention is fixed. *No injection*: the lowest heads of the plain model in the trainings of *Underused heads* that start
# from the same weights, a dot each: what rises there is chance.
#
# ## How good must the clusters be?

# %% jupyter={"source_hidden": true}
if "quality" in parts:
    curve = tables.quality_curve(board, parts["quality"], truth=truth)
    run.table(tables.beside_baselines(curve, board), "clusters", resamples=repeats)
    together = run.table(tables.gained(curve), "gained").set_index("metric").iloc[:, -1]
    run.figure(
        figures.quality(curve, title=once),
        "clusters",
        caption=f"How good the clusters must be for injection to help, {count}, one training per point.",
        takeaway=said.clusters(curve, links),
        resamples=repeats,
    )
    told = [f"{number(value)} ({metric})" for metric, value in together.items()]
    told = f"(CoNLL F1; {curve.row.nunique()} points, one training): {', '.join(told)}"
    display(Markdown(f"Rank correlation of the gain with the quality of the clusters {told}."))
    for other in said.nearest(curve):
        gap = run.table(tables.scores(board, [MAIN], other.row), "clusters_as_good", resamples=repeats)
        if links != truth:
            display(Markdown(said.errors(curve, gap)))

# %% [markdown]
# Shuffled clusters say where mentions are, not which belong together: a resolver's links have to be better than these.
#
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
    display(said.wide(table, "change", told, "+.1f", best=True))
    display(Markdown(said.at_inference(table, said.change(curves, "lowest, 1 a layer") if curves is not None else "")))

# %% [markdown]
# ## Does it carry over to translation?
#
# The paper says that the method is general. We put gold syntax in the place of coreference: in the lowest heads every
# word attends to itself, its syntactic governor and its dependents. An interval that holds zero does not show that nothing is
# gained: short sentences may leave little for syntax to add.

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
fit = "generated" if board.known_events else "natural"
sides = [row.side for row in matter.rows] if matter.verdict != "not testable" else []
ruled = {one.claim.id: one for one in claims.of_run(run.folder, run.corpus)}
own = against[against.metric == "ROUGE-1"].set_index("control")
found = said.findings(own, over, single, links, behind, ruled["resolver-links"].verdict)
found["Underused heads exist"] = said.underused(curves) if curves is not None else ""
rise = {"Rise": said.rise(every, sides)}
more, brief = ("Gold links", "Another place"), {"Choice": found["Choice"].partition(":")[0]}
closing = f"""
**Coreference in the lowest heads**: {said.headline(over, behind)}

{said.bullets({name: brief.get(name, line) for name, line in found.items() if name not in more} | rise)}

*Limits.* A small BART, *further training* in place of fine-tuning ([all differences](../docs/differences.md)).
"""
helps = ruled["injection-helps"]
paper = helps.rows[0].holm if helps.rows else float("nan")
answer = said.answer(own, over, links, behind, f"on {fit} dialogues", helps.verdict, paper)
beside = "" if helps.hollow else hollow.partition(" text ")[2]
found = said.bullets(found | {f"{elsewhere.capitalize()} text": beside})
first = [hollow if helps.hollow else "", answer, found, said.first_alone(over, single)]
verdicts.fill("gain", closing, first="\n\n".join(filter(None, first)))
