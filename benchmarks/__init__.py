"""What things cost, as ratios from one run; `make bench` prints them."""

import helpers  # noqa: F401  before torch, whose waiting threads then sleep
