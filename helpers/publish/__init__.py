"""What readers get: published runs and figures, the report, and what a GPU hands over."""
