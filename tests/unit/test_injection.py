"""Runs of injection: what they depend on, what they train and write under which control, the same again, and bad input."""

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import BartForConditionalGeneration

from helpers import corpora, heads, measures, models, study
from helpers.corpora import clusters as clustering
from helpers.corpora import dialogues, infilling, resolvers
from helpers.measures.worth import leave_one_out
from helpers.methods import coreference
from helpers.methods.coreference.runs import MAIN, PLAIN, applied, links_of
from helpers.runs import outputs, subjects, training
from helpers.study import StudyError
from tests.reference import coreference as slow
from tests.unit import tiny_injection
from tests.unit.tiny_injection import SEED

STORE = tiny_injection.go_to
CPU = torch.device("cpu")
MASKED, MIXED = "masked, lowest", "layer of its own, upper"
LINKS = {"matrix": "full", "span": "first", "links": "gold"}
GIVEN = {"by": "given", "heads": [["encoder", 0, 1], ["encoder", 1, 2]]}
INJECTED = {"form": "injected", "heads": GIVEN, **LINKS}


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    """Rows that start from a pretrained model, whose attention says much about what it writes."""
    base = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        tiny_injection.go_to(base, patch)
        yield tiny_injection.plan({"coreference.summarization.rate": 2e-3}, start=tiny_injection.pretrained(base))


def lowest(run, rank=0):
    """Of each layer the head of this rank, from the least important."""
    scores = coreference.runs.ranking(run, 6).importance
    layers = scores.groupby(level="layer")
    return [tuple(group.sort_values().index[rank]) for _, group in layers]


def by_hand(of, split, form="full", span="first", clusters=None):
    """Of each text its ids and matrix by loops over what is known of the whole dialogues, and how many mentions were lost."""
    found, lost = [], 0
    told = corpora.read_dialogues(corpora.file(of.folder, split, "dialogues"))
    for pair, known in zip(of.pairs(split), clusters or [row.clusters for row in told], strict=True):
        words, kept = of.source.word_ids(pair.source, pair.words), []
        for cluster in known:
            mentions = [[t for t, word in enumerate(words) if start <= word < stop] for start, stop in cluster]
            lost += mentions.count([])
            kept.append([mention if span == "whole" else mention[:1] for mention in mentions if mention])
        kept = [cluster for cluster in kept if len(cluster) > 1]
        found.append((of.source.encode(pair.source), slow.FORMS[form](kept, len(words))))
    return found, lost


def as_links(texts):
    """What `by_hand` found as the injection takes it."""
    links = coreference.Links()
    for ids, matrix in texts:
        matrix = np.array(matrix)
        places = np.nonzero(matrix)
        links.add(ids, coreference.matrices.Sparse(*places, matrix[places], len(ids)))
    return links


def files_of(recipe):
    """What a recipe left, wall-clock times aside."""
    folder = study.make(recipe, weights=True)
    found = {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file() and f.name != "made.json"}
    if history := found.pop("results/history.csv", b""):
        found["history"] = [line.rpartition(b",")[0] for line in history.splitlines()]
    return found


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


def test_rows_differ_from_the_main_row_in_one_thing():
    rows = tiny_injection.rows()
    main, plain = rows["main"][MAIN]["run"], rows["main"][PLAIN]["run"]
    usual = main["control"]
    for part, name, other_heads, changed in (
        ("main", "injected, highest", {"order": "highest"}, {}),
        ("selection", "injected, probing", {"by": "probing", "order": "highest"} | LINKS, {}),
        ("selection", "injected, random 2", {"order": "random", "draw": 1}, {}),
        ("where", f"{MAIN}, upper layers", {"part": "upper"}, {}),
        ("where", f"{MAIN} 2", {"count": 2}, {}),
        ("matrices", f"{MAIN}, previous links", {}, {"matrix": "previous"}),
        ("matrices", f"{MAIN}, whole spans", {}, {"span": "whole"}),
        ("quality", f"{MAIN}, gold+corrupt:0.5", {}, {"links": "gold+corrupt:0.5"}),
    ):
        assert rows[part][name]["run"] == main | {"control": usual | {"heads": usual["heads"] | other_heads} | changed}, name
    assert rows["main"][MASKED]["run"]["control"] == {"form": "masked", "heads": usual["heads"]}
    assert rows["inference"]["injected at inference"] == {"run": plain, "control": usual}
    assert rows["inference"][f"{MAIN}, written with rule"] == {"run": main, "control": usual | {"links": "rule"}}
    # of a resolver's links the true ones are the ceiling
    by_rule = tiny_injection.rows({"coreference.summarization.links": "rule"})["controls"]
    assert by_rule[f"{MAIN}, gold"]["run"]["control"] == usual


def test_a_task_of_no_steps_has_no_rows():
    without = {f"coreference.{kind}.steps": 0 for kind in ("translation", "summarization")}
    for kind, setting in zip(coreference.runs.TASKS, ("summarization", "translation"), strict=True):
        assert tiny_injection.rows({f"coreference.{setting}.steps": 0}, kind) == {}
    assert not list(coreference.runs.recipes(tiny_injection.settings(without), SEED))


@pytest.mark.parametrize(("form", "span", "links", "change"), [
    ("full", "first", "gold", None), ("previous", "whole", "rule", None),
    ("adjacent", "first", "gold+shuffled", lambda clusters: clustering.shuffled(clusters, 0)),
    ("full", "first", "gold+corrupt:0.5", lambda clusters: clustering.corrupt(clusters, 0.5, 0)),
    ("full", "first", "none", lambda clusters: [()] * len(clusters)),
])  # fmt: skip
def test_links_are_those_of_the_clusters(plan, form, span, links, change):
    run = plan.plain()
    of = subjects.text_of(run)
    told = corpora.read_dialogues(of.folder / "dialogues" / "dev.jsonl")
    clusters = resolvers.resolver("rule" if links == "rule" else "gold")(told)
    texts, lost = by_hand(of, "dev", form, span, change(clusters) if change else clusters)
    found, dropped = links_of(run, {"matrix": form, "span": span, "links": links}, ("dev",))
    assert len(found) == 8 and dropped == lost and (lost > 0) == (links != "none")
    for ids, matrix in texts:
        np.testing.assert_array_equal(found.matrices(torch.tensor([ids]))[0], np.array(matrix, np.float32))


def test_ranking_is_what_the_measures_say_of_the_first_dev_texts(plan):
    run, links = plan.plain(), LINKS | {"matrix": "previous"}
    model, of = coreference.runs.opened(run), subjects.text_of(run)
    table, batch = coreference.runs.ranking(run, 6, links), of.held_out(10**9, 6, CPU)  # one batch of the first texts
    np.testing.assert_allclose(table.importance, measures.importance(model, batch, "encoder"), rtol=1e-9)
    np.testing.assert_allclose(table.nats, measures.importance(model, batch, "encoder", norm=None), rtol=1e-9)
    pd.testing.assert_frame_equal(table[["loss", "low", "high"]], leave_one_out(model, batch, "encoder"))
    probed = coreference.probing(model, batch, as_links(by_hand(of, "dev", "previous")[0]))
    np.testing.assert_allclose(table.probing, probed, rtol=1e-6)


def test_heads_are_chosen_by_importance_in_the_plain_model(plan):
    def chosen(**more):
        return coreference.runs.addresses(plan.heads(**more))

    run = plan.plain()
    assert chosen() == lowest(run) and chosen(order="highest") == lowest(run, -1) and len(chosen()) == 2
    assert sorted(chosen(count=2)) == sorted(lowest(run) + lowest(run, 1)) and chosen(part="upper") == lowest(run)[1:]
    draws = [chosen(order="random", draw=draw) for draw in range(12)]
    assert len(set(map(tuple, draws))) > 4
    probed = coreference.runs.ranking(run, 6, LINKS).probing
    assert chosen(by="probing") == [tuple(layer.idxmax()) for _, layer in probed.groupby(level="layer")]
    row = {"run": {"control": {"heads": plan.heads(by="probing")}}}
    assert coreference.runs.likeness(row).tolist() == probed.groupby(level="layer").max().tolist()


def block_by_hand(model, of, control, *splits):
    """A control that was put together in this test."""
    lows = lowest(control["heads"]["ranking"]) if "heads" in control else []
    if control["form"] == "masked":
        return heads.gate(model, dict.fromkeys(lows, 0.0))
    links = as_links([text for split in splits for text in by_hand(of, split)[0]])
    return coreference.mixed(model, [1], links) if control["form"] == "mixed" else coreference.injected(model, lows, links)


def written_by_hand(of, model):
    return training.translate(model, [pair.source for pair in of.pairs("test")], of.source, of.target, 1)


def same_weights(run, model):
    """Whether what is stored of a run is this model, rounded as it is stored."""
    stored = coreference.runs.opened(run).state_dict()
    return all(torch.equal(value.half().float(), stored[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("name", [MASKED, MAIN, MIXED])
def test_a_run_trains_and_writes_under_its_control(plan, tmp_path, name):
    row = plan.main()[name]
    run, control = row["run"], row["run"]["control"]
    of, model = subjects.text_of(run), BartForConditionalGeneration.from_pretrained(run["start"]["pretrained"])
    steps = of.epoch(400, 3 * SEED + 2, CPU), of.held_out(1600, None, CPU)
    with block_by_hand(model, of, control, "train", "dev"):
        training.fit(model, *steps, run["training"], tmp_path / "work", SEED)
    assert same_weights(run, model)
    said, model = coreference.runs.written(row, "test", 1), coreference.runs.opened(run)
    with block_by_hand(model, of, control, "test"):
        assert written_by_hand(of, model) == said
    assert name != MAIN or written_by_hand(of, model) != said


def test_a_control_at_inference_alone_leaves_the_model_as_it_was(plan):
    one, plain = plan.inference()["injected at inference"], plan.main()[PLAIN]
    before, said = files_of(coreference.runs.run(one["run"])), coreference.runs.written(one, "test", 1)
    of, model = subjects.text_of(one["run"]), coreference.runs.opened(one["run"])
    with block_by_hand(model, of, one["control"], "test"):
        assert written_by_hand(of, model) == said
    assert files_of(coreference.runs.run(one["run"])) == before and said != coreference.runs.written(plain, "test", 1)


def test_what_is_written_under_a_control_needs_its_links_and_the_one_model():
    plan = tiny_injection.plan()
    one = plan.inference()[f"{MAIN}, written with rule"]
    run = coreference.runs.run(one["run"])
    needs = {need.recipe: need.weights for need in outputs.recipe(run, 1, one["control"]).needs}
    links, ranked = dialogues.clusters(plan.corpus, "test", "rule"), coreference.runs.ranked(plan.plain(), 6)
    assert needs == {run: True, corpora.recipe(plan.corpus): False, ranked: False, links: False}


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_each_stage_goes_on_from_the_one_before(tmp_path, stage):
    run = list(coreference.runs.stages(tiny_injection.plan().plain()))[2 - stage]  # the last comes first
    of = subjects.text_of(run)
    batches, dev = of.epoch(400, 3 * SEED + stage, CPU), of.held_out(1600, None, CPU)
    model = models.build_bart(run["shape"], of.source.size, SEED) if stage == 0 else coreference.runs.opened(run["start"])
    if stage == 0:  # fills holes
        hole = of.source.tokenizer.token_to_id("<unk>")
        train, held = (infilling.pieces(data.source, 1, 16) for data in (of.train, of.dev))
        batches = infilling.epochs(train, 0, 1, hole, 400, SEED, CPU, 0.3)
        dev = list(infilling.epochs(held, 0, 1, hole, 400, 0, CPU, 0.3)(0))
    history = training.fit(model, batches, dev, run["training"], tmp_path / "work", SEED)
    stored = pd.read_csv(study.make(coreference.runs.run(run)) / "results" / "history.csv")
    pd.testing.assert_frame_equal(stored.drop(columns="seconds"), history.drop(columns="seconds"))
    assert same_weights(run, model)


def test_in_translation_every_word_is_linked_with_its_head():
    plan = tiny_injection.plan(kind=subjects.TRANSLATION)
    run, of = plan.main()[MAIN]["run"], subjects.text_of(plan.plain())
    links, dropped = links_of(run, run["control"], ("dev",))
    for pair in corpora.parsed(of.folder, "dev"):
        ids = of.source.encode(pair.source)
        words = of.source.word_ids(pair.source, pair.words)
        pairs = [(words.index(word), words.index(head)) for word, head in enumerate(pair.heads) if head >= 0]
        assert len(pairs) == len(pair.words) - 1  # all but the root
        np.testing.assert_array_equal(links.matrices(torch.tensor([ids]))[0], torch.tensor(slow.arcs(pairs, len(ids))))
    assert dropped == 0 and run["start"] == plan.plain()["start"]
    table = pd.read_csv(study.make(coreference.runs.run(run)) / "results" / "heads.csv")
    assert list(table.itertuples(index=False, name=None)) == lowest(plan.plain())
    assert len(coreference.runs.written(plan.main()[MAIN], "test", 1)) == 8


@pytest.mark.parametrize(("changes", "said"), [
    ({"coreference.parts": ["tables"]}, "'tables'"), ({"coreference.summarization.steps": -1}, "'steps'"),
    ({"coreference.summarization.text": "poems"}, "'poems'"), ({"coreference.summarization.piece": 0}, "piece"),
    ({"coreference.summarization.links": "gold+shuffle"}, "'shuffle'"), ({"coreference.mixed": []}, "'mixed'"),
    ({"coreference.matrix": "arcs"}, "'arcs'"), ({"coreference.resolvers": ["gold+corrupt:1.5"]}, "corrupt:1.5"),
])  # fmt: skip
def test_settings_that_make_no_sense_are_refused_before_anything_is_made(changes, said):
    with pytest.raises(StudyError, match=said):
        tiny_injection.rows(changes)


def test_tasks_and_languages_that_there_are_not():
    with pytest.raises(StudyError, match=subjects.LANGUAGE):
        tiny_injection.plan(kind=subjects.LANGUAGE)
    with pytest.raises(StudyError, match="'xx'"):
        tiny_injection.plan({"coreference.translation.text": "xx-news"}, subjects.TRANSLATION)


@pytest.mark.parametrize(("control", "said"), [
    ({"form": "turned"}, "'turned'"), ({"form": "masked", "heads": {"by": "luck"}}, "'luck'"),
    ({"form": "mixed", "part": "outer", **LINKS}, "'outer'"), (INJECTED | {"matrix": "all"}, "'all'"),
    (INJECTED | {"heads": {"by": "given", "heads": [["decoder", 0, 1]]}}, "decoder"),
    (INJECTED | {"links": "gold+turned"}, "'turned'"), (INJECTED | {"links": "guess"}, "'guess'"),
])  # fmt: skip
def test_controls_that_there_are_not(plan, control, said):
    run = plan.plain()
    with pytest.raises(StudyError, match=said), applied(coreference.runs.opened(run), run, control, ("dev",)):
        pass


def test_a_start_that_there_is_not(tmp_path):
    with pytest.raises(StudyError, match="tokenizer"):
        study.make(coreference.runs.run(tiny_injection.plan(start=str(tmp_path)).plain()))
