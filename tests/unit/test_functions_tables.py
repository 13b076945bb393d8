"""What heads do in translators of different shapes: what the tables hold, from models trained for a moment."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from helpers import papers, study
from helpers.corpora.describe import arcs_of
from helpers.experiments import functions
from helpers.measures.functions import roles
from helpers.runs import subjects

CHANGES = {
    "train": 150, "dev": 16, "test": 8, "vocabulary": 150, "training.steps": 6, "training.evaluate_every": 3,
    "training.warmup": 2, "model.dropout": 0.1, "bootstrap": 20, "relevance": 8,
    "siblings": [{"name": "flat", "changes": "model.layers=1"}],
}  # fmt: skip


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    base = tmp_path_factory.getbasetemp() / "functions"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADS_RUNS", str(base / "runs"))
        patch.setenv("HEADS_DATA", str(base / "data"))
        chosen = study.settings("tiny", CHANGES)
        study.use(chosen)
        yield chosen


@pytest.fixture(autouse=True)
def store(isolated, settings, tmp_path_factory, monkeypatch):
    """Tests share what was trained."""
    for name in ("runs", "data"):
        monkeypatch.setenv(f"HEADS_{name.upper()}", str(tmp_path_factory.getbasetemp() / "functions" / name))


@pytest.fixture
def studied(settings):
    return [subjects.of_name(settings, name, 1) for name in ("ru-news", "ru-news+flat")]


def test_tables_hold_the_best_heads_beside_those_of_random_weights(settings, studied):
    best, rarest, counts = (table(studied, 20) for table in (functions.positional, functions.rare, functions.counted))
    syntax = functions.syntactic(studied, 20)
    assert set(syntax.model) == set(rarest.index) == {"EN-RU news", "EN-RU news, flat"}
    assert syntax.passes.equals(syntax.gain >= 0.1 - 1e-9) and syntax.layer.min() >= 1
    assert best.index.unique("kind").tolist() == ["encoder", "decoder", "cross"] and best.offset.dtype == int
    for subject in studied:
        trained, random = (functions.SCORED.value(subject, repeats=20, **more) for more in ({}, {"untrained": True}))
        scores = trained["positional"].score["encoder"]
        row = best.loc[subject.title, "encoder"]
        assert row.score == scores.max() == scores[row.layer - 1, row["head"] - 1] and row.heads == len(scores)
        assert row["best at random"] == random["positional"].score["encoder"].max()
        assert rarest.heads[subject.title] == len(scores) and np.isnan(rarest["two rarest"][subject.title])  # 150 words
        does = roles(*(trained[name] for name in ("positional", "syntactic", "rare")))["encoder"]
        numbers = counts[counts.model == subject.title].set_index("function")
        assert numbers.heads["any"] == does.map(bool).sum() and numbers["all"].eq(len(scores)).all()
        assert numbers.heads["positional"] == does.map(lambda cell: "positional" in dict(cell)).sum()


def test_the_paper_prints_nine_of_sixteen_cases_ten_points_above_the_offset():
    table = papers.TABLE_1
    assert not table.duplicated(["model", "relation", "direction"]).any() and len(table) == 16
    above = (100 * (table.accuracy - table.baseline)).round()
    assert (above >= 10).sum() == 9 and table.groupby(["model", "relation"]).baseline.nunique().eq(1).all()


def test_offsets_are_those_of_the_arcs(studied):
    table = functions.offsets(studied[:1])
    arcs = [(relation, word - head) for tree in arcs_of(studied[0].sentences) for word, head, relation in tree]
    for relation, part in table.groupby("relation"):
        ways = Counter(offset for name, offset in arcs if name == relation)
        assert part.offset.tolist() == [offset for offset in range(-8, 9) if offset]
        for row in part.itertuples():
            assert row.share == pytest.approx(ways[row.offset] / ways.total())
