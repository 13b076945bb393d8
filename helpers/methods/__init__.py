"""Methods that act on chosen heads: the formulas and modules of each paper."""
