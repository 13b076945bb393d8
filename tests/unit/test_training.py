"""The training loop: rates, losses, kill and resume, early stop, and the models in the store."""

from __future__ import annotations

import math
import os
import signal
from itertools import pairwise

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from torch.testing import assert_close

from helpers import heads, models, study, training
from helpers.corpora import tokens
from helpers.methods import l0
from helpers.runs import outputs, subjects
from helpers.runs import training as translators
from helpers.study import StudyError
from tests.unit.tiny_models import logits, tiny_batch, tiny_model

SHAPE = {"layers": 1, "width": 16, "heads": 2, "feed_forward": 16, "dropout": 0.1}
SIZE, LENGTH = 12, 5


def plan(**more):
    return study.settings("tiny")["training"] | {"steps": 20, "warmup": 4, "evaluate_every": 5, "learning_rate": 5e-3} | more


def copies(seed, rows):
    """Sentences to be copied: ids 2 to 11 and an end."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(2, SIZE, (rows, LENGTH), generator=generator)
    ids[:, -1] = 1
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids.clone()}


def epochs(number, batches=7):
    return (copies(100 * number + i, 8) for i in range(batches))


DEV = [copies(-1, 8), copies(-2, 3)]


def build(**more):
    return models.build(SHAPE | more, SIZE, SIZE, 1)


def fit(work, model=None, objective=None, **more):
    model = model or build()
    return model, training.fit(model, epochs, DEV, plan(**more), work, seed=3, objective=objective)


def assert_same(one, other):
    """Two trained models and their histories are alike to the last digit."""
    assert_close(one[0].state_dict(), other[0].state_dict(), rtol=0, atol=0)
    pd.testing.assert_frame_equal(one[1].drop(columns="seconds"), other[1].drop(columns="seconds"), check_exact=True)


def test_rate_is_the_papers():
    """Appendix B.3: scale * min(step ** -0.5, step * warmup ** -1.5), "scale" having width ** -0.5 in it."""
    factor = 4 * 512**-0.5
    given = plan(learning_rate=factor * 16_000**-0.5, warmup=16_000, steps=100_000)
    for step in (1, 2, 8001, 16_000, 16_001, 100_000):
        wanted = factor * min(step**-0.5, step * 16_000**-1.5)
        assert training.learning_rate(step, given) == pytest.approx(wanted, rel=1e-12)
    assert training.learning_rate(1, plan(warmup=0, learning_rate=0.1)) == 0.1


def gated(seed=0):
    """A frozen decoder of today with gates that learn."""
    torch.manual_seed(seed)
    return l0.Gated(tiny_model("llama", vocab_size=SIZE).requires_grad_(False), ("decoder",), start=(1.0, 2.0), rate=50.0)


def test_gates_alone_learn_on_a_frozen_model_and_go_on_where_they_were_saved(tmp_path):
    def train(work, stop=0):
        model, steps = gated(), []

        def priced(model, batch):
            steps.append(1)
            if len(steps) == stop:
                os.kill(os.getpid(), signal.SIGTERM)
            return l0.objective(model, batch, 0.0, 0.05)

        return model, training.fit(model, epochs, DEV, plan(average=2), work, seed=3, objective=priced)

    model, history = train(tmp_path / "one")
    start = gated()
    assert_close(model.model.state_dict(), start.model.state_dict(), rtol=0, atol=0)
    assert (model.gates.log_alpha - start.gates.log_alpha).abs().min() > 0.1 and len(history) == 4
    assert all(weight.grad is None for weight in model.model.parameters())
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "two", stop=7)
    saved = torch.load(tmp_path / "two" / "checkpoint.pt")
    assert set(saved["model"]) == {"scaled", "taken", "kept"} == set(saved["state"]["kept"][0])
    assert_same(train(tmp_path / "two"), (model, history))


def test_cooldown_ends_near_zero():
    flat, cooled = plan(steps=100, warmup=10), plan(steps=100, warmup=10, cooldown=0.3)
    rates = [training.learning_rate(step, cooled) for step in range(1, 101)]
    assert rates[:70] == [training.learning_rate(step, flat) for step in range(1, 71)]
    assert all(a > b > 0 for a, b in pairwise(rates[70:]))
    assert rates[-1] < 0.05 * training.learning_rate(100, flat)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy_is_the_slow_loop(smoothing):
    model, batch = build().eval(), copies(1, 4)
    batch["labels"][0, 3:] = batch["labels"][2, 1:] = -100
    with torch.no_grad():
        found = float(training.cross_entropy(model, batch, smoothing))
        logits = model(**models.inputs(batch)).logits.double()
    losses = []
    for row, labels in zip(logits, batch["labels"].tolist(), strict=True):
        for scores, label in zip(row, labels, strict=True):
            if label != -100:
                log_p = [float(s - scores.logsumexp(0)) for s in scores]
                losses.append(-sum(((1 - smoothing) * (i == label) + smoothing / len(log_p)) * p for i, p in enumerate(log_p)))
    assert found == pytest.approx(sum(losses) / len(losses), rel=1e-5)


def test_a_decoder_predicts_no_token_that_nothing_stands_before():
    """Somebody else's texts label all that they hold, padded on either side: as transformers counts, and the same."""
    model, batch = tiny_model("llama"), tiny_batch("llama")
    turned = {name: torch.stack([row.roll(len(row) - n) for row, n in zip(value, batch["attention_mask"].sum(1).tolist(),
              strict=True)]) for name, value in batch.items()}  # fmt: skip
    with torch.no_grad():
        wanted = float(model(**models.inputs(batch)).loss)
        for texts in (batch, turned):
            assert float(training.cross_entropy(model, texts, 0.0)) == pytest.approx(wanted, rel=1e-5)
            assert training.dev_loss(model, [texts]) == pytest.approx(wanted, rel=1e-5)
            tokens = int((models.predicted(model, texts) != -100).sum())
            assert tokens == int(texts["attention_mask"].sum()) - len(texts["labels"])


def test_dev_loss_is_the_mean_over_tokens():
    model, batches = build().train(), [copies(1, 4), copies(2, 2)]
    batches[0]["labels"][:3] = -100
    found = training.dev_loss(model, batches)
    assert model.training and found == training.dev_loss(model.eval(), batches) and not model.training  # no dropout
    with torch.no_grad():
        sums = [float(training.cross_entropy(model, b, 0.0)) * int((b["labels"] != -100).sum()) for b in batches]
    assert found == pytest.approx(sum(sums) / (5 + 10))
    with pytest.raises(StudyError, match="no target tokens"):
        training.dev_loss(model, [])


def test_training_loss_is_the_mean_since_the_last_row(tmp_path):
    seen = []

    def objective(model, batch):
        loss = training.cross_entropy(model, batch, 0.1)
        seen.append(loss.item())
        return loss

    found = fit(tmp_path, objective=objective, steps=12, evaluate_every=5)
    assert found[1].step.tolist() == [5, 10, 12]
    assert found[1].loss.tolist() == pytest.approx([sum(seen[a:b]) / (b - a) for a, b in ((0, 5), (5, 10), (10, 12))])
    assert_same(found, fit(tmp_path, steps=12))  # the default objective


def happening_at(step, what, *given):
    """The usual objective, at a step of which something happens."""
    calls = []

    def objective(model, batch):
        calls.append(1)
        if len(calls) == step:
            what(*given)
        return training.cross_entropy(model, batch, 0.1)

    return objective


def save_every(monkeypatch, steps):
    """Checkpoints at chosen steps, however long they take."""
    save = training._save
    monkeypatch.setattr(training, "SAVE_EVERY", -1)
    monkeypatch.setattr(training, "_save", lambda p, m, o, state: state["step"] % steps or save(p, m, o, state))


@pytest.mark.parametrize(
    ("kills", "steps", "more"),
    [
        ([7, 1, 1], 1, {}),
        ([9], 7, {}),  # the checkpoint is an epoch's last step
        ([12], 3, {"patience": 1, "learning_rate": 0.5}),
        ([17], 6, {"cooldown": 0.5, "average": 2}),
    ],
)
def test_a_killed_run_ends_with_the_same_numbers(tmp_path, monkeypatch, kills, steps, more):
    whole = fit(tmp_path / "whole", **more)
    assert not (tmp_path / "whole" / "checkpoint.pt").exists()  # short runs save nothing
    save_every(monkeypatch, steps)
    for step in kills:
        torch.manual_seed(step)  # whatever came before must not matter
        with pytest.raises(ValueError, match="killed"):
            fit(tmp_path / "work", objective=happening_at(step, int, "killed"), **more)
    if kills[0] > steps:
        assert [f.name for f in (tmp_path / "work").iterdir()] == ["checkpoint.pt"]
    torch.manual_seed(99)
    assert_same(fit(tmp_path / "work", **more), whole)


@pytest.mark.parametrize(("sign", "step"), [(signal.SIGTERM, 7), (signal.SIGINT, 5)])  # the last of an epoch, an evaluated one
def test_a_run_that_is_asked_to_end_saves_at_once(sign, step, tmp_path):
    before = signal.getsignal(sign)
    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path / "work", objective=happening_at(step, os.kill, os.getpid(), sign))
    assert signal.getsignal(sign) is before
    assert torch.load(tmp_path / "work" / "checkpoint.pt", weights_only=True)["state"]["step"] == step
    assert_same(fit(tmp_path / "work"), fit(tmp_path / "whole"))


def test_a_loss_that_is_no_number(tmp_path, monkeypatch):
    save_every(monkeypatch, 3)

    def objective(model, batch, calls=[]):  # noqa: B006
        calls.append(1)
        return training.cross_entropy(model, batch, 0.1) * (math.nan if len(calls) == 8 else 1)

    with pytest.raises(StudyError, match="loss of step 8 is nan"):
        fit(tmp_path, objective=objective)
    assert_same(fit(tmp_path), fit(tmp_path / "other"))  # the checkpoint of step 6 is sound


def test_nothing_to_train_on_is_refused(tmp_path):
    for name in ("steps", "evaluate_every"):
        with pytest.raises(StudyError, match=rf"'training\.{name}'"):
            fit(tmp_path, **{name: 0})
    with pytest.raises(StudyError, match="no batches"):
        training.fit(build(), lambda number: [], DEV, plan(), tmp_path, seed=1)


@pytest.mark.parametrize("damage", ["cut", "text", "other"])
def test_a_checkpoint_that_cannot_be_read(tmp_path, monkeypatch, damage):
    save_every(monkeypatch, 1)
    path = tmp_path / "checkpoint.pt"
    with pytest.raises(ValueError, match="killed"):
        fit(tmp_path, build(width=32) if damage == "other" else None, happening_at(3, int, "killed"))
    if damage != "other":
        path.write_bytes(path.read_bytes()[:1000] if damage == "cut" else b"no checkpoint")
    with pytest.raises(StudyError, match=str(path)):
        fit(tmp_path)
    path.unlink()
    assert len(fit(tmp_path)[1]) == 4


def dev_losses(monkeypatch, values):
    """Dev losses as given, one an evaluation; keeps the weights of each."""
    given, weights = iter(values), []

    def score(model, batches):
        weights.append({name: value.detach().clone() for name, value in model.state_dict().items()})
        return next(given)

    monkeypatch.setattr(training, "dev_loss", score)
    return weights


@pytest.mark.parametrize(
    ("values", "best", "steps", "more"),
    [
        ([3, 1, 2, 4], 1, [5, 10, 15, 20], {}),  # without patience it goes on
        ([2, 1, 1, 2], 1, [5, 10, 15, 20], {}),
        ([3, 2, 2.5, 2, 1], 1, [5, 10, 15, 20], {"steps": 100, "patience": 2}),  # two evaluations without a better score
    ],
)
def test_the_best_weights_are_kept_and_patience_stops_early(tmp_path, monkeypatch, values, best, steps, more):
    weights = dev_losses(monkeypatch, map(float, values))
    model, history = fit(tmp_path, **more)
    assert history.step.tolist() == steps
    assert_close(dict(model.state_dict()), weights[best], rtol=0, atol=0)


@pytest.mark.parametrize("average", [2, 9])
def test_average_is_the_mean_of_the_last_weights(tmp_path, monkeypatch, average):
    weights = dev_losses(monkeypatch, [1.0, 2.0, 3.0, 4.0])
    model, _ = fit(tmp_path, average=average)
    last = weights[-average:]
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, torch.stack([w[name] for w in last]).mean(0))
    assert model.get_output_embeddings().weight is model.model.decoder.embed_tokens.weight


def test_clipping(tmp_path):
    norms = []

    def objective(model, batch):
        norms.extend(float(p.grad.norm()) for p in model.parameters() if p.grad is not None)
        return 1000 * training.cross_entropy(model, batch, 0.0)

    fit(tmp_path, objective=objective, steps=3, clip=0.01)
    assert 0 < max(norms) <= 0.0101
    norms.clear()
    fit(tmp_path, objective=objective, steps=3, clip=0.0)
    assert max(norms) > 1


TEXTS = ["the cat sees the dog", "a dog", "the cat", "the dog sees a cat and the cat sees a dog", "cat", "", "sees a dog"]


@pytest.fixture(scope="module")
def translator():
    """A model of random weights that says something else of every sentence, with its vocabulary on both sides."""
    words = tokens.Subwords(tokens.learn_vocabulary(["the a cat dog sees and"] * 3, 60))
    return tiny_model("marian", vocab_size=words.size), words, words


def single(translator, text, beam=1):
    """One sentence alone, by the library's own call."""
    model, source, target = translator
    ids = torch.tensor([source.encode(text)])
    more = {"num_beams": beam, "length_penalty": 0.6} if beam > 1 else {}
    limit = 2 * ids.shape[1] + 10
    made = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), do_sample=False, max_length=limit, **more)
    return target.decode_all(made.tolist())[0]


def test_a_batch_is_translated_like_single_sentences(translator):
    found = translators.translate(translator[0], TEXTS, *translator[1:])
    assert found == [single(translator, text) for text in TEXTS] and len(set(found)) > 2
    assert translators.translate(translator[0], TEXTS, *translator[1:], batch=2) == found
    longest = max(TEXTS, key=len)
    beam = translators.translate(translator[0], TEXTS, *translator[1:], beam=2)
    assert beam[TEXTS.index(longest)] == single(translator, longest, 2)


def test_a_model_that_never_ends_is_stopped_by_each_sentence_alone(translator):
    _, source, target = translator
    model = models.build(SHAPE, source.size, target.size, 5).eval()
    word = target.encode("cat")[0]
    model.final_logits_bias[0, word] = 1e4
    found = translators.translate(model, TEXTS, source, target)
    assert found == [single((model, source, target), text) for text in TEXTS]
    tokens_each = [2 * len(source.encode(text)) + 9 for text in TEXTS]  # one more starts the sentence
    assert found == target.decode_all([[word] * n for n in tokens_each])


def tiny_spec(name="de-subtitles", **more):
    sizes = {"train": 60, "dev": 8, "test": 4, "vocabulary": 120, "training.batch_tokens": 256}
    return subjects.spec(study.settings("tiny", sizes | more), name, 1)


def test_a_model_is_trained_once_and_read(monkeypatch):
    made = translators.trained(tiny_spec(**{"training.steps": 4}), "a label")
    assert pd.read_csv(made.results / "history.csv").step.tolist()[-1] == 4
    monkeypatch.setattr(translators, "fit", None)
    model, found = translators.stored(translators.trained(made.spec)), outputs.read(made, "test", 1)
    assert len(found) == 4 and found == subjects.text_of(made.spec).put_out(model, "test", 1)
    with pytest.raises(StudyError, match="no test set 'tset'"):
        outputs.read(made, "tset", 1)


def test_a_model_is_what_was_stored_of_it(monkeypatch):
    monkeypatch.setattr(study.recipe, "KINDS", {})
    model = build(width=32)
    heads.remove(model, [("encoder", 0, 1), ("cross", 0, 0)])
    left = heads.kept(model)

    def leave(spec, place):
        translators.keep(model, place)

    made = study.Kind("thing", 1, leave).of({})
    found = translators.stored(made)
    states = model.state_dict(), found.state_dict()
    assert {value.dtype for value in states[1].values() if value.is_floating_point()} == {torch.float32}
    assert all(torch.equal(value, states[1][name]) for name, value in states[0].items())  # rounded as it is stored
    assert translators.kept(made) == heads.kept(found) == left
    assert load_file(made.weights / "model.safetensors")["model.encoder.layers.0.fc1.weight"].dtype == torch.float16


def test_a_control_without_encoder_heads():
    control = tiny_spec("de-subtitles" + subjects.NONE, **{"training.steps": 4})
    assert control == tiny_spec(**{"training.steps": 4}) | {"closed": ["encoder"]}
    with translators.MODEL.opened(translators.trained(control).spec, ("test",), None) as model:  # as it writes
        batch = {"input_ids": torch.tensor([[5, 6, 7, 1]]), "decoder_input_ids": torch.tensor([[0, 5]])}
        closed = logits(model, batch)
        for layer in model.model.encoder.layers:
            torch.nn.init.normal_(layer.self_attn.out_proj.weight)
        assert torch.equal(logits(model, batch), closed)
