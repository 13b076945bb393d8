"""One training loop; an objective is passed in. Checkpoint, resume, early stop, progress bar.

`python -m helpers.training SPEC.json` makes one training run, a pure function of its spec, in the store that the notebooks
read.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import pandas as pd

from helpers import corpora, study
from helpers.study import StudyError

_MADE_BY = (
    "models:MAX_POSITIONS,build,inputs",
    "training:learning_rate,cross_entropy,dev_loss,fit,_evaluate,closed_gates,_build",
    "corpora/tokens:Subwords,sides,encode,collate,_pad,batches",
)
SAVE_EVERY = 20.0  # seconds between checkpoints


def spec(settings: Mapping[str, Any], name: str, seed: int, closed: tuple[str, ...] = ()) -> dict[str, Any]:
    """Everything that a trained translation model depends on.

    Parameters
    ----------
    name : str
        "LANGUAGE-REGISTER", such as "ru-news".
    closed : tuple of str
        Attention kinds whose heads are all removed from the start.
    """
    language, _, register = name.partition("-")
    return {
        "corpus": corpora.spec(settings, language, register, seed),
        "model": dict(settings["model"]),
        "training": dict(settings["training"]),
        "seed": seed,
        "closed": list(closed),
        "code": code(closed),
    }


def code(closed: tuple[str, ...] = ()) -> str:
    """Version of the code that trains: part of the key of whatever is trained."""
    return study.code_version(*_MADE_BY, *(["heads/controls"] if closed else []))


def learning_rate(step: int, plan: Mapping[str, Any]) -> float:
    """Inverse square root with linear warm-up (the paper's appendix B.3, peak = "learning_rate"), then a linear way to zero.

    Parameters
    ----------
    step : int
        Counted from 1.
    plan : mapping
        "learning_rate", "warmup", "steps", "cooldown" (share of the steps over which the rate goes to zero; the paper: 0).
    """
    warm = max(1, plan["warmup"])
    rate = plan["learning_rate"] * min(step / warm, math.sqrt(warm / step))
    last = round(plan["cooldown"] * plan["steps"])
    return rate * min(1.0, (plan["steps"] - step + 1) / (last + 1)) if last else rate


def cross_entropy(model, batch: Mapping[str, Any], smoothing: float):
    """Label-smoothed cross-entropy, mean over target tokens."""
    from torch.nn import functional as F

    from helpers.models import inputs

    logits = model(**inputs(batch), use_cache=False).logits
    return F.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten(), label_smoothing=smoothing)


def dev_loss(model, batches: Iterable[Mapping[str, Any]]) -> float:
    """Plain cross-entropy, mean over target tokens of all batches; the model is left in the mode it was in."""
    import torch

    was, total, count = model.training, 0.0, 0
    model.eval()
    with torch.no_grad():
        for batch in batches:
            tokens = int((batch["labels"] != -100).sum())
            total += float(cross_entropy(model, batch, 0.0)) * tokens
            count += tokens
    model.train(was)
    if not count:
        raise StudyError("The dev set holds no target tokens: check the corpus.")
    return total / count


def fit(
    model,
    batches: Callable[[int], Iterable[Mapping[str, Any]]],
    dev: Iterable[Mapping[str, Any]],
    plan: Mapping[str, Any],
    work: Path,
    seed: int,
    objective: Callable[[Any, Mapping[str, Any]], Any] | None = None,
    label: str = "training",
) -> pd.DataFrame:
    """Train a model in place; a run that was killed goes on where it last saved and ends with the same numbers.

    Parameters
    ----------
    batches : callable
        Epoch number -> that epoch's batches, the same at every call.
    dev : iterable of batches
        Held-out text for early stop and the choice of the best weights; must be re-iterable.
    plan : mapping
        As in `helpers.study.PROFILES`. "average" = how many of the last evaluated weights are averaged; 0 keeps the best.
    work : pathlib.Path
        Folder of the checkpoint; may be deleted once the result is stored.
    objective : callable, optional
        (model, batch) -> loss; label-smoothed cross-entropy by default.

    Returns
    -------
    pandas.DataFrame
        step, loss (training, mean since the last row), dev_loss, learning_rate, seconds.

    Raises
    ------
    StudyError
        If a loss is not a number, the plan has no steps, or the checkpoint cannot be read.
    """
    import torch

    for name in ("steps", "evaluate_every"):
        if plan[name] < 1:
            raise StudyError(f"The setting 'training.{name}' must be 1 or more, not {plan[name]}.")
    objective = objective or (lambda model, batch: cross_entropy(model, batch, plan["label_smoothing"]))
    device = next(model.parameters()).device
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.Adam(parameters, betas=tuple(plan["betas"]), eps=1e-9, fused=True)
    state: dict[str, Any] = {"step": 0, "epoch": 0, "row": 0, "seconds": 0.0, "loss": 0.0, "since": 0, "history": []}
    state |= {"best": math.inf, "kept": [], "waited": 0}
    checkpoint = work / "checkpoint.pt"
    torch.manual_seed(seed)
    if checkpoint.exists():
        _resume(checkpoint, model, optimiser, state)
    precision = torch.autocast("cuda", torch.bfloat16) if device.type == "cuda" else nullcontext()
    model.train()
    bar = study.progress(None, label, plan["steps"], initial=state["step"], unit="step")
    started, saved, done = time.time() - state["seconds"], time.time(), state["step"] >= plan["steps"]
    while not done:
        skip, state["row"] = state["row"], 0
        for batch in batches(state["epoch"]):
            state["row"] += 1
            if state["row"] <= skip:
                continue
            state["step"] += 1
            rate = learning_rate(state["step"], plan)
            for group in optimiser.param_groups:
                group["lr"] = rate
            with precision:
                loss = objective(model, batch)
            if not math.isfinite(loss.item()):
                raise StudyError(
                    f"The loss of step {state['step']} is {loss.item()}: lower the learning rate ({checkpoint} is kept)."
                )
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, plan["clip"] or math.inf)
            optimiser.step()
            state["loss"] += loss.item()
            state["since"] += 1
            bar.update()
            done = state["step"] >= plan["steps"]
            if done or state["step"] % plan["evaluate_every"] == 0:
                state["seconds"] = time.time() - started
                done |= _evaluate(model, dev, plan, state, rate)
                bar.set_postfix_str(f"dev loss {state['history'][-1]['dev_loss']:.3f}")
            if not done and time.time() - saved > SAVE_EVERY:
                state["seconds"] = time.time() - started
                _save(checkpoint, model, optimiser, state)
                saved = time.time()
            if done:
                break
        else:
            if not state["row"]:
                raise StudyError("There are no batches to train on: check the corpus.")
            state["epoch"], state["row"] = state["epoch"] + 1, 0
    bar.close()
    kept = state["kept"]
    averaged = {n: sum(k[n].double() for k in kept) / len(kept) if len(kept) > 1 else kept[0][n] for n in kept[0]}
    model.load_state_dict({n: v.to(kept[0][n].dtype) for n, v in averaged.items()})
    model.eval()
    return pd.DataFrame(state["history"])


def _evaluate(model, dev, plan: Mapping[str, Any], state: dict[str, Any], rate: float) -> bool:
    """Score the weights on the dev set, keep them if they shall be kept, and say whether to stop early."""
    score = dev_loss(model, dev)
    if not math.isfinite(score):
        raise StudyError(f"The dev loss of step {state['step']} is {score}: lower the learning rate.")
    row = {"step": state["step"], "loss": state["loss"] / state["since"], "dev_loss": score, "learning_rate": rate}
    state["history"].append(row | {"seconds": round(state["seconds"], 1)})
    state["loss"], state["since"] = 0.0, 0
    better = score < state["best"]
    state["best"], state["waited"] = min(score, state["best"]), 0 if better else state["waited"] + 1
    if plan["average"] or better:
        weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
        state["kept"] = [*state["kept"], weights][-max(1, plan["average"]) :]
    return bool(plan["patience"]) and state["waited"] >= plan["patience"]


def _save(path: Path, model, optimiser, state: dict[str, Any]) -> None:
    import torch

    rng = {"cpu": torch.get_rng_state(), "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []}
    saved = {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "state": state, "rng": rng}
    with study.whole(path) as scratch, scratch.open("wb") as file:  # given the path torch hides why writing failed
        torch.save(saved, file)


def _resume(path: Path, model, optimiser, state: dict[str, Any]) -> None:
    import torch

    try:
        saved = torch.load(path, map_location=next(model.parameters()).device, weights_only=False)
        model.load_state_dict(saved["model"])
        optimiser.load_state_dict(saved["optimiser"])
        state |= saved["state"]
        torch.set_rng_state(saved["rng"]["cpu"].cpu())
        if saved["rng"]["cuda"] and torch.cuda.is_available():
            torch.cuda.set_rng_state_all([r.cpu() for r in saved["rng"]["cuda"]])
    except FileNotFoundError:  # another run of the same has just ended
        return
    except Exception as error:  # unpickling raises almost anything
        raise StudyError(f"The checkpoint {path} cannot be read ({type(error).__name__}): delete it to start anew.") from None


# --- translation models in the store ---------------------------------------------------------------------------------


def closed_gates(model, closed: Iterable[str]):
    """A context in which every head of the given attention kinds is removed (its gate is 0)."""
    from helpers import heads

    return heads.gate(model, dict.fromkeys(heads.index(model, kinds=tuple(closed)), 0.0)) if closed else nullcontext()


def place(spec: Mapping[str, Any]) -> Path:
    """Where the model of a spec lies or will lie."""
    return study.place(study.runs(), "models", spec)


def _build(spec: Mapping[str, Any], folder: Path, label: str) -> None:
    import torch

    from helpers import models
    from helpers.corpora import tokens

    corpus = corpora.prepare(spec["corpus"])
    source, target = tokens.sides(corpus)
    model = models.build(spec["model"], source.size, target.size, spec["seed"]).to(models.device())
    plan = spec["training"]
    data = {
        name: tokens.encode(corpora.read_pairs(corpus / f"{name}.jsonl"), source, target, models.MAX_POSITIONS)
        for name in ("train", "dev")
    }

    def epoch(number: int):
        for rows in tokens.batches(data["train"], source.pad, plan["batch_tokens"], spec["seed"] * 1000 + number):
            yield {n: t.to(model.device) for n, t in tokens.collate(data["train"], rows, source.pad).items()}

    dev = tokens.Batches(data["dev"], source.pad, 4 * plan["batch_tokens"], model.device)
    work = study.runs() / "work" / study.key(spec)
    with closed_gates(model, spec["closed"]):
        history = fit(model, epoch, dev, plan, work, spec["seed"], label=label)
    history.to_csv(folder / "history.csv", index=False)
    torch.manual_seed(0)
    model.save_pretrained(folder)


def trained(spec: Mapping[str, Any], label: str = "training") -> Path:
    """Train the model of a spec, or find it trained.

    Returns
    -------
    pathlib.Path
        A folder with the model (`save_pretrained`), history.csv and made.json.
    """

    def build(folder: Path) -> None:
        _build(spec, folder, label)

    folder = study.make(study.runs(), "models", dict(spec), build)
    checkpoint = study.runs() / "work" / study.key(spec) / "checkpoint.pt"
    checkpoint.unlink(missing_ok=True)
    return folder


def load(spec: Mapping[str, Any], label: str = "training"):
    """The trained model of a spec, in evaluation mode, on the GPU if there is one; trained first if need be."""
    from transformers import AutoModelForSeq2SeqLM
    from transformers.utils import logging

    from helpers import models

    logging.disable_progress_bar()  # a bar for ten milliseconds of reading
    return AutoModelForSeq2SeqLM.from_pretrained(trained(spec, label)).to(models.device()).eval()


def translate(model, texts: list[str], source, target, beam: int = 1, batch: int = 64, label: str = "translating") -> list[str]:
    """Translations of `texts`, in their order.

    Beam search as in the paper where beam > 1 (length penalty 0.6); at most 2 n + 10 tokens for n source tokens.
    """
    import torch

    from helpers.corpora import tokens

    encoded = tokens.encode([corpora.Pair(t, "") for t in texts], source, target, model.config.max_position_embeddings)
    order = sorted(range(len(texts)), key=lambda i: len(encoded.source[i]))
    found: dict[int, str] = {}
    for start in study.progress(range(0, len(order), batch), label):
        rows = order[start : start + batch]
        made = {n: t.to(model.device) for n, t in tokens.collate(encoded, rows, source.pad).items()}
        limit = min(2 * made["input_ids"].shape[1] + 10, model.config.max_position_embeddings)
        more = {"length_penalty": 0.6} if beam > 1 else {}
        with torch.no_grad():
            ids = model.generate(
                input_ids=made["input_ids"], attention_mask=made["attention_mask"], num_beams=beam, do_sample=False,
                max_length=limit, **more,
            )  # fmt: skip
        ids = [row[: 2 * len(encoded.source[i]) + 10] for i, row in zip(rows, ids.tolist(), strict=True)]
        found |= zip(rows, target.decode_all(ids), strict=True)
    return [found[i] for i in range(len(texts))]


def translation_code() -> str:
    """Version of the code that translates: part of the key of stored translations."""
    return study.code_version("training:translate", "corpora/tokens:Subwords")


def stored_translations(
    described: Mapping[str, Any], load: Callable[[], Any], texts: list[str], source, target, beam: int
) -> list[str]:
    """Translations from the store, made first by the model that `load` returns if they are not there."""

    def build(folder: Path) -> None:
        study.write_json(folder / "translations.json", translate(load(), texts, source, target, beam))

    folder = study.make(study.runs(), "translations", described, build)
    return json.loads((folder / "translations.json").read_text(encoding="utf-8"))


def translations(spec: Mapping[str, Any], split: str, beam: int) -> list[str]:
    """Translations of a split of the spec's corpus by its trained model, from the store where they are there already."""
    from helpers.corpora import tokens

    corpus = corpora.prepare(spec["corpus"])
    texts = [pair.source for pair in corpora.read_pairs(corpus / f"{split}.jsonl")]
    described = {"model": study.key(spec), "split": split, "beam": beam, "code": translation_code()}
    with ExitStack() as removed:

        def closed():
            model = load(spec)
            removed.enter_context(closed_gates(model, spec["closed"]))
            return model

        return stored_translations(described, closed, texts, *tokens.sides(corpus), beam)


def main(arguments: list[str] | None = None) -> None:
    """Train the model of a spec file and translate its test sets."""
    import argparse

    parser = argparse.ArgumentParser(prog="python -m helpers.training", description=main.__doc__)
    parser.add_argument("spec", type=Path, help="JSON file: a spec as made by helpers.training.spec")
    parser.add_argument("--threads", type=int, default=0, help="processor threads (default: torch's choice)")
    parser.add_argument("--translate", action="store_true", help="translate the test sets afterwards")
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--label", default="training", help="name in the progress bar")
    chosen = parser.parse_args(arguments)
    with study.one_sentence():
        described = study.read_spec(chosen.spec)
        missing = [name for name in ("corpus", "model", "training", "seed", "closed") if name not in described]
        if missing:
            raise StudyError(f"The spec {chosen.spec} lacks {missing[0]!r}: write it with helpers.training.spec.")
        if chosen.threads:
            import torch

            torch.set_num_threads(chosen.threads)
        print(trained(described, chosen.label))
        folder = corpora.prepare(described["corpus"])
        tests = [f.stem for f in sorted(folder.glob("*.jsonl")) if f.stem not in ("train", "dev")]
        for split in tests if chosen.translate else []:
            translations(described, split, chosen.beam)


if __name__ == "__main__":
    main(sys.argv[1:])
