"""What the papers train: gates that close heads, and the runs that prune a model."""
