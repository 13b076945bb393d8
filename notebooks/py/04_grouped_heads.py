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
# # 4 · Can the heads of a layer be grouped, and one of each group kept?
#
# [← notebook 3, L0 pruning](03_l0_pruning.ipynb) · [notebook 5, coreference injection →](05_coreference_injection.ipynb) ·
# [all claims](../docs/results.md) · [figures](../figures/README.md)
#
# Ni et al. 2023, *Grouped Head Attention* ([arXiv 2305.14380](https://arxiv.org/abs/2305.14380)).
#
# While a model trains, its heads are sorted into a few groups; an extra term of the loss, the *constraint*, pulls
# the members of a group together and pushes the groups apart (GHT). *Full grouping* would be members alike and groups as far
# apart as can be. Then one head of each group is kept, a *pillar of strength*, and training goes on (GHT-PS).
# The paper reports better translations, summaries and language models from smaller models.
# Where several things are tested, *Holm's correction* makes each test stricter.

# %% tags=["parameters"]
profile = "laptop"  # tiny, quick, laptop, natural or paper: sizes only, every one can be overridden below
corpus = ""  # "controlled" or "natural"; empty: the profile's own
models = ""  # of which the first is grouped after it has converged; empty: the corpus's own
pretrained = ""  # a Marian or BART checkpoint (Hub name or folder) to group instead
data_root = ""  # folder of natural corpora; empty: HEADS_DATA_ROOT
parser = "spacy"  # of natural text: "spacy", "stanza" or the path of a CoNLL-U file
seed = 1
overrides = ""  # settings to change, NAME=VALUE separated by spaces, such as grouping.weight=0.1
output = ""  # where figures and tables go; empty: runs/PROFILE-CORPUS

# %%
from helpers import study
from helpers.plan import sources

run = study.begin("04_grouped_heads", globals())
print(run.summary(), sources(run), sep="\n")

# %% jupyter={"source_hidden": true}
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown, display

from helpers import drawing
from helpers.methods import grouping
from helpers.methods.grouping import figures, said, tables, units
from helpers.methods.grouping.runs import GHT, PS, VANILLA
from helpers.publish import claims
from helpers.reading import folded, readable
from helpers.runs import subjects
from helpers.scores import intervals
from helpers.study import layout

drawing.style()
plan, repeats = run.settings["grouping"], run.settings["bootstrap"]
start = grouping.runs.start(run.settings, subjects.names(run.settings, models), seed, pretrained)
rows = {kind: grouping.runs.rows_of(run.settings, kind, seed) for kind in subjects.METRICS}
rows = {kind: found for kind, found in rows.items() if found}
counted = {kind: tables.statistics(found, plan["beam"]) for kind, found in rows.items()}
scored = {kind: tables.scores(found, counted[kind], repeats=repeats) for kind, found in rows.items()}
for kind, table in scored.items():
    run.table(table, f"{subjects.setting(kind)}", resamples=repeats)
translation, settings = rows[subjects.TRANSLATION], plan["translation"]
groups, steps, shape = settings["groups"], settings["steps"], settings["model"]
text, model, which = grouping.runs.example(translation[VANILLA], start, parser)  # for the method as code
kept = layout.Chapter(study.ROOT / "figures" / "natural" / run.name)
published = {name: kept.table(name) for name in ("gains", "groups", "votes")}
published["novels"] = study.ROOT / "figures" / "summaries" / "grouped-novels.csv"  # by `helpers.publish.summary`
natural = {name: pd.read_csv(path) for name, path in published.items() if run.corpus == "controlled" and path.exists()}

# %%
verdicts = claims.Box(run)

# %% [markdown]
# ## What the constraint asks of heads, and how they vote (section 3)
#
# In every batch each head becomes one long vector $e_i$: its value vectors for all real tokens, one after another. K-means
# sorts the k heads of an attention anew into C groups, and the mean of a group is its centre μ. Training adds to its loss
#
# $$L_z = w \left[ -\frac{\alpha}{k} \sum_i \cos(e_i, \mu_{y_i}) + \frac{\beta}{\binom{C}{2}} \sum_{c < c'}
# \cos(\mu_c, \mu_{c'}) \right]$$
#
# where $y_i$ is the group of head i. The first sum pulls each head towards its centre, the second pushes centres apart. Each
# square below holds the cosines between the heads of one attention, where groups stand out most: red for alike, blue for
# opposite. The *contrast* is the mean cosine within groups minus that between groups; full grouping has the largest.

# %% jupyter={"source_hidden": true}
strong = max(plan["strengths"][:-1], default=0)
tight = f"GHT, weight x {strong:g}"  # a constraint that is felt, and does not yet ruin the model
compared = {name: translation[name] for name in (VANILLA, GHT, tight) if name in translation}
site, matrices, labels, apart = tables.pictured(compared, groups, list(compared)[-1])
run.table(apart, "groups")
called = {tight: f"{strong:g} times the weight"}
weights = f"α = {plan['alpha']:g}, β = {plan['beta']:g} and w = {plan['weight']:g}"
where = f"{drawing.KIND_TITLES[site[0]]}-attention of layer {site[1] + 1}"
display(Markdown(f"Here k = {shape['heads']}, C = {groups}, {weights}; drawn: {where}."))
run.figure(
    figures.groups(*({called.get(name, name): part[name] for name in compared} for part in (matrices, labels))),
    "groups",
    caption="Cosines between the heads of the attention whose groups stand out most, sorted by group, without it and with it.",
    takeaway=said.apart(apart, groups, natural.get("groups")),
)

# %% [markdown]
# Then the model is frozen, and the heads vote (*Voting-to-Stay*). In every batch the head closest to the centre of its group
# gets a vote. Last, K-means groups heads over all these batches, and of each group the head with most votes stays. The
# constraint is on before the vote and off after it.

# %% jupyter={"source_hidden": true}
told = (
    "The cell trains the value vectors of one attention on $L_z$ alone, on one batch, and lets its heads vote. It is the first"
)
known = "`model` reads its `text`; `plan` and `groups` are the settings above."
display(Markdown(f"{told} of the encoder of {which}. {known}"))

# %% tags=["method"]
batch = text.held_out(2048, 64)[0]  # sentences that training did not see
attention, seen = model.get_encoder().layers[0].self_attn, {}
hook = attention.v_proj.register_forward_hook(lambda module, args, out: seen.update(read=args[0]))
model.get_encoder()(batch["input_ids"], batch["attention_mask"])
hook.remove()
real = seen["read"][batch["attention_mask"].bool()].detach()  # what heads read, no padding: [tokens, width]
one, other = torch.combinations(torch.arange(groups)).T
learner, last = torch.optim.Adam(attention.v_proj.parameters(), lr=0.002), 50
for step in range(last + 1):
    e = attention.v_proj(real).double().unflatten(-1, (attention.num_heads, -1)).transpose(0, 1).flatten(1)  # a head a vector
    mu = e[np.random.default_rng(0).choice(len(e), groups, replace=False)]  # K-means begins with heads drawn by lot
    for _ in range(100):  # equation 3: heads join the nearest centre, a centre is the mean of its heads
        y = torch.cdist(e, mu).argmin(1)
        mu = torch.stack([e[y == group].mean(0) for group in range(groups)])
    own, between = torch.cosine_similarity(e, mu[y]), torch.cosine_similarity(mu[one], mu[other])  # the pull and the push
    L_z = plan["weight"] * (plan["beta"] * between.mean() - plan["alpha"] * own.mean())  # equation 4B, the formula above
    if step < last:
        learner.zero_grad()
        L_z.backward()
        learner.step()
    if step in (0, last):
        print(f"step {step}: pull {own.mean():.2f}, push {between.mean():.2f} (mean cosines), L_z = {L_z.item():.5f}")
winners = [int(own.masked_fill(y != group, -2).argmax()) for group in range(groups)]  # the votes of this batch
for group, winner in enumerate(winners):
    print(f"group {group + 1}: heads {[head + 1 for head in range(len(e)) if y[head] == group]}, of which {winner + 1} wins")

# %% jupyter={"source_hidden": true}
ballot, place = units.ballot(model, [batch], "V", groups), 0
loss = plan["weight"] * units.group_loss(units.gram(e), ballot.labels[place], groups, plan["alpha"], plan["beta"])[0]
(ours, theirs), won = [torch.autograd.grad(each, e)[0] for each in (L_z, loss)], ballot.votes[place].nonzero().flatten()
torch.testing.assert_close((L_z, ours, sorted(winners)), (loss, theirs, won.tolist()), rtol=1e-4, atol=1e-9)
print("The project's code has the same loss, gradient and winners (to one part in 10,000).")

# %% [markdown]
# Below are GHT's votes in the attention that is drawn above and in the one whose vote is closest.

# %% jupyter={"source_hidden": true}
share = run.table(tables.votes(translation[PS]).set_index(["kind", "layer", "head"]), "votes").reset_index()
run.figure(
    figures.votes(tables.of_sites(share, site)),
    "votes",
    caption="Share of batches in which each head won the vote of its group, and which stay; alone: the only head of its group.",
    takeaway=said.settled(share, settings["votes"], natural.get("votes")),
)
attentions = len(tables.sites(grouping.runs.stages(translation[VANILLA])[0]))
signs = f"""As printed, the signs of equation 4B push the members of a group *apart*. We use the signs above, which are what the
text and the public code mean. The paper does not say what w is against a loss per token. Its code adds a sum over attentions to
a sum over tokens, which comes to w = {attentions / settings["batch_tokens"]:.3f} or more here; we use {plan["weight"]:g} and a
mean over attentions. The public code also clusters padding, lets votes decide without regard to groups, and does not freeze."""
facts = pd.DataFrame({kind: {**plan[subjects.setting(kind)]["model"], **plan[subjects.setting(kind)]} for kind in rows}).T
columns = {name: name for name in ("task", "steps", "groups")} | {"layers": "layers per stack", "heads": "heads per layer"}
told = (
    f"α = {plan['alpha']:g}, β = {plan['beta']:g}, heads compared by {plan['which']} (V: value vectors), w = {plan['weight']:g}"
)
setup = readable(facts.rename_axis("task"), columns | {"width": "width"}, caption=told)
run.table(tables.padding(translation[GHT], groups, plan["which"]), "padding", split="dev")
display(folded("More: signs and weight of the constraint, settings, steps", signs, setup))

# %% jupyter={"source_hidden": true}
first, remain = grouping.runs.stages(translation[PS])[0], tables.remaining(translation[PS])
moved = tables.map_of_heads(first, groups, remain)
moved = moved[moved.site.isin(["encoder 1", "encoder 2", "cross 1", "decoder 1"])]
similar = figures.similarity(*tables.similarity(first, groups), ("random weights", "after GHT, stage 1"), remain)
for figure, name, caption in (
    (similar, "similarity", "Cosines between the heads of each layer before and after training with the group constraint."),
    (figures.head_maps_over_training(moved), "map", "Heads move as they are grouped: a map of their outputs over training."),
    (figures.head_map_animation(moved), "map_animation", "Heads move as they are grouped, as an animation."),
):
    run.figure(figure, name, caption=caption, show=False)

# %% [markdown]
# ## Does the constraint help? (tables 1, 4 and 6)
#
# The figure on top holds the grouped models against *vanilla*: the same model, trained for as many steps without the
# constraint. Diamonds are printed gains, the best of a sweep over settings; by their printed size the paper's language models
# keep half of the heads, ours a quarter.

# %% jupyter={"source_hidden": true}
shapes = {kind: plan[subjects.setting(kind)]["model"] for kind in scored}
gained = tables.gains(scored, {kind: each["width"] // each["heads"] for kind, each in shapes.items()})
run.table(gained.set_index(["task", "method"]), "gains", resamples=repeats)
run.figure(
    figures.gains(gained.loc[said.first_metrics(gained).index]),
    "gains",
    caption="What grouped training changes on each of the three tasks.",
    takeaway=said.gains(gained),
    show=False,
    resamples=repeats,
)
worth = tables.worth_of_attention(rows, plan["beam"], repeats)
run.table(worth, "worth_of_attention", split="test", resamples=repeats)
found = worth.xs(VANILLA, level="row").reset_index()
found = found[found.metric.isin([metrics[0] for metrics in subjects.METRICS.values()])].drop_duplicates(["task", "kind"])
told = f"Where heads are worth little, no constraint on them can show much. {said.worth(found)}"
shown = ""
if "gains" in natural:
    empty = {one.claim.id for one in claims.judge("natural") if one.hollow}
    hollow = [kind for kind in subjects.METRICS if f"constraint-{subjects.setting(kind)}" in empty]
    columns = {"task": "task, metric, test set", "method": "model", "gain": "gain over vanilla, %"}
    main = natural["gains"][~natural["gains"].task.str.contains("ROUGE-[2L]")]
    main = main.assign(task=main.task + np.where(main.task.str.startswith(tuple(hollow)), "†", ""))
    caption = f"Natural text, over {main.seeds.min()} trainings; better is positive; †: too little at stake to judge"
    shown = readable(main, columns, {"gain": "+.1f"}, caption=caption)
display(folded(f"More: what attention is worth{', and gains on natural text' if shown else ''}", told, shown))

# %% [markdown]
# ## Does one head per group suffice? (tables 1 and 2)

# %% jupyter={"source_hidden": true}
chosen = tables.of_table_1(translation)
cost, fast = tables.costs(chosen), run.table(tables.speed(chosen), "speed", over=intervals.ROUNDS)
table = scored[subjects.TRANSLATION]
of_table_1 = table[table.index.isin(chosen, level="row")]
table_1 = run.table(tables.table_1(of_table_1, cost, fast), "table1_translation", resamples=repeats)
by_seed, size, means, bleu, both = tables.per_seed(scored, seed=seed), None, None, (None, ""), None
if plan["seeds"] > 1:
    means = run.table(tables.means_over_seeds(by_seed), "seeds")
if "peers" in plan["parts"] and plan["ablation_seeds"] > 1:
    peers, same = grouping.runs.equal_size(run.settings, seed), (grouping.runs.AT_START, grouping.runs.RANDOM)
    if "ablations" in plan["parts"]:  # as many heads, for all steps or at random
        peers |= {name: spec for name, spec in grouping.runs.table_3(run.settings, seed).items() if name.startswith(same)}
    size = run.table(tables.equal_size(peers, tables.statistics(peers, plan["beam"])), "equal_size")
if means is not None:
    both = means.loc[means.index[0][0]].rename(columns=lambda name: name.replace("change_mean", "change"))
    both = both.drop(columns=["change_low", "change_high"]).rename(columns={"mean": "value"})
if size is not None and means is not None:
    both = pd.concat([both, size])
    bleu = both.value, f" (means over {both.seeds.min()} trainings)"
sized = tables.of_one_size(table_1, both)
display(Markdown(said.rivalled(sized.row, grouping.runs.narrower(shape, groups)["width"], shape["width"])))
run.figure(
    figures.equal_size(sized),
    "equal_size",
    caption="BLEU with one head per group beside vanilla and controls of equal size (parameters without embeddings).",
    takeaway=said.sized(table_1, size, *bleu),
    answers="Ni et al., tables 1 and 2",
    table="equal_size" if size is not None else "table1_translation",
)
display(Markdown(said.late(steps, plan["first"], sized.row[sized.row != VANILLA])))
others = {kind: found for kind, found in scored.items() if kind != subjects.TRANSLATION}
if others:
    run.table(tables.table_others(others), "table4_table6_other_tasks", resamples=repeats)
for kind in others:
    found = {name: rows[kind][name] for name in (VANILLA, GHT, PS)}
    run.table(tables.costs(found).join(tables.speed(found)), f"cost_{subjects.setting(kind)}", over=intervals.ROUNDS)

# %% [markdown]
# ## Are two heads per layer too few? (figure 3)
#
# GHT-PS may lose because few heads are too few, or because of the way it gets there. The left panel keeps other numbers of
# heads per layer (in the paper `16` heads do best in `2` to `8` groups). The right panel makes heads wider, and the model with
# them (the paper's head dimension: `64`).

# %% jupyter={"source_hidden": true}
run.table(tables.constraint_terms(first, groups).set_index("step"), "settling")
several, without, drawn, width = plan["ablation_seeds"] > 1, None, None, shape["width"] // shape["heads"]
tried, every = {}, None
eight = grouping.runs.table_3(run.settings, seed) if "ablations" in plan["parts"] and several else {}
if eight:
    again = tables.ablation_over_seeds(eight, tables.statistics(eight, plan["beam"]))
    run.table(again.set_index(["model", "row"]), "table3_seeds")
    without = again[again.row != VANILLA]  # which is no part of the method
if "numbers" in plan["parts"]:
    many, wider = plan["more_heads"], grouping.runs.more_heads(run.settings, seed)
    numbers = tables.by_groups(table, groups, shape["heads"])
    run.table(numbers.set_index(["panel", "method", "groups"]), "fig3_number_of_groups", resamples=repeats)
    tried[shape["heads"]] = numbers
    first_set = numbers[numbers.panel == numbers.panel.iloc[0]]
    drawn = [first_set.assign(panel=f"{shape['heads']} heads per layer, head dimension {width}")]
    if wider:
        more = tables.by_groups(tables.scores(wider, tables.statistics(wider, plan["beam"]), repeats=repeats), groups, many)
        run.table(more.set_index(["panel", "method", "groups"]), "fig3_more_heads", resamples=repeats)
        drawn.append(more.assign(panel=f"{many} heads per layer, head dimension {shape['width'] // many}"))
        tried[many] = more
    run.figure(
        figures.score_by_groups(pd.concat(drawn)),
        "fig3_number_of_groups",
        caption="What each number of groups changes in BLEU, one training per point, intervals over test sentences, paired.",
        takeaway=said.numbers(numbers),
        answers="Ni et al., figure 3",
        show=not plan["ladder"],
        resamples=repeats,
    )
rungs, over = grouping.runs.ladder(run.settings, seed), None
if rungs:
    counts = {head: tables.statistics(found, plan["beam"]) for head, found in rungs.items()}
    every, few = (
        tables.ladder({h: tables.scores(rungs[h], counts[h], name, repeats) for h in rungs if name in rungs[h]}, seed)
        for name in (VANILLA, grouping.runs.AT_START)
    )
    run.table(every, "ladder_trainings", resamples=repeats)
    over = run.table(tables.ladder_over_seeds(every, few), "ladder", resamples=repeats)
    over = over.rename(index=said.named, level="row")
    run.figure(
        figures.ladder(over.reset_index().assign(unit="BLEU"), shape["heads"], drawn and drawn[0], groups),
        "ladder",
        caption="What grouping changes by the heads that are kept and by the width of a head, over trainings where several.",
        takeaway=said.price(over, width) or said.ladder(over, said.FEW, shape["heads"]),
        table="ladder",
        resamples=repeats,
    )
display(Markdown(f"{said.late_choice(over, width, without)} {said.detected(tried) if tried else ''}"))

# %% [markdown]
# ## Is the vote better than lot, and is every part needed? (table 3)
#
# The paper leaves out one part of its method at a time and finds each needed. *Homogenisation* is the pull within a group,
# *diversification* the push between groups. Two rows replace the vote by lot: over all heads of a layer, and within each group.

# %% jupyter={"source_hidden": true}
constrained, found = {"constraint": "with the group constraint", "plain": "without the group constraint"}, {}
for name, methods in tables.ways(translation).items():
    found[name] = tables.pillars(methods, grouping.runs.stages(next(iter(methods.values())))[0], parser)
shared = run.table(pd.concat({name: tables.overlap(part) for name, part in found.items()}, names=["model"]), "overlap")
for name, part in found.items():
    run.figure(
        figures.kept_heads(part),
        f"pillars_{name}",
        caption=f"Relevance and functions of the heads of a model trained {constrained[name]}, and which of them stay.",
        takeaway=said.kept(shared),
        show=False,
        table="overlap",
        split="dev",
    )

# %% jupyter={"source_hidden": true}
if "ablations" in plan["parts"]:
    parts = grouping.runs.Rows(run.settings, subjects.TRANSLATION, seed)
    picked = {name: translation[name] for name in (*parts.main(), *parts.ablations())}
    ablated = tables.ablation(picked, counted[subjects.TRANSLATION], repeats)
    run.table(ablated.set_index(["model", "row"]), "table3_ablation", resamples=repeats)
    ablated = ablated[ablated.row != VANILLA]  # which is no part of the method
    run.figure(
        figures.ablation(ablated),
        "ablation",
        caption="What each part of grouped training brings, left out one at a time, in BLEU.",
        takeaway=said.ablation(ablated),
        show=without is None,
        answers="Ni et al., table 3",
        table="table3_ablation",
        resamples=repeats,
    )
told = []
if without is not None:
    run.figure(
        figures.ablation(without),
        "ablation_seeds",
        caption=f"What each part of grouped training brings, in BLEU, over {plan['ablation_seeds']} trainings.",
        takeaway=said.ablation(without),
        answers="Ni et al., table 3",
        table="table3_seeds",
    )
    display(Markdown(said.vote(without)))
    told = ["Some rows share a first stage or a vote, and what is peculiar to it."]
if "sweep" in plan["parts"] and width in rungs:
    chosen = run.table(tables.chosen_on_dev(table, every.loc[width]), "chosen_on_dev", split="test")
    told += [f"The paper takes the best of a sweep over α, β and what heads are compared by. {said.chosen(chosen)}"]
display(folded("More: what rows share, and settings chosen on held-out text", *told))

# %% [markdown]
# ## Do tighter groups make better models? (figures 2 and 4)
#
# In the paper BLEU rises with the *silhouette* (how much nearer heads are to their own group than to the next, one at most)
# until the constraint is too heavy. We train with other weights of it.

# %% jupyter={"source_hidden": true}
compact = None
if {"ablations", "strengths"} <= set(plan["parts"]):
    strengths = {VANILLA: 0.0, GHT: plan["weight"]}
    strengths |= {f"GHT, weight x {factor:g}": factor * plan["weight"] for factor in plan["strengths"]}
    strengths |= {grouping.runs.NO_HOMOGENISATION: plan["weight"] / 2, grouping.runs.NO_DIVERSIFICATION: plan["weight"] / 2}
    compact = tables.compactness(translation, table, strengths, groups)
    run.table(compact.set_index("label"), "fig2_compactness", resamples=repeats)
    run.figure(
        figures.score_by_compactness(compact),
        "fig2_compactness",
        caption="How tight groups of heads are, and what BLEU does, from no constraint to a hundred times the study's.",
        takeaway=said.tighter(compact),
        answers="Ni et al., figure 2",
        resamples=repeats,
    )
followed = {name: tables.both_stages(translation[name], groups) for name in (VANILLA, GHT, tight) if name in translation}
run.table(pd.concat(followed, names=["row", "look"]), "fig4_constraint")
level = (groups / len(next(iter(labels.values())))) ** 0.5
run.figure(
    figures.constraint_over_training(followed, level),
    "fig4_constraint",
    caption="Both terms of the group constraint over training, with and without it.",
    answers="Ni et al., figure 4",
    takeaway=said.constraint(followed, len(labels[GHT]), groups),
    show=compact is None,
)

# %% [markdown]
# ## Does it work on a trained model, or in a decoder of today?
#
# The paper leaves open whether a trained model can be grouped. We train the translator of notebook 3 further, with the
# constraint and without, and a small decoder of today's make (Llama) on stories. Its heads have keys of their own, or share
# them in groups from the start (*on shared keys*).

# %% jupyter={"source_hidden": true}
later, found, told, more, grown = None, None, [], [], {}
texts = scored.get(subjects.LANGUAGE)
each = () if texts is None else tables.first_scores(texts).filter(regex=f"^{GHT}(,|$)", axis=0).change
if start:
    late = grouping.runs.from_converged(run.settings, start, seed)
    later = tables.scores(late, tables.statistics(late, plan["beam"]), grouping.runs.FURTHER, repeats)
    run.table(later, "converged", resamples=repeats, model=subjects.names(run.settings, models)[0])
    grown[said.TRAINED] = tables.pictured({GHT: late[GHT]}, groups, GHT)[-1]
    more += [f"It trains for two stages of {plan['converged_steps']:,} steps, after {run.settings['training']['steps']:,}, at a"
             f" learning rate of {plan['converged_rate']:g} (above: {settings['learning_rate']:g}): its losses do not compare"
             " with those above."]  # fmt: skip
if today := grouping.runs.today(run.settings, seed):
    worth = tables.worth_of_attention(tables.decoders(today), plan["beam"], repeats)
    run.table(worth, "worth_of_attention_today", split="test", resamples=repeats)
    found = run.table(tables.today(today, tables.statistics(today, plan["beam"]), repeats), "today", resamples=repeats)
    pulled = [name for name in today if name == grouping.runs.GHT_FEW or name in compared]
    grown[said.TODAY] = tables.pictured({name: today[name] for name in pulled}, groups, GHT)[-1]
    told += [said.today_constraint(found, each), said.shared(found)]
    run.figure(
        figures.today(found.reset_index()),
        "today",
        caption="A decoder of today after further training: heads that come to share keys and values, and query heads that go.",
        takeaway=said.shared(found) or said.today_constraint(found, each),
        show=False,
        table="today",
        resamples=repeats,
    )
shares = {(name, row): share for name, part in grown.items() for row, share in said.formed(part, groups).items()}
if grown:
    run.table(pd.concat(grown, names=["model"]), "groups_later")
shown = said.further(later, found, shares)
display(Markdown("\n".join(f"- {one}" for one in (said.works(shown, each) if len(shown) else "", *told) if one)))
if len(shown):
    columns = {"model": "model", "row": "what is done", "formed": "of full grouping", "value": "score", "change": "change"}
    told = "Against the same model without it (less perplexity is better); one training each, intervals over text"
    display(readable(shown, columns, {"formed": "%", "value": ".2f", "change": "+.2f"}, caption=told))
display(folded("More: how the translator trains on", *more))

# %% [markdown]
# ## In short

# %% jupyter={"source_hidden": true}
fit = "generated" if run.corpus == "controlled" else "natural"
judged = [one for one in claims.of_run(run.folder, run.corpus) if one.claim.chapter == run.name]
answer = said.lead(gained, fit, said.formed(apart, groups).get(GHT))
if "gains" in natural:
    answer += f"\n\n{said.elsewhere(natural['gains'], hollow, natural.get('novels'))}"
closing = f"""
{said.short(gained, tried, size, fast)}

*Limits.* {fit.capitalize()} text, models far smaller than the paper's, and a head dimension of {width} (the paper: `64`) in
most of them. A longer second stage of GHT-PS was not tried. Some results rest on one training
([all differences](../docs/differences.md)).

Code: [units.py](../helpers/methods/grouping/units.py), [runs.py](../helpers/methods/grouping/runs.py),
[tables.py](../helpers/methods/grouping/tables.py)
"""
by_training = every.loc[width] if every is not None and width in rungs else None
verdicts.fill("gains", closing, first=answer, note=said.inconclusive(judged, by_training))
