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
# Some attention heads hardly matter. Call them *idle*. Liu & Chen 2023 give those of a summarizer a job: they follow *links*,
# between all mentions of a person ("Ann", "I", "she"). This is said to raise ROUGE-1, the share of words in common with the
# right summary, by `1.6` %. We could read only the [abstract](https://arxiv.org/abs/2312.09541). The numbers are second-hand,
# from web pages we did not keep. So we ask whether links help at all, not how much.
#
# - In idle heads of our small summarizer true links bring **1.9**<!-- 05/seeds row="injected, lowest, gold" metric=ROUGE-1
#   change:.1f --> points, links that a program guesses **0.5**<!-- 05/seeds row="injected, lowest" metric=ROUGE-1 change:.1f
#   -->, and links dealt at random none.<!-- holds: 05/seeds row="injected, lowest, rule+shuffled" metric=ROUGE-1 change < 0 -->
# - *Mixed* into every layer, guessed links bring **1.7**<!-- 05/further metric=ROUGE-1 where="mixed, every layer"
#   links=resolver mean:.1f -->. It matters which links they are, and how they are put in.<!-- holds: 05/further metric=ROUGE-1
#   where="idle heads" links="true links" low > where="idle heads" links=resolver high --><!-- holds: 05/further metric=ROUGE-1
#   where="mixed, every layer" links=resolver low > where="idle heads" high -->
# - Put into the most important heads, links do harm, perhaps since these are overwritten.<!-- holds: 05/seeds
#   row="injected, highest" metric=ROUGE-1 change_high < 0 --> Whether idle heads gain more than random ones, we cannot
#   tell.<!-- holds: 05/against_controls control="injected, random" metric=ROUGE-1 change_low < 0 --><!-- holds: regimes/drawn
#   metric=ROUGE-1 change_low < 0 -->
# - In SmolLM2, a pretrained model, links raise the loss.<!-- holds: pretrained/link_gains minus_links="no links" metric=loss
#   low > 0 --> About its ROUGE-1 we cannot tell.<!-- holds: pretrained/link_gains minus_links="no links" metric=ROUGE-1 low < 0
#   and high > 0 -->

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
# Mentions of one person or thing share a number. Below the dialogue stand the right summary, the *reference*, and that of our
# model, a small BART (`3` encoder layers of `8` heads, width `128`) trained from scratch on `60,000` generated dialogues.

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
# As a matrix $M$, links have a row for each token. A mention looks equally at all mentions of its person, any other token at
# itself.

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
places = [token for cluster in clusters for token in cluster]  # person by person
names = {token: f"{text.source.pieces(ids)[token].strip('▁')} ({token})" for token in places}
cells = [(names[a], names[b], float(M[a, b])) for a in places for b in places]
figure = plots.heat_map(pd.DataFrame(cells, columns=["mention", "looks at", "weight"]), "looks at", "mention", "weight")
run.figure(figure, "matrices", "The links of the dialogue: each mention looks equally at all mentions of its person.")

# %% [markdown]
# ## Which heads are idle?
#
# The paper's summarizer is said to lose `0.5` % without idle heads. To find ours, multiply what a head puts out by $\xi$,
# normally one. Its *importance* is how strongly the loss $L$ reacts, $\mathbb{E}\,|\partial L / \partial \xi|$, a mean over
# dialogues ([code](06_do_measures_agree.ipynb)), divided by its norm over the layer. *Idle* is a rank: the least important head
# of each layer.

# %%
model = runs.opened(plain)
importance = measures.importance(model, text.held_out(4096, plan["probe"], model.device), "encoder")
idle = coreference.choose(importance, order="lowest")
shown = importance.map("{:.2f}".format)
shown.loc[idle] += " idle"
measured.from_one(shown.to_frame()).importance.unstack("head")

# %%
masks = run.table(injection.masking(board, parts["masks"]), "masking", resamples=repeats)
axes = ("heads of each layer that are off, without training", "ROUGE-1, change in %\n(grey: the paper's 0.5 %)")
figure = plots.curve(injection.masking_curves(masks), "number", "percent", "order", band=(-0.5, 0), falling=False, labels=axes)
run.figure(figure, "masking", "What switching off heads of each layer costs (lines: means).", resamples=repeats)

# %% [markdown]
# Bars, like *low* and *high* below, are `95 %` intervals over dialogues.
#
# **Without the idle head of each layer ROUGE-1 falls by 0.2<!-- 05/masking row="lowest, 1 a layer" metric=ROUGE-1 -percent:.1f
# --> %, without the most important one by 4.8<!-- 05/masking row="highest, 1 a layer" metric=ROUGE-1 -percent:.1f --> %.**

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
# `coreference.injected` does it for whole batches ([use](../docs/use.md)). The function below trains a copy of the model with
# links, lets it write, and scores that by ROUGE-1 and the share of *events* (who does what to whom) with the right people. Here
# idle heads get true links, or *shuffled* ones, dealt at random among the same mentions. It trains for `200` steps on `4,000`
# dialogues and scores `300` others.

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
injection.gains(one, "links", repeats).set_index(["links", "metric"]).round(1)

# %% [markdown]
# Now five models from different starting weights, with links in the last `500` of `7,000` steps. A *resolver*, a program of
# rules, guesses links (CoNLL F1: **93**<!-- regimes/linked seed=6 row="injected, lowest" metric=ROUGE-1 conll:.0f -->). *Each
# token at itself* is injection without any link, *off* means in training and in writing. *Probing*, the paper's rival to
# importance, takes heads that attend most like links. *Random* heads are one draw.

# %%
seeds, folder = run.table(injection.over_seeds(boards, list(parts["main"])), "seeds"), study.ROOT / "figures"
further = injection.side_by_side_means(pd.read_csv(folder / "regimes" / "linked.csv"))
run.table(further, "further", over="trainings")
gained, look = injection.by_place(seeds, board.rows), {"group": "group", "panel": "panel", "sharex": False}
figure = plots.dots(gained, "what", "change", label="more than without injection", **look)
run.figure(figure, "injection", "What links gain, by whose they are and by the heads that have them.", table="seeds")

# %% [markdown]
# Bars are now over trainings. A point of ROUGE-1 is one name put right in every fifth or sixth summary of `18` words.
#
# **In our summarizer links in idle heads help.** With true ones **61**<!-- 05/seeds row="injected, lowest, gold" metric=events
# value:.0f --> % of events have the right people, without injection **51**<!-- 05/seeds row=plain metric=events value:.0f -->
# %. The resolver's raise ROUGE-1 by **0.6**<!-- 05/seeds row="injected, lowest" metric=ROUGE-1 percent:.1f --> % and bring more
# right events.<!-- holds: 05/seeds row="injected, lowest" metric=events|ROUGE-1 change_low > 0 --> Shuffled links cost some
# right events, each token at itself about as many.<!-- holds: 05/seeds
# row="injected, lowest, rule+shuffled|injected, lowest, no links" metric=events|ROUGE-2 change_high < 0 --><!-- holds: 05/seeds
# row="injected, lowest, rule+shuffled" metric=events change_low < row="injected, lowest, no links" change and change_high >
# row="injected, lowest, no links" change --> Heads that are off cost nothing we can see.<!-- holds: 05/seeds
# row="masked, lowest" metric=ROUGE-1|events change_low < 0 and change_high > 0 --><!-- holds: 05/against_controls
# control="injected, lowest, rule+shuffled" metric=ROUGE-1 change_low > 0.3 -->
#
# **Whether the heads must be idle, we cannot tell.** In the most important ones links lose,<!-- holds: 05/seeds
# row="injected, highest" metric=ROUGE-1|events change_high < 0 --> and so they do, in ROUGE-1, in heads that probing chose.<!--
# holds: 05/seeds row="injected, probing" metric=ROUGE-1 change_high < 0 --> But random ones may gain as much,<!-- holds:
# 05/against_controls control="injected, random" metric=ROUGE-1|events change_low < 0 and change_high > 0 --> in
# [five more trainings](../docs/regimes.md) too.<!-- holds: regimes/drawn metric=ROUGE-1 change_low < 0 and change_high > 0 -->

# %% [markdown]
# ## One summary mended, one spoiled
#
# First our dialogue with the resolver's links, the shortest of `17` in `1,000` that gain two right events, then the shortest of
# `4` that lose two.

# %%
print(injection.example(board, by, place, [runs.MAIN]), end="\n\n")
spoiled = injection.best_example(board, runs.PLAIN, runs.MAIN)
print(injection.example(board, by, spoiled, [runs.PLAIN, runs.MAIN]))

# %% [markdown]
# Now *lirom* sells the chair. In the second *him* is linked to *son* but not to *pefed*, and *lolosera* gives the bread to
# herself. *Ronisa* loses the ring, although *she* is rightly linked to *lolosera*.

# %% [markdown]
# ## Why do guessed links gain so little?
#
# Do wrong links harm while the model learns, or while it reads?
# [Five more trainings](../docs/regimes.md#wrong-links-in-training-and-in-reading) read both kinds:

# %%
crossed = pd.read_csv(folder / "regimes" / "crossed.csv")  # links of training and links that are read; their differences, too
four = crossed[crossed["trained on"].isin(["resolver's", "true"]) & (crossed.reads != "difference")]
four = four.assign(links="trained on " + four["trained on"] + " links", what="reads " + four.reads + " links")
figure = plots.dots(four, "what", "change", panel="links", label="ROUGE-1 more than\nwithout injection")
run.figure(figure, "crossed", "What links gain by those of training and those that the trained model reads.")

# %% [markdown]
# **It depends on both.** Trained on true links, a model gains **1.7**<!-- regimes/crossed "trained on"=true reads=true
# change:.1f --> by true ones and nothing that we can see by guesses.<!-- holds: regimes/crossed "trained on"=true
# reads="resolver's" low < 0 and high > 0 --> Trained on guesses it gains **0.7**<!-- regimes/crossed "trained on"="resolver's"
# reads="resolver's" change:.1f --> by guesses,<!-- holds: regimes/crossed "trained on"="resolver's" reads="resolver's" low > 0
# --> and by true ones hardly more.<!-- holds: regimes/crossed "trained on"="resolver's" reads=difference change < 0.3 --> So a
# model that learned with guesses gains little by any links. Train on such links as you will have.

# %% [markdown]
# ## Or mixed into whole layers?
#
# The authors' [code of 2021](https://arxiv.org/abs/2106.08556), as shipped, *mixes* links into the whole output of the upper
# third of layers, here the last, and only between neighbouring mentions. Ours join all: $H$ becomes $0.7H + 0.3MH$. In the last
# layer alone ROUGE-1 does not clearly gain.<!-- holds: 05/seeds row="layer of its own, upper" metric=ROUGE-1 change_low < 0 and
# change_high
# > 0 --> In three further trainings:

# %%
figure = plots.dots(injection.mixed(seeds, further), "what", "change", label="more than without injection", **look)
run.figure(figure, "mixing", "What links gain, mixed into layers and in idle heads.", table="further")

# %% [markdown]
# **Mixed into every layer of our summarizer, the resolver's links gain 1.7<!-- 05/further metric=ROUGE-1
# where="mixed, every layer" links=resolver mean:.1f --> points, in idle heads 0.4<!-- 05/further metric=ROUGE-1
# where="idle heads" links=resolver mean:.1f -->.**<!-- holds: 05/further metric=ROUGE-1 where="mixed, every layer"
# links=resolver low > where="idle heads" high --> In idle heads true links bring **1.4**<!-- 05/further metric=ROUGE-1
# where="idle heads" links="true links" mean:.1f -->.<!-- holds: 05/further metric=ROUGE-1 where="idle heads" links="true links"
# low > links=resolver high --> But mixed in, the guesses gain about as much.<!-- holds: 05/further metric=ROUGE-1
# where="mixed, every layer" links=resolver low < where="idle heads" links="true links" mean and high > where="idle heads"
# links="true links" mean --> Both put links into every layer, injection into one head of eight, mixing into all that the layer
# puts out. Whether that is why, we cannot tell. Shuffled links, mixed in, lose **1.5**<!-- 05/further metric=ROUGE-1
# where="mixed, every layer" links="resolver, shuffled" -mean:.1f -->.<!-- holds: 05/further metric=ROUGE-1
# where="mixed, every layer" links="resolver, shuffled" high < 0 -->

# %% [markdown]
# ## And in a pretrained model?
#
# SmolLM2 learns to summarize from `1,600` real dialogues (SAMSum), then from `480` more, without injection or with links in the
# least important head of each layer, in three trainings. It cannot look ahead, so a mention looks at the one before. Without
# injection its ROUGE-1 is **47**<!-- pretrained/linked heads=none seed=1 "ROUGE-1":.0f -->.

# %%
tables = [pd.read_csv(folder / "pretrained" / f"{name}_gains.csv") for name in ("link", "nobody")]
figure = plots.dots(injection.link_differences(*tables), "what", "change", panel="metric", label="difference", sharex=False)
run.figure(figure, "smollm2", "What links change in SmolLM2.")

# %% [markdown]
# *Links of nobody*: these heads look at the first token alone, in summarizers trained anew.
#
# **In SmolLM2 links raise the loss; about ROUGE-1, which the verdict asks for, we cannot tell.**<!-- holds:
# pretrained/link_gains minus_links="no links" metric=ROUGE-1 low < 0 and high > 0 --><!-- holds: pretrained/link_gains
# minus_links=shuffled metric=ROUGE-1 low < 0 --> With the resolver's the loss is **0.077**<!-- pretrained/link_gains
# minus_links="no links" metric=loss change:.3f --> nats higher than without injection. Most of that needs no links: with links
# of nobody it is already **0.057**<!-- pretrained/nobody_gains links="first token" metric=loss change:.3f --> higher.<!--
# holds: pretrained/nobody_gains links="first token" metric=loss low > 0 --> So SmolLM2 misses what even its least important
# heads looked at. The resolver's links have a higher loss than those of nobody,<!-- holds: pretrained/nobody_gains links=rule
# metric=loss low > 0 --> but a lower one than shuffled ones.<!-- holds: pretrained/link_gains minus_links=shuffled metric=loss
# high < 0 -->

# %% [markdown]
# ## What this does not show
#
# Our dialogues are made so that a summary depends on who is meant. On real ones (SAMSum) a small BART keeps its ROUGE-1 without
# any encoder head, so it can answer nothing.<!-- holds: natural/05/masking row="lowest, 8 a layer" order=lowest metric=ROUGE-1
# percent > 0 -->

# %%
run.table(injection.against_controls(boards, list(parts["main"])), "against_controls", resamples=repeats)
after = injection.importance_after(boards, list(injection.ranked_after(parts)), plan["probe"])
run.table(injection.matter_more(after), "matter_more")
claims.show(run, europarl="SAMSum", pretrained="SmolLM2")

# %% [markdown]
# ## Change one line
#
# *Which heads are idle?*: write `"highest"` for `"lowest"`. To be quick, put `few = {"steps": 50, "dialogues": 1000,
# "summaries": 100}` for the two lines of `few` further down. In the most important heads `34` % of events are right, in idle
# heads `49` %, without injection `44` %. Ten minutes on a busy core.
