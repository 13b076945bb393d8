"""What a run at the papers' size gave, in one table and one picture: `figures/papers_size.csv` and `.png`.

`python -m helpers.publish.papers_size --profile gpu-quarter` reads what was made (`helpers.publish.hour`); references of test
sets are read from the local folder.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from helpers import drawing, plan, study
from helpers.measures import figures, functions, measured
from helpers.publish import hour
from helpers.runs import outputs, subjects

RULE = "alpha_beta"


def table(settings: Mapping[str, Any], name: str, seed: int) -> pd.DataFrame:
    """Speed, quality and heads of a model that was made.

    Returns
    -------
    pandas.DataFrame
        On `what`: value, low, high (95 %, where there is an interval), n (of what), random (the same with random weights).
    """
    subject = subjects.of_name(settings, name, seed)
    return pd.DataFrame(_rows(settings, subject)).set_index("what")


def _rows(settings: Mapping[str, Any], subject: subjects.Subject) -> Iterator[dict[str, Any]]:
    speed = hour.speeds([subject.run]).iloc[0]
    for what in ("steps", "minutes", "tokens a second", "share of peak"):
        yield {"what": what, "value": speed[what]}
    for row in outputs.quality(subject, settings["beam"], settings["bootstrap"])[0].to_dict("records"):
        yield {"what": f"BLEU, {row['test set']}", "value": row["bleu"], "n": row["sentences"]} | _ends(row)
    found, random = _explained(settings, subject), _explained(settings, subject, untrained=True)
    sure, diffuse = _functions(settings, subject)["confidence"].confidence, measured.DIFFUSE.value(subject)
    rank = measured.relevance_and_confidence({"": {RULE: found}}, {"": sure}, {RULE: random}, diffuse)
    for kind, part in rank.groupby("kind", sort=False):
        trained, drawn = (part[part.weights == which].iloc[0] for which in ("trained", "random"))
        more = {"n": trained.heads, "random": drawn.rho}
        yield {"what": f"relevance with confidence, {kind}", "value": trained.rho} | _ends(trained) | more
    largest = measured.dominance({"": {RULE: found}}, {RULE: random}, settings["bootstrap"])
    yield {"what": "largest share of a layer", "value": largest.largest.mean(), "random": largest["largest, random"].iloc[0]}
    counts = [_counted(settings, subject, untrained) for untrained in (False, True)]
    for what, value in counts[0].items():
        yield {"what": f"encoder heads, {what}", "value": value, "n": counts[0]["heads"], "random": counts[1][what]}
    without = measured.WITHOUT.value(subject, first=settings["relevance"])
    for kind, part in without.groupby("kind", sort=False):
        yield {"what": f"surely missed alone, {kind}", "value": (part.low > 0).sum(), "n": len(part)}
        yield {"what": f"largest rise alone, {kind}", "value": part.loss.max()} | _ends(part.loc[part.loss.idxmax()])


def _ends(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"low": row["low"], "high": row["high"]}


def _explained(settings: Mapping[str, Any], subject: subjects.Subject, untrained: bool = False) -> Any:
    few = settings["relevance"]
    if untrained:
        return measured.EXPLAINED.value(subject, rule=RULE, first=min(few, 50), untrained=True)
    return measured.EXPLAINED.value(subject, rule=RULE, first=few)


def _functions(settings: Mapping[str, Any], subject: subjects.Subject) -> Any:
    return measured.FUNCTIONS.value(subject, repeats=settings["bootstrap"])


def _counted(settings: Mapping[str, Any], subject: subjects.Subject, untrained: bool) -> pd.Series:
    more = {"untrained": True} if untrained else {}
    found = measured.SCORED.value(subject, repeats=settings["bootstrap"], **more)
    roles = functions.roles(*(found[name] for name in measured.FUNCTIONAL))
    return measured.count_roles({subject.title: roles})[subject.title]


def picture(settings: Mapping[str, Any], name: str, seed: int):
    """Relevance and confidence of every encoder head."""
    subject = subjects.of_name(settings, name, seed)
    relevance, sure = _explained(settings, subject).series("step"), _functions(settings, subject)["confidence"].confidence
    return figures.relevance_and_confidence({subject.title: relevance}, {subject.title: sure})


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table and the picture of what a profile's first model gave."""
    parser = argparse.ArgumentParser(prog="python -m helpers.publish.papers_size", description=main.__doc__)
    plan.options(parser)
    parser.set_defaults(profile="gpu-quarter")
    parser.add_argument("--into", type=Path, default=study.ROOT / "figures")
    chosen = parser.parse_args(arguments)
    with study.one_sentence():
        settings = plan.settings_of(chosen)
        drawing.style()
        name = subjects.names(settings, chosen.models)[0]
        table(settings, name, chosen.seed).round(4).to_csv(chosen.into / "papers_size.csv")
        print(study.save_figure(picture(settings, name, chosen.seed), chosen.into, "papers_size"))


if __name__ == "__main__":
    main()
