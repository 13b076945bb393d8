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
from helpers.methods.coreference.runs import MAIN, PLAIN, applied, links_of
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


@pytest.fixture(autouse=True)
def store(isolated, tmp_path_factory, monkeypatch):
    """Tests share a store, in which a row is trained when the first test reads it."""
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
    controls = ["injected, lowest, gold+shuffled", f"{MAIN}, no links", "injected, probing"]
    masked = [f"{order}, {number} a layer" for number in (1, 2) for order in ("lowest", "highest", "random", "random 2")]
    others = ["other order 1", "learning rate x 3", "steps x 2"]
    assert json.loads(json.dumps(found)) == found and {part: list(named) for part, named in found.items()} == {
        "main": MAIN_ROWS, "seed 2": MAIN_ROWS + controls, "seed 3": [PLAIN], "controls": controls, "training": others,
        "selection": ["injected, probing", "masked, highest", "injected, random 2"],
        "where": [*(f"{MAIN}, {part} layers" for part in ("lower", "middle", "upper")), f"{MAIN} 2", "layer of its own, all"],
        "matrices": [f"{MAIN}, {what}" for what in ("adjacent links", "previous links", "whole spans", "no links")],
        "quality": [f"{MAIN}, {links}" for links in ("gold+corrupt:0.5", "gold+shuffled", "rule")],
        "inference": ["injected at inference", "injected at inference, highest",
                      *(f"{MAIN}, written with {links}" for links in ("gold+shuffled", "none", "rule")),
                      f"{MAIN}, heads off at inference"],
        "masks": [*masked, "lowest, 3 a layer"],
        "settings": [f"{name}: {which}, {n} a layer" for name in (PLAIN, *others)
                     for which in ("lowest", "highest") for n in (1, 3)],
    }  # fmt: skip
    assert {part: list(named) for part, named in tiny_injection.rows(kind=subjects.TRANSLATION).items()} == {
        "main": MAIN_ROWS, "seed 2": MAIN_ROWS,
    }  # fmt: skip
    few = tiny_injection.rows({"coreference.seeds": 3, "coreference.alone": 1, "coreference.parts": []})
    assert {part: len(named) for part, named in few.items()} == {"main": 6, "seed 2": 6, "seed 3": 6}
    # of a resolver's links the true ones are the ceiling
    by_rule = tiny_injection.rows({"coreference.summarization.links": "rule"})
    assert list(by_rule["controls"]) == [f"{MAIN}, rule+shuffled", f"{MAIN}, no links", "injected, probing", f"{MAIN}, gold"]
    assert list(by_rule["quality"]) == [f"{MAIN}, {links}" for links in ("gold+corrupt:0.5", "rule+shuffled", "gold")]
    usual, best = (one["run"]["control"] for one in (by_rule["main"][MAIN], by_rule["controls"][f"{MAIN}, gold"]))
    assert usual["links"] == "rule" and best == usual | {"links": "gold"}


def test_all_rows_share_base_and_plain_model():
    rows = tiny_injection.rows()
    models = {PLAIN: rows["main"][PLAIN], **rows["training"]}
    for part, named in rows.items():
        for name, one in named.items():
            # in another training setting heads are masked by its own ranking
            own = models[name.partition(": ")[0]] if part == "settings" else rows[part if "seed" in part else "main"][PLAIN]
            assert one["run"]["start"] == own["run"]["start"], name
            controls = [one["run"].get("control"), one.get("control")]
            ranked = [control["heads"]["ranking"] for control in controls if control and "heads" in control]
            assert all(run == own["run"] for run in ranked), name
            if part in ("masks", "settings"):
                assert one["run"] == own["run"] and one["control"]["form"] == "masked", name
    for name, one in rows["inference"].items():
        assert one["run"] == rows["main"][MAIN if name.startswith(MAIN) else PLAIN]["run"] and "control" in one
    for one, other in zip(chain(rows["main"][PLAIN]["run"]), chain(rows["seed 2"][PLAIN]["run"]), strict=True):
        assert (one["seed"], other["seed"]) == (1, 2) and one["corpus"] == other["corpus"]


def test_what_rows_of_the_parts_are():
    rows = tiny_injection.rows()
    usual, plain = rows["main"][MAIN]["run"]["control"], rows["main"][PLAIN]["run"]
    assert usual | {"heads": 0} == {"form": "injected", "heads": 0, **LINKS}
    assert rows["main"][MASKED]["run"]["control"] == {"form": "masked", "heads": usual["heads"]}
    assert rows["main"][MIXED]["run"]["control"] == {"form": "mixed", "part": "upper", **LINKS}
    assert all(without(one["run"], "control") == plain for one in rows["main"].values())
    for part, name, other_heads, changed in (
        ("main", "injected, random", {"order": "random"}, {}),
        ("main", HIGHEST, {"order": "highest"}, {}),
        ("selection", "injected, probing", {"by": "probing", "order": "highest"} | LINKS, {}),
        ("selection", "injected, random 2", {"order": "random", "draw": 1}, {}),
        ("where", f"{MAIN}, upper layers", {"part": "upper"}, {}),
        ("where", f"{MAIN} 2", {"count": 2}, {}),
        ("matrices", f"{MAIN}, previous links", {}, {"matrix": "previous"}),
        ("matrices", f"{MAIN}, whole spans", {}, {"span": "whole"}),
        ("matrices", f"{MAIN}, no links", {}, {"links": "none"}),
        ("quality", f"{MAIN}, gold+corrupt:0.5", {}, {"links": "gold+corrupt:0.5"}),
        ("inference", f"{MAIN}, written with rule", {}, {"links": "rule"}),
        ("inference", "injected at inference", {}, {}),
    ):
        control = rows[part][name].get("control") or rows[part][name]["run"]["control"]
        assert control == usual | {"heads": usual["heads"] | other_heads} | changed, name
    masked = {"form": "masked", "heads": usual["heads"] | {"order": "highest"}}
    assert rows["selection"]["masked, highest"]["run"]["control"] == masked
    assert rows["where"]["layer of its own, all"]["run"]["control"] == {"form": "mixed", "part": "all", **LINKS}
    random = usual["heads"] | {"order": "random", "count": 2, "draw": 1}
    assert rows["masks"]["random 2, 2 a layer"]["control"]["heads"] == random
    other, faster, longer = (rows["training"][name]["run"] for name in ("other order 1", "learning rate x 3", "steps x 2"))
    assert other == plain | {"seed": other["seed"]} and other["seed"] not in (1, 2, 3)
    assert faster == plain | {"training": plain["training"] | {"learning_rate": 0.06}}
    assert without(longer, "training") == without(plain, "training") and longer["training"]["steps"] == 2 * FURTHER
    arcs = tiny_injection.rows(kind=subjects.TRANSLATION)["main"][MAIN]["run"]["control"]
    assert arcs | {"heads": 0} == {"form": "injected", "heads": 0, "matrix": "arcs", "span": "first", "links": "gold"}


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
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_keys_change_with_what_a_run_depends_on(changes, depend):
    before, after = ({name: coreference.runs.run(one["run"]) for name, one in tiny_injection.rows(given)["main"].items()}
                     for given in (None, changes))  # fmt: skip
    assert {name for name in MAIN_ROWS if before[name] != after[name]} == depend


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


# --- links of a corpus -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("span", coreference.SPANS)
@pytest.mark.parametrize("form", coreference.FORMS)
def test_links_are_those_of_the_gold_clusters(plan, form, span):
    run = plan.plain()
    texts, lost = by_hand(subjects.text_of(run), ("dev", "test"), form, span)
    links, dropped = links_of(run, {"matrix": form, "span": span, "links": "gold"}, ("dev", "test"))
    assert len(links) == 16 and dropped == lost > 16
    for ids, matrix, _ in texts:
        np.testing.assert_array_equal(links.matrices(torch.tensor([ids]))[0], np.array(matrix, np.float32))
    several = max(len(mention) for *_, kept in texts for cluster in kept for mention in cluster)
    assert several > 1 if span == "whole" else several == 1
    whole = tiny_injection.plan({"coreference.summarization.longest": 0}).plain()  # without a cut nothing is lost
    assert links_of(whole, LINKS, ("test",))[1] == 0


@pytest.mark.parametrize(
    ("links", "change"),
    [
        ("none", lambda clusters: [()] * len(clusters)), ("rule", None),
        ("gold+shuffled", lambda clusters: clustering.shuffled(clusters, 0)),
        ("rule+shuffled", lambda clusters: clustering.shuffled(clusters, 0)),
        ("gold+corrupt:0.5", lambda clusters: clustering.corrupt(clusters, 0.5, 0)), ("gold+corrupt:0", None),
    ],
)  # fmt: skip
def test_other_clusters_give_other_links(plan, links, change):
    run = plan.plain()
    of = subjects.text_of(run)
    told = corpora.read_dialogues(of.folder / "dialogues" / "dev.jsonl")
    clusters = resolvers.resolver("rule" if links.startswith("rule") else "gold")(told)
    clusters = change(clusters) if change else clusters
    assert coreference.runs.clusters_of(of.folder, "dev", links) == clusters
    found, dropped = links_of(run, LINKS | {"links": links}, ("dev",))
    texts, lost = by_hand(of, ("dev",), clusters=lambda split: clusters)
    assert dropped == lost
    for ids, matrix, _ in texts:
        np.testing.assert_array_equal(found.matrices(torch.tensor([ids]))[0], np.array(matrix, np.float32))


# --- which heads -----------------------------------------------------------------------------------------------------


def test_ranking_is_what_the_measures_say_of_the_first_dev_texts(plan):
    run = plan.plain()
    model, of = coreference.runs.opened(run), subjects.text_of(run)
    table, batch = coreference.runs.ranking(run, 6), [fed(of)]
    assert list(table) == ["importance", "nats", "loss", "low", "high"] and list(table.index.names) == list(ADDRESS)
    np.testing.assert_allclose(table.importance, measures.importance(model, batch, "encoder"), rtol=1e-9)
    np.testing.assert_allclose(table.nats, measures.importance(model, batch, "encoder", norm=None), rtol=1e-9)
    pd.testing.assert_frame_equal(table[["loss", "low", "high"]], leave_one_out(model, batch, "encoder"))


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
    injected = coreference.runs.ranking(run, 6, control=INJECTED)
    with coreference.injected(model, ADDRESSES, as_links(by_hand(of, ("dev",))[0])):
        np.testing.assert_allclose(injected.nats, measures.importance(model, [fed(of)], "encoder", norm=None), rtol=1e-6)
    masked = coreference.runs.ranking(run, 6, control={"form": "masked", "heads": GIVEN})
    assert (masked.nats[ADDRESSES] == 0).all() and (masked.loss[ADDRESSES] == 0).all()
    assert (masked.nats.drop(ADDRESSES) > 0).all()


def test_heads_are_chosen_by_importance_in_the_plain_model(plan):
    def chosen(**more):
        return coreference.runs.addresses(plan.heads(**more))

    run = plan.plain()
    assert chosen() == lowest(run) and chosen(order="highest") == lowest(run, -1) and len(chosen()) == 2
    assert sorted(chosen(count=2)) == sorted(lowest(run) + lowest(run, 1)) and chosen(part="upper") == lowest(run)[1:]
    draws = [chosen(order="random", draw=draw) for draw in range(12)]
    assert len(set(map(tuple, draws))) > 4
    assert all(chosen(order="random", part="upper", draw=draw) == whole[1:] for draw, whole in enumerate(draws))


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
    stored_history = pd.read_csv(results(run) / "history.csv")
    pd.testing.assert_frame_equal(stored_history.drop(columns="seconds"), history.drop(columns="seconds"))
    if name in (MASKED, MAIN):
        table = pd.read_csv(results(run) / "heads.csv")
        assert list(table) == list(ADDRESS) and list(table.itertuples(index=False, name=None)) == lowest(rows[PLAIN]["run"])
    else:
        assert not (results(run) / "heads.csv").exists()


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
    assert name != MAIN or written_by_hand(of, model) != said


def test_a_control_at_inference_alone_leaves_the_model_as_it_was(plan, rows):
    one, own = plan.inference()["injected at inference"], rows[MAIN]
    plain = coreference.runs.run(one["run"])
    before, said, model = files_of(plain), coreference.runs.written(one, "test", 1), coreference.runs.opened(one["run"])
    with block_by_hand(model, one["run"], one["control"], ("test",)):
        assert written_by_hand(subjects.text_of(one["run"]), model) == said
    assert files_of(plain) == before and said != coreference.runs.written(rows[PLAIN], "test", 1)
    others = [own, *(plan.inference()[f"{MAIN}, {what}"] for what in ("written with none", "heads off at inference"))]
    assert all(other["run"] == own["run"] for other in others)
    assert len({str(coreference.runs.written(other, "test", 1)) for other in (one, *others)}) == 4


def test_what_is_written_under_a_control_needs_its_links_and_the_one_model():
    plan = tiny_injection.plan()
    one = plan.inference()[f"{MAIN}, written with rule"]
    run = coreference.runs.run(one["run"])
    needs = {need.recipe: need.weights for need in outputs.recipe(run, 1, one["control"]).needs}
    links, ranked = dialogues.clusters(plan.corpus, "test", "rule"), coreference.runs.ranked(plan.plain(), 6)
    assert needs == {run: True, corpora.recipe(plan.corpus): False, ranked: False, links: False}


# --- what runs start from --------------------------------------------------------------------------------------------


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
def test_each_stage_goes_on_from_the_one_before(tmp_path, stage):
    run = chain(tiny_injection.plan().plain())[2 - stage]
    model, history = by_hand_stage(run, tmp_path)
    found, wanted = coreference.runs.opened(run).state_dict(), rounded(model)
    stored_history = pd.read_csv(results(run) / "history.csv")
    pd.testing.assert_frame_equal(stored_history.drop(columns="seconds"), history.drop(columns="seconds"))
    assert not (results(run) / "heads.csv").exists()
    assert found.keys() == wanted.keys() and all(torch.equal(found[name], wanted[name]) for name in wanted)


def test_in_translation_every_word_is_linked_with_its_head():
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


def test_a_run_made_while_another_is_being_made_draws_as_if_made_before(tmp_path, monkeypatch):
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


def test_a_pretrained_start_is_known_by_its_files(rows):
    start = rows[MAIN]["run"]["start"]
    assert start["files"] == [study.digest(Path(start["pretrained"]) / "model.safetensors")] and "stage" not in start
    coreference.runs.opened(start).get_encoder().layers[0].fc1.weight.data.zero_()
    assert coreference.runs.opened(start).get_encoder().layers[0].fc1.weight.any()  # it is only read


def test_how_links_are_called():
    shown = coreference.runs.shown
    assert shown("stored:a/b.tar.xz:c/d.source+corrupt:0.5") == "stored (d.source)+corrupt:0.5" and shown("gold") == "gold"


# --- bad input -------------------------------------------------------------------------------------------------------

SUMMARIES = "coreference.summarization"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"coreference.parts": ["tables"]}, "'tables'"),
        ({f"{SUMMARIES}.steps": -1}, "'steps'"),
        ({f"{SUMMARIES}.further": 0}, "'further'"),
        ({f"{SUMMARIES}.text": "poems"}, "'poems'"),
        ({f"{SUMMARIES}.test": 0}, "test"),
        ({f"{SUMMARIES}.piece": 0}, "piece"),
        ({f"{SUMMARIES}.links": "gold+shuffle"}, "'shuffle'"),
        ({"coreference.probe": 0}, "'probe'"),
        ({"coreference.mixed": []}, "'mixed'"),
        ({"coreference.matrix": "arcs"}, "'arcs'"),
        ({"coreference.written": ["gold+corrupt:x"]}, "corrupt:x"),
        ({"coreference.resolvers": ["gold+corrupt:1.5"]}, "corrupt:1.5"),
    ],
)
def test_settings_that_make_no_sense_are_refused_before_anything_is_made(changes, said):
    with pytest.raises(StudyError, match=said):
        tiny_injection.rows(changes)


@pytest.mark.parametrize(
    ("changes", "kind", "said"),
    [
        ({}, subjects.LANGUAGE, subjects.LANGUAGE),
        ({"coreference.translation.text": "xx-news"}, subjects.TRANSLATION, "'xx'"),
        ({"coreference.translation.text": "de-poems"}, subjects.TRANSLATION, "'poems'"),
    ],
)
def test_tasks_that_there_are_not(changes, kind, said):
    with pytest.raises(StudyError, match=said):
        tiny_injection.plan(changes, kind)


@pytest.mark.parametrize(
    ("control", "said"),
    [
        ({"form": "turned"}, "'turned'"),
        ({"form": "masked", "heads": {"by": "luck"}}, "'luck'"),
        (INJECTED | {"matrix": "all"}, "'all'"),
        (INJECTED | {"span": "last"}, "'last'"),
        ({"form": "mixed", "part": "outer", **LINKS}, "'outer'"),
        (INJECTED | {"heads": {"by": "given", "heads": [["encoder", 0, 9]]}}, "no head"),
        (INJECTED | {"heads": {"by": "given", "heads": [["decoder", 0, 1]]}}, "decoder"),
        (INJECTED | {"links": "gold+turned"}, "'turned'"),
        (INJECTED | {"links": "gold+corrupt:1.5"}, "rate"),
        (INJECTED | {"links": "guess"}, "'guess'"),
    ],
)
def test_controls_that_there_are_not(plan, control, said):
    with pytest.raises(StudyError, match=said):
        under(plan.plain(), control)


def test_a_start_that_there_is_not(tmp_path):
    with pytest.raises(StudyError, match="tokenizer"):
        study.make(coreference.runs.run(tiny_injection.plan(start=str(tmp_path)).plain()))
