"""Hard Concrete gates (Voita et al. 2019, section 6.1; Louizos et al. 2018) by numerical integration of their definition.

    s = sigmoid((logit(u) + log_alpha) / temperature),   u uniform on (0, 1)
    g = clip(s * (high - low) + low, 0, 1)

The other way round, u = sigmoid(temperature * logit(s) - log_alpha): the density of s is the derivative of this. No closed form
of a probability is used; plain Python and quadrature only.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.integrate import quad


@dataclass
class Gate:
    """One gate."""

    log_alpha: float
    temperature: float = 0.33
    low: float = -0.1
    high: float = 1.1

    def drawn(self, u: float) -> float:
        """The gate from uniform noise: stretched, then clipped."""
        s = 1 / (1 + math.exp(-(math.log(u) - math.log(1 - u) + self.log_alpha) / self.temperature))
        return min(1.0, max(0.0, s * (self.high - self.low) + self.low))

    def _density_of_s(self, s: float, rest: float) -> float:
        """du/ds, with 1 - s given apart: near 1 the difference would lose its digits."""
        odds = math.exp(self.temperature * (math.log(s) - math.log(rest)) - self.log_alpha)  # u / (1 - u)
        return odds / (1 + odds) ** 2 * self.temperature / (s * rest)

    def p_closed(self) -> float:
        """The mass that clipping moves to 0: of s from 0 to the point that is stretched to 0."""
        return _integral(lambda s: self._density_of_s(s, 1 - s), -self.low / (self.high - self.low))

    def p_full(self) -> float:
        """The mass that clipping moves to 1, integrated in the distance of s from 1."""
        return _integral(lambda rest: self._density_of_s(1 - rest, rest), (self.high - 1) / (self.high - self.low))


def grid(size: int) -> np.ndarray:
    """The middles of `size` equal parts of (0, 1): uniform noise without chance."""
    return (np.arange(size) + 0.5) / size


def _integral(density: Callable[[float], float], end: float) -> float:
    """From 0 to `end`, of a density that grows like a power at 0: in log s, cut where nothing is left."""
    edges = [math.log(end) - depth for depth in (0, 10, 30, 60, 120, 240)]
    return math.fsum(
        quad(lambda y: density(math.exp(y)) * math.exp(y), below, above, epsabs=1e-14, epsrel=1e-12)[0]
        for above, below in pairwise(edges)
    )
