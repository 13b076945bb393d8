"""What readers get: claims and their verdicts, pages, the report, published runs."""
