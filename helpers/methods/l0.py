"""L0 pruning of heads: a Hard Concrete gate on every head, a price on every open gate (Voita et al. 2019, section 6.1).

The gate of a head is a random number in [0, 1], drawn anew for every batch, that is exactly 0 or 1 with some probability
(Louizos et al. 2018). Its location `log_alpha` learns with the model: the loss is cross-entropy plus a price for each head
times the probability that its gate is not 0. Training drives the gates to stay open or closed; then they are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn

from helpers.heads import gate, index, sites
from helpers.heads.gates import check_computed_once
from helpers.models import cross_entropy
from helpers.study import StudyError

ALMOST_OPEN = 2.0  # log alpha at which a gate is open with 94 %, fully with 77 %
HALF_OPEN = (-0.612, 0.612)  # log alpha of the public code: its default initialiser on 8 heads; expected gate about 0.5
_EDGE = 1e-6  # keeps the noise away from 0 and 1, as in the public code


@dataclass(frozen=True)
class HardConcrete:
    """The Hard Concrete distribution of gates (section 6.1; Louizos et al. 2018, equations 10 to 12).

    Parameters
    ----------
    log_alpha : tensor [...]
        Locations: large is open.
    temperature : float
        0.33 in the paper's code; its Fig. 6 is drawn with 0.5.
    low, high : float
        The concrete distribution on (0, 1) is stretched to (low, high), then clipped to [0, 1].

    Raises
    ------
    StudyError
        If the temperature is not positive, or (low, high) does not hold [0, 1] inside.
    """

    log_alpha: Tensor
    temperature: float = 0.33
    low: float = -0.1
    high: float = 1.1

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise StudyError(f"The temperature of a gate must be above 0, not {self.temperature}.")
        if not (self.low < 0 and self.high > 1):
            raise StudyError(f"A gate is stretched from below 0 to above 1, not from {self.low} to {self.high}.")

    def sample(self, noise: Tensor | None = None) -> Tensor:
        """Gates [..., like log_alpha] for a training batch, differentiable in log_alpha; the noise is uniform on (0, 1)."""
        noise = torch.rand_like(self.log_alpha) if noise is None else noise
        s = torch.sigmoid((torch.logit(noise.clamp(_EDGE, 1 - _EDGE)) + self.log_alpha) / self.temperature)
        return (s * (self.high - self.low) + self.low).clamp(0, 1)

    def p_closed(self) -> Tensor:
        """P(g = 0) of every gate."""
        return torch.sigmoid(self.temperature * math.log(-self.low / self.high) - self.log_alpha)

    def p_open(self) -> Tensor:
        """P(g != 0) of every gate."""
        return torch.sigmoid(self.log_alpha - self.temperature * math.log(-self.low / self.high))

    def p_full(self) -> Tensor:
        """P(g = 1) of every gate."""
        return torch.sigmoid(self.log_alpha - self.temperature * math.log((1 - self.low) / (self.high - 1)))

    def expected(self) -> Tensor:
        """Expected number of open gates, L_C of section 6.1: the sum of P(g != 0) over heads, 0-dim."""
        return self.p_open().sum()

    def value(self) -> Tensor:
        """Gates for evaluation (the paper's footnote 7): 1 where P(g = 1) > P(g = 0), else 0."""
        return (self.p_full() > self.p_closed()).to(self.log_alpha)


class Gated(nn.Module):
    """A model with a Hard Concrete gate on every head of some attention kinds, to be trained as one module.

    In training a forward pass draws the gates anew, one for all examples of the batch (footnote 5); in evaluation it uses
    `HardConcrete.value`. The model itself is not changed; parameters and state are its own and the gates'.

    Parameters
    ----------
    model : transformers.PreTrainedModel
    kinds : sequence of str
        Attention kinds whose heads get gates.
    start : float or (float, float)
        First log alpha of every gate, or the bounds that it is drawn from: `ALMOST_OPEN` (a trained model stays what it is),
        `HALF_OPEN` (the public code).
    rate : float
        Learning rate of log alpha in units of the model's. Adam moves a number by its rate whatever the scale of its
        gradient, so a number kept in units of `rate` learns that much faster: one optimiser serves both.
    temperature : float
        As in `HardConcrete`.
    steps : int
        Training steps whose log alpha is kept (`trace`).

    Raises
    ------
    StudyError
        If the model has no heads of a kind, the rate is not positive, or the weights of some kinds learn and of others not.
    """

    def __init__(
        self, model, kinds: Iterable[str] = ("encoder",), start: float | tuple[float, float] = ALMOST_OPEN,
        rate: float = 1.0, temperature: float = 0.33, steps: int = 0,
    ) -> None:  # fmt: skip
        super().__init__()
        kinds = tuple(kinds)
        if not kinds:
            raise StudyError("Gates need at least one kind of attention: encoder, decoder or cross.")
        for kind in kinds:
            sites(model, kind)  # one that the model has not is an error
        self.heads, self.sites = index(model, kinds), sites(model, kinds)
        if not rate > 0:
            raise StudyError(f"The learning rate of gates must be above 0, not {rate} times the model's.")
        learn = {site.kind for site in self.sites if any(weight.requires_grad for weight in site.module.parameters())}
        if learn and (still := set(self.heads.unique("kind")) - learn):
            raise StudyError(f"Gates on {', '.join(sorted(still))}, whose weights are frozen: let them learn, too.")
        first = torch.empty(len(self.heads)).uniform_(*(start if isinstance(start, tuple) else (start, start)))
        weight = next(model.parameters())
        self.model, self.rate, self.temperature = model, rate, temperature
        self.scaled = nn.Parameter((first / rate).to(weight.device, torch.promote_types(weight.dtype, torch.float32)))
        self.register_buffer("taken", torch.zeros((), dtype=torch.long))
        self.register_buffer("kept", torch.zeros(steps, len(self.heads), device=weight.device))

    @property
    def gates(self) -> HardConcrete:
        """The distribution of all gates, in the order of `heads`."""
        return HardConcrete(self.scaled * self.rate, self.temperature)

    def forward(self, **fed: Any):
        """What the model gives under its gates."""
        check_computed_once(self.model)
        if self.training:
            gates = self.gates.sample()
            if self.taken < len(self.kept):
                self.kept[self.taken] = self.gates.log_alpha.detach()
            self.taken += 1
        else:
            _check_locations(self.scaled)
            gates = self.gates.value()
        with gate(self.model, by_site(self.sites, gates)):
            return self.model(**fed)

    def closed(self) -> list[tuple[str, int, int]]:
        """Heads whose gate is 0: those that pruning removes."""
        _check_locations(self.scaled)
        return [address for address, value in zip(self.heads, self.gates.value().tolist(), strict=True) if not value]

    def trace(self) -> pd.DataFrame:
        """log alpha after every step, the start being step 0: rows are steps, columns heads (kind, layer, head)."""
        before = self.kept[: min(int(self.taken), len(self.kept))]
        rows = torch.cat([before, self.gates.log_alpha.detach()[None].to(before)])
        return pd.DataFrame(rows.cpu().numpy(), columns=self.heads).rename_axis(index="step")


def by_site(places: Iterable, gates: Tensor) -> dict[tuple[str, int], Tensor]:
    """Gates [..., heads] of all `places` together as `helpers.heads.gate` takes them: (kind, layer) -> [..., heads there]."""
    places = [site for site in places if site.heads]
    parts = gates.split([site.heads for site in places], -1)
    return {(site.kind, site.layer): part for site, part in zip(places, parts, strict=True)}


def objective(gated: Gated, batch: Mapping[str, Any], smoothing: float, penalty: float):
    """Label-smoothed cross-entropy (mean over target tokens) plus `penalty` times the expected number of open gates.

    Raises
    ------
    StudyError
        If the penalty is no number from 0.
    """
    if not 0 <= penalty < math.inf:
        raise StudyError(f"The price of an open gate (lambda) must be a number from 0, not {penalty}.")
    return cross_entropy(gated, batch, smoothing) + penalty * gated.gates.expected()


def _check_locations(locations: Tensor) -> None:
    if not torch.isfinite(locations).all():
        raise StudyError("The location of a gate is no number, so that it is neither open nor closed: lower the learning rate.")
