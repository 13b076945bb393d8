"""Attention heads: where they are, what they do, which can go, what idle ones can be taught. Start with docs/use.md."""

import os
import sys

LATE = (
    "helpers was imported after torch: threads that wait keep a core busy, slow beside other work. Import helpers first,"
    " or set OMP_WAIT_POLICY=PASSIVE before Python starts."
)
if "torch" not in sys.modules:
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # waiting threads sleep; OpenMP reads it when torch is loaded
elif "OMP_WAIT_POLICY" not in os.environ and os.getloadavg()[0] >= 1:
    print(LATE, file=sys.stderr)
