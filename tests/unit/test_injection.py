"""Runs of injection: what they depend on, what they train and write under which control, the same again, and bad input."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import BartForConditionalGeneration

from helpers import corpora, heads, measures, models, study
from helpers.corpora import clusters as clustering
from helpers.corpora import dialogues, infilling, resolvers
from helpers.heads.families import ADDRESS
from helpers.measures.worth import leave_one_out
from helpers.methods import coreference
from helpers.methods.coreference.runs import MAIN, PARTS, PLAIN, applied, links_of
from helpers.runs import outputs, subjects, training
from helpers.study import StudyError
from tests.reference import coreference as slow
from tests.unit import tiny_injection
from tests.unit.tiny_injection import FIRST, FURTHER, SEED, WARM

CPU = torch.device("cpu")
MASKED, HIGHEST, MIXED = "masked, lowest", "injected, highest", "layer of its own, upper"
MAIN_ROWS = [PLAIN, MASKED, MAIN, "injected, random", HIGHEST, MIXED]
SLOWER = {"coreference.summarization.rate": 2e-3}  # from where a pretrained model goes on
LINKS = {"matrix": "full", "span": "first", "links": "gold"}
GIVEN = {"by": "given", "heads": [["encoder", 0, 1], ["encoder", 1, 2]]}
ADDRESSES = [("encoder", 0, 1), ("encoder", 1, 2)]
INJECTED = {"form": "injected", "heads": GIVEN, **LINKS}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The main rows from random weights; the first three are trained."""
    with pytest.MonkeyPatch.context() as patch:
        tiny_injection.go_to(tmp_path_factory.getbasetemp(), patch)
        yield tiny_injection.make()


@pytest.fixture(autouse=True)
def store(isolated, tmp_path_factory, monkeypatch):
    """Tests look at the store that the rows were made in."""
    tiny_injection.go_to(tmp_path_factory.getbasetemp(), monkeypatch)


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    """Rows that start from a pretrained model, whose attention says much about what it writes."""
    base = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        tiny_injection.go_to(base, patch)
        yield tiny_injection.plan(SLOWER, start=tiny_injection.pretrained(base))


@pytest.fixture(scope="module")
def rows(plan):
    return plan.main()


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A store where nothing is trained yet; the texts are there."""
    monkeypatch.setenv("HEADS_RUNS", str(tmp_path / "runs"))
    torch.manual_seed(99)  # whatever came before must not matter


def refused(word, call, *arguments):
    with pytest.raises(StudyError, match=word) as caught:
        call(*arguments)
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


def results(run):
    return coreference.runs.run(run).results


def fed(of, first=6):
    """The first dev texts as one batch."""
    return of.held_out(10**9, first, CPU)[0]


def logits(model, batch):
    with torch.no_grad():
        return model(**models.inputs(batch), use_cache=False).logits


def under(run, control, model=None):
    """Logits of a run's model under a control."""
    model = model or coreference.runs.opened(run)
    with applied(model, run, control, ("dev",)):
        return logits(model, fed(subjects.text_of(run)))


def lowest(run, rank=0):
    """Of each layer the head of this rank, from the least important."""
    scores = coreference.runs.ranking(run, 6).importance
    layers = scores.groupby(level="layer")
    return [tuple(group.sort_values().index[rank]) for _, group in layers]


def by_hand(of, splits, form="full", span="first", clusters=None):
    """Of each text its ids and matrix by loops over what is known of the whole dialogues, and how many mentions were lost."""
    found, lost = [], 0
    for split in splits:
        told = corpora.read_dialogues(corpora.file(of.folder, split, "dialogues"))
        for place, (pair, row) in enumerate(zip(of.pairs(split), told, strict=True)):
            words, kept = of.source.word_ids(pair.source, pair.words), []
            for cluster in clusters(split)[place] if clusters else row.clusters:
                mentions = [[t for t, word in enumerate(words) if start <= word < stop] for start, stop in cluster]
                lost += mentions.count([])
                kept.append([mention if span == "whole" else mention[:1] for mention in mentions if mention])
            kept = [cluster for cluster in kept if len(cluster) > 1]
            found.append((of.source.encode(pair.source), slow.FORMS[form](kept, len(words)), kept))
    return found, lost


def as_links(texts):
    """What `by_hand` found as the injection takes it."""
    links = coreference.Links()
    for ids, matrix, _ in texts:
        matrix = np.array(matrix)
        places = np.nonzero(matrix)
        links.add(ids, coreference.Sparse(*places, matrix[places], len(ids)))
    return links


def files_of(recipe):
    """What a recipe left, wall-clock times aside."""
    folder = study.make(recipe, weights=True)
    found = {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file() and f.name != "made.json"}
    if history := found.pop("results/history.csv", b""):
        found["history"] = [line.rpartition(b",")[0] for line in history.splitlines()]
    return found


def same_history(run, history):
    stored = pd.read_csv(results(run) / "history.csv")
    pd.testing.assert_frame_equal(stored.drop(columns="seconds"), history.drop(columns="seconds"))


def rounded(model):
    """The weights of a model as they are stored."""
    return {name: value.half().float() for name, value in model.state_dict().items()}


def chain(run):
    """A run and those it goes back to, the last first."""
    return list(coreference.runs.stages(run))


def without(run, *names):
    return {name: value for name, value in run.items() if name not in names}


# --- what there is to do ---------------------------------------------------------------------------------------------


def test_rows_of_the_parts():
    found = tiny_injection.rows()
    assert list(found) == ["main", *PARTS, "seed 2", "seed 3"]
    controls = [f"{MAIN}, gold+shuffled", f"{MAIN}, no links", "injected, probing"]
    assert list(found["controls"]) == controls  # of true links no better ones are known
    assert [list(found[part]) for part in ("main", "seed 2", "seed 3")] == [MAIN_ROWS, MAIN_ROWS + controls, [PLAIN]]
    assert list(found["selection"]) == ["injected, probing", "masked, highest", "injected, random 2"]
    assert list(found["where"]) == [
        *(f"{MAIN}, {part} layers" for part in ("lower", "middle", "upper")), f"{MAIN} 2", "layer of its own, all",
    ]  # fmt: skip
    assert list(found["matrices"]) == [
        f"{MAIN}, {what}" for what in ("adjacent links", "previous links", "whole spans", "no links")
    ]
    assert list(found["quality"]) == [f"{MAIN}, {links}" for links in ("gold+corrupt:0.5", "gold+shuffled", "rule")]
    assert list(found["inference"]) == [
        "injected at inference", "injected at inference, highest",
        *(f"{MAIN}, written with {links}" for links in ("gold+shuffled", "none", "rule")), f"{MAIN}, heads off at inference",
    ]  # fmt: skip
    assert list(found["training"]) == ["other order 1", "learning rate x 3", "steps x 2"]
    curves = [f"{order}, {number} a layer" for number in (1, 2) for order in ("lowest", "highest", "random", "random 2")]
    assert list(found["masks"]) == [*curves, "lowest, 3 a layer"]
    settings = [PLAIN, *found["training"]]
    assert list(found["settings"]) == [
        f"{name}: {which}, {n} a layer" for name in settings for which in ("lowest", "highest") for n in (1, 3)
    ]
    assert json.loads(json.dumps(found)) == found


def test_a_resolvers_links_have_true_ones_as_their_ceiling():
    found = tiny_injection.rows({"coreference.summarization.links": "rule"})
    assert list(found["controls"]) == [f"{MAIN}, rule+shuffled", f"{MAIN}, no links", "injected, probing", f"{MAIN}, gold"]
    assert list(found["quality"]) == [f"{MAIN}, {links}" for links in ("gold+corrupt:0.5", "rule+shuffled", "gold")]
    usual = found["main"][MAIN]["run"]["control"]
    assert usual["links"] == "rule"
    assert found["controls"][f"{MAIN}, gold"]["run"]["control"] == usual | {"links": "gold"}
    assert found["controls"][f"{MAIN}, gold"] == found["quality"][f"{MAIN}, gold"]


def test_heads_are_masked_in_every_training_setting_by_its_own_ranking():
    found = tiny_injection.rows()
    models = {PLAIN: found["main"][PLAIN], **found["training"]}
    for name, one in found["settings"].items():
        run = models[name.partition(": ")[0]]["run"]
        assert one["run"] == run and one["control"]["heads"]["ranking"] == run and one["control"]["form"] == "masked"
    assert found["settings"][f"{PLAIN}: lowest, 1 a layer"] == found["masks"]["lowest, 1 a layer"]


def test_translation_has_main_rows_alone():
    found = tiny_injection.rows(kind=subjects.TRANSLATION)
    assert list(found) == ["main", "seed 2"] and all(list(named) == MAIN_ROWS for named in found.values())
    assert found["main"][MAIN]["run"]["control"] | {"heads": 0} == {
        "form": "injected", "heads": 0, "matrix": "arcs", "span": "first", "links": "gold",
    }  # fmt: skip


def test_main_rows_differ_in_their_control_alone():
    for kind in coreference.runs.TASKS:
        main = {name: one["run"] for name, one in tiny_injection.rows(kind=kind)["main"].items()}
        assert all(without(run, "control") == main[PLAIN] for run in main.values())
        assert len({coreference.runs.run(run) for run in main.values()}) == 6 and "control" not in main[PLAIN]
        heads_of = {name: run["control"].get("heads") for name, run in main.items() if name != PLAIN}
        assert heads_of[MASKED] == heads_of[MAIN] and heads_of[MIXED] is None
        assert main[MIXED]["control"]["form"] == "mixed" and main[MIXED]["control"]["part"] == "upper"
        orders = [heads_of[name]["order"] for name in (MAIN, "injected, random", HIGHEST)]
        assert orders == ["lowest", "random", "highest"]
        assert all(one["ranking"] == main[PLAIN] and one["probe"] == 6 for one in heads_of.values() if one)
        assert without(main[MASKED]["control"], "form") == {"heads": heads_of[MAIN]}


def test_all_rows_share_base_and_plain_model():
    rows = tiny_injection.rows()
    plain = rows["main"][PLAIN]["run"]
    for part, named in rows.items():
        if part == "settings":  # models of other trainings
            continue
        wanted = rows[part][PLAIN]["run"] if part.startswith("seed") else plain
        for name, one in named.items():
            assert one["run"]["start"] == wanted["start"], name
            controls = [one["run"].get("control"), one.get("control")]
            ranked = [control["heads"]["ranking"] for control in controls if control and "heads" in control]
            assert all(run == wanted for run in ranked), name
    for name, one in rows["inference"].items():
        assert one["run"] == (rows["main"][MAIN]["run"] if name.startswith(MAIN) else plain) and "control" in one
    assert all(one["run"] == plain and one["control"]["form"] == "masked" for one in rows["masks"].values())


def test_what_rows_of_the_parts_are():
    rows = tiny_injection.rows()
    usual = rows["main"][MAIN]["run"]["control"]

    def differs(part, name, **changed):
        control = rows[part][name].get("control") or rows[part][name]["run"]["control"]
        heads = changed.pop("heads", {})
        assert control == usual | {"heads": usual["heads"] | heads} | changed, name

    differs("selection", "injected, probing", heads={"by": "probing", "order": "highest"} | LINKS)
    differs("selection", "injected, random 2", heads={"order": "random", "draw": 1})
    differs("where", f"{MAIN}, upper layers", heads={"part": "upper"})
    differs("where", f"{MAIN} 2", heads={"count": 2})
    differs("matrices", f"{MAIN}, previous links", matrix="previous")
    differs("matrices", f"{MAIN}, whole spans", span="whole")
    differs("matrices", f"{MAIN}, no links", links="none")
    differs("quality", f"{MAIN}, gold+corrupt:0.5", links="gold+corrupt:0.5")
    differs("inference", f"{MAIN}, written with rule", links="rule")
    differs("inference", "injected at inference")
    assert rows["selection"]["masked, highest"]["run"]["control"] == {
        "form": "masked", "heads": usual["heads"] | {"order": "highest"},
    }  # fmt: skip
    assert rows["where"]["layer of its own, all"]["run"]["control"] == {"form": "mixed", "part": "all", **LINKS}
    assert rows["masks"]["random 2, 2 a layer"]["control"]["heads"] == usual["heads"] | {
        "order": "random",
        "count": 2,
        "draw": 1,
    }


def test_training_rows_change_the_training_alone():
    rows = tiny_injection.rows()
    plain = rows["main"][PLAIN]["run"]
    other, faster, longer = (rows["training"][name]["run"] for name in ("other order 1", "learning rate x 3", "steps x 2"))
    assert other == plain | {"seed": other["seed"]} and other["seed"] not in (1, 2, 3)
    assert faster == plain | {"training": plain["training"] | {"learning_rate": 0.06}}
    assert without(longer, "training") == without(plain, "training") and longer["training"]["steps"] == 2 * FURTHER


def test_seeds_change_weights_and_not_text():
    rows = tiny_injection.rows()
    for seed in (2, 3):
        for one, other in zip(chain(rows["main"][PLAIN]["run"]), chain(rows[f"seed {seed}"][PLAIN]["run"]), strict=True):
            assert (one["seed"], other["seed"]) == (1, seed) and one["corpus"] == other["corpus"]
    few = tiny_injection.rows({"coreference.seeds": 3, "coreference.alone": 1, "coreference.parts": []})
    assert {part: len(named) for part, named in few.items()} == {"main": 6, "seed 2": 6, "seed 3": 6}
    assert list(tiny_injection.rows({"coreference.seeds": 1, "coreference.alone": 1, "coreference.parts": []})) == ["main"]


def test_stages_of_a_run():
    plain, base, warm = chain(tiny_injection.rows()["main"][PLAIN]["run"])
    assert [run["stage"] for run in (warm, base, plain)] == [0, 1, 2]
    assert [run["training"]["steps"] for run in (warm, base, plain)] == [WARM, FIRST, FURTHER]
    assert warm["holes"] == {"share": 0.3, "length": 16} and not {"holes", "shape"} & (set(base) | set(plain))
    assert warm["shape"]["width"] == 24 and "start" not in warm
    (plain, base) = chain(tiny_injection.rows({"coreference.summarization.denoising": 0})["main"][PLAIN]["run"])
    assert base["shape"] == warm["shape"] and not {"holes", "start"} & set(base)
    plans = [run["training"] for run in (base, plain)]
    assert [(p["learning_rate"], p["cooldown"], p["patience"], p["average"]) for p in plans] == [
        (2e-2, 0, 0, 1),
        (2e-2, 0.5, 0, 1),
    ]
    slower = tiny_injection.rows(SLOWER)["main"][PLAIN]["run"]["training"]
    assert slower == plain["training"] | {"learning_rate": 2e-3}


def changed(changes):
    """Which of the main rows have other keys."""
    before, after = (tiny_injection.rows(given)["main"] for given in (None, changes))
    return {name for name in MAIN_ROWS if coreference.runs.run(before[name]["run"]) != coreference.runs.run(after[name]["run"])}


@pytest.mark.parametrize(
    ("changes", "depend"),
    [
        ({"bootstrap": 7, "coreference.beam": 2, "coreference.seeds": 1, "coreference.masks": 1}, set()),
        ({"coreference.draws": 5, "coreference.rates": [0.1], "coreference.translation.rate": 1e-3}, set()),
        ({"coreference.probe": 5}, {*MAIN_ROWS} - {PLAIN, MIXED}),
        ({"coreference.matrix": "adjacent"}, {*MAIN_ROWS} - {PLAIN, MASKED}),
        ({"coreference.span": "whole"}, {*MAIN_ROWS} - {PLAIN, MASKED}),
        ({"coreference.summarization.links": "rule"}, {*MAIN_ROWS} - {PLAIN, MASKED}),
        ({"coreference.summarization.rate": 1e-3}, {*MAIN_ROWS}),
        ({"coreference.summarization.denoising": 4}, {*MAIN_ROWS}),
        ({"coreference.summarization.longest": 50}, {*MAIN_ROWS}),
        ({"training.clip": 0.5}, {*MAIN_ROWS}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_keys_change_with_what_a_run_depends_on(changes, depend):
    assert changed(changes) == depend


def test_a_task_of_no_steps_has_no_rows():
    without = {f"coreference.{kind}.steps": 0 for kind in ("translation", "summarization")}
    for kind, setting in zip(coreference.runs.TASKS, ("summarization", "translation"), strict=True):
        assert tiny_injection.rows({f"coreference.{setting}.steps": 0}, kind) == {}
    assert not list(coreference.runs.recipes(tiny_injection.settings(without), SEED))


def test_every_stage_of_every_row_is_read_and_what_the_row_writes():
    found = list(coreference.runs.recipes(tiny_injection.settings(), SEED))
    parts = {kind: tiny_injection.rows(kind=kind) for kind in coreference.runs.TASKS}
    parts[subjects.TRANSLATION] = {"main": parts[subjects.TRANSLATION]["main"]}  # nobody reads its further seeds
    rows = [one for named in parts.values() for part in named.values() for one in part.values()]
    assert {recipe for recipe in found if recipe.kind is coreference.runs.INJECTION} == {
        coreference.runs.run(run) for one in rows for run in chain(one["run"])
    }
    written = {outputs.recipe(coreference.runs.run(one["run"]), 1, one.get("control")) for one in rows}
    assert {recipe for recipe in found if recipe.kind is outputs.OUTPUTS} == written
    assert len(written) == len({json.dumps(one, sort_keys=True) for one in rows})  # what stands in two parts is one


@pytest.mark.parametrize(
    ("changes", "kind", "said"),
    [
        (
            {"coreference.parts": ["tables"]},
            "summarization",
            "tables",
        ),
        ({}, "language modelling", "language modelling"),
        (
            {"coreference.summarization.steps": -1},
            "summarization",
            "steps",
        ),
        ({"coreference.summarization.further": 0}, "summarization", "further"),
        ({"coreference.probe": 0}, "summarization", "probe"),
        ({"coreference.summarization.text": "poems"}, "summarization", "poems"),
        ({"coreference.summarization.test": 0}, "summarization", "test"),
        ({"coreference.translation.text": "xx-news"}, "translation", "language"),
        ({"coreference.translation.text": "de-poems"}, "translation", "register"),
    ],
)
def test_rows_that_make_no_sense(changes, kind, said):
    refused(said, tiny_injection.plan if kind == subjects.LANGUAGE else tiny_injection.rows, changes, kind)


# --- links of a corpus -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("span", coreference.SPANS)
@pytest.mark.parametrize("form", coreference.FORMS)
def test_links_are_those_of_the_gold_clusters(plan, form, span):
    run = plan.plain()
    of = subjects.text_of(run)
    texts, lost = by_hand(of, ("dev", "test"), form, span)
    links, dropped = links_of(run, {"matrix": form, "span": span, "links": "gold"}, ("dev", "test"))
    assert len(links) == 16 and dropped == lost > 16
    for ids, matrix, _ in texts:
        np.testing.assert_array_equal(links.matrices(torch.tensor([ids]))[0], np.array(matrix, np.float32))
    assert sum(len(cluster) for *_, kept in texts for cluster in kept) > 64
    several = max(len(mention) for *_, kept in texts for cluster in kept for mention in cluster)
    assert several > 1 if span == "whole" else several == 1


def test_mentions_beyond_the_limit_are_dropped_and_counted(plan):
    run = plan.plain()
    of = subjects.text_of(run)
    for split in ("dev", "test"):
        told = corpora.read_dialogues(corpora.file(of.folder, split, "dialogues"))
        kept = [len(pair.words) for pair in of.pairs(split)]
        assert all(size < len(row.words) for size, row in zip(kept, told, strict=True))
        starts = [(mention[0], size) for row, size in zip(told, kept, strict=True) for c in row.clusters for mention in c]
        assert links_of(run, LINKS, (split,))[1] == sum(start >= size for start, size in starts)
    whole = tiny_injection.plan({"coreference.summarization.longest": 0}).plain()
    texts, lost = by_hand(subjects.text_of(whole), ("test",))
    links, dropped = links_of(whole, LINKS, ("test",))
    assert dropped == lost == 0 and len(links) == len(texts)


def changes_of(kind):
    return {
        "none": lambda clusters: [()] * len(clusters),
        "gold+shuffled": lambda clusters: clustering.shuffled(clusters, 0),
        "gold+corrupt:0.5": lambda clusters: clustering.corrupt(clusters, 0.5, 0),
        "gold+corrupt:0": lambda clusters: clusters,
    }[kind]


@pytest.mark.parametrize("links", ["none", "gold+shuffled", "gold+corrupt:0.5", "gold+corrupt:0", "rule", "rule+shuffled"])
def test_other_clusters_give_other_links(plan, links):
    run = plan.plain()
    of = subjects.text_of(run)
    told = corpora.read_dialogues(of.folder / "dialogues" / "dev.jsonl")
    name, _, change = links.partition("+")
    clusters = resolvers.resolver("rule" if name == "rule" else "gold")(told)
    clusters = changes_of(f"gold+{change}" if change else name)(clusters) if links != "rule" else clusters
    assert coreference.runs.clusters_of(of.folder, "dev", links) == clusters
    found, dropped = links_of(run, LINKS | {"links": links}, ("dev",))
    texts, lost = by_hand(of, ("dev",), clusters=lambda split: clusters)
    gold, _ = by_hand(of, ("dev",))
    for ids, matrix, _ in texts:
        np.testing.assert_array_equal(found.matrices(torch.tensor([ids]))[0], np.array(matrix, np.float32))
    same = sum(matrix == other for (_, matrix, _), (_, other, _) in zip(texts, gold, strict=True))
    assert dropped == lost and (same == 8 if links == "gold+corrupt:0" else same < 6)


def test_without_links_a_head_attends_to_itself_alone(plan):
    run = plan.plain()
    model, batch = coreference.runs.opened(run), fed(subjects.text_of(run))
    eye = torch.eye(batch["input_ids"].shape[1]).expand(6, -1, -1)
    with heads.inject(model, dict.fromkeys(ADDRESSES, lambda *_: eye)):
        alone = logits(model, batch)
    torch.testing.assert_close(under(run, INJECTED | {"links": "none"}, model), alone)
    assert (alone - under(run, INJECTED, model)).abs().max() > 1e-2


@pytest.mark.parametrize(
    ("links", "said"),
    [
        ("gold+turned", "turned"),
        ("gold+corrupt:1.5", "rate"),
        ("gold+corrupt:-1", "rate"),
        ("guess", "guess"),
    ],
)
def test_clusters_that_there_are_not(plan, links, said):
    run = plan.plain()
    refused(said, coreference.runs.clusters_of, subjects.text_of(run).folder, "dev", links)
    refused(said, under, run, INJECTED | {"links": links})


@pytest.mark.parametrize(
    ("control", "said"),
    [
        ({"form": "turned"}, "turned"),
        ({"form": "masked", "heads": {"by": "luck"}}, "luck"),
        (INJECTED | {"matrix": "all"}, "matrix"),
        (INJECTED | {"span": "last"}, "last"),
        ({"form": "mixed", "part": "outer", **LINKS}, "outer"),
        (INJECTED | {"heads": {"by": "given", "heads": [["encoder", 0, 9]]}}, "no head"),
        (INJECTED | {"heads": {"by": "given", "heads": [["decoder", 0, 1]]}}, "decoder"),
    ],
)
def test_controls_that_there_are_not(plan, control, said):
    refused(said, under, plan.plain(), control)


def test_more_heads_than_a_layer_has_cannot_be_chosen(plan):
    refused("4 heads", under, plan.plain(), plan.masked(count=5))


def test_a_text_without_links_is_an_error(plan):
    run = plan.plain()
    model, of = coreference.runs.opened(run), subjects.text_of(run)
    pair = of.pairs("test")[0]
    with applied(model, run, INJECTED, ("dev",)):
        refused("text 0", logits, model, fed_pair(of, pair))
    with applied(model, run, INJECTED, ("dev", "test")):
        assert logits(model, fed_pair(of, pair)).isfinite().all()


def fed_pair(of, pair):
    return {"input_ids": torch.tensor([of.source.encode(pair.source)]), "labels": torch.tensor([of.source.encode(pair.target)])}


# --- which heads -----------------------------------------------------------------------------------------------------


def test_ranking_is_what_the_measures_say_of_the_first_dev_texts(plan):
    run = plan.plain()
    model, of = coreference.runs.opened(run), subjects.text_of(run)
    table, batch = coreference.runs.ranking(run, 6), [fed(of)]
    assert list(table) == ["importance", "nats", "loss", "low", "high"] and list(table.index.names) == list(ADDRESS)
    np.testing.assert_allclose(table.importance, measures.importance(model, batch, "encoder"), rtol=1e-9)
    np.testing.assert_allclose(table.nats, measures.importance(model, batch, "encoder", norm=None), rtol=1e-9)
    pd.testing.assert_frame_equal(table[["loss", "low", "high"]], leave_one_out(model, batch, "encoder"))
    norms = table.importance.pow(2).groupby(level="layer").sum()
    np.testing.assert_allclose(norms, 1, rtol=1e-9)
    assert not np.allclose(coreference.runs.ranking(run, 5).importance, table.importance, rtol=1e-3)


def test_probing_is_only_where_links_are_given(plan):
    run = plan.plain()
    of = subjects.text_of(run)
    links = {"matrix": "previous", "span": "first", "links": "gold"}
    found = coreference.runs.ranking(run, 6, links)
    wanted = coreference.probing(coreference.runs.opened(run), [fed(of)], as_links(by_hand(of, ("dev",), "previous")[0]))
    np.testing.assert_allclose(found.probing, wanted, rtol=1e-6)
    pd.testing.assert_frame_equal(found.drop(columns="probing"), coreference.runs.ranking(run, 6))
    control = plan.injected(by="probing")
    assert control["heads"]["order"] == "highest"
    probed = coreference.runs.ranking(run, 6, LINKS).probing
    assert coreference.runs.addresses(control["heads"]) == [tuple(layer.idxmax()) for _, layer in probed.groupby(level="layer")]


def test_rankings_under_a_control(plan):
    run = plan.plain()
    model, of = coreference.runs.opened(run), subjects.text_of(run)
    plain, injected = coreference.runs.ranking(run, 6), coreference.runs.ranking(run, 6, control=INJECTED)
    with coreference.injected(model, ADDRESSES, as_links(by_hand(of, ("dev",))[0])):
        np.testing.assert_allclose(injected.nats, measures.importance(model, [fed(of)], "encoder", norm=None), rtol=1e-6)
    assert not np.allclose(injected.nats, plain.nats, rtol=0.05)
    masked = coreference.runs.ranking(run, 6, control={"form": "masked", "heads": GIVEN})
    assert (masked.nats[ADDRESSES] == 0).all() and (masked.loss[ADDRESSES] == 0).all()
    assert (masked.nats.drop(ADDRESSES) > 0).all()


def test_rankings_are_stored(plan, monkeypatch):
    run = plan.plain()
    table, folder = coreference.runs.ranking(run, 6), coreference.runs.run(run).folder
    before = {file: file.stat().st_mtime_ns for file in study.runs().rglob("*") if file.is_file()}
    aside = folder.with_name("aside")
    folder.rename(aside)
    try:
        pd.testing.assert_frame_equal(coreference.runs.ranking(run, 6), table)
    finally:
        aside.rename(folder)
    assert {file: file.stat().st_mtime_ns for file in study.runs().rglob("*") if file.is_file()} == before


def test_heads_are_chosen_by_importance_in_the_plain_model(plan):
    def chosen(**more):
        return coreference.runs.addresses(plan.heads(**more))

    run = plan.plain()
    assert chosen() == chosen(order="lowest") == lowest(run) and len(chosen()) == 2
    assert chosen(order="highest") == lowest(run, -1)
    assert sorted(chosen(count=2)) == sorted(lowest(run) + lowest(run, 1))
    assert chosen(part="upper") == lowest(run)[1:] and chosen(part="lower") == lowest(run)[:1]
    assert [coreference.runs.addresses(GIVEN)] == [ADDRESSES]


def test_random_heads_of_a_part_are_those_of_the_whole(plan):
    draws = [coreference.runs.addresses(plan.heads(order="random", draw=draw)) for draw in range(12)]
    assert len(set(map(tuple, draws))) > 4 and draws[0] == coreference.runs.addresses(plan.heads(order="random"))
    for draw, whole in enumerate(draws):
        for layer, part in enumerate(("lower", "upper")):
            assert coreference.runs.addresses(plan.heads(order="random", part=part, draw=draw)) == [whole[layer]]


# --- controls --------------------------------------------------------------------------------------------------------


def block_by_hand(model, run, control, splits):
    """A control that was put together in this test."""
    of, lows = subjects.text_of(run), lowest(control["heads"]["ranking"]) if "heads" in control else []
    if control["form"] == "masked":
        return heads.gate(model, dict.fromkeys(lows, 0.0))
    links = as_links(by_hand(of, splits)[0])
    if control["form"] == "mixed":
        return coreference.mixed(model, [1], links)
    return coreference.injected(model, lows, links)


@pytest.mark.parametrize("name", [MASKED, MAIN, MIXED])
def test_a_control_is_in_force_within_its_block_alone(plan, rows, name):
    run, control = plan.plain(), rows[name]["run"]["control"]
    model, batch = coreference.runs.opened(run), fed(subjects.text_of(run))
    plain = logits(model, batch)
    with block_by_hand(model, run, control, ("dev",)):
        wanted = logits(model, batch)
    with applied(model, run, control, ("dev",)) as chosen:
        torch.testing.assert_close(logits(model, batch), wanted, rtol=1e-5, atol=1e-5)
    assert chosen == (lowest(run) if name != MIXED else [])
    assert (wanted - plain).abs().max() > 1e-2 and torch.equal(logits(model, batch), plain)
    with applied(model, run, None, ("dev",)) as chosen:
        assert chosen == [] and torch.equal(logits(model, batch), plain)


@pytest.mark.parametrize("name", [PLAIN, MASKED, MAIN, MIXED])
def test_a_run_trains_under_its_control(plan, rows, tmp_path, name):
    run = rows[name]["run"]
    control, of = run.get("control"), subjects.text_of(run)
    model = BartForConditionalGeneration.from_pretrained(run["start"]["pretrained"])
    steps = of.epoch(400, 3 * SEED + 2, CPU), of.held_out(1600, None, CPU)
    with block_by_hand(model, run, control, ("train", "dev")) if control else nullcontext():
        history = training.fit(model, *steps, run["training"], tmp_path / "work", SEED)
    stored = coreference.runs.opened(run).state_dict()
    assert all(torch.equal(value, stored[key]) for key, value in rounded(model).items())
    same_history(run, history)
    if name in (MASKED, MAIN):
        table = pd.read_csv(results(run) / "heads.csv")
        assert list(table) == list(ADDRESS) and list(table.itertuples(index=False, name=None)) == lowest(rows[PLAIN]["run"])
    else:
        assert not (results(run) / "heads.csv").exists()


@pytest.mark.parametrize("name", [MASKED, MAIN])
def test_controlled_heads_learn_no_queries_and_keys(plan, rows, name):
    run = rows[name]["run"]
    start, model = coreference.runs.opened(run["start"]), coreference.runs.opened(run)
    for layer, (before, after) in enumerate(zip(heads.sites(start, "encoder"), heads.sites(model, "encoder"), strict=True)):
        learnt = {}
        for which in "qkv":
            parts = [site.projection(which).weight.unflatten(0, (4, 8)) for site in (before, after)]
            learnt[which] = (parts[0].half() != parts[1]).flatten(1).any(1).tolist()  # as it is stored
        still = [head != lowest(rows[PLAIN]["run"])[layer][2] for head in range(4)]
        assert learnt["q"] == learnt["k"] == still and learnt["v"] == (still if name == MASKED else [True] * 4)


def written_by_hand(of, model):
    sources = [pair.source for pair in of.pairs("test")]
    return training.translate(model, sources, of.source, of.target, 1)


@pytest.mark.parametrize("name", [PLAIN, MASKED, MAIN, MIXED])
def test_rows_write_under_their_control(rows, name):
    run = rows[name]["run"]
    of, model = subjects.text_of(run), coreference.runs.opened(run)
    said = coreference.runs.written(rows[name], "test", 1)
    with block_by_hand(model, run, run["control"], ("test",)) if name != PLAIN else nullcontext():
        assert written_by_hand(of, model) == said
    if name == MAIN:
        assert written_by_hand(of, model) != said


def test_a_control_at_inference_alone_leaves_the_model_as_it_was(plan, rows):
    one, own = plan.inference()["injected at inference"], rows[MAIN]
    plain = coreference.runs.run(one["run"])
    before, said, model = files_of(plain), coreference.runs.written(one, "test", 1), coreference.runs.opened(one["run"])
    with block_by_hand(model, one["run"], one["control"], ("test",)):
        assert written_by_hand(subjects.text_of(one["run"]), model) == said
    assert said != coreference.runs.written(own, "test", 1)
    assert files_of(plain) == before and said != coreference.runs.written(rows[PLAIN], "test", 1)
    others = [own, *(plan.inference()[f"{MAIN}, {what}"] for what in ("written with none", "heads off at inference"))]
    assert all(other["run"] == own["run"] for other in others)
    texts = [coreference.runs.written(other, "test", 1) for other in others]
    assert texts[0] != texts[1] != texts[2] != texts[0]
    written = [
        outputs.recipe(coreference.runs.run(other["run"]), 1, other.get("control")) for other in (rows[PLAIN], one, *others)
    ]
    assert len({recipe.key for recipe in written}) == 5


def test_what_is_written_under_a_control_needs_its_links_and_the_one_model():
    plan = tiny_injection.plan()
    one = plan.inference()[f"{MAIN}, written with rule"]
    run = coreference.runs.run(one["run"])
    needs = {need.recipe: need.weights for need in outputs.recipe(run, 1, one["control"]).needs}
    links = dialogues.clusters(plan.corpus, "test", "rule")
    assert needs == {
        run: True,
        corpora.recipe(plan.corpus): False,
        coreference.runs.ranked(plan.plain(), 6): False,
        links: False,
    }


def test_outputs_come_from_the_store_the_second_time(plan, rows):
    for one in (rows[MAIN], plan.inference()["injected at inference"]):
        said, folder = coreference.runs.written(one, "test", 1), coreference.runs.run(one["run"]).folder
        before = {file: file.stat().st_mtime_ns for file in study.runs().rglob("*") if file.is_file()}
        aside = folder.with_name("aside")
        folder.rename(aside)
        try:
            assert coreference.runs.written(one, "test", 1) == said and not folder.exists()
        finally:
            aside.rename(folder)
        assert {file: file.stat().st_mtime_ns for file in study.runs().rglob("*") if file.is_file()} == before


# --- what runs start from --------------------------------------------------------------------------------------------


def test_a_pretrained_start_is_only_read(plan, rows):
    start = rows[MAIN]["run"]["start"]
    assert (Path(start["pretrained"]) / "config.json").exists() and start == plan.base() and "stage" not in start
    assert start["files"] == [study.digest(Path(start["pretrained"]) / "model.safetensors")]
    for one in rows.values():
        assert subjects.text_of(one["run"]).source.size == coreference.runs.opened(start).config.vocab_size
    coreference.runs.opened(start).get_encoder().layers[0].fc1.weight.data.zero_()
    assert coreference.runs.opened(start).get_encoder().layers[0].fc1.weight.any()


def test_a_start_that_there_is_not(tmp_path):
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "missing"):
        run = tiny_injection.plan(start=str(folder)).plain()
        refused("tokenizer", study.make, coreference.runs.run(run))


def by_hand_stage(run, tmp_path):
    """The model and history that a stage without a control ends with, trained in this test."""
    of, stage = subjects.text_of(run), run["stage"]
    batches, dev = of.epoch(400, 3 * SEED + stage, CPU), of.held_out(1600, None, CPU)
    model = models.build_bart(run["shape"], of.source.size, SEED) if stage == 0 else coreference.runs.opened(run["start"])
    if stage == 0:
        pieces = [infilling.pieces(data.source, 1, 16) for data in (of.train, of.dev)]
        hole = of.source.tokenizer.token_to_id("<unk>")
        batches = infilling.epochs(pieces[0], 0, 1, hole, 400, SEED, CPU, 0.3)
        dev = list(infilling.epochs(pieces[1], 0, 1, hole, 400, 0, CPU, 0.3)(0))
    return model, training.fit(model, batches, dev, run["training"], tmp_path / "work", SEED)


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_each_stage_goes_on_from_the_one_before(made, tmp_path, stage):
    run = chain(made[PLAIN]["run"])[2 - stage]
    model, history = by_hand_stage(run, tmp_path)
    found, wanted = coreference.runs.opened(run).state_dict(), rounded(model)
    same_history(run, history)
    assert not (results(run) / "heads.csv").exists()
    assert found.keys() == wanted.keys() and all(torch.equal(found[name], wanted[name]) for name in wanted)


def test_without_a_warm_up_the_base_starts_from_random_weights(made, elsewhere):
    base = tiny_injection.plan({"coreference.summarization.denoising": 0}).base()
    still = base | {"training": base["training"] | {"learning_rate": 0.0, "steps": 1, "evaluate_every": 1}}
    found, of = coreference.runs.opened(still), subjects.text_of(still)
    fresh = rounded(models.build_bart(base["shape"], of.source.size, SEED))
    assert all(torch.equal(value, fresh[name]) for name, value in found.state_dict().items())
    assert (found.config.encoder_layers, found.config.decoder_layers, found.config.d_model) == (3, 1, 24)
    assert [path.name for path in (study.runs() / "injected").iterdir()] == [coreference.runs.run(still).key]


def test_in_translation_every_word_is_linked_with_its_head(made):
    plan = tiny_injection.plan(kind=subjects.TRANSLATION)
    rows, plain = plan.main(), plan.plain()
    run, of = rows[MAIN]["run"], subjects.text_of(plain)
    links, texts = coreference.Links(), corpora.parsed(of.folder, "dev")
    for pair in texts:
        ids = of.source.encode(pair.source)
        words = of.source.word_ids(pair.source, pair.words)
        pairs = [(words.index(word), words.index(head)) for word, head in enumerate(pair.heads) if head >= 0]
        assert len(pairs) == len(pair.words) - 1  # all but the root
        matrix = torch.tensor(slow.arcs(pairs, len(ids)))
        np.testing.assert_array_equal(links_of(run, run["control"], ("dev",))[0].matrices(torch.tensor([ids]))[0], matrix)
        links.add(ids, coreference.arcs(pairs, len(ids)))
    assert links_of(run, run["control"], ("dev",))[1] == 0
    model = coreference.runs.opened(run)
    with coreference.injected(model, lowest(plain), links):
        wanted = logits(model, fed(of))
    torch.testing.assert_close(under(run, run["control"], model), wanted)
    assert not torch.allclose(under(run, None, model), wanted, atol=1e-5)
    assert type(model).__name__ == "PegasusForConditionalGeneration" and run["start"] == plain["start"]
    table = pd.read_csv(results(run) / "heads.csv")
    assert list(table.itertuples(index=False, name=None)) == lowest(plain) and len(table) == 2
    assert len(coreference.runs.written(rows[MAIN], "test", 1)) == 8


# --- the same again --------------------------------------------------------------------------------------------------


def test_a_run_made_while_another_is_being_made_draws_as_if_made_before(made, tmp_path, monkeypatch):
    """With dropout: the plain model is trained, and its heads ranked, in the midst of a run or before it."""
    plan = tiny_injection.plan({"coreference.summarization.model.dropout": 0.4})
    run, found = coreference.runs.run(plan.tuned(plan.injected())), []
    before = [*map(coreference.runs.run, chain(plan.plain())[::-1]), coreference.runs.ranked(plan.plain(), 6)]
    for first in (before, []):
        monkeypatch.setenv("HEADS_RUNS", str(tmp_path / f"runs {len(first)}"))
        torch.manual_seed(len(first))  # nor does it matter what was drawn outside
        for recipe in (*first, run):
            study.make(recipe)
        assert {path.parent.name for path in study.runs().glob("[ir]*/*/made.json")} == {one.key for one in (*before, run)}
        found.append([files_of(recipe) for recipe in (*before, run)])
    assert found[0] == found[1]


# --- bad input -------------------------------------------------------------------------------------------------------


def test_what_a_row_is():
    run = tiny_injection.plan().plain()
    assert coreference.runs.row(run) == {"run": run} and coreference.runs.row(run, INJECTED) == {
        "run": run,
        "control": INJECTED,
    }
    assert coreference.runs.row(run, {}) == {"run": run, "control": {}}
    assert coreference.runs.shown("stored:a/b.tar.xz:c/d.source+corrupt:0.5") == "stored (d.source)+corrupt:0.5"
    assert coreference.runs.shown("gold") == "gold" and coreference.runs.shown("stored:a.txt") != coreference.runs.shown(
        "stored:b.txt"
    )


@pytest.mark.parametrize(
    ("changes", "word"),
    [({"coreference.summarization.piece": 0}, "piece"),
     ({"coreference.mixed": []}, "mixed"),
     ({"coreference.matrix": "arcs"}, "arcs"),
     ({"coreference.written": ["gold+corrupt:x"]}, "corrupt:x"),
     ({"coreference.resolvers": ["gold+corrupt:1.5"]}, "corrupt:1.5"),
     ({"coreference.summarization.links": "gold+shuffle"}, "shuffle")],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused_before_anything_is_made(changes, word):
    refused(word, tiny_injection.plan, changes)
