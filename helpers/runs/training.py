"""Translation models in the store: what they depend on, how they are trained, read again, and translate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import torch

from helpers import corpora, gpu, heads, models, study
from helpers.corpora import tokens
from helpers.training import dev_loss, fit, held_out  # noqa: F401

HALF = torch.float16  # number type of stored weights: a model *is* what was stored


def spec(settings: Mapping[str, Any], name: str, seed: int, closed: tuple[str, ...] = ()) -> dict[str, Any]:
    """Everything that a trained translation model depends on.

    `name` is "LANGUAGE-REGISTER", such as "ru-news"; `closed` are attention kinds whose heads are all removed from the start.
    """
    language, _, register = name.partition("-")
    return {
        "corpus": corpora.spec(settings, language, register, seed),
        "model": dict(settings["model"]),
        "training": dict(settings["training"]),
        "seed": seed,
        "closed": list(closed),
    }


def closed_gates(model, closed: Iterable[str]):
    """A context in which every head of the given attention kinds is removed (its gate is 0)."""
    return heads.gate(model, dict.fromkeys(heads.index(model, kinds=tuple(closed)), 0.0)) if closed else nullcontext()


@torch.no_grad()
def keep(model, place: study.Place) -> None:
    """Leave a trained model: its weights in half precision, to which it is rounded, and heads.json (`kept`)."""
    heads.save(model, place.weights, HALF)
    for values in model.state_dict().values():
        if values.is_floating_point():
            values.copy_(values.to(HALF))
    left = [(kind, layer, numbers) for (kind, layer), numbers in heads.kept(model).items()]
    study.write_json(place.results / "heads.json", left)


def kept(recipe: study.Recipe) -> dict[tuple[str, int], list[int]]:
    """`helpers.heads.kept` of the model that a recipe left, from its results: (kind, layer) -> heads."""
    return {(kind, layer): numbers for kind, layer, numbers in study.read_json(recipe.results / "heads.json")}


def stored(recipe: study.Recipe):
    """The model that a recipe left, on the device in use, in evaluation mode: its stored weights, computed with in float32."""
    model = heads.load(recipe.weights, torch.float32)
    return model.to(gpu.device())  # type: ignore[arg-type]  # transformers types its wrapper of `to` as unbound


def _train(spec: Mapping[str, Any], place: study.Place) -> None:
    corpus = corpora.prepare(spec["corpus"])
    source, target = tokens.sides(corpus)
    model = models.build(spec["model"], source.size, target.size, spec["seed"]).to(gpu.device())
    plan = spec["training"]
    data = {
        name: tokens.encode(corpora.read_pairs(corpora.file(corpus, name), bare=True), source, target, models.MAX_POSITIONS)
        for name in ("train", "dev")
    }

    epoch = tokens.epochs(data["train"], source.pad, plan["batch_tokens"], spec["seed"], model.device)
    dev = tokens.Batches(data["dev"], source.pad, held_out(plan), model.device)
    with closed_gates(model, spec["closed"]):
        history = fit(model, epoch, dev, plan, place.work, spec["seed"], label=place.label)
    history.to_csv(place.results / "history.csv", index=False)
    keep(model, place)


def trained(spec: Mapping[str, Any], label: str = "training") -> study.Recipe:
    """The recipe of the model of a spec: history.csv among its results."""
    return MODEL.of(spec, label)


@contextmanager
def _opened(spec: Mapping[str, Any], splits: tuple[str, ...], control: Mapping[str, Any] | None) -> Iterator[Any]:
    model = stored(trained(spec))
    with closed_gates(model, spec["closed"]):
        yield model


MODEL = study.Kind("model", 1, _train, lambda spec: [study.Need(corpora.recipe(spec["corpus"]), weights=True)], opened=_opened)


def translate(model, texts: list[str], source, target, beam: int = 1, batch: int = 0) -> list[str]:
    """Translations of `texts`, in their order.

    Beam search as in the paper where beam > 1 (length penalty 0.6); at most 2 n + 10 tokens for n source tokens. So many
    texts at once as `batch` says; 0 is for 64, or 512 on a GPU, which is hardly slower with more of them.
    """
    batch = batch or (512 if gpu.is_gpu(model.device) else 64)
    encoded = tokens.encode([corpora.Pair(t, "") for t in texts], source, target, model.config.max_position_embeddings)
    order = sorted(range(len(texts)), key=lambda i: len(encoded.source[i]))
    translations: dict[int, str] = {}
    for start in study.progress(range(0, len(order), batch), "translating"):
        rows = order[start : start + batch]
        made = gpu.moved(tokens.collate(encoded, rows, source.pad), model.device)
        limit = min(2 * made["input_ids"].shape[1] + 10, model.config.max_position_embeddings)
        more = {"length_penalty": 0.6} if beam > 1 else {}
        with torch.no_grad(), gpu.kernels():
            ids = model.generate(
                input_ids=made["input_ids"], attention_mask=made["attention_mask"], num_beams=beam, do_sample=False,
                max_length=limit, **more,
            )  # fmt: skip
        ids = [row[: 2 * len(encoded.source[i]) + 10] for i, row in zip(rows, ids.tolist(), strict=True)]
        translations |= zip(rows, target.decode_all(ids), strict=True)
    return [translations[i] for i in range(len(texts))]
