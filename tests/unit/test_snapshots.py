"""What heads do while a model is trained: the same numbers as of a model trained so far and no further, also after a kill."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from helpers import corpora, models, study
from helpers.corpora import tokens
from helpers.measures import measured, snapshots
from helpers.measures.sentence import single
from helpers.runs import outputs, subjects, training
from helpers.scores import scoring
from helpers.study import StudyError, values
from tests.reference.measures import to_words

CHANGES = {
    "train": 150, "dev": 16, "test": 8, "vocabulary": 150, "training.steps": 6, "training.evaluate_every": 3,
    "training.warmup": 2, "model.dropout": 0.1, "snapshots": [0, 2], "without_encoder": ["", "flat"],
    "siblings": [{"name": "flat", "changes": "model.layers=1"}, {"name": "dry", "changes": "model.dropout=0.0"}],
}  # fmt: skip


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    base = tmp_path_factory.getbasetemp() / "snapshots"
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
        monkeypatch.setenv(f"HEADS_{name.upper()}", str(tmp_path_factory.getbasetemp() / "snapshots" / name))


def trained_by_hand(spec, steps):
    """The model of a spec after some steps, by the plainest loop."""
    folder = corpora.prepare(spec["corpus"])
    source, target = tokens.sides(folder)
    model = models.build(spec["model"], source.size, target.size, spec["seed"])
    text = tokens.encode(corpora.read_pairs(corpora.file(folder, "train")), source, target)
    plan = spec["training"]
    groups, epoch = [], 0
    while len(groups) < steps:
        groups += tokens.batches(text, source.pad, plan["batch_tokens"], spec["seed"] * 1000 + epoch)
        epoch += 1
    optimiser = torch.optim.Adam(model.parameters(), betas=tuple(plan["betas"]), eps=1e-9, fused=True)
    torch.manual_seed(spec["seed"])
    model.train()
    for step, rows in enumerate(groups[:steps], 1):
        optimiser.param_groups[0]["lr"] = training.learning_rate(step, plan)
        loss = training.cross_entropy(model, tokens.collate(text, rows, source.pad), plan["label_smoothing"])
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), plan["clip"])
        optimiser.step()
    return model.eval()


def test_snapshots_are_of_the_model_trained_so_far(settings):
    spec = subjects.spec(settings, "ru-news", 1)
    found = values.read(snapshots.followed(spec, [2, 0], 8, 20).results / snapshots.FILE)
    assert list(found) == [0, 2]
    subject = subjects.of_spec(spec, "ru-news")
    for step, described in found.items():
        wanted = snapshots.describe(subject, trained_by_hand(spec, step), 8, 20)
        assert list(described) == list(wanted)
        for name, frame in wanted.items():
            compare = pd.testing.assert_series_equal if isinstance(frame, pd.Series) else pd.testing.assert_frame_equal
            compare(described[name], frame, rtol=0, atol=2e-5, check_dtype=False, check_names=False)
    assert not np.allclose(found[0]["relevance"], found[2]["relevance"], atol=1e-4)


def test_a_killed_run_looks_on(settings, monkeypatch):
    """What was looked at before a kill is not looked at again, and the rest is as without a kill."""
    spec = subjects.spec(settings, "ru-news", 1)
    asked, describe = [], snapshots.describe
    monkeypatch.setattr(training, "SAVE_EVERY", 0.0)

    def stops_once(subject, model, *options):
        asked.append(model.training)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return describe(subject, model, *options)

    monkeypatch.setattr(snapshots, "describe", stops_once)
    recipe = snapshots.followed(spec, [0, 2], 4, 10)
    with pytest.raises(KeyboardInterrupt):
        study.make(recipe)
    found = values.read(recipe.results / snapshots.FILE)
    assert len(asked) == 3 and list(found) == [0, 2]  # step 0 once, step 2 twice
    straight = values.read(snapshots.followed(spec, [0, 2], 8, 20).results / snapshots.FILE)
    np.testing.assert_allclose(found[2]["confidence"].confidence, straight[2]["confidence"].confidence, atol=2e-5)


def test_the_last_row_is_the_trained_model(settings):
    spec = subjects.spec(settings, "ru-news", 1)
    last = snapshots.DESCRIBED.read(training.trained(spec), first=8, repeats=20)
    table = snapshots.over_training(snapshots.followed(spec, [0, 2], 8, 20), last, 6)
    assert table.index.tolist() == [0, 2, 6] and table.loss.iloc[-1] < table.loss.iloc[0]
    row = snapshots.summary(last)
    assert table.loc[6].to_dict() == pytest.approx(row, nan_ok=True)
    assert row["cross off"] == pytest.approx(last["kinds"].loss["cross"])
    assert row["positional"] == last["positional"].score["encoder"].max()
    for relation, part in last["syntactic"].groupby("relation"):  # the head is chosen on even sentences
        ways = [one.odd[one.even.idxmax()] - one.baseline.iloc[0] for _, one in part.groupby("direction") if one.even.any()]
        assert row[relation] == pytest.approx(max(ways, default=np.nan), nan_ok=True)
    layers = [part / part.sum() for _, part in last["relevance"].xs("encoder").groupby("layer")]
    assert row["relevance"] == pytest.approx(np.mean([part.max() for part in layers]))
    above = {"nsubj": [-0.1, 0.2, 0.0], "dobj": [0.0, 0.1, 0.2], "amod": 0.0, "advmod": [0.0, 0.02, 0.27]}
    assert snapshots.said_of_training(table.assign(**above)) == (
        "above the line for the last half of 6 steps: object heads, from step 2 on; heads of no other relation."
    )


def test_models_stand_beside_those_that_never_had_encoder_attention(settings):
    table = snapshots.beside(settings, ["ru-news", *subjects.siblings(settings, "ru-news")], 1)
    assert table.index.tolist() == ["EN-RU news", "EN-RU news, flat", "EN-RU news, dry"]
    asked = {getattr(need, "recipe", need).key for need in snapshots.recipes(settings, ["ru-news"], 1)}
    for name, row in zip(("ru-news", "ru-news+flat"), table.itertuples(), strict=False):
        never = subjects.of_name(settings, f"{name}+none", 1)
        assert never.run.spec["closed"] == ["encoder"] and outputs.recipe(never.run, 1).key in asked
        references = [pair.target for pair in never.pairs("test")]
        other = scoring.bleu(outputs.written_by(never, "test", 1), references, 0)["bleu"]
        assert (row.never, row.gained) == pytest.approx((other, row.bleu - other))
    assert np.isnan(table.gained.iloc[2])
    each = pd.DataFrame(
        {"cases": ["v→adv, adv→v"]}, pd.MultiIndex.from_tuples([("EN-RU news, flat", 1)], names=["model", "seed"])
    )
    (told,) = snapshots.shown(each, table).cases.items()
    assert told == ((f"EN-RU news, flat ({table.encoder.iloc[1][0]} layers)", 1), "w→adv, adv→w")
    studied = [subjects.of_name(settings, name, 1) for name in ("ru-news", "ru-news+flat")]
    sizes, bleu = (part.split() for part in snapshots.said_of_study(studied, 1).splitlines())
    assert sizes[0] == "2" and "150" in sizes and {f"{value:.0f}" for value in table.bleu[:2]} <= {*bleu}


def test_training_that_is_looked_at_ends_where_it_is_told(settings, tmp_path):
    with pytest.raises(StudyError, match="evaluate_every"):
        training.fit(torch.nn.Linear(1, 1), None, [], {"steps": 1, "evaluate_every": 0}, tmp_path, 1)


def test_hits_and_misses_are_typical_of_all_that_there_are(settings):
    subject = subjects.of_name(settings, "ru-news", 1)
    often = torch.full(
        (450,), 10**6, dtype=subject.counts.dtype
    )  # so that the text has rarer tokens than the 500 most frequent
    vars(subject)["counts"] = torch.cat([subject.counts, often])
    found = measured.hits_and_misses(subject, measured.measure(subject, subject.model, 20), words=(1, 99))
    by_name = {one["function"]: one for one in found}
    assert set(by_name) == {"positional", "nsubj", "dobj", "amod", "advmod", "rare"}
    subject.model.set_attn_implementation("eager")
    once = {name: {True: [], False: []} for name in ("positional", "rare")}  # largest weights, by hit and miss
    counts = subject.counts.tolist()
    border = sorted(counts, reverse=True)[min(500, len(counts) - 1)]
    for place, pair in enumerate(subject.sentences):
        batch = single(subject, place)
        owners = batch["word_ids"][0].tolist()
        with torch.no_grad():
            maps = subject.model(
                **{name: batch[name] for name in ("input_ids", "attention_mask", "labels")}, output_attentions=True
            ).encoder_attentions
        tokens_of = zip(batch["input_ids"][0].tolist(), owners, strict=True)
        ranked = sorted((counts[token], owner) for token, owner in tokens_of if owner >= 0)
        rarest = {owner for _, owner in ranked[:2]} if ranked[0][0] < border else set()
        for name in once:
            head = by_name[name]
            table = to_words(maps[head["layer"]][0, head["head"]].tolist(), owners, len(pair.words))
            for query, row in enumerate(table):
                wanted = {query + int(head["label"])} if name == "positional" else rarest - {query}
                if wanted and all(0 <= word < len(pair.words) for word in wanted):
                    once[name][row.index(max(row)) in wanted].append(max(row))
    assert once["rare"][False]
    for name, both in once.items():
        for hit, weights in both.items():
            typical = by_name[name]["hit" if hit else "miss"]
            assert bool(weights) == bool(typical)
            if typical:
                assert max(typical["weights"]) == pytest.approx(sorted(weights)[len(weights) // 2], abs=1e-5)
                assert (int(np.argmax(typical["weights"])) in typical["wanted"]) == hit


@pytest.mark.parametrize(("guess", "query"), [({"guess": 1}, 1), ({"guess": 2}, 0), ({}, 1)])
def test_a_hit_of_a_relation_is_one_that_the_offset_misses(settings, monkeypatch, guess, query):
    subject, maps = subjects.of_name(settings, "ru-news", 1), np.zeros((1, 4, 4))
    maps[0, 0, 1], maps[0, 1, 3] = 0.5, 0.9  # both right; without an offset the median of two is the larger
    monkeypatch.setattr(measured, "_word_maps", lambda *_: {0: maps})
    told = {"function": "dobj", "layer": 0, "head": 0, **guess}
    monkeypatch.setattr(measured, "_candidates", lambda *_: [(told, lambda i, _: {0: {1}, 1: {3}} if i == 0 else {})])
    (found,) = measured.hits_and_misses(subject, {}, words=(1, 99))
    assert found["hit"]["query"] == query and found["miss"] is None
