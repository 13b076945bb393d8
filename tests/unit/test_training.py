"""The training loop: rates, losses, kill and resume, early stop, and the models in the store."""

from __future__ import annotations

import json
import math
import os
import signal
import threading
from itertools import pairwise

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from helpers import corpora, heads, models, study
from helpers.corpora import Pair, tokens
from helpers.runs import outputs, subjects, training
from helpers.study import StudyError

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
    history = training.fit(model, epochs, DEV, plan(**more), work, seed=3, objective=objective)
    return model, history


def same_weights(first, second):
    a, b = first.state_dict(), second.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def without_seconds(history):
    return history.drop(columns="seconds")


# --- rate and loss ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scale", "warmup", "width"), [(4, 16_000, 512), (1, 4, 32), (2, 1, 64)])
def test_rate_is_the_papers(scale, warmup, width):
    """Appendix B.3: scale * min(step ** -0.5, step * warmup ** -1.5), "scale" having width ** -0.5 in it."""
    factor = scale * width**-0.5
    given = plan(learning_rate=factor * warmup**-0.5, warmup=warmup, steps=100_000)
    for step in (1, 2, 3, warmup // 2 + 1, warmup, warmup + 1, 4 * warmup, 100_000):
        wanted = factor * min(step**-0.5, step * warmup**-1.5)
        assert training.learning_rate(step, given) == pytest.approx(wanted, rel=1e-12)
    assert max(training.learning_rate(s, given) for s in range(1, 40_000, 7)) <= given["learning_rate"] * (1 + 1e-12)


def test_the_paper_profile_has_the_papers_peak():
    given = study.settings("paper")
    peak = 4 * given["model"]["width"] ** -0.5 * given["training"]["warmup"] ** -0.5
    assert given["training"]["learning_rate"] == pytest.approx(peak, rel=0.01)


def test_cooldown_ends_near_zero():
    flat, cooled = plan(steps=100, warmup=10), plan(steps=100, warmup=10, cooldown=0.3)
    rates = [training.learning_rate(step, cooled) for step in range(1, 101)]
    assert rates[:70] == [training.learning_rate(step, flat) for step in range(1, 71)]
    assert all(a > b > 0 for a, b in pairwise(rates[70:]))
    assert rates[-1] < 0.05 * training.learning_rate(100, flat)
    share = [rate / training.learning_rate(70 + i, flat) for i, rate in enumerate(rates[69:])]
    assert [a - b for a, b in pairwise(share)] == pytest.approx([1 / 31] * 30)


@pytest.mark.parametrize("warmup", [0, 1])
def test_no_warmup(warmup):
    assert training.learning_rate(1, plan(warmup=warmup, learning_rate=0.1)) == 0.1


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
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


def test_dev_loss_is_the_mean_over_tokens():
    model, batches = build(), [copies(1, 4), copies(2, 2)]
    batches[0]["labels"][:3] = -100
    model.train()
    found = training.dev_loss(model, batches)
    assert model.training
    assert found == training.dev_loss(model.eval(), batches)  # no dropout
    assert not model.training
    with torch.no_grad():
        sums = [float(training.cross_entropy(model, b, 0.0)) * int((b["labels"] != -100).sum()) for b in batches]
    assert found == pytest.approx(sum(sums) / (5 + 10))
    batches[0]["labels"][:] = -100
    with pytest.raises(StudyError, match="The dev set holds no target tokens"):
        training.dev_loss(model, [])


# --- fit -------------------------------------------------------------------------------------------------------------


def test_loss_falls_on_a_copy_task(tmp_path):
    more = {"steps": 180, "evaluate_every": 60, "learning_rate": 1e-2, "warmup": 20}
    model, history = fit(tmp_path, build(width=32, dropout=0.0), **more)
    assert history.step.tolist() == [60, 120, 180]
    assert history.loss.is_monotonic_decreasing
    assert history.dev_loss.is_monotonic_decreasing
    assert history.dev_loss.iloc[-1] < 0.3 * math.log(SIZE)
    assert not model.training
    assert history.learning_rate.tolist() == [training.learning_rate(step, plan(**more)) for step in history.step]
    assert history.seconds.is_monotonic_increasing


def test_history_of_a_plan_that_does_not_divide(tmp_path):
    _, history = fit(tmp_path, steps=12, evaluate_every=5)
    assert history.step.tolist() == [5, 10, 12]
    assert list(history) == ["step", "loss", "dev_loss", "learning_rate", "seconds"]


def test_training_loss_is_the_mean_since_the_last_row(tmp_path):
    seen = []

    def objective(model, batch):
        loss = training.cross_entropy(model, batch, 0.1)
        seen.append(loss.item())
        return loss

    _, history = fit(tmp_path, objective=objective, steps=12, evaluate_every=5)
    wanted = [sum(seen[a:b]) / (b - a) for a, b in ((0, 5), (5, 10), (10, 12))]
    assert history.loss.tolist() == pytest.approx(wanted)
    assert same_weights(fit(tmp_path, objective=objective, steps=12)[0], fit(tmp_path, steps=12)[0])  # the default objective


def test_seed_decides_everything(tmp_path):
    first, second = fit(tmp_path), fit(tmp_path)
    assert same_weights(first[0], second[0])
    pd.testing.assert_frame_equal(without_seconds(first[1]), without_seconds(second[1]), check_exact=True)
    other = build()
    training.fit(other, epochs, DEV, plan(), tmp_path, seed=4)
    assert not same_weights(first[0], other)


class Killed(Exception):
    pass


def killed_at(step):
    """The usual objective, which a run does not survive at a step."""
    calls = []

    def objective(model, batch):
        calls.append(1)
        if len(calls) == step:
            raise Killed
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
        ([2], 1, {}),
        ([7, 1, 1], 1, {}),
        ([8], 1, {}),  # right behind the first epoch
        ([9], 7, {}),  # the checkpoint is an epoch's last step
        ([13, 4], 4, {}),
        ([18], 5, {"average": 3}),
        ([12], 3, {"patience": 1, "learning_rate": 0.5}),
        ([17], 6, {"cooldown": 0.5, "average": 2}),
    ],
)
def test_a_killed_run_ends_with_the_same_numbers(tmp_path, monkeypatch, kills, steps, more):
    whole, history = fit(tmp_path / "whole", **more)
    assert not (tmp_path / "whole" / "checkpoint.pt").exists()  # short runs save nothing
    save_every(monkeypatch, steps)
    for step in kills:
        torch.manual_seed(step)  # whatever came before must not matter
        with pytest.raises(Killed):
            fit(tmp_path / "work", objective=killed_at(step), **more)
    if kills[0] > steps:
        assert [f.name for f in (tmp_path / "work").iterdir()] == ["checkpoint.pt"]
    torch.manual_seed(99)
    resumed, again = fit(tmp_path / "work", **more)
    pd.testing.assert_frame_equal(without_seconds(again), without_seconds(history), check_exact=True)
    assert same_weights(resumed, whole)


def test_a_resumed_run_does_not_repeat_its_steps(tmp_path, monkeypatch):
    save_every(monkeypatch, 4)
    with pytest.raises(Killed):
        fit(tmp_path, objective=killed_at(15))
    calls = []

    def count(model, batch):
        calls.append(batch["input_ids"])
        return training.cross_entropy(model, batch, 0.1)

    fit(tmp_path, objective=count)
    assert len(calls) == 20 - 12
    assert torch.equal(calls[0], list(epochs(1))[5]["input_ids"])  # step 13 is the sixth batch of the second epoch


def signalled_at(step, sign):
    """The usual objective, during which a run is asked to end."""
    calls = []

    def objective(model, batch):
        calls.append(1)
        if len(calls) == step:
            os.kill(os.getpid(), sign)
        return training.cross_entropy(model, batch, 0.1)

    return objective


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("step", [1, 5, 7, 8])  # the first one, one that is evaluated, the last of an epoch, the first of one
def test_a_run_that_is_asked_to_end_saves_at_once(sign, step, tmp_path):
    whole, history = fit(tmp_path / "whole")
    before = signal.getsignal(sign)
    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path / "work", objective=signalled_at(step, sign))
    assert signal.getsignal(sign) is before
    assert torch.load(tmp_path / "work" / "checkpoint.pt", weights_only=True)["state"]["step"] == step
    resumed, again = fit(tmp_path / "work")
    pd.testing.assert_frame_equal(without_seconds(again), without_seconds(history), check_exact=True)
    assert same_weights(resumed, whole)


def test_a_run_that_is_asked_to_end_in_its_last_step_is_done(tmp_path):
    whole, _ = fit(tmp_path / "whole")
    assert same_weights(fit(tmp_path / "work", objective=signalled_at(20, signal.SIGTERM))[0], whole)
    assert not (tmp_path / "work").exists()


def test_a_run_in_another_thread_leaves_signals_alone(tmp_path):
    before, found = signal.getsignal(signal.SIGTERM), []

    def look(model, batch):
        found.append(signal.getsignal(signal.SIGTERM))
        return training.cross_entropy(model, batch, 0.1)

    thread = threading.Thread(target=fit, args=(tmp_path, None, look))
    thread.start()
    thread.join()
    assert found == [before] * 20


def test_a_loss_that_is_no_number(tmp_path, monkeypatch):
    save_every(monkeypatch, 3)

    def objective(model, batch, calls=[]):  # noqa: B006
        calls.append(1)
        return training.cross_entropy(model, batch, 0.1) * (math.nan if len(calls) == 8 else 1)

    with pytest.raises(StudyError, match=r"The loss of step 8 is nan: lower the learning rate \(.*checkpoint.pt is kept\)"):
        fit(tmp_path, objective=objective)
    assert same_weights(fit(tmp_path)[0], fit(tmp_path / "other")[0])  # the checkpoint of step 6 is sound


def test_a_dev_loss_that_is_no_number(tmp_path):
    model = build()

    def objective(model, batch):
        with torch.no_grad():
            model.final_logits_bias.fill_(math.nan)
        return sum(p.sum() for p in model.parameters()) * 0

    with pytest.raises(StudyError, match="The dev loss of step 5 is nan: lower the learning rate"):
        fit(tmp_path, model, objective)


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "other"])
def test_a_checkpoint_that_cannot_be_read(tmp_path, monkeypatch, damage):
    save_every(monkeypatch, 1)
    path = tmp_path / "checkpoint.pt"
    with pytest.raises(Killed):
        fit(tmp_path, build(width=32) if damage == "other" else None, killed_at(3))
    raw = path.read_bytes()
    if damage != "other":
        path.write_bytes({"cut": raw[: len(raw) // 2], "empty": b"", "text": b"no checkpoint"}[damage])
    with pytest.raises(StudyError) as caught:
        fit(tmp_path)
    assert str(caught.value).startswith(f"The checkpoint {path} cannot be read (")
    assert str(caught.value).endswith("): delete it to start anew.")
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


def test_patience_stops_early(tmp_path, monkeypatch):
    weights = dev_losses(monkeypatch, [3.0, 2.0, 2.5, 2.0, 1.0])
    model, history = fit(tmp_path, steps=100, patience=2)
    assert history.step.tolist() == [5, 10, 15, 20]  # two evaluations without a better score; as good is not better
    assert all(torch.equal(weights[1][name], value) for name, value in model.state_dict().items())


def test_without_patience_it_goes_on(tmp_path, monkeypatch):
    dev_losses(monkeypatch, [1.0, 2.0, 3.0, 4.0])
    assert fit(tmp_path)[1].step.tolist() == [5, 10, 15, 20]


@pytest.mark.parametrize(("values", "best"), [([3, 1, 2, 4], 1), ([1, 2, 3, 4], 0), ([4, 3, 2, 1], 3), ([2, 1, 1, 2], 1)])
def test_the_best_weights_are_kept(tmp_path, monkeypatch, values, best):
    weights = dev_losses(monkeypatch, map(float, values))
    model, _ = fit(tmp_path)
    assert all(torch.equal(weights[best][name], value) for name, value in model.state_dict().items())


@pytest.mark.parametrize("average", [1, 2, 3, 9])
def test_average_is_the_mean_of_the_last_weights(tmp_path, monkeypatch, average):
    weights = dev_losses(monkeypatch, [1.0, 2.0, 3.0, 4.0])
    model, _ = fit(tmp_path, average=average)
    last = weights[-average:]
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, torch.stack([w[name] for w in last]).mean(0))
    assert model.get_output_embeddings().weight is model.model.decoder.embed_tokens.weight


@pytest.mark.parametrize("name", ["steps", "evaluate_every"])
def test_a_plan_without_steps(tmp_path, name):
    with pytest.raises(StudyError, match=f"The setting 'training.{name}' must be 1 or more, not 0."):
        fit(tmp_path, **{name: 0})


def test_an_epoch_without_batches(tmp_path):
    with pytest.raises(StudyError, match="There are no batches to train on"):
        training.fit(build(), lambda number: [], DEV, plan(), tmp_path, seed=1)


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


# --- closed heads ----------------------------------------------------------------------------------------------------


def test_closed_encoder_heads_get_no_gradient_and_say_nothing():
    model, batch = build(dropout=0.0).eval(), copies(1, 4)
    with torch.no_grad():
        for layer in model.model.encoder.layers:
            layer.self_attn.out_proj.weight.normal_()  # a new model's encoder attention says nothing yet
        plain = model(**batch).logits
    with training.closed_gates(model, ("encoder",)):
        training.cross_entropy(model, batch, 0.1).backward()
        with torch.no_grad():
            closed = model(**batch).logits
            for name in ("q_proj", "k_proj", "v_proj"):
                for weight in getattr(model.model.encoder.layers[0].self_attn, name).parameters():
                    weight.normal_()
            assert torch.equal(model(**batch).logits, closed)
    assert not torch.allclose(plain, closed)
    attention = model.model.encoder.layers[0].self_attn
    for name in ("q_proj", "k_proj", "v_proj"):
        assert all(w.grad is None or not w.grad.any() for w in getattr(attention, name).parameters())
    assert not attention.out_proj.weight.grad.any()
    for other in (model.model.decoder.layers[0].self_attn, model.model.decoder.layers[0].encoder_attn):
        assert all(getattr(other, name).weight.grad.any() for name in ("q_proj", "k_proj", "v_proj", "out_proj"))
    assert model.model.encoder.layers[0].fc1.weight.grad.any()
    with training.closed_gates(model, ()), torch.no_grad():
        assert not torch.allclose(model(**batch).logits, closed)


def test_closed_encoder_heads_stay_as_they_were_built(tmp_path):
    model = build()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with training.closed_gates(model, ["encoder"]):
        fit(tmp_path, model)
    for name, value in model.state_dict().items():
        still = "encoder.layers.0.self_attn" in name and "model.encoder" in name and "out_proj.bias" not in name
        assert torch.equal(before[name], value) == (still or "positions" in name or "final_logits" in name), name


# --- translation -----------------------------------------------------------------------------------------------------

TEXTS = ["the cat sees the dog", "a dog", "the cat", "the dog sees a cat and the cat sees a dog", "cat", "", "sees a dog"]


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    """A model that learned to copy a little, with its two vocabularies."""
    words = "the a cat dog sees and".split()
    tokenizer = tokens.learn_vocabulary([" ".join(words)] * 3, 60)
    source, target = tokens.Subwords(tokenizer), tokens.Subwords(tokenizer, offset=tokenizer.get_vocab_size())
    generator = torch.Generator().manual_seed(0)
    texts = [" ".join(words[i] for i in torch.randint(0, 6, (1 + n % 6,), generator=generator)) for n in range(64)]
    data = tokens.encode([Pair(text, text) for text in texts], source, target)
    batches = list(tokens.Batches(data, source.pad, 300))
    model = models.build(SHAPE | {"width": 32}, source.size, target.size, 1)
    given = plan(steps=80, evaluate_every=80, learning_rate=1e-2)
    history = training.fit(model, lambda number: batches, batches, given, tmp_path_factory.mktemp("work"), seed=1)
    assert history.dev_loss.iloc[-1] < 2.5
    return model, source, target


def single(translator, text, beam=1):
    """One sentence alone, by the library's own call."""
    model, source, target = translator
    ids = torch.tensor([source.encode(text)])
    more = {"num_beams": beam, "length_penalty": 0.6} if beam > 1 else {}
    limit = 2 * ids.shape[1] + 10
    made = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), do_sample=False, max_length=limit, **more)
    return target.decode_all(made.tolist())[0]


def test_a_batch_is_translated_like_single_sentences(translator):
    found = training.translate(translator[0], TEXTS, *translator[1:])
    assert found == [single(translator, text) for text in TEXTS]
    assert len(set(found)) > 2
    for batch in (1, 2, 3):
        assert training.translate(translator[0], TEXTS, *translator[1:], batch=batch) == found


def test_order_is_kept(translator):
    found = training.translate(translator[0], TEXTS, *translator[1:], batch=2)
    turned = training.translate(translator[0], TEXTS[::-1], *translator[1:], batch=2)
    assert turned == found[::-1]


def test_a_model_that_never_ends_is_stopped_by_each_sentence_alone(translator):
    _, source, target = translator
    model = models.build(SHAPE, source.size, target.size, 5).eval()
    word = target.encode("cat")[0]
    model.final_logits_bias[0, word] = 1e4
    found = training.translate(model, TEXTS, source, target)
    assert found == [single((model, source, target), text) for text in TEXTS]
    tokens_each = [2 * len(source.encode(text)) + 9 for text in TEXTS]  # one more starts the sentence
    assert found == target.decode_all([[word] * n for n in tokens_each])


@pytest.mark.parametrize("beam", [2, 4])
def test_beam_search(translator, beam):
    found = training.translate(translator[0], TEXTS, *translator[1:], beam=beam)
    assert len(found) == len(TEXTS)
    assert all(isinstance(text, str) for text in found)
    longest = TEXTS.index(max(TEXTS, key=len))
    assert found[longest] == single(translator, TEXTS[longest], beam)


def test_a_text_beyond_the_models_positions(translator):
    with pytest.raises(StudyError, match="is longer than the model's 512"):
        training.translate(translator[0], ["the cat " * 300], *translator[1:])


# --- the store -------------------------------------------------------------------------------------------------------


def tiny_spec(**more):
    settings = study.settings(
        "tiny", {"train": 60, "dev": 8, "test": 4, "vocabulary": 120, "training.batch_tokens": 256} | more
    )
    return subjects.spec(settings, "de-subtitles", 1)


def test_a_model_is_trained_once_and_read(monkeypatch):
    made = training.trained(tiny_spec(**{"training.steps": 4}), "a label")
    assert json.loads(json.dumps(made.spec)) == made.spec and (made.kind, made.label) == (training.MODEL, "a label")
    assert {f.name for f in made.results.iterdir()} == {"history.csv", "heads.json"}
    assert {"model.safetensors", "config.json"} <= {f.name for f in made.weights.iterdir()}
    assert pd.read_csv(made.results / "history.csv").step.tolist()[-1] == 4
    monkeypatch.setattr(training, "fit", None)
    model = training.stored(training.trained(made.spec))
    assert not model.training and model.device == models.device()
    found = outputs.read(made, "test", 1)
    assert len(found) == 4 and found == subjects.text_of(made.spec).put_out(model, "test", 1)
    monkeypatch.setattr(training, "translate", None)
    assert outputs.read(made, "test", 1) == found
    with pytest.raises(StudyError, match="no test set 'tset'"):
        outputs.read(made, "tset", 1)


def test_a_model_is_what_was_stored_of_it(monkeypatch):
    monkeypatch.setattr(study.recipe, "KINDS", {})
    model = build(width=32)
    heads.remove(model, [("encoder", 0, 1), ("cross", 0, 0)])
    left = heads.kept(model)

    def leave(spec, place):
        training.keep(model, place)

    made = study.Kind("thing", 1, leave).of({})
    found = training.stored(made)
    states = model.state_dict(), found.state_dict()
    assert {value.dtype for value in states[1].values() if value.is_floating_point()} == {torch.float32}
    assert all(torch.equal(value.half().float(), states[1][name]) for name, value in states[0].items())
    assert training.kept(made) == heads.kept(found) == left
    assert load_file(made.weights / "model.safetensors")["model.encoder.layers.0.fc1.weight"].dtype == torch.float16


def test_a_control_without_encoder_heads(monkeypatch):
    settings = study.settings("tiny", {"train": 60, "dev": 8, "test": 4, "vocabulary": 120, "training.steps": 4})
    plain, control = (subjects.spec(settings, name, 1) for name in ("de-subtitles", "de-subtitles" + subjects.NONE))
    assert (plain["closed"], control["closed"]) == ([], ["encoder"])
    assert study.key(plain) != study.key(control)
    assert study.key(plain["corpus"]) == study.key(control["corpus"])
    model = training.stored(training.trained(control))
    source, target = tokens.sides(corpora.prepare(control["corpus"]))
    built = models.build(control["model"], source.size, target.size, control["seed"])
    for layer, fresh in zip(model.model.encoder.layers, built.model.encoder.layers, strict=True):
        assert torch.equal(layer.self_attn.q_proj.weight, fresh.self_attn.q_proj.weight.half().float())
    seen = []
    monkeypatch.setattr(training, "translate", lambda model, texts, *more: seen.append(heads_open(model)) or ["x"] * len(texts))
    for spec in (control, plain):
        outputs.read(training.trained(spec), "test", 1)
    assert seen == [False, True]


def heads_open(model):
    """Whether encoder self-attention reaches the output."""
    batch = {"input_ids": torch.tensor([[5, 6, 7, 1]]), "decoder_input_ids": torch.tensor([[0, 5]])}
    with torch.no_grad():
        plain = model(**batch).logits
        with heads.gate(model, dict.fromkeys(heads.index(model, kinds=("encoder",)), 0.0)):
            return not torch.equal(model(**batch).logits, plain)
