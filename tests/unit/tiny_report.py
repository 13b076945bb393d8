"""A run with one tiny model and a head table: what a report is built from."""

from pathlib import Path

import pandas as pd

from helpers import measures, study
from helpers.runs import subjects

NAME, ABSENT = "ru-subtitles", "de-news"
CHANGED = {"train": 300, "vocabulary": 150, "model.dropout": 0.0}


def make(folder: Path) -> tuple[subjects.Subject, pd.DataFrame]:
    """A tiny model and its head table; `folder` holds the table twice, and one of a model that nobody trained."""
    settings = study.settings("tiny", CHANGED)
    subject = subjects.of_name(settings, NAME, 1)
    table = measures.confidence(subject.model, subject.batches()).to_frame()
    table = table.join(
        measures.importance(subject.model, subject.batches(), per="example", norm=None).rename("gradient, example")
    )
    table["functions"] = ["v→s; +1", "rare", *[""] * (len(table) - 2)]
    run = study.Run("06_all_measures", study.PARAMETERS | {"profile": "tiny"}, settings, folder, 0.0)
    run.table(table, f"head_table_{NAME}", model=NAME)
    run.table(table, f"head_table_{NAME}-all-kinds", model=NAME)  # the same model once more
    run.table(table.drop(columns="functions"), f"heads_{ABSENT}", model=ABSENT)
    return subject, table
