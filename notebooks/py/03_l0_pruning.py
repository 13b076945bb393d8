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
# # 3 · Which heads can go? L0 gates, pruning curves, and heads removed for good
#
# [← notebook 2, head functions](02_head_functions.ipynb) · [notebook 4, grouped heads →](04_grouped_heads.ipynb) · [all
# claims](../docs/results.md) · [figures](../figures/README.md) · functions: [l0/gates.py](../helpers/methods/l0/gates.py),
# [l0/runs.py](../helpers/methods/l0/runs.py), [l0/tables.py](../helpers/methods/l0/tables.py),
# [heads/surgery.py](../helpers/heads/surgery.py)
#
# Section 6 of Voita et al. 2019 ([arXiv 1905.09418](https://arxiv.org/abs/1905.09418)).
#
# **The paper's claims.** Put a gate on every head of a converged translation model and a penalty on every open gate: most
# encoder heads can be closed with hardly any loss, and those that stay are those with a function. Of the three kinds of
# attention the encoder's is pruned first and cross-attention last, and pruning a trained model beats training the
# small one from scratch.
#
# What we find stands below; then how a gate works, the paper's curves with the controls that it leaves out (training as long
# *without* penalty; no encoder attention at all), other ways of choosing heads, and heads removed for good. *EN-RU news* and
# *subtitles* are registers of a generated language, not WMT or OpenSubtitles.
#
# *Penalty*: λ, the strength of the L0 penalty on open gates. *Control*: trained on as long with all heads, without penalty.
# Losses are set against two yardsticks: *all heads removed* from the trained model, which is then trained on as long, and
# *never there*, a model trained without encoder heads from the first step.

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
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown, display

from helpers import drawing
from helpers.measures import figures, ranks, snapshots
from helpers.measures import said as of_measures
from helpers.methods import l0
from helpers.methods.l0 import said
from helpers.publish import claims, pages
from helpers.reading import ends, frames, listed, number, readable
from helpers.runs import subjects
from helpers.scores import intervals
from helpers.study import layout

drawing.style()
names, repeats = subjects.names(run.settings, models), run.settings["bootstrap"]
sweeps = l0.runs.sweeps(run.settings, names, seed, pretrained)
studied = [subjects.of_spec(sweep["start"], sweep["name"], parser) for sweep in sweeps]
encoder = [(sweep, subject) for sweep, subject in zip(sweeps, studied, strict=True) if sweep["kinds"] == ["encoder"]]
every = [(sweep, subject) for sweep, subject in zip(sweeps, studied, strict=True) if sweep["kinds"] != ["encoder"]]
sentences = " and ".join(f"{len(studied[0].pairs(split)):,}" for split in studied[0].tests)
n = f"first training, intervals over {sentences} test sentences"
own = list(dict.fromkeys(next(iter(subject.tests)) for subject in studied))  # what sentences tell of; tables have all test sets
alike = [subject for _, subject in encoder if "+" not in subject.name]  # siblings differ in size
other = next(track for track in layout.TRACKS if track != run.corpus)
committed = layout.Chapter(study.ROOT / "figures" / other / run.name)
print(snapshots.said_of_study(alike, run.settings["pruning"]["beam"]), said.sizes(studied), sep="\n")
if committed.shared.exists():
    profile_of = study.read_json(committed.shared)["parameters"]["profile"]
    print(f"{other.capitalize()} text in tables and figures below is from the published run of profile {profile_of}.")

# %%
verdicts = claims.Box(run)

# %% [markdown]
# Left: BLEU minus the *control*; band: that of the model in which encoder heads were *never there*, with its interval (where it
# is off the axis, its number). Middle: the share kept of the BLEU that goes when *all heads* are *removed*; dotted: the rule's
# `95 %`. Right: the same share against a harder yardstick, the BLEU by which a model that never had encoder heads falls short
# (first training; axis cut at `-100 %`). Below `0 %` the pruned model is worse than that one. Bars: t-intervals over trainings
# where there are several, else bootstraps over sentences. Marks of the other corpus are from the published run; black and white
# marks are what the paper prints.
#
# ## The gate (section 6.1)
#
# A head's output is multiplied by a gate before the output projection. While training, the gate is drawn anew for every
# batch from the Hard Concrete distribution: uniform noise and a location `log alpha` go through a sigmoid of some
# temperature, the result is stretched from $(0, 1)$ to $(-0.1, 1.1)$ and clipped, so that exactly zero and exactly one have
# probability. The penalty on open gates has a closed form ($\theta$: the model's weights; $\phi_h$: the location of head
# $h$'s gate $g_h$; $\lambda$: the strength of the penalty):
#
# $$L(\theta, \phi) = L_{xent}(\theta, \phi) + \lambda \sum_h \left(1 - P(g_h = 0 \mid \phi_h)\right)$$
#
# The same in code, at the three locations of the paper's Fig. 6; the probabilities printed there belong to temperature `0.5`,
# the authors' code uses `0.33`:

# %%
noise = torch.rand(100_000, 1, generator=torch.Generator().manual_seed(seed))
log_alpha, temperature, low, high = torch.tensor([0.0, 2.0, -3.0]), 0.5, -0.1, 1.1
s = torch.sigmoid((torch.logit(noise) + log_alpha) / temperature)  # noise -> sigmoid
drawn = (s * (high - low) + low).clamp(0, 1)  # -> stretch -> clip
p_open = torch.sigmoid(log_alpha - temperature * np.log(-low / high))  # P(gate is not exactly zero)
library = l0.HardConcrete(log_alpha, temperature)
torch.testing.assert_close((drawn, p_open), (library.sample(noise), library.p_open()))
assert ((drawn > 0).float().mean(0) - p_open).abs().max() < 0.01  # as often open as the formula says

# %% jupyter={"source_hidden": true}
plan = run.settings["pruning"]
distributions = [l0.HardConcrete(location, temperature) for location in log_alpha]
trained_with = l0.HardConcrete(log_alpha, plan["temperature"])
run.figure(
    l0.figures.hard_concrete(distributions),
    "fig6_hard_concrete",
    caption="The Hard Concrete distribution at several locations.",
    answers="Voita et al., figure 6",
    takeaway="A gate can rest exactly at zero or one while its location still has a gradient: at log α = 0 it is closed with"
    f" probability {number(float(library.p_closed()[0]))} (printed: 0.23), at the temperature of our runs,"
    f" {trained_with.temperature:g}, {number(float(trained_with.p_closed()[0]))}.",
)

# %% [markdown]
# **Slide log α** from a closed gate to an open one. Left, what is drawn in training. Right, the solid line is the penalty in
# units of λ, the probability of being open at all, however far; the dashed line on the same axis is the gate itself without
# noise.

# %% jupyter={"source_hidden": true}
line, curve, started = np.linspace(-6, 6, 13), np.linspace(-6, 6, 49), float(np.mean(plan["start"]))
at_start = l0.HardConcrete(torch.tensor(started), plan["temperature"])
gates = (l0.figures.gate_and_price(l0.HardConcrete(torch.tensor(float(a)), plan["temperature"]), curve) for a in line)
first = int(np.abs(line - started).argmin())
display(frames(gates, "log α", start=first, dpi=100, places=[f"{a:g}" for a in line]))
told = f"A gate starts at log α = {started:g}, where its penalty is {number(float(at_start.p_open()))} λ; below log α ="
display(Markdown(f"{told} {number(float(np.log(-low / high)))} it rests at exactly zero without noise."))

# %% [markdown]
# ## What is trained
#
# Every run starts from a trained model of notebook 1 and goes on for the same number of steps with the same learning rate. With
# encoder heads alone in question only the encoder's layers learn. The paper also trains the source embeddings; ours stay frozen
# because they are tied to the output layer. λ multiplies the *sum* over heads, as in the paper's formula; the public
# code averages over gated layers, so that its `concrete_coef` is λ times the number of layers. Gates start almost open (log
# alpha `2`), with a learning rate of their own; the code's half-open start and a higher temperature are variants in the saved
# table `gates_settled`. Evaluation is binary: a head stays if $P(g = 1) > P(g = 0)$, and what closed is removed from the model
# for good. The penalties of every sweep stand in the appendix.

# %% jupyter={"source_hidden": true}
titles = [f"{subject.title}: {said.asked(sweep['kinds'])}" for sweep, subject in zip(sweeps, studied, strict=True)]
asked = pd.concat([l0.tables.prices(*pair) for pair in zip(sweeps, studied, strict=True)], keys=titles, names=["model"])
quality = {}
for title, sweep, subject in zip(titles, sweeps, studied, strict=True):
    kinds = "encoder" if sweep["kinds"] == ["encoder"] else "all_kinds"
    worth = l0.tables.worth(sweep, subject, l0.tables.without_attention(sweep, names[0]), repeats)
    quality[title] = l0.tables.quality(sweep, subject, repeats).join(worth)
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

# %% [markdown]
# ## Gates close over training
#
# $P(g = 0)$ of every encoder head while the model trains, for several penalties ([as an
# animation](../figures/controlled/03_l0_pruning/gate_closing_animation.gif)). The penalty pushes gates shut, and the stretched
# distribution has mass at exactly closed and exactly open; nothing asks the gates that stay to be fully open. A model with many
# *unsettled* gates (P(closed) between `0.05` and `0.95`) is not the one that binary evaluation scores. A head stays where fully
# open is more likely than closed, that is log α above zero. At `log α = 0` both have the probability `0.31` named above, so the
# picture's cut is there and not at a half.

# %% jupyter={"source_hidden": true}
sweep, subject = encoder[0]
traces, kept = l0.tables.closings(sweep)
settled = pd.concat({title: l0.tables.settled(table) for title, table in quality.items()}, names=["model"])
run.table(settled, "gates_settled")
run.figure(
    l0.figures.gate_closing(traces, kept, model=subject.title),
    "gate_closing",
    caption="Gates of encoder heads close while the penalty acts, step by step.",
    takeaway=f"First training: {max(kept.values())} of {traces[min(traces)].shape[1]} heads stay at λ = {min(kept):g},"
    f" {min(kept.values())} at {max(kept):g}."
    f" {said.settle(settled)}",
    model=sweep["name"],
)
for name, figure, shown in (
    ("gate_closing_animation", l0.figures.gate_closing_animation(traces, kept=kept), "Gates close, as an animation."),
    ("gate_paths", l0.figures.gate_paths(traces, kept), "How likely each gate is closed over training, one line per gate."),
):
    run.figure(figure, name, caption=shown, table="gates_settled", model=sweep["name"], show=False)

# %% [markdown]
# ## Pruning encoder heads (Fig. 7)
#
# BLEU against the number of encoder heads left. Of a model with several trainings the key figure and the next table show means,
# with t-intervals over trainings; else intervals are bootstraps over the test sentences of one training.
#
# A loss means little until it is set against what removing *all* encoder heads costs: `0.15` BLEU is strict where that is much,
# and no feat where it is next to nothing, as then all heads can go. So each run also has the share kept of that cost. One
# caution: removal may cost so much because the rest, with a frozen decoder and few steps, has not adapted. A model in which
# heads were *never there* (notebook 1's control) had all steps to adapt. Against it encoder heads matter far less, and the
# share kept of *that* gap is the stricter answer.

# %% jupyter={"source_hidden": true}
run.table(pd.concat(of_encoder, names=["model"]), "fig7_bleu_by_heads", resamples=repeats)
points = l0.tables.curve_points(of_encoder)
run.figure(
    l0.figures.pruning_curves(points),
    "fig7_bleu_by_heads",
    caption="BLEU by the number of encoder heads that L0 pruning keeps.",
    answers="Voita et al., figure 7",
    resamples=repeats,
    show=False,
)
run.figure(
    l0.figures.pruning_curves(l0.tables.curve_points(of_encoder, "change"), unit="BLEU minus control"),
    "bleu_changes_by_heads",
    caption="Change of BLEU against the unpruned control by the number of encoder heads kept.",
    table="largest_pruning",
    resamples=repeats,
    show=False,
)
stored = {
    subjects.title(path.stem.partition("_")[2]).removesuffix(" local"): pd.read_csv(path, index_col=["run", "test set"])
    for path in sorted((committed.folder / "tables").glob("encoder_*.csv"))
}
elsewhere = {
    f"{said.TEXTS[other]}, {title}" if len(stored) > 1 else said.TEXTS[other]: table for title, table in stored.items()
}
both = l0.tables.beside_other_texts(of_models | elsewhere, first=of_encoder | elsewhere)
both = run.table(both, "beside_other_texts")
half = run.table(l0.tables.half_left(of_models), "half_left", resamples=repeats)
run.figure(
    l0.figures.beside_other_texts(both, text=f"{said.TEXTS[run.corpus]} text"),
    "fig7_beside_other_texts",
    caption="What pruning encoder heads costs, on generated and natural text and in the paper.",
    answers="Voita et al., figure 7",
    takeaway=said.half(half[half.index.isin(own, "test set")]),
    resamples=repeats,
    show=False,
)
within = {title: l0.tables.largest_pruning(table) for title, table in quality.items()}
within = run.table(pd.concat(within, names=["model"]), "largest_pruning", loss=l0.tables.LOSS, over=intervals.SENTENCES)
left = [f"{round(row['heads'], 1):g} of {row.total:g} (n = {row.trainings})" for _, row in half.iterrows()]
flat = half.reset_index().assign(left=left, model=lambda table: table.model + ", " + table["test set"])
shown = {"model": "model, test set", "left": "heads left (n trainings)", "change": "BLEU minus control"}
shown |= {"worth": "all heads removed costs, BLEU", "share": "share kept of that"}
shown |= {"worth from the start": "never there costs, BLEU", "share from the start": "share kept of that (never there)"}
shown = {name: said for name, said in shown.items() if name in flat}
forms = {name: ".1%" if name == "share" else "%" if name.startswith("share") else ".1f" for name in [*shown][3:]}
forms["change"] = "+.1f"
shorter = {"model": "model", "heads": "heads left", "change": "BLEU minus control"}
shorter |= {"share": "share kept, yardstick: all heads removed (BLEU)", "never": "share kept, yardstick: never there (BLEU)"}
there = l0.tables.half_left(elsewhere)[:1] if elsewhere else half[:0]
at_half = said.answer(pd.concat([half, there]) if len(there) else half, run.corpus)
at_half = readable(at_half, shorter, caption="With half of the encoder heads or fewer") if len(at_half) else Markdown("")
told = "With half of the encoder heads or fewer: mean of n trainings with intervals over them, or one training with intervals"
told = f"{told} over sentences, as are those against never there (first training)"
display(readable(flat, shown, forms, caption=told))
shown = {"model": "model", "test set": "test set", "total": "heads", "kept": "heads left", "change": "BLEU minus control"}
shown |= {"kept_surely": "heads left, by interval"}
told = f"Fewest heads that lose at most {l0.tables.LOSS:g} BLEU, by the difference itself or by its whole interval; {n}"
readable(within, shown, {"change": "+.1f"}, caption=told)

# %% [markdown]
# ## All kinds of attention (Table 2)
#
# Gates on encoder self-attention, decoder self-attention and cross-attention together; everything is trained. The
# setting `pruning.all_kinds_on`, where it names one, puts a sibling with another decoder in the model's place. Beside each
# pruned model, where the run asks for it: the same head map from random weights, trained as the whole model was and then as
# every run is, so that both have had the same steps at the same rates.

# %% jupyter={"source_hidden": true}
of_all = {subject.title: quality[title] for title, (_, subject) in zip(titles[len(encoder) :], every, strict=True)}
if every:
    table_2 = run.table(l0.tables.table_2(of_all), "table2_all_kinds", resamples=repeats)
    shown = {"heads": "heads (enc/dec/cross)", "pruned": "pruned", "from scratch": "same map from scratch"}
    shown |= {l0.tables.CONTROL: "all heads, trained further", "before": "all heads, before further training"}
    digits = dict.fromkeys(("pruned", "from scratch", l0.tables.CONTROL, "before"), ".1f")
    started = {sweep["name"]: sweep["start"].get("training", {}).get("steps", 0) for sweep, _ in every}
    maps = table_2.reset_index("heads").groupby("text", sort=False).heads.first()  # with all heads
    ours, theirs = (listed(maps[maps.index.str.startswith("printed") == one].unique()) for one in (False, True))
    told = f"Heads of encoder, decoder and cross-attention, all of them: {ours} (paper: {theirs})."
    of_kinds = within[within.index.isin(titles[len(encoder) :], "model") & within.index.isin(own, "test set")]
    of_own = pd.concat(of_all, names=["model", "run", "test set"])
    of_own = of_own[of_own.index.isin(own, "test set")]
    display(Markdown(f"{told} {said.all_kinds(of_kinds, of_own)}"))
    for text, part in table_2.groupby("text", sort=False):
        if not text.startswith("printed"):  # these are in the figure below
            plain = part[l0.tables.CONTROL].notna()  # the row of all heads: what it starts from, trained for fewer steps
            ends_of = {f"before{end}": part[f"from scratch{end}"].where(plain) for end in ("", ", low", ", high")}
            part = part.assign(**ends_of, **{name: part[name].mask(plain) for name in part if name.startswith("from scratch")})
            steps = f"before further training: {max(started.values()):,} steps, all others {plan['steps']:,} more"
            display(readable(part, shown, digits, caption=f"BLEU in the shape of table 2, {text} ({steps}); {n}"))
scratch = gaps = {subject.title: l0.tables.against_scratch(sweep, subject, repeats) for sweep, subject in every}
if scratch:
    scratch = pd.concat(scratch, names=["model"])
    scratch = run.table(scratch, "trained_minus_scratch", resamples=repeats, over=intervals.SENTENCES)

# %% [markdown]
# Models pruned from a trained one minus the same head maps from random weights; white marks are the paper's; a model without
# runs from scratch is absent. Intervals here are of single cases, the verdict on top corrects for all rows. Above zero the
# trained model hands something down that the map does not hold. But the two had not as long to adapt to their map: from scratch
# it is fixed in all steps, in the pruned model gates still move in the few that it trains on. What is better from scratch may
# be owed to that.

# %% jupyter={"source_hidden": true}
if every:
    scratch = scratch[scratch.index.isin(own, "test set")]
    run.figure(
        l0.figures.pruned_minus_scratch(l0.tables.pruned_minus_scratch(of_all, gaps)),
        "pruned_minus_scratch",
        caption="BLEU of pruned models minus that of their head maps trained from scratch, here and in the paper.",
        answers="Voita et al., table 2",
        takeaway=said.from_scratch(scratch),
        table="trained_minus_scratch",
        resamples=repeats,
    )
else:
    print("Not in this run: the setting pruning.all_kinds is 0.")

# %% [markdown]
# ### Which kind goes first? (Fig. 9)
#
# In the paper (white marks, from its table 2) the encoder's curve lies lowest and, but at the first WMT point, that of
# cross-attention highest. An order of kinds may come from L0, from what removing each kind costs in this model, from how each
# kind starts its training, or from how many layers each kind has (named below). Nothing follows from models in which only
# encoder attention starts with zero output, and penalties at which all decoder and cross-attention heads stay cannot tell: the
# verdict counts the others alone.

# %% jupyter={"source_hidden": true}
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
    kinds_there = said.kinds_elsewhere(committed, other, claims.least_worth("kinds", "controlled"))
    display(Markdown(f"{said.layers(subject.kept for _, subject in every)} {kinds_there}"))

# %% jupyter={"source_hidden": true}
if every:
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
# ## What the retained encoder heads do (Fig. 8)
#
# No positional or rare-token head was found (notebook 2), so only heads of syntax are left to test. Of the heads that had a
# function before pruning, the share that is still there, beside that of as many random heads (grey: where `95 %` of their draws
# lie). Functions are measured anew on every pruned model too: the table counts retained heads that had a function and whether
# they still have all of it, lost a part or exchanged it. Prunings of one model are not independent.

# %% jupyter={"source_hidden": true}
functions = {subject.title: l0.tables.retained_functions(sweep, subject) for sweep, subject in encoder}
chance = l0.tables.retained_more_than_chance(functions)
run.table(chance, "retained_more_than_chance", split="dev")
stay, power = said.functions(chance)
run.figure(
    l0.figures.functions_left(chance[chance.function == "any"]),
    "fig8_functions_of_retained_heads",
    caption="How many encoder heads with a function pruning leaves, beside as many random heads.",
    answers="Voita et al., figure 8",
    takeaway=stay,
    table="function_drift",
    split="dev",
)
display(Markdown(f"{said.had(chance)} {said.always(functions)} {power}"))

# %% jupyter={"source_hidden": true}
drift = pd.concat({title: l0.tables.drift(by_count) for title, by_count in functions.items()}, names=["model"])
drift = run.table(drift, "function_drift", split="dev")
named = {"model": "model", "pruned": "pruned models", "functional_before": "retained heads that had a function, in all of them"}
named |= {"kept": "all kept", "lost": "lost one", "other": "exchanged"}
prices = {title: table[table.method == "L0"].groupby("run")[["heads", "total"]].first() for title, table in of_encoder.items()}
still = {title: f"{(own.heads == own.total).sum()} of {len(own)}" for title, own in prices.items()}
still = "".join(f"; {title}: no head closes at {x} penalties" for title, x in still.items() if not x.startswith("0 "))
became, bare = said.drifted(drift, functions)
display(readable(became, named, caption=f"What became of functions; first training{still}"), Markdown(bare))

# %% [markdown]
# ## Other ways to choose heads, at equal numbers
#
# The question that the paper leaves open. As many encoder heads as each L0 run kept, chosen by: random draws; confidence;
# relevance (LRP αβ); *gradient importance*, per example or *each token* (activation times gradient:
# the absolute derivative of each example's or token's loss at the head's gate, Michel et al. 2019), as they are or *by layer*,
# divided by the layer's norm (in the table alone); and the loss when that head alone is left out. First removed at once,
# without further training (L0's own heads had it and are not shown there). A criterion helps where it lies clearly above the
# random draws (bars: 95 % intervals over test sentences):

# %% jupyter={"source_hidden": true}
if plan["compared"]:
    rivalled = [(sweep, subject) for sweep, subject in encoder if sweep["settings"]["pruning"]["compared"]]
    shots = {subject.title: l0.tables.one_shot_quality(sweep, subject, repeats) for sweep, subject in rivalled}
    run.table(pd.concat(shots, names=["model"]), "at_once", resamples=repeats, over=intervals.SENTENCES)
    at_once = pd.concat([l0.tables.removed_at_once(shot, title) for title, shot in shots.items()])
    at_once = at_once.assign(method=at_once.method.map(said.named))
    drawn = at_once[~at_once.method.str.endswith("by layer")]
    run.figure(
        l0.figures.methods_at_equal_heads(drawn, said.named("random"), l0.tables.ALL),
        "at_equal_heads",
        caption="BLEU of ways to choose as many heads as L0 keeps, removed at once, beside random heads and all heads.",
        takeaway=said.gone_at_once(drawn),
        table="at_once",
        resamples=repeats,
    )
    kinds = [
        table[table.method.str.startswith("L0,")].groupby("run")[["heads", "method"]].first() for table in of_encoder.values()
    ]
    kinds = [f"{row.heads} heads are of *{row.method.removeprefix('L0, ')}*" for row in pd.concat(kinds).itertuples()]
    told = f"First training, first {plan['at_once']:,} test sentences"
    display(Markdown(f"{told}{f'; gate variants: {listed(kinds)}' if kinds else ''}."))
else:
    print("Not in this run: the setting pruning.compared names no penalty.")

# %% [markdown]
# Then some of them with the same further training, at the head count of one penalty. L0 chooses and trains in the same steps,
# the others train a fixed choice from the first; the row *L0's heads* removes the very heads that L0 removed and then trains as
# the others do, so that it and they differ in the choice alone, and differences are told against it. *Gradual pruning* too lets
# heads go while training: every few steps it closes the head of least *gradient importance*, until as many are left as L0
# kept (its learning curves are saved and not shown). Of many criteria one may look better by luck.

# %% jupyter={"source_hidden": true}
chosen = brief = ""  # of the first model at the first penalty
for penalty in plan["compared"]:
    means = {subject.title: l0.tables.trained_on(of_models[subject.title], penalty) for _, subject in rivalled}
    run.table(pd.concat(means, names=["model"]), f"trained_on_{penalty:g}", resamples=repeats)
    shown = {"run": "heads chosen by", "heads": "heads", "dev_loss": "dev loss", "bleu": "BLEU", "change": "minus control"}
    for title, part in means.items():
        several = len(trained[title]) > 1
        digits = {"heads": ".1f" * several, "dev_loss": ".3f", "bleu": ".1f", "change": "+.1f"}
        told = f"mean of {len(trained[title])} trainings, intervals over them" if several else n
        told = f"{title}, trained further, as many heads as L0 keeps at λ = {penalty:g}; {told}"
        parts = [l0.tables.trained_on(table, penalty) for table in trained[title]]
        display(readable(said.pooled(part, parts), shown, digits, caption=told))
        parts = [table[table.index.isin(own, "test set")] for table in parts]
        chosen, brief = chosen or said.further(parts), brief or said.further(parts, brief=True)
        left = set(at_once.method) - {said.chosen(name) for name in part.index.unique("run")}
        left -= {said.named("random"), l0.tables.ALL}
        display(Markdown(f"Not trained further: {listed(f'*{name}*' for name in sorted(left))}."))
display(Markdown(f"{chosen} Other measures: [notebook 6](06_do_measures_agree.ipynb)." if chosen else ""))

# %% jupyter={"source_hidden": true}
sweep, subject = encoder[0]
for penalty in plan["compared"][:1]:
    learned = l0.tables.learning_curves(sweep, penalty)
    run.table(pd.concat(learned, names=["method", "row"]), "learning_curves", model=sweep["name"])
    run.figure(
        drawing.learning_curves(learned),
        "learning_curves",
        caption="Loss and heads over training: L0 pruning beside gradual pruning.",
        show=False,
        model=sweep["name"],
    )

# %% [markdown]
# ### Do they agree?
#
# Rank correlation of each criterion with two yardsticks: the loss without the head, and how long L0 keeps it. It is over *all*
# heads, layers mixed, so that a criterion which only ranks heads of one layer falls behind. How confidence does over all heads
# stands below, within layers in [notebook 1](01_relevance_and_confidence.ipynb). Figures of this part are saved and not shown.

# %% jupyter={"source_hidden": true}
worths = {
    subject.title: l0.runs.scores(sweep["start"], run.settings["relevance"])
    .xs("encoder", drop_level=False)
    .assign(**{"kept by L0": l0.tables.survival(sweep)})
    for sweep, subject in encoder
}
run.table(pd.concat(worths, names=["model"]), "worth_of_heads", split="dev")
worths = {title: table.rename(columns=said.named) for title, table in worths.items()}
matrices = {title: ranks.rank_agreement(table) for title, table in worths.items()}
run.table(pd.concat(matrices, names=["model", "criterion"]), "criteria_agreement")
run.figure(
    figures.agreement(matrices), "criteria_agreement", caption="How far criteria of pruning rank heads alike.", show=False
)

# %% jupyter={"source_hidden": true}
names_of_truths = [said.named(truth) for truth in ("leave-one-out", said.SURVIVAL)]
truths = {
    f"{truth}, {title}": ranks.correlations(table[truth], dict(table.drop(columns=truth).items()), kinds="encoder")
    for title, table in worths.items()
    for truth in names_of_truths
}
told = run.table(pd.concat(truths, names=["truth", "criterion"]), "criteria_against_truths", over=intervals.HEADS)
run.figure(
    figures.rank_correlations(truths),
    "criteria_against_truths",
    caption="How well each criterion predicts the loss without a head and how long L0 keeps it.",
    show=False,
)
few = said.few_matter({title: table[names_of_truths[0]] for title, table in worths.items()})
display(Markdown(f"{said.truths(told, names_of_truths)} {few}"))
unlike = told.xs("confidence", level="criterion").rho if "confidence" in told.index.unique("criterion") else ()
told = f"Confidence, over all heads: rank correlation {ends(unlike, '+.2f')} with either yardstick in any model."
display(Markdown(told if len(unlike) else ""))

# %% [markdown]
# ## Heads removed for good
#
# Every pruned model above was stored without its closed heads: rows of the query, key and value projections and columns of the
# output projection are gone, layers are ragged, an attention without heads adds its output bias. Removed must equal masked; a
# reloaded model must equal the saved one. The speed-up has a ceiling that arithmetic sets: heads are a part of a layer, most of
# the work is elsewhere.

# %% jupyter={"source_hidden": true}
sweep, subject = (every or encoder)[0]
removed = pd.concat([l0.tables.REMOVED.read(l0.runs.run(spec)) for spec in l0.tables.l0_runs(sweep)])
run.table(removed, "removed_for_good", model=sweep["name"])
removed = removed.reset_index()
shown = {"heads kept": f"heads left of {sum(map(len, subject.kept.values()))}, all kinds", "millions": "million parameters"}
shown |= {"FLOPs, share": "FLOPs, of all heads'", "speed-up at most": "speed-up at most"}
digits = {"millions": ".2f", "FLOPs, share": "%"}
times = removed.assign(**{"speed-up at most": removed["speed-up at most"].map("{:.2f} ×".format)})
times["millions"] = removed["parameters left"] / 1e6
told = f"{number(removed.parameters.iloc[0] / 1e6, '.2f')} million parameters, embeddings left out"
display(readable(times, shown, digits, caption=f"{subject.title}, first training; with all heads: {told}"))
took = [pages.measured(f"base_{name}") for name in ("encoder_pass", "encoder_ceiling", "generation")]
where, on = (pages.measured("base_encoder_pass", part) for part in ("what", "hardware"))
told = f"{where}: {took[0]}, {took[1]} by operations; generation {took[2]} ([measured once](../docs/costs.md), {on})"
display(Markdown(f"{said.same(removed)} In time: {told}."))

# %% [markdown]
# ## Appendix: penalties
#
# λ multiplies the sum over heads; the public code's `concrete_coef` is λ times the number of gated layers.

# %% jupyter={"source_hidden": true}
caption = f"{plan['steps']} steps, learning rate {plan['learning_rate']:g}, of gates {plan['gate_rate']:g}"
shown = {name: name for name in ("model", "λ", "concrete_coef", "gated layers")}
readable(said.prices(asked).rename(columns={"lambda": "λ"}), shown, caption=caption)

# %% [markdown]
# Saved and not shown: the curves in BLEU and as differences (the paper's figure 7 alone), gates as lines and as an animation,
# decoder layers (its figure 10), criteria against yardsticks and each other, learning curves ([all
# figures](../figures/README.md)). The same gates on a decoder of today, whose query heads share keys and values: end of
# [notebook 4](04_grouped_heads.ipynb).
#
# ## In short

# %% jupyter={"source_hidden": true}
half = half[half.index.isin(own, "test set")]
at_other, at_own = (
    {one.claim.id: one for one in claims.of_run(folder, corpus)}
    for folder, corpus in ((committed.folder.parent, other), (run.folder, run.corpus))
)
more = said.from_scratch(scratch, at_own["beats-scratch"].rows) if len(scratch) else ""
asked = {"most-can-go": "most heads can go:", "gates-settle": "gates settle:", "functions-stay": "heads with functions stay:"}
natural = of_measures.elsewhere(at_other, other, profile_of, asked) if committed.shared.exists() else ""
faster = f"An encoder pass becomes {took[0]}, generation {took[2]} (of a larger model, see above)."
closing = "\n\n".join(filter(None, [said.short(half, of_encoder, faster), more, brief]))
closing = f"""
{closing}

*Limits.* One training per row but where means are named ([all differences](../docs/differences.md)).
"""
details = "\n\n".join(filter(None, [at_half.data, said.laxer(), natural]))
depths = {subject.title: len({n for kind, n in subject.kept if kind == "encoder"}) for _, subject in encoder}
answered = said.lead(half, run.corpus, of_encoder, there, of_models, depths)
verdicts.fill("fig7_beside_other_texts", closing, first=answered, more=details)
