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
# # 5 · Can heads that hardly matter be given a job?
#
# [← grouped heads](04_grouped_heads.ipynb) · [do the measures agree? →](06_do_measures_agree.ipynb) ·
# [all claims](../docs/results.md) · [figures](../figures/README.md)
#
# Liu & Chen 2023 ([arXiv 2312.09541](https://arxiv.org/abs/2312.09541)).
#
# The paper gives underused heads of BART's encoder a fixed matrix of attention that links a person's mentions (*coreference
# links*), said to improve summaries of dialogues. We know it second-hand.
#
# *Gold* links come with generated dialogues; a *resolver*'s are guessed by our rules; *shuffled* ones join the same mentions at
# random. *Plain* is the same training without injection. *ROUGE-1* is the overlap with the reference's words, *events* the
# share of facts told with the right people. A head is *important* if the loss reacts to it; its *cost* is the rise of the loss
# (in nats) without it.

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
import pandas as pd
import torch
from IPython.display import Markdown, display

from helpers import drawing
from helpers.measures.measured import from_one
from helpers.measures.ranks import rank_agreement
from helpers.methods import coreference
from helpers.methods.coreference import figures, said, tables
from helpers.methods.coreference.runs import MAIN, PLAIN, PROBED
from helpers.publish import claims
from helpers.reading import folded, readable
from helpers.runs import subjects
from helpers.scores import intervals
from helpers.study import layout
from helpers.world import conversations

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
once = f"one of {len(boards)} trainings" if len(boards) > 1 else ""

# %%
verdicts = claims.Box(run)

# %% [markdown]
# ## The method: a matrix stands where attention weights stood
#
# Our dialogues are generated, so we know who is meant by every word. Here is one of them. Words with the same number stand
# for the same person; a person named once gets none. The last line is the summary that the model should write.

# %% jupyter={"source_hidden": true}
pair, plain = board.task.pairs(board.split)[0], parts["main"][PLAIN]["run"]
print(said.example(tables.marked(folder, board.split, truth, 0), pair.target, {}))
tokens, ids, clusters = tables.linked_tokens(plain, board.split, truth, plan["span"], 0)

# %% [markdown]
# The numbers become a matrix of attention weights. A mention attends alike to all mentions of its person, and every other
# token to itself. `clusters` holds, for each person, the places of the tokens that stand for them.

# %% tags=["method"]
M = torch.eye(len(ids))  # a token that stands for nobody attends to itself
for cluster in clusters:
    for mention in cluster:
        M[mention] = 0
        M[mention, cluster] = 1 / len(cluster)

torch.testing.assert_close(M, coreference.matrices.full_link(clusters, len(ids)), rtol=0, atol=0)  # the project's code

# %% jupyter={"source_hidden": true}
mentions = sorted({place for cluster in clusters for place in cluster})[:40] or [0]
run.figure(
    figures.matrices([tokens[place] for place in mentions], {"M": M[mentions][:, mentions].numpy()}),
    "matrices",
    caption="The coreference matrix of one dialogue: its mentions, in order.",
    takeaway="A blue square: the row's mention attends to the column's, itself included. Tokens between mentions are left out.",
)

# %% [markdown]
# Injection puts this matrix in the place of one head's attention weights, in training as well as at inference. The head still
# has its values and its part of the output projection, and the training that follows adapts them to the new weights.

# %% jupyter={"source_hidden": true}
run.figure(
    figures.mechanism(),
    "mechanism",
    caption="What injection does to one of the least important heads: its attention weights are set, the rest is kept.",
    takeaway="The head no longer compares queries with keys; it hands on the mean of the values at linked tokens.",
)
model = coreference.runs.opened(plain)
importance = coreference.runs.ranking(plain, plan["probe"]).importance

# %% [markdown]
# In code, two hooks do it; for your own models, in training too, `with heads.inject(model, {("encoder", 2, 3): M}):` does
# (counted from zero; for batches M is a function; [how](../docs/use.md)). `model` is the plain BART, `importance` ranks
# its heads, `ids` are the tokens above.

# %% tags=["method"]
kind, layer, head = coreference.choose(importance)[-1]  # the least important head of the last encoder layer
attention = model.get_encoder().layers[layer].self_attn
own = slice(head * attention.head_dim, (head + 1) * attention.head_dim)  # its columns, among those of all heads
batch = {"input_ids": torch.tensor([ids]), "labels": torch.tensor([board.task.target.encode(pair.target)])}
batch = {name: numbers.to(model.device) for name, numbers in batch.items()}
seen = {}


def attend_by_links(module, given):  # what goes into the output projection: the outputs of all heads, side by side
    outputs = given[0].clone()
    outputs[..., own] = M.to(model.device) @ seen["V"][..., own]  # M V instead of softmax(Q K^T / sqrt(d)) V
    return (outputs,)


with torch.no_grad():
    before = model(**batch).logits
    hooks = [attention.v_proj.register_forward_hook(lambda module, given, values: seen.update(V=values))]
    hooks += [attention.out_proj.register_forward_pre_hook(attend_by_links)]
    after = model(**batch).logits
    for hook in hooks:
        hook.remove()
    with coreference.injected(model, [(kind, layer, head)], coreference.linked(ids, clusters)):  # the project's code
        torch.testing.assert_close(after, model(**batch).logits, rtol=0, atol=1e-4)
print(f"Injection moves a logit by up to {(after - before).abs().max():.2f}; the project's code agrees to 0.0001.")

# %% jupyter={"source_hidden": true}
text = run.table(tables.text_statistics(folder, ["dev", board.split], truth), "text")
run.table(pd.read_csv(folder / "report.csv"), "report")
run.table(tables.lost(parts["main"][MAIN]["run"], ["dev", board.split]), "lost")
linked = {"dialogues": "n (dialogues)", "words": "words", "clusters": "clusters"}
linked |= {"mentions a cluster": "mentions per cluster", "linked words, %": "linked words, %"}
described = readable(
    text[text.split == board.split],
    linked,
    {"words": ".0f", "linked words, %": ".0f"},
    caption="What is in the dialogues (means)",
)
shape, sizes = (model.config.encoder_layers, model.config.encoder_attention_heads, model.config.d_model), plan["summarization"]
display(Markdown(said.setup(shape, sizes["train"], sizes["further"], len(trained))))
display(folded("More: what is in the dialogues", described))

# %% [markdown]
# ## Do some heads hardly matter?
#
# The method needs heads that are free for a new job. We rank heads by gradient importance: how strongly the loss reacts when a
# head's output is scaled, $\mathbb{E}\,|\partial L / \partial \xi|$ with $\xi$ the scale
# ([notebook 06](06_do_measures_agree.ipynb)). Then we switch off one to all heads of every layer in a trained model, and let it
# write the test summaries. Second-hand accounts of the paper speak of a loss of about `0.5 %`, for how many heads we do not
# know. Our limit for three of a layer's heads is `1 %` of ROUGE-1.

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
run.figure(
    figures.importance_maps(ranked.rename(columns=alone), [name for name in ranked if name.startswith("seed")]),
    "importance",
    caption="Importance of encoder heads after several trainings, the least important of each layer marked.",
    show=False,
)
losses = tables.ablation({number: one.rows[PLAIN] for number, one in boards.items()}, plan["probe"])
run.table(pd.concat(losses, names=["seed"]), "ablation", over=intervals.SENTENCES)
run.figure(figures.ablation(losses), "ablation", caption="How much the loss rises with one head off.", show=False)
curves, settings_masked = None, None
if "settings" in parts:
    models = {PLAIN: board.rows[PLAIN], **parts.get("training", {})}
    settings_masked = tables.masking_by_setting(board, parts["settings"], models)
    run.table(settings_masked, "masking_by_setting", resamples=repeats)
if "masks" in parts:
    curves = run.table(tables.masking(board, parts["masks"]), "masking", resamples=repeats)
    run.figure(
        figures.masking_curves(curves, ["ROUGE-1", *board.metrics[3:]], title=once, allowed=allowed),
        "masking",
        caption=f"What masking the least or most important or random heads of each layer costs, seed {seed}, {count}.",
        takeaway=said.masking(curves, allowed, settings_masked),
        resamples=repeats,
    )

# %% [markdown]
# ## Does coreference in these heads help?
#
# The figure on top has the answer. Its rows differ only in what the least important head of every layer attends by. Shuffled
# links test whether it matters who is linked to whom.

# %% jupyter={"source_hidden": true}
quality = tables.scores(board, [PLAIN])
if board.known_events:
    quality = pd.concat([quality, tables.baselines(board)])
    display(Markdown(said.blind(quality)))

# %% [markdown]
# Here is the first dialogue again, marked by the resolver, with what the model writes without and with its links. The second
# is the shortest of those that gain most.

# %% jupyter={"source_hidden": true}
table = tables.scores(board, names)
run.table(table, "injection", resamples=repeats)
if len(trained) > 1:
    over = run.table(over, "seeds")
several = again if len(trained) > 1 else names
against = run.table(tables.against_controls(trained if len(trained) > 1 else {seed: board}, several), "against_controls")
every = tables.before_after_over_seeds(boards, list(coreference.runs.moved(parts)), plan["probe"])
drawn_once = [name for name in names if name.startswith("injected, random") and name not in set(over.row)]
heads_of = {name: coreference.runs.addresses(board.rows[name]["run"]["control"]["heads"]) for name in drawn_once}
drawn = said.draws(pd.concat([every, *(tables.ranks(ranked[PLAIN], *one) for one in heads_of.items())]))
run.figure(
    figures.changes(said.arranged(over, links), ["ROUGE-1", *board.metrics[3:]]),
    "injection",
    caption=f"What the least important heads gain from links of several kinds, {count}, {behind}.",
    answers="Liu & Chen, second-hand accounts",
    table="seeds" if len(trained) > 1 else "injection",
    takeaway=said.headline(over, links),
    show=False,
    resamples=repeats,
)
places = dict.fromkeys([0, *([tables.best_example(board, MAIN)] if board.known_events else [])])
for place in places:
    one = board.task.pairs(board.split)[place]
    texts = {name: board.written(row)[place] for name, row in (("plain", PLAIN), (said.links(links), MAIN))}
    print(said.example(tables.marked(folder, board.split, links, place), one.target, texts), end="\n\n\n")
if board.known_events:
    found = coreference.runs.clusters_of(folder, board.split, links)[0]
    right = [tables.events_told(board, [PLAIN, MAIN], slice(at, at + 1))["of the right people"][[PLAIN, MAIN]] for at in places]
    written = [board.written(row)[0] for row in (PLAIN, MAIN)]
    display(Markdown(said.followed(conversations.mistaken(board.dialogues[0], found), written, [[*one] for one in right])))

# %% jupyter={"source_hidden": true}
own = against[against.metric == "ROUGE-1"].set_index("control")
title = f"Least important heads with {said.links(links)} minus each control, {behind}"
minus = against.rename(columns={"control": "row"})
elsewhere = minus.row.isin(heads_of) | minus.row.str.match("injected, (?!lowest)|layer of")
minus = minus.replace({"row": {said.UPPER: said.upper(model.config.encoder_layers)}})
minus, rivals = (said.wide(minus[rows], "change", title, "+.1f", what="minus") for rows in (~elsewhere, elsewhere))
if board.known_events:
    run.table(tables.events_told(board, [PLAIN, MAIN]).rename_axis("summaries"), "events")
run.table(quality, "quality", resamples=repeats)
display(folded("More: every control", minus))

# %% [markdown]
# ## Must the heads be unimportant?

# %% jupyter={"source_hidden": true}
probed = [coreference.runs.likeness(one.rows[PROBED]) for one in trained.values() if PROBED in one.rows]
rises, called = run.table(tables.rises(every), "rises"), said.chosen(drawn)
choices = run.table(tables.choices(boards, called, losses), "choices")
display(Markdown(said.which(over, own, rises, table, [*pd.concat(probed)] if probed else [], 1 / float(M.norm()))))
display(said.beside(over, table, choices, rises, called, links))

# %% [markdown]
# A look after the fact: what links change against how much the model misses these heads. A thin line joins the choices of one
# training.

# %% jupyter={"source_hidden": true}
single = pd.concat([table, tables.by_group(board, {"": parts.get("where", {})}).reindex(columns=table.columns)])
run.figure(
    figures.choices(choices.replace({"row": called})),
    "which_heads",
    caption=f"What resolver links change in each choice of heads, by what these heads cost when off, {count}, {behind}.",
    table="choices",
    takeaway=said.costs(choices),
)
display(folded("More: the least important heads minus each other choice", rivals))

# %% [markdown]
# ## Do injected heads come to matter?

# %% jupyter={"source_hidden": true}
run.table(from_one(every), "before_after")
more = run.table(tables.matter_more(every), "matter_more")
apart = tables.matter_more(every, value="loss_after", mean=True) if len(more) else more
run.table(from_one(apart), "loss_more")
display(Markdown(said.come(apart, every, links)))

# %% [markdown]
# Heads that got shuffled links or none show what training does by itself.

# %% jupyter={"source_hidden": true}
run.figure(
    figures.before_after(said.arranged(rises, links)),
    "before_after",
    caption="How much the loss rises with one of the least important heads off, in the plain model and in models trained with"
    f" three matrices in these heads, by layer, {every.seed.nunique()} seeds.",
    table="rises",
    takeaway=said.moved(rises, links),
)

# %% [markdown]
# ## How good must the links be?
#
# A resolver makes errors. We corrupted gold links step by step, trained with each, and ask from which quality on they help. The
# figure orders them by the usual score of clusters, CoNLL F1, the mean of three others (MUC, B-cubed, CEAF-e). Each point is
# marked with the share of *he* and *she* that are put with the right person.

# %% jupyter={"source_hidden": true}
scored = run.table(tables.resolvers(run.settings, folder, board.split, truth), "resolvers")
named = scored.assign(clusters=scored.clusters.map(said.links), against=scored.against.replace("rule", said.links("rule")))
run.figure(figures.resolvers(named), "resolvers", caption="How good the resolvers' clusters are.", show=False)
parts_of_more = []
if "quality" in parts:
    curve = tables.quality_curve(board, parts["quality"], truth=truth)
    run.table(curve, "clusters", resamples=repeats)
    run.figure(
        figures.quality(curve, ["ROUGE-1"], title=once),
        "clusters",
        caption=f"How good the clusters must be for injection to help, by F1, pronouns marked, {count}, seed {seed}.",
        takeaway=said.clusters(curve, links),
        resamples=repeats,
    )
    display(Markdown(said.heights(curve, over)))
    for other in said.nearest(curve):
        gap = run.table(tables.scores(board, [MAIN], other.row), "clusters_as_good", resamples=repeats)
        parts_of_more += [said.errors(curve, gap)] if links != truth else []
f1 = dict.fromkeys(("MUC", "B-cubed", "CEAF-e", "CoNLL"), ".0f")
named = named.drop(columns="against" if scored.against.nunique() == 1 else [])
parts_of_more += [readable(named, forms=f1, caption=f"How good are the links? F1 in %, {count}")]
written = single[:0]
if "inference" in parts:
    written = tables.scores(board, [MAIN, *parts["inference"]])
    run.table(written, "inference", resamples=repeats)
    run.figure(
        figures.changes(said.called(written)),
        "inference",
        caption="What the matrix does at inference, with and without training on it.",
        resamples=repeats,
        show=False,
    )
    left = written.row.str.startswith(f"{MAIN}, ") & (written.row != f"{MAIN}, written with {links}")  # that is the main row
    parts_of_more += [
        said.at_inference(
            written[left | (written.row == MAIN) | (written.row == "injected at inference")],
            said.change(curves, "lowest, 1 a layer") if curves is not None else "",
        )
    ]
display(folded("More: what the resolver gets wrong, and links put in at inference alone", *parts_of_more))

# %% [markdown]
# ## Would mixing whole layers do better?

# %% jupyter={"source_hidden": true}
display(Markdown(said.mixed(single, over, own, links, model.config.encoder_layers)))

# %% [markdown]
# Links need not take a head away. The authors' code of 2021 ([Liu, Shi & Chen](https://arxiv.org/abs/2106.08556)) mixes the
# output H of an encoder layer over the links, after upper layers only: it becomes $0.7\,H + 0.3\,M H$. There M is *adjacent*, a
# mention links to its neighbours only; in our mixing it is full, as above. *Previous* links go to the mention before; *whole
# spans* join all words of a mention, else its first.

# %% jupyter={"source_hidden": true}
spots = {**parts.get("where", {})}
spots |= {name: board.rows[name] for name in again if spots and name.startswith("layer of its own")}
grouped = tables.by_group(board, {"heads and layers": spots, "matrices": parts.get("matrices", {})})
if len(grouped):
    run.table(grouped, "where", resamples=repeats)
    placed = said.placed(grouped, board, model.config.encoder_layers)
    run.figure(
        figures.changes(placed, ["ROUGE-1", *board.metrics[3:]], title=once),
        "where",
        caption=f"In which layers, in how many heads and with which matrix injection helps, seed {seed}, {count}.",
        resamples=repeats,
        show=False,
    )
    title = f"Change against plain, {count}, one training"
    kept = placed[(placed.group != "which attend by") | placed.row.str.contains("adjacent|previous|spans")]
    kept = kept.assign(row=kept.row.where(kept.group != "which attend by", "each layer, " + kept.row))
    display(said.wide(kept, "change", title, "+.1f", what="least important heads in"))
    display(Markdown(said.layers(board) if f"{MAIN}, middle layers" in board.rows else ""))
others = coreference.runs.rows_of(run.settings, subjects.TRANSLATION, seed)
if others:
    table = run.table(tables.scores(tables.Board(run.settings, others["main"])), "translation", resamples=repeats)
    run.figure(
        figures.changes(said.called(table[table.row != PLAIN])),
        "translation",
        caption="Injection of syntax into a translation model.",
        resamples=repeats,
        show=False,
    )

# %% [markdown]
# ## What does natural text say?

# %% jupyter={"source_hidden": true}
track = "controlled" if board.known_events else "natural"
elsewhere = next(name for name in layout.TRACKS if name != track)
folders = {track: run.folder, elsewhere: study.ROOT / "figures" / elsewhere}
judged = {
    name: next(one for one in claims.of_run(at, name) if one.claim.id == "injection-helps") for name, at in folders.items()
}
chapter = layout.Chapter(folders[elsewhere] / run.name)
read = ("seeds", "masking", "before_after")
stored = {name: pd.read_csv(path) for name in read if (path := chapter.table(name)).exists()}
where = said.TEXTS | {track: said.HERE}
given = {track: {"seeds": over, "masking": curves, "before_after": every}, elsewhere: stored}
empty = {name: said.hollow(given[name]["seeds"], where[name], given[name]["masking"],
                           claims.least_worth("injection-helps", name))
         for name, one in judged.items() if one.hollow and "seeds" in given[name]}  # fmt: skip
crd3 = pd.read_csv(study.ROOT / "figures" / "summaries" / "injection-crd3.csv", index_col="what")
if "before_after" in given["natural"]:
    empty["costs"] = said.natural(given["natural"]["before_after"], crd3, links)
display(Markdown("\n\n".join(empty.values()) if empty else "No run of ours was too small for the question."))

# %% [markdown]
# ## What to do now

# %% jupyter={"source_hidden": true}
ruled = {one.claim.id: one.verdict for one in claims.of_run(run.folder, run.corpus)}
answer = said.answer(own, over, links, rises, ruled, "natural" in empty and track != "natural")
at_once = said.change(written, "injected at inference", ends=False)
mixed, at_last, in_each = (said.change(single, row, ends=False) for row in (said.OWN, f"{MAIN}, upper layers", MAIN))
closing = f"""
Before you inject links, measure the resolver on each kind of pronoun apart, since a high F1 can hide its errors. Train with
the links; do not put them in at inference alone (change of ROUGE-1: {at_once}). Credit coreference only beside shuffled links.
In one training a head in the last layer ({at_last}) and one in each ({in_each}) are not told apart; mixing after every layer
gains more ({mixed}), but lacks shuffled links: run these first.

*Limits.* The model is a small BART, trained further on generated dialogues, not a large one fine-tuned on natural ones. The
figure on top, the choices of heads but random B, and mixing after the last layer have {behind}; all else here has one
([all differences](../docs/differences.md)).
"""
verdicts.fill("injection", closing, first=answer)
