"""Hard Concrete gates (Voita et al. 2019, section 6.1; Louizos et al. 2018) by their definition, one number at a time.

    s = sigmoid((logit(u) + log_alpha) / temperature),   u uniform on (0, 1)
    g = clip(s * (high - low) + low, 0, 1)

A probability is the share of evenly spaced u that give it: no closed form is used.
"""

import math
from dataclasses import dataclass

import numpy as np


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

    def share(self, value: float, size: int = 20_000) -> float:
        """How much of the noise gives just this value."""
        return sum(self.drawn(u) == value for u in grid(size).tolist()) / size


def grid(size: int) -> np.ndarray:
    """The middles of `size` equal parts of (0, 1): uniform noise without chance."""
    return (np.arange(size) + 0.5) / size
