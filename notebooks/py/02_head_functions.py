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
from helpers.publish import claims
from helpers.reading import ends, readable
from helpers.runs import subjects
from helpers.scores import intervals
from helpers.study import layout

drawing.style()
studied, repeats = subjects.study_models(run), run.settings["bootstrap"]
first = studied[0]
print(snapshots.said_of_study(studied, run.settings["beam"]))

# %%
verdicts = claims.Box(run)

# %% [markdown]
# Bars: the best head for each relation and direction. The rule asks for `10` points (solid line) above a guess that always
# takes the most frequent offset (dashed). Full colour: passes significantly; hatched: by estimate alone; pale: fails. Dotted:
# the best head with random weights. All are chosen on even sentences and scored on odd ones. Diamonds and short grey lines:
# the paper's heads and offsets, EN-RU.
#
# ## What the functions look like
#
# For each function the encoder head that does best by its test in any model, *passing or not*, at two words: of all hits
# (misses) in the first `150` dev sentences of `6` to `10` words, the one whose largest attention weight is the median.
# *Needs*: the share at which the test is passed. Shares in these titles are of all dev
# sentences; the bars and tables of syntactic heads below choose on one half and score on the other, so they differ a little.
#
# The looking word is bold, on yellow. For rare tokens there may be one dashed arc: both rarest tokens can be pieces of one
# word, or one of them a piece of the looking word. Made-up names are often not the rarest tokens: first names recur and are one
# frequent token, surnames are split into pieces that many names share.

# %% jupyter={"source_hidden": true}
by_model = {subject.title: measured.TYPICAL.value(subject, repeats=repeats) for subject in studied}
typical = measured.best_of_models(by_model)
found = {subject.title: measured.SCORED.value(subject, repeats=repeats) for subject in studied}
passes = {one["function"]: one["passes"] for one in typical if one["function"] != "rare"}
passes["rare tokens"] = any(frames["rare"].verdict.any() for frames in found.values())
run.figure(
    figures.hits_and_misses(typical),
    "hits_and_misses",
    caption="One head of each function, passing or failing, at a word where it looks as it should and at one where it does"
    " not.",
    takeaway=functions.said_of_tests(passes),
    split="dev",
)

# %% [markdown]
# ## The tests
#
# A head is *positional* if its largest weight lies at one fixed offset for at least `90 %` of the tokens that have a
# neighbour there; *syntactic* if for one relation and direction its largest weight (end-of-sentence excluded) falls on the
# right word `10` points more often than the relation's most frequent offset does; a *rare-token* head if, where the rarest
# token is outside the `500` most frequent, its largest weight falls on one of the two rarest more than half of the time. A
# head may do several things; grey cells of the map pass none of these tests. The map goes by estimates: dotted is what does
# not pass with the whole interval of its score, over sentences, each head by itself.
#
# All scores come from one pass over the dev set. The map, positional, rare-token and cross scores use all its sentences;
# of syntactic heads the bars and tables take head and offset from even sentences and score both on odd ones. Attention *to* a
# word is the sum over its subwords, attention *from* a word the mean. Dependencies are gold on the controlled corpus and a
# parser's on natural text. The *best of many heads* scores above chance by luck alone: a trained model's best head has to beat
# that of random weights.

# %% jupyter={"source_hidden": true}
untrained = {}
for subject in studied:
    untrained[subject.title] = measured.SCORED.value(subject, repeats=repeats, untrained=True)
    for name, frame in found[subject.title].items():
        run.table(frame, f"{name}_{subject.name}", split="dev", sentences=len(subject.sentences), over=intervals.SENTENCES)
roles = {title: functions.roles(f["positional"], f["syntactic"], f["rare"]) for title, f in found.items()}
surely = {title: functions.roles(f["positional"], f["syntactic"], f["rare"], surely=True) for title, f in found.items()}
random_roles = {title: functions.roles(f["positional"], f["syntactic"], f["rare"]) for title, f in untrained.items()}
counts = {"trained": measured.count_roles(roles), "random weights": measured.count_roles(random_roles)}
counted = run.table(pd.concat(counts, axis=1).rename_axis("function"), "function_counts", split="dev")
sums = {which: counts[which].sum(axis=1) for which in counts} | {"surely": measured.count_roles(surely).sum(axis=1)}
run.figure(
    figures.function_map(roles, surely=surely),
    "fig1_function_map",
    caption="What each encoder head does: positional, syntactic and rare-token heads.",
    answers="Voita et al., figure 1",
    takeaway=f"{sums['trained'].heads - sums['trained'].none} of {sums['trained'].heads} encoder heads pass a test by estimate,"
    f" {sums['surely'].heads - sums['surely'].none} with their whole interval; {sums['trained'].positional} pass as positional"
    f" heads; with random weights {sums['random weights'].heads - sums['random weights'].none} pass.",
    table="function_counts",
    split="dev",
)
shown = counts["trained"].assign(**{"random weights": sums["random weights"]}).rename_axis("function")
shown = shown.rename(index={"rare": "rare-token"})
readable(shown.iloc[:, -6:], caption="Encoder heads with each function, by estimate; random weights: of all models together")

# %% [markdown]
# ## Positional heads (section 5.1)
#
# The paper finds several per model at offsets `-1` and `+1`, each on at least `90 %` of tokens. Here every encoder head, one
# dot per head, by layer from left to right; its colour is the offset at which it looks most often. Offset `0` is the token
# itself, no neighbour. Text of the other kind is from the published run.

# %% jupyter={"source_hidden": true}
best = run.table(measured.positional_table(found, untrained), "positional_heads", split="dev")
siblings = subjects.siblings(run.settings, first.name) if first.run else []
beside = snapshots.beside(run.settings, [first.name, *siblings], seed) if siblings else pd.DataFrame({"positional": []})
other = next(track for track in layout.TRACKS if track != run.corpus)
published = layout.Chapter(study.ROOT / "figures" / other / run.name)
elsewhere = {
    f"{other}, {subjects.title(path.stem.partition('_')[2])}": pd.read_csv(path, index_col=["kind", "layer", "head"])
    for path in sorted((published.folder / "tables").glob("positional_*.csv"))
    if not path.stem.endswith("heads")
}
no_reason = said.no_reason(beside)
larger = said.larger(study.ROOT / "figures" / "summaries" / "gpu-quarter.csv")
run.figure(
    figures.positional_shares(
        {title: f["positional"] for title, f in (found | {t: {"positional": f} for t, f in elsewhere.items()}).items()},
        {title: f["positional"] for title, f in untrained.items()},
    ),
    "positional_heads",
    caption="How often every encoder head looks at its most frequent offset.",
    takeaway=f"{said.positional(best.xs('encoder', level='kind'))};"
    f" {said.neighbours({title: f['positional'] for title, f in found.items()})}.",
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
heads = measured.best_of_all(studied, found, untrained)
run.table(heads, "fig4_syntactic_heads", split="dev")
held = {subject.title: measured.HELD.value(subject, repeats=repeats) for subject in studied}
random_held = {subject.title: measured.HELD.value(subject, repeats=repeats, untrained=True) for subject in studied}
relations = measured.syntactic_relations(held, random_held)
run.table(relations.set_index(["model", "relation", "direction"]), "syntactic_relations", split="dev")
cases = run.table(measured.syntactic_counts(relations), "syntactic_counts", split="dev")
run.table(measured.table_1(heads), "table1_syntactic_heads", split="dev")
printed = cases[cases.index.str.startswith("printed")].sum()
passed = relations["passes +10"].sum()
printed_for = {s.title: "OpenSubtitles" if s.name == "ru-subtitles" else "WMT" for s in studied if s.name.startswith("ru-")}
cases_told = functions.said_of_cases(relations, printed_for)
keys = ["model", "relation", "direction"]
scored = {"accuracy held out": "score", "offset baseline": "baseline", "best at random": "untrained"}
bars = relations.rename(columns=scored).merge(heads[[*keys, "printed", "printed baseline"]], "left", keys)
models_alike = said.alike(relations)
below = f"The best head lies below the offset in {relations['below offset'].sum()} of {len(relations)} cases (paper, EN-RU:"
told = f" Languages and registers are {models_alike}." if models_alike else ""
display(Markdown(f"{below} {printed['below offset']} of {printed['of']}).{told}"))

# %% [markdown]
# The paper's table 1 (EN-RU) beside ours: the head is chosen on even sentences, it and the offset are scored on odd ones. The
# printed numbers are of larger models, millions of natural pairs and predicted parses.

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
        "offset baseline": "offset",
        "above offset": "points above offset",
        f"printed accuracy, {text}": f"printed head, {text}",
        f"printed offset, {text}": "printed offset",
        "n": "n (arcs)",
    }
    forms = dict.fromkeys([name for name in columns if name not in ("case", "n")], "%") | {"above offset": "+.0f"}
    display(readable(cases_of[cases_of.model == title], columns, forms, caption=f"{title} beside the paper's EN-RU, {text}"))

# %% [markdown]
# ## Rare tokens (section 5.3)
#
# In the paper one head of the *first* layer has its largest weight on one of the two rarest tokens (diamond: on text of that
# register; of WMT it says only "more than"). Here every encoder head, one dot per head in order of its number; black dash: the
# rarest token alone. A head of another layer is not the paper's. Unit: query tokens; frequencies: subword tokens of the
# training text.

# %% jupyter={"source_hidden": true}
rare = run.table(measured.rare_table(found, untrained), "rare_tokens", split="dev").rename_axis("model")
run.figure(
    figures.rare_shares(
        {title: f["rare"] for title, f in found.items()},
        {title: measured.PRINTED_RARE[said.printed_text(title)] for title in found},
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
run.figure(
    figures.function_map({t: functions.roles(f["positional"]) for t, f in found.items()}, "decoder"),
    "decoder_map",
    caption="Positional heads of the decoder's self-attention.",
    show=False,
)
columns = {"model": "model", "layer": "layer", "head": "head", "predicted": "aligned with the token about to be written"}
columns |= {"fed": "aligned with the token fed in", "best at random": "best head, random weights"}
display(readable(cross, columns, dict.fromkeys(("predicted", "fed", "best at random"), "%"), caption="The best cross heads"))
if "decoder" in best.index.unique("kind"):
    display(Markdown(said.decoder(best.xs("decoder", level="kind"))))

# %% [markdown]
# ## When do heads appear, and in which models?
#
# The first model, looked at again and again while it is trained (setting `snapshots`), and its siblings: other sizes, or one
# other setting, one training each (setting `siblings`); below each name its encoder + decoder as layers × heads. *Small*,
# *shallow* and *deep decoder* differ in size; in *zero start* encoder attention adds nothing at the first step; *dropout* sets
# values inside the model to zero at random while it is trained; *short pieces* have a vocabulary of few subwords, *rare names*
# many more surnames. *No significant effect alone*: the loss without the head does not differ significantly (Holm, `5 %`),
# whatever the size. Before training such differences can be significant and tiny.

# %% jupyter={"source_hidden": true}
own = run.settings["snapshots"] and first.run and subjects.leads(run.settings, first.name)
if own:
    recipe = snapshots.followed(first.run.spec, run.settings["snapshots"], run.settings["relevance"], repeats)
    last = snapshots.DESCRIBED.value(first, first=run.settings["relevance"], repeats=repeats)
    over_training = snapshots.over_training(recipe, last, first.run.spec["training"]["steps"])
    run.table(over_training, "heads_over_training", split="dev", over=intervals.SENTENCES)
    run.figure(
        figures.over_training(over_training),
        "heads_over_training",
        caption="What encoder heads do, and for how many removal alone has an effect, against training steps.",
        takeaway=snapshots.said_of_training(over_training, first.title),
        split="dev",
    )
else:
    print("Not in this run: the setting snapshots names no steps, or this is not the study's first model.")

# %% jupyter={"source_hidden": true}
if siblings:
    run.table(beside, "models_beside", split="dev", over=intervals.SENTENCES)
    run.figure(
        figures.beside(beside),
        "models_beside",
        caption="BLEU, the worth of encoder attention and what encoder heads do, in models of other size or settings.",
        takeaway=snapshots.said_of_models(beside),
        split="dev",
    )
    display(Markdown(f"Positional heads: {no_reason[:1].lower()}{no_reason[1:]}" if no_reason else ""))
else:
    print("Not in this run: the setting siblings names none, or this is not the study's first model.")

# %% [markdown]
# The map of the decoder's positional heads is saved and not shown ([all figures](../figures/README.md)).
#
# ## In short

# %% jupyter={"source_hidden": true}
judged = {one.claim.id: one for one in claims.of_run(run.folder, run.corpus)}
sides = [row.side for row in judged["syntax"].rows]
sides = sides if len(sides) == len(bars) else ["open"] * len(bars)  # without a verdict there are no rows
names = ["passes (Holm)" if side == "for" else "passes by estimate" for side in sides]
over = f"{passed} of {len(relations)} cases pass by estimate, {sides.count('for')} significantly (Holm, 5 %)"
run.figure(
    figures.syntactic_bars(bars.assign(passes=bars["passes +10"].map({False: "fails by estimate"}).fillna(pd.Series(names)))),
    "fig4_syntactic_heads",
    caption="How often the best head of each relation looks at the right word, beside the offset baseline.",
    answers="Voita et al., figure 4",
    takeaway=f"{over}. {cases_told}",
    table="syntactic_relations",
    split="dev",
    show=False,
)
rule = said.needed(printed["pass +10"] / printed["of"], len(relations), sides.count("for"), sides.count("open"))
positional_told, rare_told = said.positional(best.xs("encoder", level="kind")), said.rare(rare).partition(": ")[2]
cross_told = cross_told.partition(": ")[2].partition(";")[0]
at_other = claims.of_run(published.folder.parent, other)
profile_of = study.read_json(published.shared)["parameters"]["profile"] if published.shared.exists() else other
natural = said.elsewhere({one.claim.id: one for one in at_other}, other, profile_of)
lead = f"{passed} of {len(relations)} cases of syntax by estimate, {sides.count('for')} significantly; positional heads:"
lead = f"**Do heads do what the paper's do? {lead} {int(best.xs('encoder', level='kind').verdict.sum())}; rare-token heads:"
lead += f" {int(sum(frames['rare'].verdict.sum() for frames in found.values()))}.**"
told = f"""{lead}

- **Positional heads** (paper: several per model, for 90 % of tokens): {positional_told}.
*{judged["positional"].verdict}*
- **Syntactic heads** (paper: {printed["pass +10"]} of {printed["of"]} cases, EN-RU): {over}; {rule}.
*{judged["syntax"].verdict}*
- **Rare-token heads** (paper: one in layer 1): {rare_told}. *{judged["rare"].verdict}*
- **Cross heads** (no claim of the paper): {cross_told}.
- **Languages and registers** (paper: alike): {models_alike.partition(";")[0] or "one model, no comparison"}.

{natural} {larger}"""
closing = f"""
**Positional heads:** {positional_told}. **Syntactic heads:** {over}; {rule}. **Rare-token heads:** {rare_told}.
**Cross heads:** {cross_told}.
**Languages and registers:** {models_alike.partition(":")[0] or "one model"}.

*Limits.* One training per model, so counts of heads are of one training; intervals are over sentences. Text and trees are
{"generated" if run.corpus == "controlled" else "natural, the trees a parser's"}; the paper parses news
([all differences](../docs/differences.md)).
"""
verdicts.fill("fig4_syntactic_heads", closing, first=told)
