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
# # 3 · How many attention heads can go?
#
# [← notebook 2, head functions](02_head_functions.ipynb) · [notebook 4, grouped heads →](04_grouped_heads.ipynb) · [all
# claims](../docs/results.md) · [figures](../figures/README.md)
#
# Section 6 of Voita et al. 2019 ([arXiv 1905.09418](https://arxiv.org/abs/1905.09418)).
#
# A translator's *encoder heads* read the source, *decoder heads* the translation, *cross-attention heads* the source
# from the decoder. The paper gates every head of a trained model and puts a price, the *penalty*, on open gates. It reports
# that `38` of `48` encoder heads can go for `0.15` BLEU; that heads with a *function* (they look at a neighbour, a syntactic
# relation or a rare word) stay; and that a pruned model beats its *head map*, the heads left by layer, trained from scratch.
#
# We prune models of generated text (made by rules) and natural text.

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

run = study.begin("03_l0_pruning", globals())
print(run.summary(), sources(run), sep="\n")

# %% jupyter={"source_hidden": true}
import copy
import math

import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown, display

from helpers import drawing, heads
from helpers.measures import ranks, snapshots, worth
from helpers.methods import l0
from helpers.methods.l0 import said
from helpers.publish import claims, pages
from helpers.reading import folded, frames, listed, number, readable
from helpers.runs import subjects
from helpers.scores import intervals
from helpers.study import layout

drawing.style()
torch.manual_seed(seed)
names, repeats = subjects.names(run.settings, models), run.settings["bootstrap"]
sweeps = l0.runs.sweeps(run.settings, names, seed, pretrained)
studied = [subjects.of_spec(sweep["start"], sweep["name"], parser) for sweep in sweeps]
encoder = [(sweep, subject) for sweep, subject in zip(sweeps, studied, strict=True) if sweep["kinds"] == ["encoder"]]
every = [(sweep, subject) for sweep, subject in zip(sweeps, studied, strict=True) if sweep["kinds"] != ["encoder"]]
own = list(dict.fromkeys(next(iter(subject.tests)) for subject in studied))  # what sentences tell of; tables have all test sets
alike = [subject for _, subject in encoder if "+" not in subject.name]  # siblings differ in size
other = next(track for track in layout.TRACKS if track != run.corpus)
committed = layout.Chapter(study.ROOT / "figures" / other / run.name)
of_study = snapshots.said_of_study(alike, run.settings["pruning"]["beam"]).partition(":")
print(listed(dict.fromkeys(subject.title for subject in alike)) + "".join(of_study[1:]), said.sizes(studied), sep="\n")
stored, summaries, decoders = {}, {}, {subject.title: said.decoder_of(subject) for subject in studied}
if committed.shared.exists():  # published runs of the other text, and in summaries of further models
    profile_of, there = study.read_json(committed.shared)["parameters"]["profile"], said.TEXTS[other]
    tables = {path.stem.partition("_")[2]: path for path in sorted((committed.folder / "tables").glob("encoder_*.csv"))}
    titles = {name: there if len(tables) == 1 else f"{there}, {subjects.title(name).removesuffix(' local')}" for name in tables}
    stored = {titles[name]: pd.read_csv(path, index_col=["run", "test set"]) for name, path in tables.items()}
    decoders |= {titles[name]: said.decoder_in(profile_of, name) for name in tables}
    further = {"natural, Europarl, deep decoder": "europarl-deep-decoder", "natural, documentation": "techdocs"}
    for title, name in further.items() if other == "natural" else ():
        path, text = study.ROOT / "figures" / "summaries" / f"{name}.csv", name.partition("-")[0]
        summaries[title], decoders[title] = l0.tables.summarised(path, text), said.decoder_in(text, name)
    print(f"{other.capitalize()} text in tables and figures below is from published runs (profile {profile_of} and summaries).")

# %%
verdicts = claims.Box(run)
judged_there = [one for one in claims.judge(other) if one.claim.chapter == run.name] if committed.shared.exists() else []

# %% [markdown]
# ## How do gates find the heads that can go?
#
# A gate $g_h$ between zero and one multiplies what head $h$ puts out. While training, gates are drawn at random for every batch
# from the Hard Concrete distribution. Noise goes through a sigmoid with a learned location $\phi_h$ (`log_alpha` in code), is
# stretched a little beyond zero and one, and clipped. So a gate can be exactly zero or one, and its location still has a
# gradient. The loss puts a price $\lambda$ on every gate that may be open:
#
# $$L(\theta, \phi) = L_{xent}(\theta, \phi) + \lambda \sum_h \left(1 - P(g_h = 0 \mid \phi_h)\right)$$
#
# The next cell prunes our first model in this way: one batch, a few steps, and gates alone learn.

# %% tags=["method"]
model = copy.deepcopy(studied[0].model).eval().requires_grad_(False)  # a trained model
batch = {name: studied[0].batches(1024)[0][name] for name in ("input_ids", "attention_mask", "labels")}
outs = [layer.self_attn.out_proj for layer in model.get_encoder().layers]
per_layer, size = model.config.encoder_attention_heads, model.get_encoder().layers[0].self_attn.head_dim
log_alpha = torch.full((len(outs), per_layer), 2.0, device=model.device, requires_grad=True)  # almost open
temperature, low, high, price = 0.33, -0.1, 1.1, 0.02  # price: the lambda of the formula


def loss_under(gates):  # each head's numbers times its gate, before the output projection mixes heads
    pairs = zip(outs, gates, strict=True)
    hooks = [out.register_forward_pre_hook(lambda _, x, g=g: x[0] * g.repeat_interleave(size, -1)) for out, g in pairs]
    loss = model(**batch).loss
    for hook in hooks:
        hook.remove()
    return loss


def objective(noise):  # L = L_xent + lambda * sum of P(g != 0)
    s = torch.sigmoid((torch.logit(noise) + log_alpha) / temperature) * (high - low) + low  # noise -> sigmoid -> stretch
    return loss_under(s.clamp(0, 1)) + price * torch.sigmoid(log_alpha - temperature * math.log(-low / high)).sum()


adam = torch.optim.Adam([log_alpha], lr=0.3)
for _ in range(20):
    adam.zero_grad()
    objective(noise := torch.rand_like(log_alpha)).backward()
    adam.step()
project = l0.HardConcrete(log_alpha, temperature)
with heads.gate(model, {("encoder", layer): gates for layer, gates in enumerate(project.sample(noise))}):
    theirs = model(**batch).loss + price * project.expected()  # the same by the library that the study uses
torch.testing.assert_close(objective(noise), theirs, rtol=1e-5, atol=1e-6)

# %% jupyter={"source_hidden": true}
stay = (log_alpha > 0).float()  # more likely fully open than closed
batch = {
    name: studied[0].batches(1024)[-1][name] for name in batch
}  # of other sentences than those that the gates learned from
with torch.no_grad():
    drawn = [stay.flatten()[torch.randperm(stay.numel())].view_as(stay) for _ in range(20)]
    before, after, *others = [float(loss_under(gates)) for gates in (torch.ones_like(stay), stay, *drawn)]
    display(Markdown(said.learned(stay, before, after, others)))

# %% [markdown]
# **Slide the location** from a closed gate to an open one. Left: what is drawn in training. Right: the price of the gate in
# units of $\lambda$ (solid), and the gate without noise (dashed).

# %% jupyter={"source_hidden": true}
plan = run.settings["pruning"]
line, curve, started = np.linspace(-6, 6, 13), np.linspace(-6, 6, 49), float(np.mean(plan["start"]))
gates = (l0.figures.gate_and_price(l0.HardConcrete(torch.tensor(float(a)), plan["temperature"]), curve) for a in line)
first = int(np.abs(line - started).argmin())
display(frames(gates, "log α", start=first, dpi=100, places=[f"{a:g}" for a in line]))
distributions = [l0.HardConcrete(torch.tensor(location), 0.5) for location in (0.0, 2.0, -3.0)]  # the paper's
run.figure(
    l0.figures.hard_concrete(distributions),
    "fig6_hard_concrete",
    caption="The Hard Concrete distribution at several locations.",
    answers="Voita et al., figure 6",
    show=False,
)

# %% [markdown]
# In a real run the encoder's weights learn along with the gates, for many more steps. A head stays if its gate ends more likely
# fully open than closed. A cell below is a head of the first model.

# %% jupyter={"source_hidden": true}
titles = [f"{subject.title}: {said.asked(sweep['kinds'])}" for sweep, subject in zip(sweeps, studied, strict=True)]
quality = {}
for title, sweep, subject in zip(titles, sweeps, studied, strict=True):
    kinds = "encoder" if sweep["kinds"] == ["encoder"] else "all_kinds"
    worths = l0.tables.worth(sweep, subject, l0.tables.without_attention(sweep, names[0]), repeats)
    quality[title] = l0.tables.quality(sweep, subject, repeats).join(worths)
    run.table(quality[title], f"{kinds}_{sweep['name']}", resamples=repeats)
of_encoder = {subject.title: quality[title] for title, (_, subject) in zip(titles, encoder, strict=False)}
trained = {title: [table] for title, table in of_encoder.items()}
for sweep in l0.runs.further(run.settings, names, seed, pretrained):
    if sweep["kinds"] == ["encoder"]:
        subject = subjects.of_spec(sweep["start"], sweep["name"], parser)
        table = l0.tables.quality(sweep, subject, repeats).join(l0.tables.worth(sweep, subject, repeats=repeats))
        trained[subject.title].append(table)
by_seed = {(title, number): table for title, found in trained.items() for number, table in enumerate(found, seed)}
run.table(pd.concat(by_seed, names=["model", "seed"]), "trainings", resamples=repeats)
of_models = {title: l0.tables.over_trainings(found) for title, found in trained.items()}
sweep, subject = encoder[0]
traces, kept = l0.tables.closings(sweep)
settled = pd.concat({title: l0.tables.settled(table) for title, table in quality.items()}, names=["model"])
run.table(settled, "gates_settled")
run.figure(
    l0.figures.gate_closing({price: traces[price] for price in [*traces][::2]}, kept, steps=2, model=subject.title),
    "gate_closing",
    caption="Gates of encoder heads close while the penalty acts, step by step.",
    takeaway=f"The price decides how many heads stay: of {traces[min(traces)].shape[1]} in {subject.title}"
    f" {max(kept.values())} at the lowest and {min(kept.values())} at the highest.",
    model=sweep["name"],
)
run.animation(
    l0.figures.gate_closing_animation(traces, kept=kept),
    "gate_closing_animation",
    caption="Gates close, as an animation.",
    table="gates_settled",
    model=sweep["name"],
    show=False,
)
told = "Only the encoder's layers learn where encoder heads alone have gates. The paper also trains the source embeddings; ours"
told += " are tied to the output layer and stay frozen. λ multiplies the sum over heads, as in the formula; the public code"
told += " averages over gated layers, so that its `concrete_coef` is λ times their number."
animated = "[as an animation](../figures/controlled/03_l0_pruning/gate_closing_animation.gif)"
told += f" Gates start at log α = {started:g} with a temperature of {plan['temperature']:g} (all penalties {animated})."
told += f" {subject.title}: λ = {listed(f'{price:g}' for price in traces)}; {plan['steps']} steps, learning rate"
told += f" {plan['learning_rate']:g}, of gates {plan['gate_rate']:g}."
display(folded("More: penalties and training", told))

# %% [markdown]
# ## How much of what attention adds is left?
#
# A loss of BLEU means little until we know what the heads are worth. Losses are told against the *unpruned model*, which
# keeps all heads and is trained on for as long. Two yardsticks stand at the other end. One removes all encoder heads from the
# trained model and trains the rest on; the verdict counts from it, and where that costs little, the model is *hollow* and has
# none. The other, harder to keep up with, was *trained without* encoder heads from its first step.

# %% jupyter={"source_hidden": true}
run.table(pd.concat(of_encoder, names=["model"]), "fig7_bleu_by_heads", resamples=repeats)
run.figure(
    l0.figures.pruning_curves(l0.tables.curve_points(of_encoder)),
    "fig7_bleu_by_heads",
    caption="BLEU by the number of encoder heads that L0 pruning keeps.",
    answers="Voita et al., figure 7",
    resamples=repeats,
    show=False,
)
every_text, of_first = of_models | stored | summaries, of_encoder | stored | summaries
run.table(l0.tables.beside_other_texts(every_text, first=of_first), "beside_other_texts")
half = run.table(l0.tables.half_left(of_models), "half_left", resamples=repeats)
points = l0.tables.beside_other_texts(every_text, first=of_first, alone=True)
run.figure(
    l0.figures.beside_other_texts(
        points[points.panel != l0.figures.OF_REMOVAL], text=f"{said.TEXTS[run.corpus]} text", decoders=decoders
    ),
    "fig7_beside_other_texts",
    caption="What pruning encoder heads costs, on generated and natural text and in the paper.",
    answers="Voita et al., figure 7",
    takeaway=said.without(of_encoder | stored),
    resamples=repeats,
    show=False,
)
within = {title: l0.tables.largest_pruning(table) for title, table in quality.items()}
run.table(pd.concat(within, names=["model"]), "largest_pruning", loss=l0.tables.LOSS, over=intervals.SENTENCES)
least, halves = claims.least_worth("most-can-go", run.corpus), l0.tables.half_left(every_text)
shown = {
    "model": "text and model (steps of training)",
    "decoder": "decoder",
    "gone": f"can go for {l0.tables.LOSS:g} BLEU (interpolated)",
    "heads": "first with half or fewer: heads left",
    "change": "BLEU minus unpruned",
}
shown |= {"share": "share kept, of BLEU lost when all are removed"}
shown |= {"never": "share kept, of BLEU lost when trained without"}
if len(halves):
    told = said.answer(halves.groupby("model", sort=False).head(1), run.corpus, decoders, least)  # its first test set
    display(readable(told, shown, caption="Encoder heads that can go, and the first pruning with half of them or fewer"))
    hollow = f"*Hollow*: less than {least:g} BLEU. Where a share's own interval is not published, it is that of the loss alone."
    beside = layout.Chapter(study.ROOT / "figures" / "controlled" / "02_head_functions").table("models_beside")
    display(Markdown(hollow + said.decoder_alone(pd.read_csv(beside)) if beside.exists() else hollow))

# %% [markdown]
# ## Does it take gates to choose the heads?
#
# L0 chooses heads and trains the rest at once. *Gradient importance* (Michel et al. 2019) chooses them before any training: it
# is the absolute slope of a sentence's summed loss by the head's gate, averaged over sentences. One backward pass gives it for
# all heads, by the function `loss_under` from above:

# %% tags=["method"]
ones = torch.ones(len(outs), len(batch["labels"]), 1, per_layer, device=model.device, requires_grad=True)  # by sentence
summed = loss_under(ones) * (batch["labels"] != -100).sum()  # the model's loss is the mean over target tokens
summed.backward()
importance = ones.grad.abs().mean(1).flatten()  # mean over sentences of |d loss / d gate|
# the same by the library that the study uses
theirs = torch.tensor(worth.importance(model, [batch], "encoder", norm=None).to_numpy())
torch.testing.assert_close(importance.cpu().double(), theirs, rtol=1e-3, atol=1e-5)
half = importance.argsort()[: len(importance) // 2].tolist()  # the less important half goes
smaller = heads.remove(copy.deepcopy(model), [("encoder", *divmod(head, per_layer)) for head in half])  # to be trained on

# %% [markdown]
# We remove as many heads as L0 did, those of least importance. We do the same by the loss without each single head, by
# relevance and confidence ([notebook 1](01_relevance_and_confidence.ipynb)), and at random. First nothing is trained
# afterwards:

# %% jupyter={"source_hidden": true}
if plan["compared"]:
    rivalled = [(sweep, subject) for sweep, subject in encoder if sweep["settings"]["pruning"]["compared"]]
    shots = {subject.title: l0.tables.one_shot_quality(sweep, subject, repeats) for sweep, subject in rivalled}
    run.table(pd.concat(shots, names=["model"]), "at_once", resamples=repeats, over=intervals.SENTENCES)
    at_once = pd.concat([l0.tables.removed_at_once(shot, title) for title, shot in shots.items()])
    at_once = at_once.assign(method=at_once.method.map(said.named))
    drawn = at_once[~at_once.method.str.startswith(said.named("gradient, token")) & ~at_once.method.str.endswith("by layer")]
    run.figure(
        l0.figures.methods_at_equal_heads(drawn, said.named("random"), l0.tables.ALL),
        "at_equal_heads",
        caption="BLEU of ways to choose as many heads as L0 keeps, removed at once, beside random heads and all heads.",
        takeaway=said.gone_at_once(drawn, plan["at_once"]),
        table="at_once",
        resamples=repeats,
    )
    of_losses = [pd.read_csv(path) for path in sorted((study.ROOT / "figures").glob("*/06_*/tables/removed_at_once.csv"))]
    whose = {*trained, *(pd.read_csv(committed.table("trainings")).model if stored else ())}
    display(Markdown(said.contest(of_losses, whose, set(drawn.method))))
else:
    print("Not in this run: the setting pruning.compared names no penalty.")

# %% [markdown]
# Then all are trained on alike, at the number of heads that L0 left at one penalty. To compare the choice alone, L0's own heads
# are also removed first and trained on like the others. *Gradual pruning* closes heads of least gradient importance one by one
# while training.

# %% jupyter={"source_hidden": true}
ways, worths = {}, {}  # at the first penalty, and by head
compared = [said.named(way) for way in ("gradient, example", "random", "confidence")]
for sweep, subject in encoder:
    found = l0.runs.scores(sweep["start"], run.settings["relevance"]).xs("encoder", drop_level=False)
    worths[subject.title] = found.assign(**{said.SURVIVAL: l0.tables.survival(sweep)})
run.table(pd.concat(worths, names=["model"]), "worth_of_heads", split="dev")
worths = {title: table.rename(columns=said.named) for title, table in worths.items()}
names_of_truths = [said.named(truth) for truth in ("leave-one-out", said.SURVIVAL)]
truths = {
    f"{truth}, {title}": ranks.correlations(table[truth], dict(table.drop(columns=truth).items()), kinds="encoder")
    for title, table in worths.items()
    for truth in names_of_truths
}
truths = run.table(pd.concat(truths, names=["truth", "criterion"]), "criteria_against_truths", over=intervals.HEADS)
for penalty in plan["compared"]:
    means = {subject.title: l0.tables.trained_on(of_models[subject.title], penalty) for _, subject in rivalled}
    run.table(pd.concat(means, names=["model"]), f"trained_on_{penalty:g}", resamples=repeats)
    shown = {"run": "heads chosen by", "bleu": "BLEU", "change": "minus unpruned"}
    for title, part in means.items():
        parts = [l0.tables.trained_on(table, penalty) for table in trained[title]]
        pooled, found = said.pooled(part, parts), said.choices([one[one.index.isin(own, "test set")] for one in parts])
        first = pooled[pooled.index.isin(own, "test set")]
        ways.setdefault(
            said.called(title, trained[title][0]), found.assign(left=first.heads.mean(), total=trained[title][0].total.iloc[0])
        )
        caption = f"{title}, {round(first.heads.mean()):.0f} heads left, trained on"
        display(readable(first, shown, {"bleu": ".1f", "change": "+.1f"}, caption=caption))
    for title, table in stored.items():
        part = l0.tables.trained_on(table, penalty)
        part = part[part.index.isin(table.index[:1].get_level_values("test set"), "test set")]
        ways.setdefault(
            said.called(title, table), said.choices([part]).assign(left=part["heads"].mean(), total=table.total.iloc[0])
        )
    told = f"BLEU minus that of L0, gates and training at once: {said.beside_gates(ways, *compared)}."
    display(Markdown(told))

# %% [markdown]
# ## Do encoder heads go before cross-attention?
#
# Now heads of all three kinds of attention have gates, and the whole model learns. White marks are the paper's. The lowest
# line is the kind that goes first.

# %% jupyter={"source_hidden": true}
of_all = {subject.title: quality[title] for title, (_, subject) in zip(titles[len(encoder) :], every, strict=True)}
if every:
    by_kind = pd.concat([l0.tables.kept_by_kind(*pair).assign(model=pair[1].title) for pair in every], ignore_index=True)
    run.table(by_kind.set_index(["model", "penalty"]), "fig9_heads_by_kind")
    run.figure(
        l0.figures.kept_by_kind(pd.concat([by_kind, l0.tables.printed_by_kind()])),
        "fig9_heads_by_kind",
        caption="How many heads of each kind of attention stay as pruning grows, here and in the paper.",
        answers="Voita et al., figure 9",
        takeaway=said.by_kind(by_kind),
    )
    brief = {one.claim.id: one.brief for one in judged_there}
    display(
        Markdown(
            said.layers(subject.kept for _, subject in every) + said.kinds_elsewhere(committed, other, brief.get("kinds", ""))
        )
    )
    by_layer = {subject.title: l0.tables.kept_by_layer(sweep) for sweep, subject in every}
    by_layer = pd.concat(by_layer, names=["model"]).to_frame()
    run.table(by_layer, "fig10_heads_by_layer")
    run.figure(
        l0.figures.kept_by_layer(by_layer),
        "fig10_heads_by_layer",
        caption="In which decoder layers heads stay as pruning grows.",
        answers="Voita et al., figure 10",
        show=False,
    )

# %% [markdown]
# ## Is pruning better than training the small model from scratch?
#
# For each pruning of our first model we also train the same head map from random weights, for as many steps in all.

# %% jupyter={"source_hidden": true}
against: tuple | list = ()
scratch = gaps = {subject.title: l0.tables.against_scratch(sweep, subject, repeats) for sweep, subject in every}
if every:
    scratch = pd.concat(scratch, names=["model"])
    scratch = run.table(scratch, "trained_minus_scratch", resamples=repeats, over=intervals.SENTENCES)
    scratch = scratch[scratch.index.isin(own, "test set")]
    judged = {one.claim.id: one for one in claims.of_run(run.folder, run.corpus)}
    against = judged["beats-scratch"].rows if len(scratch) else ()
    run.figure(
        l0.figures.pruned_minus_scratch(l0.tables.pruned_minus_scratch(of_all, gaps)),
        "pruned_minus_scratch",
        caption="BLEU of pruned models minus that of their head maps trained from scratch, here and in the paper.",
        answers="Voita et al., table 2",
        takeaway=said.from_scratch(scratch, against, of_first),
        table="trained_minus_scratch",
        resamples=repeats,
    )
    display(Markdown(said.scratch_elsewhere(committed, other, brief.get("beats-scratch", ""))))
    table_2 = run.table(l0.tables.table_2(of_all), "table2_all_kinds", resamples=repeats)
    shown = {"heads": "heads (enc/dec/cross)", "pruned": "pruned", "from scratch": "same map from scratch"}
    shown |= {l0.tables.CONTROL: "all heads, trained further"}
    digits = dict.fromkeys(("pruned", "from scratch", l0.tables.CONTROL), ".1f")
    parts = [one for one in table_2.groupby("text", sort=False) if one[1]["pruned"].mul(one[1]["from scratch"]).notna().any()]
    found = [readable(part, shown, digits, caption=text).data for text, part in parts if not text.startswith("printed")]
    display(folded("More: BLEU in the shape of the paper's table 2", *found))
else:
    print("Not in this run: the setting pruning.all_kinds is 0.")

# %% [markdown]
# ## Do heads with a function stay longest?
#
# A head has a function if it passed the tests of [notebook 2](02_head_functions.ipynb).

# %% jupyter={"source_hidden": true}
functions = {subject.title: l0.tables.retained_functions(sweep, subject) for sweep, subject in encoder}
chance = l0.tables.retained_more_than_chance(functions)
run.table(chance, "retained_more_than_chance", split="dev")
there = committed.table("retained_more_than_chance")
run.figure(
    l0.figures.functions_left(chance[chance.function == "any"]),
    "fig8_functions_of_retained_heads",
    caption="How many encoder heads with a function pruning leaves, beside as many random heads.",
    answers="Voita et al., figure 8",
    takeaway=said.functions(chance, {said.TEXTS[other]: pd.read_csv(there)} if there.exists() else None),
    table="retained_more_than_chance",
    split="dev",
)

# %% [markdown]
# ## What does removal save?
#
# Pruned models are stored without their closed heads: rows of the query, key and value projections and columns of the output
# projection are cut out. Attention is a part of each layer, so savings have a ceiling.

# %% jupyter={"source_hidden": true}
sweep, subject = (every or encoder)[0]
removed = pd.concat([l0.tables.REMOVED.read(l0.runs.run(spec)) for spec in l0.tables.l0_runs(sweep)])
run.table(removed, "removed_for_good", model=sweep["name"])
removed = removed.reset_index()
shown = {"heads kept": f"heads left of {sum(map(len, subject.kept.values()))}, all kinds", "millions": "million parameters"}
shown |= {"FLOPs, share": "operations, of all heads'", "speed-up at most": "speed-up at most"}
digits = {"millions": ".2f", "FLOPs, share": "%"}
times = removed.assign(**{"speed-up at most": removed["speed-up at most"].map("{:.2f} ×".format)})
times["millions"] = removed["parameters left"] / 1e6
told = f"{number(removed.parameters.iloc[0] / 1e6, '.2f')} million parameters, embeddings left out"
display(
    readable(
        times.iloc[[0, -1]] if len(times) > 1 else times, shown, digits, caption=f"{subject.title}; with all heads: {told}"
    )
)
took, on = pages.measured("base_generation"), pages.measured("base_encoder_pass", "hardware")
loss, few, whole = said.PAPER
speed, ceiling = (pages.measured(f"base_encoder_{name}", "value").partition(" to ") for name in ("pass", "ceiling"))
faster = f"With {few} of {whole} encoder heads left, at the paper's size, an encoder pass is {speed[0]} to"
faster += f" {number(float(speed[2]), '.1f')} times as fast (ceiling {number(float(ceiling[2]), '.1f')}), generation {took}"
faster += f" ([how](../docs/costs.md), {on})."
display(Markdown(f"{faster} {said.same(removed)}"))

# %% [markdown]
# ## In short

# %% jupyter={"source_hidden": true}
closing = f"""
{said.short(ways)}

*Limits.* Ways to choose were compared at one penalty, and many rows are of one training
([all differences](../docs/differences.md)).

*Code:* [l0/gates.py](../helpers/methods/l0/gates.py), [l0/runs.py](../helpers/methods/l0/runs.py),
[l0/tables.py](../helpers/methods/l0/tables.py), [heads/surgery.py](../helpers/heads/surgery.py).
"""
chosen = said.beside_gates(dict([*ways.items()][:1]), compared[0])
answered = f" It takes no gates: choosing by the loss's slope changes BLEU, {chosen}." * said.cheap(ways)
answered = said.lead(halves, decoders, least) + answered
note = said.elsewhere(judged_there, other)
verdicts.fill("fig7_beside_other_texts", closing, first=answered, note=note)
