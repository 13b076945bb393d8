"""Runs of injection: what they depend on, what they train and write under which control, the same again, and bad input."""

import numpy as np
import pytest
import torch
from transformers import BartForConditionalGeneration

from helpers import corpora, heads, training
from helpers.corpora import clusters as clustering
from helpers.corpora import resolvers
from helpers.methods import coreference
from helpers.methods.coreference.runs import MAIN, PLAIN, applied, links_of
from helpers.runs import subjects
from helpers.runs import training as translators
from helpers.study import StudyError
from tests.reference import coreference as slow
from tests.unit import tiny_injection
from tests.unit.tiny_injection import SEED

STORE = "injection"
CPU = torch.device("cpu")
MASKED, MIXED = "masked, lowest", "layer of its own, upper"
LINKS = {"matrix": "full", "span": "first", "links": "gold"}


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    """Rows that start from a pretrained model, whose attention says much about what it writes."""
    start = tiny_injection.pretrained(tmp_path_factory.getbasetemp())
    return tiny_injection.plan({"coreference.summarization.rate": 2e-3}, start=start)


def lowest(run, rank=0):
    """Of each layer the head of this rank, from the least important."""
    scores = coreference.runs.ranking(run, 6).importance
    layers = scores.groupby(level="layer")
    return [tuple(group.sort_values().index[rank]) for _, group in layers]


def by_hand(of, split, form="full", span="first", clusters=None):
    """Of each text its ids and matrix by loops over what is known of the whole dialogues."""
    found = []
    rows = corpora.read_dialogues(corpora.file(of.folder, split, "dialogues"))
    for pair, known in zip(of.pairs(split), clusters or [row.clusters for row in rows], strict=True):
        words, kept = of.source.word_ids(pair.source, pair.words), []
        for cluster in known:
            mentions = [[t for t, word in enumerate(words) if start <= word < stop] for start, stop in cluster]
            kept.append([mention if span == "whole" else mention[:1] for mention in mentions if mention])
        kept = [cluster for cluster in kept if len(cluster) > 1]
        found.append((of.source.encode(pair.source), slow.FORMS[form](kept, len(words))))
    return found


def as_links(texts):
    """What `by_hand` found as the injection takes it."""
    links = coreference.Links()
    for ids, matrix in texts:
        matrix = np.array(matrix)
        places = np.nonzero(matrix)
        links.add(ids, coreference.matrices.Sparse(*places, matrix[places], len(ids)))
    return links


@pytest.mark.parametrize(("form", "span", "links", "change"), [
    ("full", "first", "gold", None), ("previous", "whole", "rule", None),
    ("adjacent", "first", "gold+shuffled", lambda clusters: clustering.shuffled(clusters, 0)),
    ("full", "first", "none", lambda clusters: [()] * len(clusters)),
])  # fmt: skip
def test_links_are_those_of_the_clusters(plan, form, span, links, change):
    run = plan.plain()
    of = subjects.text_of(run)
    told = corpora.read_dialogues(of.folder / "dialogues" / "dev.jsonl")
    clusters = resolvers.resolver("rule" if links == "rule" else "gold")(told)
    texts = by_hand(of, "dev", form, span, change(clusters) if change else clusters)
    found = links_of(run, {"matrix": form, "span": span, "links": links}, ("dev",))
    assert len(found) == 8
    for ids, matrix in texts:
        np.testing.assert_array_equal(found.matrices(torch.tensor([ids]))[0], np.array(matrix, np.float32))


def block_by_hand(model, of, control, *splits):
    """A control that was put together in this test."""
    lows = lowest(control["heads"]["ranking"]) if "heads" in control else []
    if control["form"] == "masked":
        return heads.gate(model, dict.fromkeys(lows, 0.0))
    links = as_links([text for split in splits for text in by_hand(of, split)])
    return coreference.mixed(model, [1], links) if control["form"] == "mixed" else coreference.injected(model, lows, links)


def written_by_hand(of, model):
    return translators.translate(model, [pair.source for pair in of.pairs("test")], of.source, of.target, 1)


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


def test_a_control_at_inference_alone(plan):
    one, plain = plan.masks()["lowest, 1 a layer"], plan.main()[PLAIN]
    of, model = subjects.text_of(one["run"]), coreference.runs.opened(one["run"])
    with block_by_hand(model, of, one["control"], "test"):
        assert written_by_hand(of, model) == coreference.runs.written(one, "test", 1)
    assert coreference.runs.written(one, "test", 1) != coreference.runs.written(plain, "test", 1)


@pytest.mark.parametrize(("control", "said"), [
    ({"form": "mixed", "part": "outer", **LINKS}, "'outer'"),
    ({"form": "mixed", "part": "all", **LINKS, "matrix": "all"}, "'all'"),
    ({"form": "mixed", "part": "all", **LINKS, "links": "gold+turned"}, "'turned'"),
])  # fmt: skip
def test_controls_that_there_are_not(plan, control, said):
    run = plan.plain()
    with pytest.raises(StudyError, match=said), applied(coreference.runs.opened(run), run, control, ("dev",)):
        pass
