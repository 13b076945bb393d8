"""One training loop; an objective is passed in. Checkpoint, resume, early stop, progress bar."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from helpers import gpu, study
from helpers.models import cross_entropy, predicted
from helpers.study import StudyError

SAVE_EVERY = 20.0  # seconds between checkpoints; on a GPU, whose models are larger, three times as many
HELD_OUT = 65_536  # tokens of a dev batch at most: its logits in float32, and as many again, must fit a GPU
LOOK_EVERY = 50  # steps after which it is seen that a loss on a GPU is no number: to look at it is to wait for it


def learning_rate(step: int, plan: Mapping[str, Any]) -> float:
    """Inverse square root with linear warm-up (the paper's appendix B.3, peak = "learning_rate"), then a linear way to zero.

    Steps count from 1; "cooldown" of the plan is the share of the steps over which the rate goes to zero (the paper: 0).
    """
    warm = max(1, plan["warmup"])
    rate = plan["learning_rate"] * min(step / warm, math.sqrt(warm / step))
    last = round(plan["cooldown"] * plan["steps"])
    return rate * min(1.0, (plan["steps"] - step + 1) / (last + 1)) if last else rate


def held_out(plan: Mapping[str, Any]) -> int:
    """Tokens of a batch of dev text: four times as many as of one that trains, as far as memory goes."""
    return min(4 * plan["batch_tokens"], HELD_OUT)


def dev_loss(model, batches: Iterable[Mapping[str, Any]]) -> float:
    """Plain cross-entropy, mean over target tokens of all batches; the model is left in the mode it was in."""
    was, total, count = model.training, 0.0, 0
    model.eval()
    with torch.no_grad():
        for batch in batches:
            tokens = int((predicted(model, batch) != -100).sum())
            total += float(cross_entropy(model, batch, 0.0)) * tokens
            count += tokens
    model.train(was)
    if not count:
        raise StudyError("The dev set holds no target tokens: check the corpus.")
    return total / count


def fit(
    model,
    epochs: Callable[[int], Iterable[Mapping[str, Any]]],
    dev: Iterable[Mapping[str, Any]],
    plan: Mapping[str, Any],
    work: Path | None = None,
    seed: int = 1,
    objective: Callable[[Any, Mapping[str, Any]], Any] | None = None,
    label: str = "training",
) -> pd.DataFrame:
    """Train a model in place; a run that was killed goes on where it last saved and ends with the same numbers.

    What requires no gradient does not learn and is not saved on the way: of a frozen model with gates,
    ``l0.Gated(model.requires_grad_(False), kinds)``, the gates alone.

    Processes that ``accelerate launch`` started train one model together, each on its share of every batch.

    Asked to end (SIGINT, SIGTERM) it saves after the step that it is in, and ends by a KeyboardInterrupt.

    Parameters
    ----------
    epochs : callable
        Epoch number -> that epoch's batches, the same at every call.
    dev : iterable of batches
        Held-out text for early stop and the choice of the best weights; must be re-iterable.
    plan : mapping
        The setting "training" of a profile. "average" = how many of the last evaluated weights are averaged; 0 keeps the best.
    work : pathlib.Path, optional
        Folder of the checkpoint; may be deleted once the result is stored. Without it a run that is killed starts anew.
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
    for name in ("steps", "evaluate_every"):
        if plan[name] < 1:
            raise StudyError(f"The setting 'training.{name}' must be 1 or more, not {plan[name]}.")
    objective = objective or (lambda model, batch: cross_entropy(model, batch, plan["label_smoothing"]))
    device = next(model.parameters()).device
    every, pace = (LOOK_EVERY, 3) if gpu.is_gpu(device) else (1, 1)
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.Adam(parameters, betas=tuple(plan["betas"]), eps=1e-9, fused=True)
    state: dict[str, Any] = {"step": 0, "epoch": 0, "row": 0, "seconds": 0.0, "loss": 0.0, "since": 0, "history": []}
    state |= {"best": math.inf, "kept": [], "waited": 0}
    checkpoint = work / "checkpoint.pt" if work else None
    torch.manual_seed(seed)
    if checkpoint and checkpoint.exists():
        _resume(checkpoint, model, optimiser, state)
    end = plan["steps"]
    total = torch.tensor(state["loss"], dtype=torch.float64, device=device)
    precision, team = gpu.autocast(device), gpu.processes()
    model.train()
    bar = study.progress(None, label, end, initial=state["step"], unit="step", disable=not team.first)
    started, saved, done = time.time() - state["seconds"], time.time(), state["step"] >= end
    with _asked_to_stop() as asked, gpu.kernels():
        while not done:
            skip, state["row"] = state["row"], 0
            for batch in epochs(state["epoch"]):
                state["row"] += 1
                if state["row"] <= skip:
                    continue
                state["step"] += 1
                rate = learning_rate(state["step"], plan)
                for group in optimiser.param_groups:
                    group["lr"] = rate
                rows, part = team.share(batch)
                with precision, team.draws():
                    loss = objective(model, rows) * part
                optimiser.zero_grad(set_to_none=True)
                loss.backward()
                total += team.summed(loss, parameters)
                if state["step"] % every == 0:
                    _look(total, state, checkpoint)
                torch.nn.utils.clip_grad_norm_(parameters, plan["clip"] or math.inf)
                optimiser.step()
                state["since"] += 1
                bar.update()
                done = state["step"] >= end
                if done or state["step"] % plan["evaluate_every"] == 0:
                    _look(total, state, checkpoint)
                    state["seconds"] = time.time() - started
                    done |= _evaluate(model, dev, plan, state, rate)
                    total.zero_()
                    bar.set_postfix_str(f"dev loss {state['history'][-1]['dev_loss']:.3f}")
                if not done and checkpoint and team.first and (asked or time.time() - saved > pace * SAVE_EVERY):
                    _look(total, state, checkpoint)
                    state["seconds"] = time.time() - started
                    _save(checkpoint, model, optimiser, state)
                    saved = time.time()
                if not done and asked:
                    raise KeyboardInterrupt
                if done:
                    break
            else:
                if not state["row"]:
                    raise StudyError("There are no batches to train on: check the corpus.")
                state["epoch"], state["row"] = state["epoch"] + 1, 0
    bar.close()
    kept = state["kept"]
    averaged = {n: sum(k[n].double() for k in kept) / len(kept) if len(kept) > 1 else kept[0][n] for n in kept[0]}
    _load(model, {n: v.to(kept[0][n].dtype) for n, v in averaged.items()})
    model.eval()
    return pd.DataFrame(state["history"])


def _learned(model) -> dict[str, torch.Tensor]:
    """The state of a model but for parameters that do not learn."""
    fixed = {name for name, weight in model.named_parameters(remove_duplicate=False) if not weight.requires_grad}
    return {name: value for name, value in model.state_dict().items() if name not in fixed}


def _load(model, learned: Mapping[str, torch.Tensor]) -> None:
    """Put back what `_learned` gave; all else stays as it is."""
    model.load_state_dict(model.state_dict() | dict(learned))


@contextmanager
def _asked_to_stop() -> Iterator[list[int]]:
    """Signals that ask the process to end are kept in a list while the block lasts: a step of training is not cut in two."""
    asked: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # no other thread is given signals
        yield asked
        return
    before = {sign: signal.signal(sign, lambda number, frame: asked.append(number)) for sign in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)


def _look(total: torch.Tensor, state: dict[str, Any], checkpoint: Path | None) -> None:
    """Keep the sum of losses, which must be a number."""
    state["loss"] = total.item()
    if not math.isfinite(state["loss"]):
        kept = f" ({checkpoint} is kept)" if checkpoint else ""
        raise StudyError(f"The loss of step {state['step']} is {state['loss']}: lower the learning rate{kept}.")


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
        weights = {name: value.detach().clone() for name, value in _learned(model).items()}
        state["kept"] = [*state["kept"], weights][-max(1, plan["average"]) :]
    return bool(plan["patience"]) and state["waited"] >= plan["patience"]


def _save(path: Path, model, optimiser, state: dict[str, Any]) -> None:
    saved = {"model": _learned(model), "optimiser": optimiser.state_dict(), "state": state, "rng": gpu.random_state()}
    with study.whole(path) as scratch, scratch.open("wb") as file:  # given the path torch hides why writing failed
        torch.save(saved, file)


def _resume(path: Path, model, optimiser, state: dict[str, Any]) -> None:
    try:
        saved = torch.load(path, map_location=next(model.parameters()).device, weights_only=True)
        _load(model, saved["model"])
        optimiser.load_state_dict(saved["optimiser"])
        state |= saved["state"]
        gpu.set_random_state(saved["rng"])
    except FileNotFoundError:  # another run of the same has just ended
        return
    except Exception as error:  # unpickling raises almost anything
        raise StudyError(f"The checkpoint {path} cannot be read ({type(error).__name__}): delete it to start anew.") from None
