"""One training run on several processes: GPUs, or processors where there are none.

`accelerate launch --num_processes N -m helpers.runs.distributed SPEC.json` makes the recipe `helpers.runs.training.trained` of
a spec, under the same key, on N GPUs; without GPUs it is `torchrun --nproc-per-node N`, as `accelerate launch` then starts one.

The first process runs `helpers.runs.training.fit` as it is: corpus, optimiser, dev loss, early stop, checkpoint and store are
its own, so a run that was killed goes on with any number of processes. At every step the others get its weights and the batch,
of which process r of n takes rows r, r + n, ...; DistributedDataParallel averages the gradients. Losses differ from those of a
single process by float rounding (less than a millionth over some ten steps); dropout draws other noise.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch

from helpers import models, study
from helpers.runs import subjects, training
from helpers.study import StudyError

_PATIENCE = timedelta(days=1)  # others wait while the first process prepares a corpus, or scores and saves


def share(batch: Mapping[str, torch.Tensor], process: int, processes: int) -> tuple[dict[str, torch.Tensor], float]:
    """A process's rows of a batch, and the part of the batch's target tokens that is in them.

    Parameters
    ----------
    batch : mapping of tensors [rows, ...]
        With `labels`, -100 where ignored.
    process : int
        Counted from 0.

    Returns
    -------
    rows : dict
        Rows process, process + processes, ...; the first row, as none of the tokens, where there are no others to take: every
        process needs something to take part in the averages with.
    part : float
        The parts of all processes sum to 1.

    Raises
    ------
    StudyError
        If the batch has no target tokens.
    """
    count = int((batch["labels"] != -100).sum())
    if not count:
        raise StudyError("A batch holds no target tokens: check the corpus.")
    rows = {name: values[process::processes] for name, values in batch.items()}
    tokens = int((rows["labels"] != -100).sum())
    return (rows, tokens / count) if tokens else ({name: values[:1] for name, values in batch.items()}, 0.0)


def trained(spec: Mapping[str, Any], label: str = "training") -> Path:
    """Train the model of a spec, or find it trained (`helpers.runs.training.trained`), on all processes that call this.

    The spec of the first process counts. A process that is alone makes the recipe as it is.

    Returns
    -------
    pathlib.Path
        The recipe's folder in the store.
    """
    from accelerate import Accelerator, InitProcessGroupKwargs

    waiting = InitProcessGroupKwargs(timeout=_PATIENCE)
    accelerator = Accelerator(cpu=not torch.cuda.is_available(), mixed_precision="no", kwargs_handlers=[waiting])
    if accelerator.num_processes == 1:
        return study.make(training.trained(spec, label), weights=True)
    if not accelerator.is_main_process:
        return _help(accelerator)
    label = f"{label} on {accelerator.num_processes} processes"
    recipe = training.trained(spec, label)
    folder = study.make(recipe, weights=True, build=lambda spec, place: _lead(accelerator, spec, place))
    _tell(None)
    return _tell(folder)


def _tell(message: Any = None) -> Any:
    """What the first process says, on every process."""
    from accelerate.utils import broadcast_object_list

    return broadcast_object_list([message])[0]


def _lead(accelerator, spec: Mapping[str, Any], place: study.Place) -> None:
    """The first process's part of a run."""
    text, plan = subjects.of_text(spec["corpus"]), spec["training"]
    sizes = text.source.size, text.target.size
    _tell((dict(spec), sizes))
    model = models.build(spec["model"], *sizes, spec["seed"]).to(accelerator.device)
    epoch = text.epoch(plan["batch_tokens"], spec["seed"], torch.device("cpu"))
    dev = text.held_out(training.held_out(plan), None, accelerator.device)
    with training.closed_gates(model, spec["closed"]):
        loss = _loss_of_all(accelerator, model, plan["label_smoothing"])

        def objective(_, batch):
            _tell((int(torch.randint(2**62, ())), batch))
            return loss(batch)

        history = training.fit(model, epoch, dev, plan, place.work, spec["seed"], objective, place.label)
    _tell(None)
    history.to_csv(place.results / "history.csv", index=False)
    training.keep(model, place)


def _help(accelerator) -> Path:
    """The other processes' part: gradients of their share of every batch, for as long as the first one has any."""
    for spec, (source, target) in iter(_tell, None):
        model = models.build(spec["model"], source, target, spec["seed"]).to(accelerator.device).train()
        with training.closed_gates(model, spec["closed"]):
            loss = _loss_of_all(accelerator, model, spec["training"]["label_smoothing"])
            for noise, batch in iter(_tell, None):
                torch.manual_seed(noise + accelerator.process_index)
                model.zero_grad()
                loss(batch).backward()
    return _tell()


def _loss_of_all(accelerator, model, smoothing: float) -> Callable[[Mapping[str, torch.Tensor]], torch.Tensor]:
    """Batch -> its loss, whose gradient is the whole batch's once DistributedDataParallel has averaged it."""
    from accelerate.utils import broadcast

    replica = accelerator.prepare(model)
    weights = [weight.detach() for weight in model.parameters() if weight.requires_grad]

    def loss(batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        sent = broadcast(torch.cat([weight.flatten() for weight in weights])).split([weight.numel() for weight in weights])
        for weight, values in zip(weights, sent, strict=True):
            weight.copy_(values.view_as(weight))
        rows, part = share(batch, accelerator.process_index, accelerator.num_processes)
        rows = {name: values.to(accelerator.device) for name, values in rows.items()}
        with torch.autocast("cuda", torch.bfloat16, enabled=accelerator.device.type == "cuda"):
            own = training.cross_entropy(replica, rows, smoothing) * part * accelerator.num_processes
        return own + (accelerator.reduce(own.detach(), "mean") - own.detach())

    return loss


def main(arguments: list[str] | None = None) -> None:
    """Train the model of a spec file on all processes that Accelerate has launched."""
    import argparse

    from accelerate import PartialState

    parser = argparse.ArgumentParser(prog="accelerate launch -m helpers.runs.distributed", description=main.__doc__)
    parser.add_argument("spec", type=Path, help="JSON file: a spec as made by helpers.runs.training.spec")
    parser.add_argument("--label", default="training", help="name in the progress bar")
    chosen = parser.parse_args(arguments)
    with study.one_sentence():
        described = study.read_spec(chosen.spec)
        missing = [name for name in ("corpus", "model", "training", "seed", "closed") if name not in described]
        if missing:
            raise StudyError(f"The spec {chosen.spec} lacks {missing[0]!r}: write it with helpers.runs.training.spec.")
        folder = trained(described, chosen.label)
        if PartialState().is_main_process:
            print(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
