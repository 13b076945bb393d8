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
# # 7 · What does it cost to ask which heads matter?
#
# [← notebook 6, do the measures agree](06_do_measures_agree.ipynb) · [all claims](../docs/results.md) ·
# [figures](../figures/README.md)
#
# Voita et al. (2019) rank heads by *relevance*, their share in the prediction, or train again (L0 gates); Ni et al. (2023) add
# a loss term, Liu & Chen (2023) feed coreference. What does that cost? Is dearer better?
#
# The unit is *gradient importance*, the size of the loss's slope in a head's *gate*, a factor on its output.
# Quality is of notebook 6's *contest*: each measure chose encoder heads to remove, then the model trained on. *Confidence* is
# the mean largest attention weight; *positional* counts looks at one offset, *votes* batches in which a head is nearest its
# group's centre; *L1 gates* are trained alone.

# %% tags=["parameters"]
profile = "laptop"  # tiny, quick, laptop, natural or paper: the size of the models, and the run whose seconds are shown
corpus = ""  # "controlled" or "natural"; empty: the profile's own
models = ""  # of the run whose seconds are shown; empty: the corpus's own
pretrained = ""  # of no use here; kept for the notebooks' common face
data_root = ""  # folder of natural corpora; empty: HEADS_DATA_ROOT
parser = "spacy"  # as pretrained
seed = 1
overrides = ""  # settings of the run whose seconds are shown, NAME=VALUE separated by spaces
output = ""  # where figures and tables go; empty: runs/PROFILE-CORPUS

# %%
from helpers import study

run = study.begin("07_what_it_costs", globals())
print(run.summary())

# %% jupyter={"source_hidden": true}
from IPython.display import Markdown, display

from benchmarks import costs, figures, said
from helpers import drawing
from helpers.measures.table import named
from helpers.publish import claims, pages
from helpers.reading import folded, readable
from helpers.runs import subjects
from helpers.scores import intervals

drawing.style()
costs.measure(costs.SIZES[profile])  # tiny ones alone; the others were measured by `make bench`
found = costs.gathered(profile)
facts = run.table(costs.facts(found), "benchmarks")
answer = claims.Box(run)

# %% jupyter={"source_hidden": true}
heart = run.table(costs.heart(found), "costs", over=intervals.ROUNDS)
exponents, points = costs.growth(found["growth"])
size = found["growth"]["size"].iloc[0]
contest, small = costs.contested(run.folder, run.corpus, size), costs.smaller()
there = costs.contested(None, "natural", size if run.corpus == "controlled" else "")
few, every, names = run.settings["relevance"], run.settings["dev"], subjects.names(run.settings, models) if len(contest) else []
took = costs.spent(run.settings, names, seed)
priced = run.table(costs.priced(heart, points, took, few / every), "measures")
key, by_cost = "costs_and_pruning", costs.pruning(priced, contest if len(took) else contest[:0])
best = "**From one pass to one for every token.** The unit is gradient importance."
if len(by_cost):
    run.table(by_cost, key, over=intervals.TEXTS)
    best = said.cheapest(by_cost, contest, priced)
    run.figure(
        figures.pruning(by_cost.assign(measure=by_cost.measure.map(named)), title=said.setting(contest)),
        key,
        caption="What choosing encoder heads by a measure took, what it takes on the same text, and what training on then"
        " changes in BLEU, over trainings.",
        takeaway=said.read(priced, few, every),
        show=False,
    )

# %% [markdown]
# ## How many passes does a measure take?
#
# A *forward pass* runs the model over the text, and a *backward pass* carries slopes from the loss back: slopes of heads alone,
# not of weights, take about as many multiplications as the way forward. Gradient importance needs one of each. Relevance needs
# a backward pass for every target token, since each token is explained by itself. Its rule *LRP αβ* keeps parts for and against
# a prediction apart; in two *signed* rules they cancel: *AttnLRP*, and *conservative*, which holds attention weights constant.
#
# Torch counts the multiplications. The cell below computes gradient importance on a few sentences with the stored translation
# model. Then it shows how to save passes: above the decoder's last self-attention a gate reaches the target at its own position
# alone, so one pass gives the slopes of all targets.

# %% tags=["method"]
import torch

from helpers.measures import lrp, worth
from helpers.models import flops

model, batch, reads = costs.sample(run.settings, models, seed)  # stored model, few sentences; how often gates read the text
encoder, decoder = model.get_encoder().layers, model.get_decoder().layers
blocks = [layer.self_attn for layer in [*encoder, *decoder]] + [layer.encoder_attn for layer in decoder]


def gate(block):  # head h puts out xi_h · o_h at each position; an open gate, xi_h = 1, changes nothing
    places = batch["input_ids" if block in blocks[: len(encoder)] else "labels"].shape
    xi = torch.ones(*places, block.num_heads, 1, device=model.device, requires_grad=True)
    return xi, block.out_proj.register_forward_pre_hook(lambda _, o: (o[0].unflatten(-1, (xi.shape[2], -1)) * xi).flatten(-2))


gates, hooks = zip(*map(gate, blocks), strict=True)
logits = model(**batch, use_cache=False).logits
losses = torch.nn.functional.cross_entropy(logits.mT, batch["labels"], reduction="none")  # of each target token
slopes = torch.autograd.grad(losses.sum(), gates, retain_graph=True)  # d loss / d xi
each = [torch.autograd.grad(loss.sum(), gates[-1], retain_graph=True)[0].sum(1) for loss in losses.T]  # a pass a target
torch.testing.assert_close(torch.stack(each, 1), slopes[-1])  # the last heads' slopes: one pass gives all targets'
[hook.remove() for hook in hooks]
sizes = torch.cat([slope.sum(1).abs().mean(0).flatten() for slope in slopes]).double().cpu()  # over positions, then examples
torch.testing.assert_close(sizes, torch.tensor(worth.importance(model, [batch], norm=None).to_numpy()), rtol=1e-3, atol=1e-6)
forward = flops(model, lambda: model(**batch, use_cache=False))
both = flops(model, lambda: worth.importance(model, [batch], norm=None))
ours = flops(model, lambda: lrp.explain(model, [batch], "attnlrp"))
print(f"gradient importance is {both / forward:.2f} forward passes; relevance of {len(each)} tokens, in gradient importances:")
print(f"{(1 + len(each)) / 2:.1f} by its passes, {ours / both:.1f} in the study's code (AttnLRP)")

# %% [markdown]
# The study's code also saves in low layers: there the derivative runs forward from the few heads below.
#
# The table sets what definitions say beside what torch counts in the study's own code, both on these sentences, and beside
# the clock on the contest's first dev sentences. The loss without a head takes one pass with all heads and one without each.
# Of gates it counts readings of that text; L0's backward pass also reaches the weights and counts twice, in the encoder alone.

# %% jupyter={"source_hidden": true}
counted = run.table(costs.counted(model, batch, reads), "passes")
table = costs.beside(counted, priced)
columns = {"what": "measure", "passes": "forward + backward passes", "theory": "cost by passes"}
columns |= {"counted": "by counted operations", "cost": "measured"}
display(readable(table.reset_index(drop=True), columns, dict.fromkeys(("theory", "counted", "cost"), ".3g")))
display(Markdown(f"> {said.understood(table, points)} {said.ordinary(priced)}"))

# %% [markdown]
# The loss without a head costs less than its passes: layers below the head are computed once. Relevance by LRP αβ costs more
# than its operations, probably since it splits every product into two parts; confidence, since it sums over attention maps.
# Torch counts neither.

# %% jupyter={"source_hidden": true}
today = run.table(costs.numbers(found, "decoder_speed", "seconds"), "decoder", over=intervals.ROUNDS)
folded("More: how it was timed", said.TIMED)

# %% jupyter={"source_hidden": true}
kinds = {
    "relevance": ("relevance_speed", "target tokens/s", "Target tokens a second of each way to compute relevance."),
    "importance": ("importance_speed", "examples/s", "Examples a second of each way to compute gradient importance."),
    "statistics": ("head_statistics", "tokens/s", "Tokens a second of head statistics, with and without keeping maps."),
    "training": ("training_speed", "tokens/s", "Tokens a second of the study's training loop and of the usual one."),
    "generator": ("generator_speed", "pairs/s", "Sentence pairs a second of the text generator."),
}
for name, (benchmark, quantity, caption) in kinds.items():
    part = run.table(costs.numbers(found, benchmark, quantity), name, over=intervals.ROUNDS)
    run.figure(figures.speeds(part), name, caption=caption, show=False)
added = run.table(costs.numbers(found, costs.OVERHEADS, "ratio"), "overheads", over=intervals.ROUNDS)
for name in costs.OVERHEADS:
    caption = f"Time of a training step against the plain one: {name.replace('_', ' ')}."
    run.figure(figures.overheads(added[added.benchmark == name]), name, caption=caption, table="overheads", show=False)
run.table(costs.numbers(found, "relevance_speed", "ratio"), "relevance_ratios", over=intervals.ROUNDS)
loop = run.table(costs.numbers(found, "training_speed", "ratio"), "training_ratios", over=intervals.ROUNDS)
kept = run.table(costs.numbers(found, "head_statistics", "bytes"), "statistics_kept", over=intervals.ROUNDS)
peaks = run.table(costs.numbers(found, (*costs.OVERHEADS, "training_speed"), "bytes"), "memory", over=intervals.ROUNDS)
for figure, name, caption in (
    (
        figures.overheads(loop, "times as fast as the Trainer"),
        "training_ratios",
        "How many times as fast as the usual loop ours is.",
    ),
    (figures.bytes_kept(kept), "statistics_kept", "Bytes that each way to compute head statistics keeps."),
    (figures.memory(peaks), "memory", "Peak memory of training steps with and without what the study adds."),
    (
        figures.beside(today, costs.PASSES),
        "decoder",
        "Gradients, relevance and the loss without the head on a Llama-style decoder, in passes forward and back.",
    ),
):
    run.figure(figure, name, caption=caption, show=False)

# %% [markdown]
# ## On long sentences relevance grows with about the square
#
# A backward pass for every token, each over all tokens, should take time that grows with the square of the length, but the
# savings above hide some of it. The figure times two sentences of growing length.

# %% jupyter={"source_hidden": true}
run.table(exponents, "growth", over=intervals.ROUNDS)
run.table(points, "growth_points", over=intervals.ROUNDS)
by_length, at_length = (
    part[(part.axis == "length") & (part["what"] != "importance per token")] for part in (exponents, points)
)
run.figure(
    figures.growth(by_length, at_length),
    "growth",
    caption="How the time of each measure grows with the length of sentences, with exponents of the last doubling.",
    takeaway=said.steepest(points, priced),
)

# %% [markdown]
# ## What do removed heads save?
#
# A closed gate takes a head out of the result, but the machine still computes it. Time is saved only when its rows and columns
# are cut out of the weights, here of models of the papers' size with random weights.

# %% jupyter={"source_hidden": true}
saved = run.table(costs.savings(found["removed_heads"]), "removed", over=intervals.ROUNDS)
papers = {case: costs.between(pages.measured(name, "value")) for case, name in costs.ONCE.items()}
run.table(costs.ranges(papers), "removed_at_the_papers_size", over=intervals.ROUNDS)
cut, told = said.removing(papers, *(pages.measured(name, "what") for name in ("base_encoder_pass", "base_all_generation")))
display(readable(cut, {"what": "times as fast", "removed": "measured", "ceiling": "by operations"}))
display(Markdown(f"> {told}"))

# %% [markdown]
# Heads of the decoder save memory too: while a model generates, it keeps their keys and values (the *cache*). Here heads of all
# kinds go, evenly over the layers, of an encoder-decoder and a Llama-style decoder.

# %% jupyter={"source_hidden": true}
pruned = run.table(costs.pruned(found["pruned_models"]), "pruned", over=intervals.ROUNDS)
large = pruned[pruned.model.isin(pruned.model.unique()[-2:])]
even = large[large.criterion.str.contains("evenly") & large.quantity.isin(["cache bytes", "time of a token"])]
run.figure(
    figures.pruned(even, "model"),
    "pruned",
    caption="What is left to pay as more heads of all kinds go, evenly over layers: cache, and time of a token.",
    takeaway=said.left(large),
)
run.figure(
    figures.pruned(pruned),
    "pruned_every_size",
    caption="What is left to pay as more heads go, of small models and in other orders too.",
    table="pruned",
    show=False,
)
folded("More: how heads were removed, and noise", said.REMOVED, said.unpruned(large))

# %% [markdown]
# ## What do gates, groups and coreference add to training?
#
# L0 puts a gate on every head, Ni et al. make heads of a group alike in their values (V) or attention maps (A), and Liu & Chen
# feed coreference to heads. The table says how much longer a training step takes (medians; brackets: quartiles), beside the
# plain step timed once more. An addition is clear of noise where its lower quartile is above the upper one of that plain step.

# %% jupyter={"source_hidden": true}
steps = costs.additions(found)
columns = {"what": "added to training", "model": "model", "cost": "longer step", "again": "plain step once more"}
display(readable(steps, columns, {"cost": "+%", "again": "+%"}))
display(Markdown(f"> {said.told_apart(steps)}"))

# %% [markdown]
# ## In short

# %% jupyter={"source_hidden": true}
run.table(costs.recorded(profile, run.settings, models, seed, run.folder), "wall_times")
machine = said.machines(facts, took, pages.measured("base_encoder_pass", "hardware"))
told = [said.details(priced, few), said.worse(by_cost)]
text = {"controlled": "generated text"}.get(run.corpus, f"{run.corpus} text")
known = {text: (run.folder, run.corpus)} | ({"natural text": (None, "natural")} if run.corpus == "controlled" else {})
shots = {of: costs.at_once(*place, size) for of, place in known.items()}
answer.fill(
    key if len(by_cost) else "growth",
    said.closing(by_cost, contest, shots, small),
    " ".join(filter(None, [best, said.elsewhere(there, small)])),
    "\n\n".join([*told, machine]),
)

# %% [markdown]
# Functions: [costs.py](../benchmarks/costs.py), [said.py](../benchmarks/said.py), [common.py](../benchmarks/common.py),
# [worth.py](../helpers/measures/worth.py).
