"""The device that computes, in the only file that names one. Everything else asks here.

Where numbers are computed and how exactly, how much memory is free, how batches get there, the state of random draws, and
several processes that train one model (``accelerate launch``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
from accelerate import PartialState
from accelerate.utils import broadcast_object_list, reduce
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from helpers.errors import StudyError

CPU, GPU = "cpu", "cuda"
PATIENCE = timedelta(days=1)  # processes wait while the first one prepares a corpus


# --- which device ----------------------------------------------------------------------------------------------------


def device_name() -> str:
    """Where numbers are computed, "cpu" or "cuda": as `HEADS_DEVICE` says, else the GPU if torch sees one."""
    wanted = os.environ.get("HEADS_DEVICE", "")
    if wanted not in ("", "auto", CPU, GPU):
        raise StudyError(f"There is no device {wanted!r}: set HEADS_DEVICE to cpu, cuda or auto.")
    if wanted == GPU and not present():
        raise StudyError("HEADS_DEVICE asks for a GPU and torch sees none: set it to cpu or auto.")
    return GPU if wanted != CPU and present() else CPU


def device() -> torch.device:
    """`device_name` as torch takes it."""
    return torch.device(device_name())


def use(settings: Mapping[str, Any]) -> None:
    """Compute where a profile's setting `device` says, here and in processes that are started from here."""
    os.environ["HEADS_DEVICE"] = os.environ.get("HEADS_DEVICE") or settings.get("device", "auto")


def made_on() -> str:
    """The class of device that keys name: as `device_name`, but where a GPU is asked for none need be there to read."""
    return GPU if os.environ.get("HEADS_DEVICE") == GPU else device_name()


def present() -> bool:
    """Whether torch sees a GPU."""
    return torch.cuda.is_available()


def title() -> str:
    """The name of the GPU, empty where there is none."""
    return torch.cuda.get_device_name() if present() else ""


def is_gpu(where: str | torch.device) -> bool:
    """Whether a device is a GPU, which computes on while the program goes on."""
    return torch.device(where).type == GPU


# --- precision, kernels, memory --------------------------------------------------------------------------------------


def precision() -> str:
    """The number type of training on the device in use: bfloat16 under autocast on a GPU, float32 elsewhere."""
    return {CPU: "float32", GPU: "bfloat16"}[made_on()]


def autocast(where: torch.device) -> AbstractContextManager:
    """A block that computes in bfloat16 on a GPU, and as it is elsewhere."""
    return torch.autocast(GPU, torch.bfloat16) if is_gpu(where) else nullcontext()


def in_bfloat16(where: torch.device) -> AbstractContextManager:
    """A block that computes in bfloat16 on any device."""
    return torch.autocast(where.type, torch.bfloat16)


def unrounded(where: torch.device) -> AbstractContextManager:
    """A block without autocast inside one with it."""
    return torch.autocast(where.type, enabled=False)


def kernels() -> AbstractContextManager:
    """Attention without cuDNN on a GPU: cuDNN plans each new shape for most of a second, and hardly two batches share one."""
    others = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
    return sdpa_kernel(others) if device_name() == GPU else nullcontext()


def free_memory(where: torch.device) -> float:
    """GiB of a GPU that this process may still take; 0 on a processor, whose memory others use too."""
    if not is_gpu(where):
        return 0.0
    return (torch.cuda.mem_get_info(where)[0] + torch.cuda.memory_reserved(where) - torch.cuda.memory_allocated(where)) / 2**30


def moved(batch: Mapping[str, Tensor], where: str | torch.device) -> dict[str, Tensor]:
    """A batch on a device; to a GPU it goes while that still computes."""
    if not is_gpu(where):
        return {name: values.to(where) for name, values in batch.items()}
    return {name: values.pin_memory().to(where, non_blocking=True) for name, values in batch.items()}


# --- random draws ----------------------------------------------------------------------------------------------------


def forked() -> AbstractContextManager:
    """A block whose draws, on any device, change none outside."""
    return torch.random.fork_rng(range(torch.cuda.device_count()))


def random_state() -> dict[str, Any]:
    """The state of torch's draws on all devices."""
    return {"cpu": torch.get_rng_state(), "cuda": torch.cuda.get_rng_state_all() if present() else []}


def set_random_state(state: Mapping[str, Any]) -> None:
    """Go on drawing from where `random_state` was taken."""
    torch.set_rng_state(state["cpu"].cpu())
    if state["cuda"] and present():
        torch.cuda.set_rng_state_all([part.cpu() for part in state["cuda"]])


# --- several processes -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Processes:
    """The processes that train one model together: this one's number, from 0, and how many there are.

    Each computes on its share of every batch. Gradients and losses are summed, so that all take the same step.
    """

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes."""
        return self.rank == 0

    def share(self, batch: Mapping[str, Tensor]) -> tuple[Mapping[str, Tensor], float]:
        """This process's rows of a batch, and the part of the batch's target tokens that is in them; all parts sum to 1.

        They are rows rank, rank + count, ...; the first row, which then counts for nothing, where there are no others to take.
        """
        if self.count == 1:
            return batch, 1.0
        total = int((batch["labels"] != -100).sum())
        if not total:
            raise StudyError("A batch holds no target tokens: check the corpus.")
        rows = {name: values[self.rank :: self.count] for name, values in batch.items()}
        tokens = int((rows["labels"] != -100).sum())
        return (rows, tokens / total) if tokens else ({name: values[:1] for name, values in batch.items()}, 0.0)

    @contextmanager
    def draws(self) -> Iterator[None]:
        """A block in which every process draws other noise, from the same state before and to the same state after."""
        if self.count == 1:
            yield
            return
        noise = int(torch.randint(2**62, ()))
        with forked():
            torch.manual_seed(noise + self.rank)
            yield

    def summed(self, loss: Tensor, weights: Sequence[Tensor]) -> Tensor:
        """The loss summed over all processes, as are, in place, the gradients of the weights."""
        if self.count == 1:
            return loss.detach()
        parts = [loss.detach(), *(weight.grad for weight in weights if weight.grad is not None)]
        flat = reduce(torch.cat([part.flatten().to(weights[0].dtype) for part in parts]), "sum")
        sums = flat.split([part.numel() for part in parts])
        for part, values in zip(parts, sums, strict=True):
            part.copy_(values.view_as(part))
        return parts[0]

    def broadcast(self, message: Any = None) -> Any:
        """The first process's message, on every process."""
        return broadcast_object_list([message])[0]


def processes() -> Processes:
    """The processes that ``accelerate launch`` started, or this one alone."""
    if int(os.environ.get("WORLD_SIZE", 1)) == 1:
        return Processes()
    state = PartialState(cpu=device_name() == CPU, timeout=PATIENCE)
    return Processes(state.process_index, state.num_processes)
