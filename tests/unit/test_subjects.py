"""The three tasks: their text, batches, fresh models, outputs and scores."""

import itertools
import shutil
from contextlib import contextmanager

import pytest
import torch

from helpers import corpora, study
from helpers.runs import outputs, subjects, training
from helpers.runs.subjects import LANGUAGE, SUMMARIZATION
from helpers.study import StudyError
from tests.unit import tiny_groups

STORE = "groups"
CPU = torch.device("cpu")
SHAPE = {"layers": 2, "width": 16, "heads": 4, "feed_forward": 32, "dropout": 0.0}


@pytest.fixture(scope="module")
def made():
    """Each task on its prepared text."""
    return {kind: subjects.of_text(subjects.corpus(tiny_groups.settings(), kind, 1)) for kind in subjects.METRICS}


def same(one, two):
    return [batch.keys() for batch in one] == [batch.keys() for batch in two] and all(
        torch.equal(a[name], b[name]) for a, b in zip(one, two, strict=True) for name in a
    )


def test_texts_of_another_task_are_refused():
    """Else a model of one task would be reported as the other's."""
    for kind, text in ((SUMMARIZATION, "stories"), (LANGUAGE, "reports")):
        with pytest.raises(StudyError, match=text):
            subjects.corpus(tiny_groups.settings({f"grouping.{subjects.setting(kind)}.text": text}), kind, 1)


def test_long_documents_are_cut_and_those_longer_than_a_model_reads_refused(made, tmp_path):
    task = made[SUMMARIZATION]
    assert max(len(pair.source.split()) for pair in task.pairs("train")) == 32
    corpora.write(tmp_path / "train.jsonl", [corpora.Pair("a " * 600, "a")])
    with pytest.raises(StudyError, match="longer than the model's 512"):
        _ = subjects.Subject(SUMMARIZATION, task.corpus, tmp_path, task.source, task.target).train


def test_batches_of_blocks(made):
    task = made[LANGUAGE]
    ids = task.source.encode_all([text.text for text in corpora.read_texts(corpora.file(task.folder, "train"))])
    stream = [token for row in ids for token in row][:-1]  # documents with an end of text between each two
    blocks = [tuple(stream[at : at + 32]) for at in range(0, len(stream) - 31, 32)]
    batches = list(task.epoch(400, 5, CPU)(0))
    assert all(batch["input_ids"].shape == (12, 32) for batch in batches)  # 400 tokens hold 12 blocks of 32
    seen = [tuple(row) for batch in batches for row in batch["input_ids"].tolist()]
    assert set(seen) <= set(blocks) and len(seen) - len(set(seen)) <= len(blocks) - len(set(blocks))
    for batch in batches:
        assert batch["attention_mask"].all() and (batch["labels"][:, 0] == -100).all()
        assert torch.equal(batch["labels"][:, 1:], batch["input_ids"][:, 1:])
    (single, *_) = task.epoch(5, 5, CPU)(0)
    assert single["input_ids"].shape == (1, 32)  # never none


@pytest.mark.parametrize("kind", subjects.METRICS)
def test_order_is_drawn_by_seed_and_number(made, kind):
    first, again = made[kind].epoch(400, 5, CPU), made[kind].epoch(400, 5, CPU)
    assert same(list(first(1)), list(again(1)))
    orders = [list(first(0)), list(first(1)), list(made[kind].epoch(400, 6, CPU)(0))]
    assert not any(same(one, two) for one, two in itertools.combinations(orders, 2))


def build(spec, place):
    training.keep(subjects.text_of(spec).build(SHAPE, spec["seed"]), place)


@contextmanager
def opened(spec, splits, control):
    yield training.stored(RUN.of(spec))


RUN = study.Kind("task run", 1, build, lambda spec: [corpora.recipe(spec["corpus"])], opened=opened)


@pytest.mark.parametrize("kind", subjects.METRICS)
def test_outputs_are_stored_once_and_read_without_the_model(made, kind, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADS_RUNS", str(tmp_path / "runs"))
    task, run = made[kind], RUN.of({"corpus": made[kind].corpus, "seed": 3})
    first = outputs.read(run, "test", 1)
    own = task.put_out(training.stored(run), "test", 1)
    assert first == [list(row) if kind == LANGUAGE else row for row in own] and len(first) > 4
    shutil.rmtree(run.folder)
    assert outputs.read(run, "test", 1) == first and not run.made()
    assert len({outputs.recipe(run, *told).key for told in ((1,), (2,), (1, {"form": "x"}))}) == 3
    with pytest.raises(StudyError, match="'news'"):
        outputs.read(run, "news", 1)


def test_block_losses_are_the_models_own(made):
    task = made[LANGUAGE]
    model = task.build(SHAPE, 3).eval()
    for weight in model.parameters():  # far from uniform
        torch.nn.init.normal_(weight, std=0.3)
    blocks = task.ids("test")
    found = subjects.block_losses(model, blocks, rows=4)
    assert len(found) == len(blocks) > 4 and found == subjects.block_losses(model, blocks, rows=1)
    for block, (loss, count) in zip(blocks, found, strict=True):
        ids = torch.tensor([block])
        with torch.no_grad():
            own = model(input_ids=ids, labels=ids).loss
        assert count == 31 and loss == pytest.approx(float(own) * 31, abs=1e-3)
    assert len({loss for loss, _ in found}) > 1
