# ---
# jupyter:
#   jupytext:
#     formats: notebooks//ipynb,notebooks/py//py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 5 · Can idle heads be given a job?
#
# [← notebook 4, grouped heads](04_grouped_heads.ipynb) · [notebook 6, do the measures agree? →](06_do_measures_agree.ipynb) ·
# [all claims](../docs/results.md)
#
# Some attention heads hardly matter. Call them *idle*. Liu & Chen 2023 ([abstract](https://arxiv.org/abs/2312.09541)) give
# those of a summarizer a job: they follow *links*, from each mention of a person ("Ann", "I", "she") to all others. This is
# said to raise ROUGE-1, the share of words in common with the right summary, by `1.6` %, for us `1.5` points.
#
# We did so in a small summarizer of our own and in SmolLM2, a pretrained model.
#
# - In our summarizer true links bring **1.9**<!-- 05/seeds row="injected, lowest, gold" metric=ROUGE-1 change:.1f --> points,
#   links that a program guesses **0.5**<!-- 05/seeds row="injected, lowest" metric=ROUGE-1 change:.1f -->, links dealt at
#   random nothing.<!-- holds: 05/seeds row="injected, lowest, rule+shuffled" metric=ROUGE-1 change < 0 -->
# - Mixed into whole layers, the program's links bring **1.7**<!-- 05/further
#   where="mixed, every layer" links=resolver mean:.1f --> points, in heads **0.4**<!-- 05/further where="idle heads"
#   links=resolver mean:.1f -->, in three other trainings.
# - In SmolLM2 we see no gain.<!-- holds: pretrained/link_gains minus_links="no links" metric=ROUGE-1 change < 0 -->

# %% jupyter={"source_hidden": true} tags=["parameters"]
profile: str = "laptop"  # tiny, quick, laptop, natural, europarl or paper: sizes only, each can be overridden below
corpus: str = ""  # the texts are settings of their own (coreference.summarization.text); kept for the notebooks' common face
models: str = ""  # as corpus
pretrained: str = ""  # a BART checkpoint (Hub name or folder) to start from instead
data_root: str = ""  # folder of natural corpora; empty: HEADS_DATA_ROOT
parser: str = "spacy"  # as corpus
seed: int = 1
overrides: str = ""  # settings to change, name and value joined by an equals sign, separated by spaces
output: str = ""  # where figures and tables go; empty: a folder of runs/ named by profile and corpus

# %% jupyter={"source_hidden": true}
import pandas as pd
from helpers import claims, drawing, measures, plots, study
from helpers.experiments import injection
from helpers.measures import measured
from helpers.methods import coreference
from helpers.methods.coreference import runs
from helpers.plan import sources
import torch
run = study.begin("05_coreference_injection", globals())
print(run.summary(), sources(run), sep="\n")
drawing.style()

# %% [markdown]
# ## Who is *you*?
#
# Below, mentions of one person share a number. Under the dialogue stand the right summary, the *reference*, and that of our
# model, a small BART (`3` encoder layers of `8` heads, width `128`) trained from scratch for `7,000` steps on `60,000`
# generated dialogues.

# %%
plan, repeats = run.settings["coreference"], run.settings["bootstrap"]
parts = runs.rows_of(run.settings, seed, pretrained)  # part -> row -> how it is trained, and how it writes
boards = injection.boards(run.settings, parts, seed)  # training -> its rows, their summaries and scores
board, by = boards[seed], plan["summarization"]["links"]  # "rule", our resolver
plain = board.rows[runs.PLAIN]["run"]  # trained without injection
truth = runs.truth(board.task.corpus, by)
place = injection.best_example(board, runs.MAIN)
print(injection.example(board, truth, place, [runs.PLAIN]))

# %% [markdown]
# In "you will see to that", *you* is *lirom*. Our model takes *fabodan* for the seller.
#
# Written as a matrix $M$, links have a row for each token. A mention looks equally at all mentions of its person, any other
# token at itself.

# %%
text, pair = board.task, board.task.pairs(board.split)[place]
ids, words = text.source.encode(pair.source), text.source.word_ids(pair.source, pair.words)
mentions = coreference.tokens_of(runs.clusters_of(text.folder, board.split, truth)[place], words)  # each by its first token
clusters = [[token for mention in cluster for token in mention] for cluster in mentions]

# %% tags=["method"]
M = torch.eye(len(ids))
for cluster in clusters:
    for mention in cluster:
        M[mention] = 0
        M[mention, cluster] = 1 / len(cluster)

print(study.compare(M, coreference.full_link(clusters, len(ids))))

# %%
places = sorted(token for cluster in clusters for token in cluster)
names = {token: f"{text.source.pieces(ids)[token].strip('▁')} ({token})" for token in places}
cells = [(names[a], names[b], float(M[a, b])) for a in places for b in places]
figure = plots.heat_map(pd.DataFrame(cells, columns=["mention", "looks at", "weight"]), "looks at", "mention", "weight")
run.figure(figure, "matrices", "The links of the dialogue: each mention looks equally at all mentions of its person.")

# %% [markdown]
# With this matrix a head hands on for *you* the mean over all places where *lirom* is meant.

# %% [markdown]
# ## Which heads are idle?
#
# The paper's summarizer is said to lose `0.5` % without its idle heads. To find ours, multiply what a head puts out by $\xi$,
# normally one. The head's *importance* is how strongly the loss $L$ reacts, $\mathbb{E}\,|\partial L / \partial \xi|$, a mean
# over dialogues ([code](06_do_measures_agree.ipynb)). A layer's idle head is its least important one:

# %%
model = runs.opened(plain)
importance = measures.importance(model, text.held_out(4096, plan["probe"], model.device), "encoder")
idle = coreference.choose(importance, order="lowest")
measured.from_one(importance.to_frame()).importance.unstack("head").round(2)

# %%
masks = run.table(injection.masking(board, parts["masks"]), "masking", resamples=repeats)
axes = ("heads of each layer that are off, without training (grey: the paper's 0.5 %, heads unknown)", "ROUGE-1, change in %")
figure = plots.curve(injection.masking_curves(masks), "number", "percent", "order", band=(-0.5, 0), falling=False, labels=axes)
run.figure(figure, "masking", "What switching off heads of each layer costs.", resamples=repeats)

# %% [markdown]
# Bars, like *low* and *high* below, are `95 %` intervals over dialogues.
#
# **Without the idle head of each layer ROUGE-1 falls by 0.2<!-- 05/masking row="lowest, 1 a layer" metric=ROUGE-1 -percent:.1f
# --> %, without the most important one by 4.8<!-- 05/masking row="highest, 1 a layer" metric=ROUGE-1 -percent:.1f --> %.** With
# the three least important off it falls by **1.1**<!-- 05/masking row="lowest, 3 a layer" metric=ROUGE-1 -percent:.1f --> %.
# Our rule allows `1` %, too close to tell.<!-- holds: 05/masking row="lowest, 3 a layer" metric=ROUGE-1 percent_low < -1
# --><!-- holds: 05/masking row="lowest, 3 a layer" metric=ROUGE-1 percent_high > -1 -->

# %% [markdown]
# ## Links in idle heads
#
# A head computes $\mathrm{softmax}(Q K^T / \sqrt{d})\, V$. *Injection* puts $M$ in place of the softmax, in training and in
# writing. Two hooks of PyTorch do it:

# %% tags=["method"]
kind, layer, head = idle[-1]
encoder, values = model.get_encoder(), []
attention, tokens_in = encoder.layers[layer].self_attn, torch.tensor([ids], device=model.device)
columns = slice(head * attention.head_dim, (head + 1) * attention.head_dim)  # of this head, among those of all heads


def attend_by_links(module, inputs):  # what goes into the output projection: the outputs of all heads, side by side
    outputs = inputs[0].clone()
    outputs[..., columns] = M.to(outputs) @ values[-1][..., columns]  # M V in place of softmax(Q K^T / sqrt(d)) V
    return (outputs,)


hooks = [attention.v_proj.register_forward_hook(lambda module, inputs, output: values.append(output))]
hooks += [attention.out_proj.register_forward_pre_hook(attend_by_links)]
with torch.no_grad():
    mine = encoder(tokens_in).last_hidden_state
    for hook in hooks:
        hook.remove()
    with coreference.injected(model, [(kind, layer, head)], coreference.linked(ids, clusters)):
        print(study.compare(mine, encoder(tokens_in).last_hidden_state, 1e-4))

# %% [markdown]
# `coreference.injected` does it for many heads and whole batches ([use](../docs/use.md)). With it we train `200` steps more,
# with true links in idle heads or with *shuffled* ones, dealt at random among the same mentions.

# %% tags=["method"]
from helpers.corpora import tokens
from helpers.runs import training
from helpers.scores import scoring


def train_with_links(start, given, steps, dialogues, summaries, seed):
    scores, sizes = [], {"train": dialogues, "dev": 100, board.split: summaries}
    for name, (heads, kind) in given.items():
        model, links = runs.opened(start), coreference.Links()
        for split, size in sizes.items():
            resolved = runs.clusters_of(text.folder, split, kind)
            for pair, clusters in zip(text.pairs(split)[:size], resolved, strict=False):
                ids, words = text.source.encode(pair.source), text.source.word_ids(pair.source, pair.words)
                links.add(ids, coreference.sparse(coreference.tokens_of(clusters, words), len(ids), "full"))
        train = tokens.epochs(text.train.part(range(dialogues)), text.source.pad, 2048, seed, model.device)
        rate = {"learning_rate": 2e-3, "warmup": steps // 10, "cooldown": 0.5}
        plan = run.settings["training"] | rate | {"steps": steps, "evaluate_every": steps}
        pairs = text.pairs(board.split)[:summaries]
        with coreference.injected(model, [tuple(head) for head in heads], links):
            training.fit(model, train, text.held_out(4096, 100, model.device), plan)
            texts = training.translate(model, [pair.source for pair in pairs], text.source, text.target)
        rouge = scoring.rouge_statistics(texts, [pair.target for pair in pairs])[:, 0]
        events = injection.right_people(texts, board.dialogues[:summaries])
        scores.append(pd.DataFrame({"links": name, "ROUGE-1": rouge, "events": events}))
    return pd.concat(scores)

# %%
given = {"no injection": [[], "none"]} | {injection.named(kind): [idle, kind] for kind in (truth, f"{truth}+shuffled")}
few = {"steps": max(10, 2 * plan["summarization"]["further"] // 5), "summaries": min(300, len(board.dialogues))}
few["dialogues"] = plan["summarization"]["train"] // 15 or 1000
one = run.stored(train_with_links, runs.run(plain), start=plain, given=given, seed=seed, **few)  # scores of each dialogue
table = injection.gains(one, "links", repeats)
table[table.metric == "ROUGE-1"].set_index("links").drop(columns="metric").round(1)

# %% [markdown]
# Now in full: five models from different starting weights, links in their last `500` steps. A *resolver*, a program of rules,
# guesses links. *Probing*, the paper's rival to importance, takes heads that attend most like links. Bars are now over
# trainings.

# %%
seeds, folder = run.table(injection.over_seeds(boards, list(parts["main"])), "seeds"), study.ROOT / "figures"
further = injection.side_by_side_means(pd.read_csv(folder / "regimes" / "linked.csv"))
run.table(further, "further", over="trainings")
gained = injection.by_place(seeds, board.rows, further)
above = "ROUGE-1, points above the same training without links"
figure = plots.dots(gained, "what", "change", group="group", label=above)
run.figure(figure, "injection", "What links gain, by whose they are and by the heads that have them.", table="seeds")

# %% [markdown]
# **In our summarizer links in idle heads help.** True ones bring **1.9**<!-- 05/seeds row="injected, lowest, gold"
# metric=ROUGE-1 change:.1f --> points, the resolver's **0.5**<!-- 05/seeds row="injected, lowest" metric=ROUGE-1 change:.1f
# -->, shuffled ones nothing.<!-- holds: 05/seeds row="injected, lowest, rule+shuffled" metric=ROUGE-1 change < 0 --><!-- holds:
# 05/against_controls control="injected, lowest, rule+shuffled" metric=ROUGE-1 change_low > 0.3 --> Probing loses.<!-- holds:
# 05/seeds row="injected, probing" metric=ROUGE-1 change_high < 0 --> Whether idle heads beat random ones, we cannot tell.<!--
# holds: 05/against_controls control="injected, random" metric=ROUGE-1 change_low < 0 --><!-- holds: 05/against_controls
# control="injected, random" metric=ROUGE-1 change_high > 0 --> In five more trainings, each with a draw
# of its own, idle heads gain **0.4**<!-- regimes/drawn metric=ROUGE-1 change:.1f --> more, which may be chance.<!-- holds:
# regimes/drawn metric=ROUGE-1 change_low < 0 -->

# %% [markdown]
# ## One summary mended, one spoiled
#
# First our dialogue, the one that the resolver's links mend best. Then the one that they spoil most, with its guesses in
# brackets.

# %%
print("with the resolver's links =>", board.written(runs.MAIN)[place], end="\n\n")
spoiled = injection.best_example(board, runs.PLAIN, runs.MAIN)
print(injection.example(board, by, spoiled, [runs.PLAIN, runs.MAIN]))

# %% [markdown]
# Now *lirom* sells the chair. In the second dialogue the resolver misses that *him* is *pefed*, and *lolosera* gives the bread
# to herself. About the ring the links are right, the summary is not. Over all test dialogues **54**<!-- 05/seeds
# row="injected, lowest" metric=events value:.0f --> % of *events* (who does what to whom) have the right people, without links
# **51**<!-- 05/seeds row=plain metric=events value:.0f --> %.<!-- holds: 05/seeds row="injected, lowest" metric=events
# change_low > 0 -->

# %% [markdown]
# ## Or mixed into whole layers?
#
# The authors' [code of 2021](https://arxiv.org/abs/2106.08556) can also *mix* links into what a layer puts out: $H$ becomes
# $0.7H + 0.3MH$. This changes a layer's whole output, injection one head of eight. As shipped, it mixes in the upper third of
# the layers, here the last.

# %%
figure = plots.dots(injection.mixed(seeds, further), "what", "change", group="group", label=above)
run.figure(figure, "mixing", "What links gain, mixed into layers and in idle heads.", table="further")

# %% [markdown]
# **Mixed into every layer of our summarizer, the resolver's links gain 1.7<!-- 05/further where="mixed, every layer"
# links=resolver mean:.1f --> points, in idle heads 0.4<!-- 05/further where="idle heads" links=resolver mean:.1f -->.**<!--
# holds: 05/further where="mixed, every layer" links=resolver low > 0.74 --> Mixing shuffled ones loses.<!-- holds: 05/further
# where="mixed, every layer" links="resolver, shuffled" high < 0 --> Mixing in the last layer alone has no clear gain.<!--
# holds: 05/seeds row="layer of its own, upper" metric=ROUGE-1 change_low < 0 --> True links were not mixed.

# %% [markdown]
# ## And in a pretrained model?
#
# SmolLM2 learns to summarize from `1,600` real dialogues (SAMSum). Then come `480` more, without links or with links in the
# least important head of each layer, in three trainings. It cannot look ahead, so a mention looks at the one before.

# %%
differences = injection.link_differences(pd.read_csv(folder / "pretrained" / "link_gains.csv"))
figure = plots.dots(differences, "what", "change", panel="metric", label="change by the resolver's links", sharex=False)
run.figure(figure, "smollm2", "What the resolver's links change in SmolLM2.")

# %% [markdown]
# **In SmolLM2 we see no gain.** The resolver's links raise the loss by **0.077**<!-- pretrained/link_gains
# minus_links="no links" metric=loss change:.3f --> nats, **0.010**<!-- pretrained/link_gains minus_links=shuffled
# metric=loss -change:.3f -->
# less than shuffled ones.<!-- holds: pretrained/link_gains minus_links=shuffled metric=loss high < 0 --> About ROUGE-1 we
# cannot tell.<!-- holds: pretrained/link_gains minus_links="no links" metric=ROUGE-1 low < 0 --><!-- holds:
# pretrained/link_gains minus_links="no links" metric=ROUGE-1 high > 0 --><!-- holds: pretrained/link_gains minus_links=shuffled
# metric=ROUGE-1 low < 0 -->
#
# But on other texts switching off the least important head of each layer costs SmolLM2 **0.085**<!-- pretrained/idle random=
# k=1 change:.3f --> nats. Such heads are hardly idle, and the loss may rise only because it misses them.

# %% [markdown]
# ## What this does not show
#
# Of the paper we could read only the abstract. Its numbers are second-hand, from web pages that we did not keep. Our dialogues
# are made so that a summary depends on who is meant. On real ones (SAMSum) a small BART keeps its ROUGE-1 without any encoder
# head, so it can answer nothing.<!-- holds: natural/05/masking row="lowest, 8 a layer" order=lowest metric=ROUGE-1 percent > 0
# --> SmolLM2 had `60` steps to get used to links.
#
# *Cannot tell*: not all numbers of a claim are clearly for it, and none clearly against ([rules](../claims.toml)).

# %%
run.table(injection.against_controls(boards, list(parts["main"])), "against_controls", resamples=repeats)
after = injection.importance_after(boards, list(injection.ranked_after(parts)), plan["probe"])
run.table(injection.matter_more(after), "matter_more")
claims.show(run, europarl="SAMSum", pretrained="SmolLM2")

# %% [markdown]
# ## Change one line
#
# - *Which heads are idle?*: write `50` for `plan["probe"]` (`200` dialogues). The same heads are idle. Seconds.
# - *Links in idle heads*: write `by` for each `truth` in `given`, to train with the resolver's links. Expect less than from
#   true ones (not run). Half an hour on two cores.
