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
# # 2 · What do heads do? Positional, syntactic and rare-token heads
#
# [← notebook 1, relevance and confidence](01_relevance_and_confidence.ipynb) · [notebook 3, L0 pruning
# →](03_l0_pruning.ipynb) · [all claims](../docs/results.md) · [figures](../figures/README.md) · functions:
# [measures/functions.py](../helpers/measures/functions.py), [measures/reducers.py](../helpers/measures/reducers.py),
# [corpora/alignment.py](../helpers/corpora/alignment.py)
#
# Section 5 of Voita et al. 2019 ([arXiv 1905.09418](https://arxiv.org/abs/1905.09418)).
#
# **The paper's claims.** Encoder heads that matter have readable functions: *positional* heads look at a neighbour,
# *syntactic* heads look along a dependency in both directions, and one head of the first layer looks at the *rarest tokens*
# of the sentence. The picture is alike for three target languages and two registers. Dependencies: subject (nsubj), object
# (dobj), adjective (amod), adverb of a verb or of an adjective (advmod; v stands for either); v→s: the verb looks at its
# subject, s→v: the subject at its verb, and so on.
#
# Three words with one meaning each: *baseline*, a guess that always takes the relation's most frequent offset (place of the
# partner minus place of the word); *the line*, `10` points above the baseline, at or above which the paper calls a head
# syntactic; *passes*, significantly above the line (Holm over all cases, `5 %`).
#
# What we find stands below; then one head of each function at work, every test with the paper's numbers beside ours, the
# decoder's self-attention and cross-attention, and when in training heads appear. Layers and heads count from one. The models
# and their text are described right below the parameters.

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
from helpers.measures import figures, functions, measured, said, snapshots
from helpers.methods import contest
from helpers.publish import claims
from helpers.reading import count, ends, listed, number, readable
from helpers.runs import subjects
from helpers.scores import intervals
from helpers.study import layout

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
sides = [row.side for row in {one.claim.id: one for one in claims.of_run(run.folder, run.corpus)}["syntax"].rows]
sides = sides if len(sides) == len(relations) else ["open"] * len(relations)  # without a verdict there are no rows
relations = relations.assign(passes=[side == "for" for side in sides])
leads = bool(first.run) and subjects.leads(run.settings, first.name)
again = contest.runs.again(run.settings, subjects.names(run.settings, models), seed) if leads else {}
again = {place: pair for place, pair in again.items() if place[0] in found or place[0].startswith(first.title)}
tables = {place: contest.runs.measured(described)[0] for place, (described, _) in again.items()}
each = run.table(measured.by_training(found, tables, seed), "functions_by_training", split="dev")

# %% [markdown]
# ## What the functions look like
#
# For each function the encoder head that, on all dev sentences, does best by its test in any model, *passing or not*, at two
# words: of all hits (misses) in the first `150` dev sentences of `6` to `10` words, the one whose largest attention weight is
# the median. *Needs*: the share at which the test is passed. Of syntactic heads both shares are those of the figure on top
# (odd sentences) if it has the same head: there another model's head can lie higher.
#
# The looking word is bold, on yellow. For rare tokens there may be one dashed arc: both rarest tokens can be pieces of one
# word, or one of them a piece of the looking word. Made-up names are often not the rarest tokens: first names recur and are one
# frequent token, surnames are split into pieces that many names share.

# %% jupyter={"source_hidden": true}
by_model = {subject.title: measured.TYPICAL.value(subject, repeats=repeats) for subject in studied}
typical = measured.held_numbers(measured.best_of_models(by_model), relations)
tests = {"positions": best.xs("encoder", level="kind").verdict.any()}
tests |= {name: bool(relations.passes[relations.relation == key].any()) for key, name in snapshots.CALLED.items()}
tests["rare tokens"] = any(frames["rare"].verdict.any() for frames in found.values())
run.figure(
    figures.hits_and_misses(typical),
    "hits_and_misses",
    caption="One head of each function, passing or failing, at a word where it looks as it should and at one where it does"
    " not.",
    takeaway=f"A head passes for {listed(name for name in tests if tests[name])}; for"
    f" {listed(name for name in tests if not tests[name])} the best one fails.",
    split="dev",
)

# %% [markdown]
# ## The tests
#
# A head is *positional* if its largest weight lies at one fixed offset for at least `90 %` of the tokens that have a
# neighbour there; *syntactic* if for one relation and direction its largest weight (end-of-sentence excluded) falls on the
# right word `10` points more often than the baseline does; a *rare-token* head if, where the rarest token is outside the
# `500` most frequent, its largest weight falls on one of the two rarest more than half of the time.
#
# The map shows heads that do so by estimate: a chip has the head's number and what it does, a head may have several. A dashed
# edge: the interval of the head minus the baseline, each head by itself, reaches below the line.
#
# All scores come from one pass over the dev set. The map, positional, rare-token and cross scores use all its sentences; the
# figure on top and the tables of syntactic heads choose head and offset on even sentences and score both on odd ones.
# Attention *to* a
# word is the sum over its subwords, attention *from* a word the mean. Dependencies are gold on the controlled corpus and a
# parser's on natural text. The *best of many heads* scores above chance by luck alone: a trained model's best head has to beat
# that of random weights.

# %% jupyter={"source_hidden": true}
for subject in studied:
    for name, frame in found[subject.title].items():
        run.table(frame, f"{name}_{subject.name}", split="dev", sentences=len(subject.sentences), over=intervals.SENTENCES)
spread = {s.title: functions.offset_interval(functions.arcs_of(s.sentences), repeats) for s in studied}
roles = {title: functions.roles(f["positional"], f["syntactic"], f["rare"]) for title, f in found.items()}
surely = {title: functions.roles(f["positional"], f["syntactic"], f["rare"], spread[title]) for title, f in found.items()}
random_roles = {title: functions.roles(f["positional"], f["syntactic"], f["rare"]) for title, f in untrained.items()}
counts = {"trained": measured.count_roles(roles), "random weights": measured.count_roles(random_roles)}
counted = run.table(pd.concat(counts, axis=1).rename_axis("function"), "function_counts", split="dev")
sums = {which: counts[which].sum(axis=1) for which in counts} | {"surely": measured.count_roles(surely).sum(axis=1)}
run.figure(
    figures.function_map(roles, surely=surely),
    "fig1_function_map",
    caption="What each encoder head does: positional, syntactic and rare-token heads.",
    answers="Voita et al., figure 1",
    takeaway=f"{sums['trained'].heads - sums['trained'].none} of {sums['trained'].heads} encoder heads have a function by"
    f" estimate, {sums['surely'].heads - sums['surely'].none} with their whole interval, with random weights"
    f" {sums['random weights'].heads - sums['random weights'].none}; {sums['trained'].positional} are positional,"
    f" {sums['trained'].rare} rare-token heads.",
    table="function_counts",
    split="dev",
)

# %% [markdown]
# How much of that is the model, and how much the seed? The same tests on every training at hand, by estimate: the models of
# the map, then the same model with other seeds, and a small one (last section). Cases: `8` there are, four relations
# in two directions.

# %% jupyter={"source_hidden": true}
columns = {"model": "model", "seed": "seed", "with functions": "heads with a function", "heads": "of"}
columns |= {"cases": "cases above the line", "positional": "best positional head", "rare": "best on the two rarest"}
readable(each, columns, dict.fromkeys(("positional", "rare"), "%"), caption="What heads do, a row a training")

# %% [markdown]
# ## Positional heads (section 5.1)
#
# The paper finds several per model at offsets `-1` and `+1`, each on at least `90 %` of tokens. Here every encoder head, one
# dot per head, by layer from left to right (small digits); its colour is the offset at which it looks most often. Offset `0`
# is the token itself, no neighbour. Text of the other kind is from the published run; in brackets layers × heads.

# %% jupyter={"source_hidden": true}
siblings = subjects.siblings(run.settings, first.name) if first.run else []
beside = snapshots.beside(run.settings, [first.name, *siblings], seed) if siblings else pd.DataFrame({"positional": []})
other = next(track for track in layout.TRACKS if track != run.corpus)
published = layout.Chapter(study.ROOT / "figures" / other / run.name)
elsewhere = {
    f"{other}, {subjects.title(path.stem.partition('_')[2])}": pd.read_csv(path, index_col=["kind", "layer", "head"])
    for path in sorted((published.folder / "tables").glob("positional_*.csv"))
    if not path.stem.endswith("heads")
}
larger = said.larger(study.ROOT / "figures" / "summaries" / "gpu-quarter.csv")
run.figure(
    figures.positional_shares(
        {title: f["positional"] for title, f in (found | {t: {"positional": f} for t, f in elsewhere.items()}).items()},
        {title: f["positional"] for title, f in untrained.items()},
    ),
    "positional_heads",
    caption="How often every encoder head looks at its most frequent offset.",
    takeaway=f"{said.positional(best.xs('encoder', level='kind'))}.",
    split="dev",
)
shown = dict.fromkeys(("score", "best at random"), "%")
readable(
    best.xs("encoder", level="kind"),
    {
        "model": "model",
        "layer": "layer",
        "head": "head",
        "offset": "offset",
        "score": "tokens at this offset",
        "best at random": "best head, random weights",
    },
    shown | {"offset": "+.0f"},
    {"score": "most"},
    f"The best positional head of each model, of {ends(best.xs('encoder', level='kind').heads)} encoder heads",
)

# %% [markdown]
# ## Syntactic heads (section 5.2, figure 4, table 1)
#
# The figure is the one on top. The paper finds heads for both directions of a relation; here one often fails, and why was not
# tested.

# %% jupyter={"source_hidden": true}
printed_for = {s.title: "OpenSubtitles" if s.name == "ru-subtitles" else "WMT" for s in studied if s.name.startswith("ru-")}
display(Markdown(said.directions(relations)))

# %% [markdown]
# The paper's table 1 (EN-RU) beside ours: the head is chosen on even sentences, it and the baseline are scored on odd ones. The
# printed numbers are of larger models, millions of natural pairs and predicted parses. EN-DE and EN-FR are in
# [a table of all cases](../figures/controlled/02_head_functions/tables/syntactic_relations.csv).

# %% jupyter={"source_hidden": true}
above = ["above offset", "above offset, low", "above offset, high"]
cases_of = relations.assign(
    case=[f"{row.relation} {functions.LABELS[row.relation, row.direction]}" for row in relations.itertuples()],
    **{name: 100 * relations[name] for name in above},
)
for title, text in printed_for.items():
    columns = {
        "case": "case",
        "accuracy held out": "best head",
        "offset baseline": "baseline",
        "above offset": "points above baseline",
        f"printed accuracy, {text}": f"printed head, {text}",
        f"printed offset, {text}": "printed baseline",
        "n": "n (arcs)",
    }
    forms = dict.fromkeys([name for name in columns if name not in ("case", "n")], "%") | {"above offset": "+.0f"}
    display(readable(cases_of[cases_of.model == title], columns, forms, caption=f"{title} beside the paper's EN-RU, {text}"))

# %% [markdown]
# ## Rare tokens (section 5.3)
#
# In the paper one head of the *first* layer has its largest weight on one of the two rarest tokens (diamond: on text of that
# register; arrow: of WMT it says only "more than"; open dash: on the rarest alone, printed for subtitles). Here every encoder
# head, one dot per head in order of its number; black dash: the rarest token alone. A head of another layer is not the
# paper's. Unit: query tokens; frequencies: subword tokens of the training text.

# %% jupyter={"source_hidden": true}
run.figure(
    figures.rare_shares(
        {title: f["rare"] for title, f in found.items()},
        {title: measured.PRINTED_RARE[said.printed_text(title)] for title in found},
        rare["best at random"].to_dict(),
    ),
    "rare_tokens",
    caption="How often every encoder head looks at the rarest tokens of a sentence.",
    takeaway=f"B{said.rare(rare)[1:]}.",
    split="dev",
)
names = ("model", "layer", "head", "two rarest", "best at random", "chance, two", "sentences")
called = ("model", "layer", "head", "looks at the two rarest", "best head, random weights", "chance", "n (sentences)")
shares = dict.fromkeys(("two rarest", "best at random", "chance, two"), "%")
readable(rare, dict(zip(names, called, strict=True)), shares, {"two rarest": "most"}, "The best rare-token head of each model")

# %% [markdown]
# ## Decoder and cross heads
#
# Cross-attention is held to a statistical word alignment (Dyer et al. 2013) of the same sentences: does the head look at the
# source token of the target token *about to be written*, or of the one just *fed in*? One dot per cross head; above the
# diagonal it is for the former. The table has the best of as many heads with random weights. Of the decoder's self-attention
# there is the test of positional heads.

# %% jupyter={"source_hidden": true}
aligned = pd.concat({title: f["alignment"] for title, f in found.items()}, names=["model"])
run.table(aligned, "alignment", split="dev", over=intervals.SENTENCES)
by_luck = pd.Series({title: frames["alignment"].predicted.max() for title, frames in untrained.items()})
cross = aligned.loc[aligned.predicted.groupby("model", sort=False).idxmax()].reset_index(["kind", "layer", "head"])
cross = cross.assign(layer=cross.layer + 1, head=cross["head"] + 1, **{"best at random": by_luck})
cross = run.table(cross.drop(columns="kind"), "cross_heads", split="dev", over=intervals.SENTENCES)
cross_told = said.cross(cross, aligned)
run.figure(
    figures.cross_alignment({title: f["alignment"] for title, f in found.items()}),
    "alignment_predicted",
    caption="How often every cross-attention head looks at the source word of the token fed in, and of the one about to be"
    " written.",
    takeaway=f"B{cross_told[1:]}.",
    table="alignment",
    split="dev",
)
columns = {"model": "model", "layer": "layer", "head": "head", "predicted": "aligned with the token about to be written"}
columns |= {"fed": "aligned with the token fed in", "best at random": "best head, random weights"}
display(readable(cross, columns, dict.fromkeys(("predicted", "fed", "best at random"), "%"), caption="The best cross heads"))
if "decoder" in best.index.unique("kind"):
    display(Markdown(said.decoder(best.xs("decoder", level="kind"))))

# %% [markdown]
# ## When do heads appear, and in which models?
#
# The first model, looked at again and again while it is trained (setting `snapshots`). Of each relation the better direction
# counts. Lower right: heads with a function, and heads whose removal alone costs more than `0.01` nats; these from a dev loss
# below `5` on, for in an untrained model a removal changes the loss by chance.

# %% jupyter={"source_hidden": true}
if run.settings["snapshots"] and leads:
    recipe = snapshots.followed(first.run.spec, run.settings["snapshots"], run.settings["relevance"], repeats)
    last = snapshots.DESCRIBED.value(first, first=run.settings["relevance"], repeats=repeats)
    over_training = snapshots.over_training(recipe, last, first.run.spec["training"]["steps"])
    run.table(over_training, "heads_over_training", split="dev", over=intervals.SENTENCES)
    run.figure(
        figures.over_training(over_training),
        "heads_over_training",
        caption="What encoder heads do, and for how many removal alone has an effect, against training steps.",
        takeaway=snapshots.said_of_training(over_training),
        split="dev",
    )
else:
    print("Not in this run: the setting snapshots names no steps, or this is not the study's first model.")

# %% [markdown]
# Its siblings: other sizes, or one other setting (setting `siblings`). *Small* (encoder `3 × 8`, decoder `1 × 2`: layers and
# heads), *shallow decoder* (`1 × 2`) and *deep decoder* (`3 × 8`, with a shallower encoder) differ in size; in *zero start*
# encoder attention adds nothing at the first step; *dropout* sets values inside the model to zero at random while it is
# trained; *short pieces* have a vocabulary of few subwords, *rare names* many more surnames. Their BLEU, the BLEU that
# training with encoder attention adds, and all counts are in
# [a table](../figures/controlled/02_head_functions/tables/models_beside.csv).

# %% jupyter={"source_hidden": true}
if siblings:
    run.table(beside, "models_beside", split="dev", over=intervals.SENTENCES)
    few = run.settings["relevance"]
    off = {place: measured.KINDS_OFF.read(made, first=few) for place, (_, made) in again.items() if place[1] != seed}
    points = snapshots.scattered(beside, each, off)
    run.figure(
        figures.beside(points),
        "models_beside",
        caption="Encoder heads with a function and the loss without encoder attention, in models of other size or settings.",
        takeaway=snapshots.said_of_models(points),
        split="dev",
    )
    display(Markdown(f"The best positional heads of these models reach {ends(beside.positional, '%')}."))
else:
    print("Not in this run: the setting siblings names none, or this is not the study's first model.")

# %% [markdown]
# ## In short

# %% jupyter={"source_hidden": true}
judged = {one.claim.id: one for one in claims.of_run(run.folder, run.corpus)}
run.figure(
    figures.syntactic_cases(relations, printed_for),
    "fig4_syntactic_heads",
    caption="How far the best head of each relation and direction lies above the baseline, beside the paper's heads.",
    answers="Voita et al., figure 4",
    takeaway=said.cases(relations, printed_for, each),
    table="syntactic_relations",
    split="dev",
    show=False,
)
passed, above = sides.count("for"), int(relations["passes +10"].sum())
printed = said.printed_above(relations[relations.model == relations.model.iloc[0]]).to_numpy()
rule, verdict = said.needed(printed.mean(), len(relations), passed, sides.count("open")), judged["syntax"].verdict
positional_told, rare_told = said.positional(best.xs("encoder", level="kind")), said.rare(rare).partition(": ")[2]
cross_told = cross_told.partition(": ")[2].partition(";")[0]
at_other = claims.of_run(published.folder.parent, other)
natural = said.elsewhere({one.claim.id: one for one in at_other}, other, said.sizes(elsewhere))
places = (run.folder, study.ROOT / "figures" / run.corpus)  # its own table, or the committed one
follows = [claims.tables_in(place)("01_relevance_and_confidence/follows_function_by_model") for place in places]
matter = said.matter(judged, next((table for table in follows if table is not None), None))
models_alike, _, in_all = said.alike(each, seed).rpartition("; ")
in_all += said.also(in_all, each, beside)
others = [each.positional.max(), *beside.positional, *(f.score.xs("encoder").max() for f in elsewhere.values())]
open_rare = sum(row.side == "open" for row in judged["rare"].rows)
unclear = f"; {open_rare} of {count(len(rare), 'model')} undecided" * bool(open_rare)
matters = f"{matter.partition(': ')[2].partition(' (')[0]}; " * matter.startswith("mostly")
at_random = ends(100 * (relations["best at random"] - relations["offset baseline"]), "+.0f")
several = {"positional head": int(counts["trained"].loc["positional"].sum())}
several |= {"rare-token head": int(counts["trained"].loc["rare"].sum())}
undecided = "Undecided" + " because of seeds" * models_alike.startswith("not decided")
failed = "In part" if any(several.values()) else "Does not hold"
position = ends([best.xs("encoder", level="kind").score.max()], "%")
told = f"""**Do heads do what the paper's do? {said.headline(verdict, relations, rule, several)}**

- The best head looks at one offset for {position} of tokens (other models: up to {number(max(others), "%")};
paper: `90 %`), at one of the two rarest for
{ends([rare["two rarest"].max()], "%")} (paper: `83 %`{unclear}).
- **Do heads that matter have functions?** {matter.partition(";")[0].capitalize()}.
- **Languages and registers** (paper: alike): {models_alike.partition(":")[0] or in_all}."""
more = f"""*How to read it.* A dot is the best head of a model (chosen on even sentences, scored on odd ones), with the
interval of its difference to the baseline. Full: passes; ring: at or above the line by estimate alone; small and pale: below.
Diamonds: the paper's heads, EN-RU, against the paper's own baselines. The best of as many heads with random weights lies
{at_random} points from the baseline.

- **Syntactic heads** (paper: {printed.sum()} of {printed.size} at or above the line by estimate, EN-RU; ours by estimate
{above} of {len(relations)}): {passed} pass; above the line is {in_all}; {rule}.
*{verdict}*{" (some cases pass, fewer than needed)" * (verdict == "partly")}
- **Positional heads** (paper: several per model): {positional_told}. *{judged["positional"].verdict}*
- **Rare-token heads** (paper: one in layer 1): {rare_told}{unclear}. *{judged["rare"].verdict}*
- **Heads that matter**: {matter.partition("; ")[2] or matter}.
- **Languages and registers**: {models_alike or in_all}.
- **Cross heads** (no claim of the paper): {cross_told}.

{natural} {larger}"""
closing = f"""
- **Holds**: of syntax {in_all}; {matters}cross heads align {cross_told}.
- **{failed}**: positional heads at `90 %` ({several["positional head"]}); rare-token heads
({several["rare-token head"]}{unclear}).
- **{undecided}**: which of the other cases have a head, and whether languages and registers are alike.

*Limits.* Intervals are over sentences of one training each. Text and trees are
{"generated" if run.corpus == "controlled" else "natural, the trees a parser's"}; the paper parses news
([all differences](../docs/differences.md)).
"""
verdicts.fill("fig4_syntactic_heads", closing, first=told, more=more)
