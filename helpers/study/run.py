"""A run of a notebook: its parameters, settings, figures and tables with their sidecars."""

from __future__ import annotations

import dis
import hashlib
import inspect
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import pandas as pd
import torch
from IPython import display
from matplotlib import pyplot
from PIL import Image

from helpers.errors import StudyError
from helpers.gpu import use
from helpers.study import layout, recipe
from helpers.study.configuration import parse_overrides, settings
from helpers.study.origin import ROOT, portable, provenance
from helpers.study.store import key, read_json, runs, whole, write_json, write_text


def _seeds(spec: Any) -> set[int]:
    """Every seed in a spec and in the specs inside it."""
    if isinstance(spec, list):
        return set().union(*map(_seeds, spec))
    if not isinstance(spec, dict):
        return set()
    seeds = {value for name, value in spec.items() if name == "seed" and type(value) is int}
    return seeds.union(*map(_seeds, spec.values()))


def _described(folder: Path) -> dict[str, Any]:
    """What a provenance file says of a thing in the store; of text also how it was made and the digest of every file."""
    manifest = read_json(folder / "made.json")
    spec, files = manifest["spec"], manifest["files"]
    described = {"kind": manifest["kind"], "key": folder.name, "version": manifest["version"], "seeds": sorted(_seeds(spec))}
    described["sha256"] = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()  # of all digests
    described |= {name: manifest[name] for name in ("commit", "time", "seconds", "published") if name in manifest}
    return described | ({"spec": portable(spec), "files": files} if recipe.kind(manifest["kind"]).text else {})


def save_figure(figure, folder: Path, name: str) -> Path:
    """Save a matplotlib figure as NAME.png and NAME.pdf, the same as the same bytes, and close it; returns the bitmap."""
    bitmap = folder / f"{name}.png"
    with whole(folder / f"{name}.pdf") as scratch:
        figure.savefig(scratch, format="pdf", metadata={"CreationDate": None})
    with whole(bitmap) as scratch:
        figure.savefig(scratch, format="png", metadata={"Software": None})
        with Image.open(scratch) as picture:  # without its empty fourth channel it is a tenth smaller
            picture.convert("RGB").save(scratch, "png", dpi=picture.info["dpi"], optimize=True)
    pyplot.close(figure)
    return bitmap


# --- a run of a notebook ---------------------------------------------------------------------------------------------

PUBLISHED = "The sentences between the cells tell of the published run: profile laptop, seed 1, nothing changed."
CHANGED = "This run is another one, so its numbers and figures may differ from what the sentences say."


def _in_its_notebook(spec: Mapping[str, Any], place: recipe.Place) -> None:
    raise StudyError(f"The function {spec['function']} stands in a notebook: run {spec['notebook']}.")


CELL = recipe.Kind(
    "cell", 1, _in_its_notebook,
    lambda spec: [recipe.Need(recipe.kind(kind).of(of), weights=True) for kind, of in spec["reads"]],
)  # fmt: skip


def compare(mine: Any, library: Any, tolerance: float = 1e-5) -> str:
    """Whether what a reader may have changed still computes what the library does; arrays or tensors of one shape."""
    difference = float(abs(mine - library).max())
    if difference <= tolerance:
        return "The library computes the same."
    return f"Not what the library computes any more: numbers differ by up to {difference:.2g}."


@dataclass
class Run:
    """One run of a notebook: its settings, and where its figures and tables go."""

    name: str
    parameters: dict[str, Any]
    settings: dict[str, Any]
    folder: Path
    started: float
    _since: int = field(default_factory=lambda: len(recipe.read_since(0)), repr=False)
    _things: dict[Path, dict[str, Any]] = field(default_factory=dict, repr=False)

    @property
    def chapter(self) -> layout.Chapter:
        """Where the figures and tables of the notebook go."""
        return layout.Chapter(self.folder / self.name)

    @property
    def corpus(self) -> str:
        """ "controlled" or "natural"."""
        return self.settings["corpus"]

    @property
    def given(self) -> dict[str, Any]:
        """The parameters that are not empty, without the folder of results; paths of this machine by their last part."""
        return {name: value for name, value in portable(self.parameters).items() if value != "" and name != "output"}

    @property
    def command(self) -> str:
        """The command that runs the notebook again."""
        flags = " ".join(f"-p {name} {json.dumps(value)}" for name, value in self.given.items())
        return f"papermill notebooks/{self.name}.ipynb out.ipynb {flags}"

    def read(self) -> list[dict[str, Any]]:
        """What was read from the store since the run began, in that order."""
        for folder in recipe.read_since(self._since):
            if folder not in self._things:
                self._things[folder] = _described(folder)
        return list(self._things.values())

    def facts(self, **more: Any) -> dict[str, Any]:
        """What a sidecar says; leaves what all sidecars of the notebook share in `chapter.shared`.

        The shared file lists what was read from the store until now, with digests and seeds, in that order, and all settings.
        """
        things, shared = self.read(), self.chapter.shared
        started = datetime.fromtimestamp(self.started, UTC).isoformat(timespec="seconds")
        every = {
            "notebook": self.name, "command": self.command, "parameters": self.given,
            "started": started, "seeds": sorted({self.parameters["seed"]}.union(*(thing["seeds"] for thing in things))),
            **provenance(),
        }  # fmt: skip
        write_json(shared, {**every, "settings": portable(self.settings), "read": things})
        return {**more, **every, "run": str(shared.relative_to(self.folder))}

    def figure(self, figure, name: str, caption: str = "", table: str = "", **facts: Any) -> None:
        """Save a matplotlib figure with its sidecar, which has these facts, and show it.

        `caption` is what it shows, in one sentence; `table` the table of the chapter that holds its numbers, if that is not the
        one of the same name.
        """
        name = layout.tidy(name)
        bitmap = save_figure(figure, self.chapter.folder, name)
        texts = {"caption": caption, "table": layout.tidy(table) if table else ""}
        described = {"figure": name, **{key: value for key, value in texts.items() if value}, **self.facts(**facts)}
        write_json(self.chapter.sidecar(name), described)
        display.display(display.Image(filename=bitmap, alt=caption or name))

    def table(self, frame, name: str, **facts: Any):
        """Save a table as CSV with its sidecar; returns it."""
        name = layout.tidy(name)
        write_text(self.chapter.table(name), frame.to_csv())
        write_json(self.chapter.table_sidecar(name), {"table": name, **self.facts(**facts)})
        return frame

    def stored(self, function: Callable[..., Any], *reads: recipe.Recipe, **arguments: Any):
        """The table that a function of this notebook returns: run now, or taken from the store where it ran before.

        It is known by its own text, what it reads, its arguments, and the parameters of the notebook that are not as printed:
        change one and it runs again. As printed it is published.

        The function returns a pandas.DataFrame. Objects of the notebook that it uses must follow from `reads`, the models and
        texts that it reads; values, and other functions, must stand in its arguments, which are JSON-able.
        """
        if strays := _strays(function, self.parameters):
            raise StudyError(
                f"{function.__name__} uses {strays[0]!r}, which it is not given: make it an argument of the function."
            )
        source, needs = inspect.getsource(function).strip(), [[one.kind.name, one.spec] for one in reads]
        spec = {"notebook": self.name, "function": function.__name__, "code": source, "reads": needs, "arguments": arguments}
        if changed := _changed(self.name, self.parameters):
            spec["parameters"] = portable(changed)

        def build(spec: Mapping[str, Any], place: recipe.Place) -> None:
            write_text(place.results / "table.csv", function(**spec["arguments"]).to_csv(index=False))

        made = recipe.make(CELL.of(spec, f"{self.name}: {function.__name__}"), build=build)
        return pd.read_csv(made / recipe.RESULTS / "table.csv")

    def summary(self) -> str:
        """What this run is, in one paragraph, for the notebook's first output."""
        facts, given = provenance(), self.parameters
        return (
            f"profile {given['profile']}, {self.corpus} corpus, seed {given['seed']} (the first), "
            f"overrides: {given['overrides'] or 'none'}\n"
            f"code {facts['commit']}, {facts['time']}; {facts['hardware']}\n"
            f"figures and tables in {os.path.relpath(self.folder, ROOT)}\n"
            f"{PUBLISHED}" + (f" {CHANGED}" if self.changed else "")
        )

    @property
    def changed(self) -> bool:
        """Whether this run has other parameters than the published one, its folder of results aside."""
        defaults = PARAMETERS | OWN.get(self.name, {})
        return any(self.parameters[name] != value for name, value in defaults.items() if name != "output")


def _strays(function: Callable[..., Any], parameters: Mapping[str, Any]) -> list[str]:
    """Names of values and functions of a notebook that a function uses and that are no parameters of the run as it began."""
    codes, names = [function.__code__], set[str]()
    while codes:
        code = codes.pop()
        names |= {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
        codes += [part for part in code.co_consts if isinstance(part, CodeType)]
    values = {name: value for name, value in function.__globals__.items() if name in names}
    plain = str, int, float, list, tuple, dict, set, pd.DataFrame, pd.Series, np.ndarray, torch.Tensor
    return [
        name
        for name, value in values.items()
        if (isinstance(value, plain) and not (name in parameters and parameters[name] == value))
        or (isinstance(value, FunctionType) and value.__module__ == function.__module__)
    ]


PARAMETERS: dict[str, Any] = {
    "profile": "laptop", "corpus": "", "models": "", "pretrained": "", "data_root": "", "parser": "spacy", "seed": 1,
    "overrides": "", "output": "",
}  # fmt: skip
SHARED = {"profile", "corpus", "data_root", "output"}  # runs that differ in no other parameter share a folder
OWN: dict[str, dict[str, Any]] = {  # of one notebook
    "00_your_own_model": {
        "pretrained": "smollm2", "text": "", "most": 100, "fraction": 0.25, "device": "cpu", "save_to": "",
        "sentence": "The old doctor who lives next door sold her car to a student because she wanted a bicycle.",
    },
    "06_do_measures_agree": {"entries": ""},
}  # fmt: skip


def _changed(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a notebook that are not as printed, without `SHARED`."""
    defaults = PARAMETERS | OWN.get(name, {})
    return {one: value for one, value in parameters.items() if value != defaults[one] and one not in SHARED}


def begin(name: str, namespace: Mapping[str, Any]) -> Run:
    """Start a notebook, called by its file's name without ending: check its parameters, find its settings.

    `namespace` are the notebook's `globals()` right after its parameters cell: a name that is no parameter is an error.
    """
    given = {
        one: value
        for one, value in namespace.items()
        if not one.startswith("_") and one not in ("In", "Out") and isinstance(value, str | int | float | list | dict | None)
    }
    defaults = PARAMETERS | OWN.get(name, {})
    unknown = sorted(set(given) - set(defaults))
    if unknown:
        raise StudyError(
            f"There is no parameter {unknown[0]!r}: {name} takes {', '.join(defaults)}. To run it again restart the kernel."
        )
    parameters = defaults | given
    for one, default in defaults.items():
        if type(parameters[one]) is not type(default):
            kind = {int: "a whole number", float: "a decimal number"}.get(type(default), "text")
            raise StudyError(f"The parameter {one!r} takes {kind}, not {parameters[one]!r}.")
    overrides = parse_overrides(parameters["overrides"])
    if parameters["corpus"]:
        overrides["corpus"] = parameters["corpus"]
    chosen = settings(parameters["profile"], overrides)
    if parameters["data_root"]:
        os.environ["HEADS_DATA_ROOT"] = str(Path(parameters["data_root"]).expanduser().resolve())
    use(chosen)
    changed = _changed(name, parameters)
    size = "_".join([parameters["profile"], *([key(changed)[:8]] if changed else [])])  # not over the study's results
    folder = Path(parameters["output"] or runs() / f"{size}-{chosen['corpus']}").resolve()
    return Run(name, parameters, chosen, folder, time.time())
