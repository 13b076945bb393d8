"""Runs of coreference injection: what is trained with which heads masked, injected or left alone, and where the result lies.

A *run* is described by a spec: what it starts from (random weights, another run, a pretrained model), a training plan, and a
*control*: what stands in the place of which heads while it trains and writes. A *row* of a table is a run with the control
under which it writes: its own, or another at inference alone. A *job* is a list of rows;
`python -m helpers.methods.injection JOB.json` makes what is missing of them.
"""

from __future__ import annotations

import copy
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from helpers import corpora, heads, models, study, subjects, tasks, training
from helpers.corpora import dialogues, infilling
from helpers.heads.sites import ADDRESS
from helpers.measures.importance import importance, leave_one_out
from helpers.methods import coreference
from helpers.study import StudyError

PLAIN = "plain"
MASKED, INJECTED, MIXED = "masked", "injected", "mixed"
MAIN = "injected, lowest"
TASKS = (tasks.SUMMARIZATION, tasks.TRANSLATION)
_MADE_BY = (
    "training:learning_rate,cross_entropy,dev_loss,fit,_evaluate",
    "corpora/tokens:Subwords,sides,encode,collate,_pad,batches",
    "corpora/infilling",
    "models:MAX_POSITIONS,build,build_bart,inputs",
    "tasks:Task",
    "heads/controls",
    "methods/coreference:Sparse,sparse,_full,_adjacent,_previous,_LINKED,arcs,_weighted,_checked,batched,tokens_of,Links,injected,"
    "mixed,_reading,choose,layers_of",
    "methods/injection:_build,_holed,_start,clusters_of,_encoded,_linked,links_of,applied,addresses,ranking",
    "measures/importance",
)


# --- what there is to do ---------------------------------------------------------------------------------------------


def run_spec(
    corpus: Mapping[str, Any], plan: Mapping[str, Any], seed: int, stage: int, *, shape: Mapping[str, Any] | None = None,
    start: Mapping[str, Any] | None = None, control: Mapping[str, Any] | None = None, holes: Mapping[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Everything that a run depends on.

    Parameters
    ----------
    plan : mapping
        As `helpers.training.fit` takes it.
    stage : int
        Each stage sees the training text in an order of its own.
    shape : mapping, optional
        Of a model with random weights; or else
    start : mapping, optional
        A run, or a pretrained model (`helpers.subjects.checkpoint_spec`).
    control : mapping, optional
        As `applied`.
    holes : mapping, optional
        ``{"share", "length"}``: to fill holes in pieces of the source texts (`helpers.corpora.infilling`) instead of the task.
    """
    known = {"corpus": dict(corpus), "training": dict(plan), "seed": seed, "stage": stage}
    resolved = ["corpora/resolving"] if (control or {}).get("links", "none") != "none" else []
    known["code"] = study.code_version(*_MADE_BY, *resolved)
    given = {"shape": shape, "start": start, "control": control, "holes": holes}
    return known | {name: dict(value) for name, value in given.items() if value}


def row(run: Mapping[str, Any], control: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A row of a table: a run, and the control under which it writes if that is not its own."""
    return {"run": dict(run)} | ({"control": dict(control)} if control is not None else {})


def shown(links: str) -> str:
    """What clusters (`clusters_of`) are called in tables: a resolver's name with that of the file or model that it reads."""
    name, plus, change = links.partition("+")
    kind, colon, detail = name.partition(":")
    return kind + (f" ({Path(detail.rpartition(':')[2]).name})" if colon else "") + plus + change


class Rows:
    """The rows of a task by part and name.

    Parameters
    ----------
    settings : mapping
        A profile's settings.
    kind : str
        "summarization", or "translation" (syntactic arcs in the place of coreference).
    seed : int
        Of weights and of the order of text.
    text : int, optional
        Seed of the corpus; the same by default.
    checkpoint : str
        A pretrained model to start from, by Hub name or folder; "" for the profile's.
    """

    def __init__(
        self, settings: Mapping[str, Any], kind: str, seed: int, text: int | None = None, checkpoint: str = ""
    ) -> None:
        if kind not in TASKS:
            raise StudyError(f"Nothing is injected in {kind!r}: choose from {', '.join(TASKS)}.")
        self.chosen, self.kind, self.seed = settings["coreference"], kind, seed
        self.block = self.chosen[tasks.setting(kind)]
        self.checkpoint = checkpoint or self.block["checkpoint"]
        text = seed if text is None else text
        if kind == tasks.TRANSLATION:
            self.corpus = tasks.corpus({**settings, "grouping": self.chosen}, kind, text)
        else:
            self.corpus = dialogues.spec(self.block, self.block["text"], text, self.checkpoint)
        names = ("batch_tokens", "learning_rate", "warmup", "betas")
        plan = settings["training"] | {name: self.block[name] for name in names}
        plan |= {"patience": 0, "average": 1, "cooldown": 0.0}
        steps, more = self.block["steps"], self.block["further"]
        for name, value in (("steps", steps), ("further", more), ("probe", self.chosen["probe"])):
            if value < 1:
                raise StudyError(f"The setting {name!r} of coreference must be 1 or more, not {value}.")
        if self.block["denoising"] and self.block["piece"] < 2:
            raise StudyError(f"Holes cannot be made in pieces of {self.block['piece']} tokens: raise 'piece' to 2 or more.")
        if not self.chosen["mixed"]:
            raise StudyError("The setting 'mixed' of coreference is empty: name a part of the layers, such as upper.")
        if self.chosen["matrix"] not in coreference.FORMS:
            known = ", ".join(coreference.FORMS)
            raise StudyError(f"There is no coreference matrix {self.chosen['matrix']!r}: choose from {known}.")
        for links in (self.block["links"], *self.chosen["resolvers"], *self.chosen["written"]):
            change = links.partition("+")[2]
            if change not in ("", "shuffled") and not re.fullmatch(r"corrupt:(0|1|0?\.\d+|[01]\.0*)", change):
                raise StudyError(f"Clusters cannot be changed by {change!r}: write +shuffled or +corrupt:RATE, from 0 to 1.")
        self.first = plan | {"steps": steps, "evaluate_every": max(1, steps // 3)}
        self.further = plan | {"learning_rate": self.block["rate"], "steps": more, "warmup": max(1, more // 10)}
        self.further |= {"evaluate_every": max(1, more // 2), "cooldown": 0.5}

    def base(self) -> dict[str, Any]:
        """What all rows start from: a pretrained model, or one trained on the task after a denoising warm-up, if any."""
        if self.checkpoint:
            return subjects.checkpoint_spec(self.checkpoint, self.corpus, self.seed)
        before, shape = self.block["denoising"], self.block["model"]
        if not before:
            return run_spec(self.corpus, self.first, self.seed, 1, shape=shape)
        holes = {"share": 0.3, "length": self.block["piece"]}
        plan = self.first | {"steps": before, "evaluate_every": max(1, before // 3)}
        warm = run_spec(self.corpus, plan, self.seed, 0, shape=shape, holes=holes)
        return run_spec(self.corpus, self.first, self.seed, 1, start=warm)

    def tuned(self, control: Mapping[str, Any] | None = None, seed: int | None = None, **plan: Any) -> dict[str, Any]:
        """A run of further training, all alike but for the control, and for what is given of the plan."""
        plan = self.further | plan
        return run_spec(self.corpus, plan, self.seed if seed is None else seed, 2, start=self.base(), control=control)

    def plain(self) -> dict[str, Any]:
        """Further training without a control: on it heads are ranked."""
        return self.tuned()

    def heads(self, by: str = "importance", order: str = "lowest", **more: Any) -> dict[str, Any]:
        """Which heads: by rank in the plain model."""
        usual = {"by": by, "order": order, "count": 1, "part": "all", "draw": 0}
        if by == "probing":
            usual |= {"order": "highest", **self.links()}
        return usual | more | {"ranking": self.plain(), "probe": self.chosen["probe"]}

    def links(self, **other: Any) -> dict[str, Any]:
        """Which matrix, of whose clusters."""
        if self.kind == tasks.TRANSLATION:
            return {"matrix": "arcs", "span": "first", "links": "gold"} | other
        return {name: self.chosen[name] for name in ("matrix", "span")} | {"links": self.block["links"]} | other

    def masked(self, **heads: Any) -> dict[str, Any]:
        """Heads off."""
        return {"form": MASKED, "heads": self.heads(**heads)}

    def injected(self, links: Mapping[str, Any] | None = None, **heads: Any) -> dict[str, Any]:
        """Heads that attend by the matrix."""
        return {"form": INJECTED, "heads": self.heads(**heads), **self.links(**(links or {}))}

    def mixed(self, part: str, **links: Any) -> dict[str, Any]:
        """The matrix in a layer of its own after each layer of a part of the encoder."""
        return {"form": MIXED, "part": part, **self.links(**links)}

    def main(self) -> dict[str, dict]:
        """The comparison that the paper's claim needs, and the one with a layer of its own, which it lacks."""
        own = self.chosen["mixed"][0]
        return {
            PLAIN: row(self.plain()),
            "masked, lowest": row(self.tuned(self.masked())),
            MAIN: row(self.tuned(self.injected())),
            "injected, random": row(self.tuned(self.injected(order="random"))),
            "injected, highest": row(self.tuned(self.injected(order="highest"))),
            f"layer of its own, {own}": row(self.tuned(self.mixed(own))),
        }

    def selection(self) -> dict[str, dict]:
        """Other heads: chosen by probing as in 2021, further random draws, the same heads masked."""
        found = {"injected, probing": row(self.tuned(self.injected(by="probing")))}
        found |= {"masked, highest": row(self.tuned(self.masked(order="highest")))}
        for draw in range(1, self.chosen["draws"]):
            found[f"injected, random {draw + 1}"] = row(self.tuned(self.injected(order="random", draw=draw)))
        return found

    def where(self) -> dict[str, dict]:
        """Lower, middle and upper layers; more heads a layer; layers of their own elsewhere."""
        found = {}
        for part in coreference.PARTS[1:]:
            found[f"injected, lowest, {part} layers"] = row(self.tuned(self.injected(part=part)))
        for count in self.chosen["heads"]:
            if count > 1:
                found[f"injected, lowest {count}"] = row(self.tuned(self.injected(count=count)))
        for part in self.chosen["mixed"][1:]:
            found[f"layer of its own, {part}"] = row(self.tuned(self.mixed(part)))
        return found

    def matrices(self) -> dict[str, dict]:
        """Other matrices from the same clusters, and matrices that say nothing: everyone alone, shuffled mentions."""
        found = {}
        for form in coreference.FORMS:
            if form != self.chosen["matrix"]:
                found[f"injected, lowest, {form} links"] = row(self.tuned(self.injected({"matrix": form})))
        for span in coreference.SPANS:
            if span != self.chosen["span"]:
                found[f"injected, lowest, {span} spans"] = row(self.tuned(self.injected({"span": span})))
        found["injected, lowest, no links"] = row(self.tuned(self.injected({"links": "none"})))
        return found

    def quality(self) -> dict[str, dict]:
        """Worse clusters, in training and writing: corrupted to several degrees, a resolver's, shuffled."""
        by = self.block["links"]
        worse = [f"{by}+corrupt:{rate:g}" for rate in self.chosen["rates"]] + [f"{by}+shuffled"]
        worse += [name for name in self.chosen["resolvers"] if name != by]
        return {f"{MAIN}, {shown(name)}": row(self.tuned(self.injected({"links": name}))) for name in worse}

    def inference(self) -> dict[str, dict]:
        """The matrix at inference alone, in a model trained without, and other clusters for one trained with the usual ones."""
        found = {"injected at inference": row(self.plain(), self.injected())}
        found["injected at inference, highest"] = row(self.plain(), self.injected(order="highest"))
        tuned = self.tuned(self.injected())
        by = self.block["links"]
        for name in (f"{by}+shuffled", "none", *self.chosen["written"]):
            found[f"{MAIN}, written with {shown(name)}"] = row(tuned, self.injected({"links": name}))
        found[f"{MAIN}, heads off at inference"] = row(tuned, self.masked())
        return found

    def training(self) -> dict[str, dict]:
        """Other training settings: is the ranking of heads the same?"""
        found = {}
        for seed in range(1, self.chosen["orders"] + 1):
            found[f"other order {seed}"] = row(self.tuned(seed=1000 * self.seed + seed))
        for factor in self.chosen["paces"]:
            found[f"learning rate x {factor:g}"] = row(self.tuned(learning_rate=factor * self.further["learning_rate"]))
        for factor in self.chosen["lengths"]:
            steps = max(1, round(factor * self.further["steps"]))
            changed = {"steps": steps, "warmup": max(1, steps // 10), "evaluate_every": max(1, steps // 2)}
            found[f"steps x {factor:g}"] = row(self.tuned(**changed))
        return found

    def masks(self) -> dict[str, dict]:
        """1 to all heads a layer off at inference: the lowest, the highest, random ones."""
        count = self.block["model"]["heads"]
        if self.checkpoint:
            count = self.chosen["most"] or count
        plain, found = self.plain(), {}
        for number in range(1, count + 1):
            for order in coreference.ORDERS:
                for draw in range(self.chosen["masks"] if order == "random" else 1):
                    name = f"{order}{f' {draw + 1}' if draw else ''}, {number} a layer"
                    if number < count or self.checkpoint or (order == "lowest" and not draw):  # all heads are all heads
                        found[name] = row(plain, self.masked(order=order, count=number, draw=draw))
        return found


PARTS = ("selection", "where", "matrices", "quality", "inference", "training", "masks")


def rows_of(settings: Mapping[str, Any], kind: str, seed: int, checkpoint: str = "") -> dict[str, dict[str, dict]]:
    """The rows of a task by part and name: "main", the profile's parts, and as "seed N" the main or plain ones of more seeds.

    There are none of a task with "steps" 0.

    Raises
    ------
    StudyError
        If there is no such part, or a setting makes no sense.
    """
    if not settings["coreference"][tasks.setting(kind)]["steps"]:
        return {}
    rows = Rows(settings, kind, seed, checkpoint=checkpoint)
    found = {"main": rows.main()}
    for part in settings["coreference"]["parts"] if kind == tasks.SUMMARIZATION else ():
        if part not in PARTS:
            raise StudyError(f"There are no rows {part!r} of coreference: choose from {', '.join(PARTS)}.")
        found[part] = getattr(rows, part)()
    seeds, alone = (settings["coreference"][name] for name in ("seeds", "alone"))
    for more in range(1, max(seeds, alone if kind == tasks.SUMMARIZATION else 0)):
        again = Rows(settings, kind, seed + more, seed, checkpoint)
        found[f"seed {seed + more}"] = again.main() if more < seeds else {PLAIN: row(again.plain())}
    return found


def jobs(settings: Mapping[str, Any], seed: int, checkpoint: str = "") -> list[dict[str, Any]]:
    """All rows of a study as jobs; those that need the plain models' ranking name the jobs that make them."""
    chosen, first, later = settings["coreference"], [], []
    for kind in TASKS:
        parts = rows_of(settings, kind, seed, checkpoint if kind == tasks.SUMMARIZATION else "")
        if kind == tasks.TRANSLATION:
            rows = {f"{name}, {part}": one for part, named in parts.items() for name, one in named.items()}
            first += [_job(kind, chosen, rows)] if rows else []
            continue
        for part, named in parts.items():
            if PLAIN in named:
                alone = {f"{PLAIN}, {part}": named[PLAIN]}
                alone |= parts.get("training", {}) if part == "main" else {}
                first.append(_job(f"plain, {part}", chosen, alone))
        rest = [
            (f"{name}, {part}", one)
            for part, named in parts.items() if part != "training"
            for name, one in named.items() if name != PLAIN
        ]  # fmt: skip
        bins: list[list[tuple[str, dict]]] = [[] for _ in range(max(1, chosen["jobs"]))]
        for name, one in sorted(rest, key=lambda pair: _cost(pair[1]), reverse=True):
            min(bins, key=lambda rows: sum(_cost(one) for _, one in rows)).append((name, one))
        needs = [study.key(job) for job in first if job["name"].startswith(PLAIN)]
        later += [_job(f"injection {n}", chosen, dict(rows), needs) for n, rows in enumerate(filter(None, bins), 1)]
    return first + later


def _job(name: str, chosen: Mapping[str, Any], rows: Mapping[str, dict], needs: Sequence[str] = ()) -> dict[str, Any]:
    return {"name": name, "beam": chosen["beam"], "rows": dict(rows), "needs": list(needs)}


def _cost(one: Mapping[str, Any]) -> int:
    """Steps that a row takes by itself; what only writes takes a few."""
    return 40 + (0 if "control" in one else one["run"]["training"]["steps"])


# --- links of a corpus -----------------------------------------------------------------------------------------------


def clusters_of(folder: Path, split: str, by: str) -> list[tuple[dialogues.Cluster, ...]]:
    """Clusters of a split's dialogues.

    Parameters
    ----------
    by : str
        "none", or a resolver (`helpers.corpora.resolving.resolver`), which may be followed by "+shuffled" or "+corrupt:RATE".
    """
    from helpers.corpora import resolving

    name, _, change = by.partition("+")
    if name == "none":
        return [()] * len(corpora.read_pairs(folder / f"{split}.jsonl"))
    clusters = dialogues.resolved(folder, split, name)
    if change == "shuffled":
        return resolving.shuffled(clusters, 0)
    if change.startswith("corrupt:"):
        return resolving.corrupt(clusters, float(change.removeprefix("corrupt:")), 0)
    if change:
        raise StudyError(f"Clusters cannot be changed by {change!r}: write +shuffled or +corrupt:RATE.")
    return clusters


@lru_cache(maxsize=8)
def _encoded(folder: Path, split: str, checkpoint: str, corpus: str) -> list[tuple[list[int], list[int]]]:
    """Of each text of a split its token ids, and of each token its word."""
    side, pairs = _task(corpus, checkpoint).source, corpora.read_pairs(folder / f"{split}.jsonl")
    ids = side.encode_all([pair.source for pair in pairs])
    return [(row, side.word_ids(pair.source, pair.words)) for row, pair in zip(ids, pairs, strict=True)]


@lru_cache(maxsize=4)
def _linked(folder: Path, split: str, matrix: str, span: str, by: str, checkpoint: str, corpus: str):
    """Token ids and sparse matrix of each text of a split, and how many mentions were beyond the text's cut."""
    texts, found, dropped = _encoded(folder, split, checkpoint, corpus), [], 0
    if matrix == "arcs":
        for pair, (ids, word_ids) in zip(corpora.parsed(folder, split), texts, strict=True):
            first = {word: place for place, word in reversed(list(enumerate(word_ids)))}
            arcs = ((first[word], first[head]) for word, head in enumerate(pair.heads) if head >= 0)
            found.append((ids, coreference.arcs(arcs, len(ids))))
        return found, 0
    for clusters, (ids, word_ids) in zip(clusters_of(folder, split, by), texts, strict=True):
        mentions, lost = coreference.tokens_of(clusters, word_ids, span)
        found.append((ids, coreference.sparse(mentions, len(ids), matrix)))
        dropped += lost
    return found, dropped


def links_of(spec: Mapping[str, Any], control: Mapping[str, Any], splits: Iterable[str]) -> tuple[coreference.Links, int]:
    """The links of some splits of a run's corpus, and how many mentions were lost where its texts are cut."""
    of, start = task(spec), _origin(spec)
    links, dropped = coreference.Links(), 0
    names = (json.dumps(start, sort_keys=True), json.dumps(spec["corpus"], sort_keys=True))
    for split in splits:
        found, lost = _linked(of.folder, split, control["matrix"], control["span"], control["links"], *names)
        dropped += lost
        for ids, sparse in found:
            links.add(ids, sparse)
    return links, dropped


# --- making a run ----------------------------------------------------------------------------------------------------


def made(spec: Mapping[str, Any], label: str = "coreference") -> Path:
    """Make a run, or find it made.

    Returns
    -------
    pathlib.Path
        A folder with model/ (`helpers.heads.load`), history.csv, and where there is a control: heads.csv.
    """
    for needed in (spec.get("start", {}), spec.get("control", {}).get("heads", {}).get("ranking", {})):
        if "stage" in needed:
            made(needed, label)  # before anything is drawn for this run
    folder = study.make(study.runs(), "injection", dict(spec), lambda folder: _build(spec, folder, label))
    (_work(spec) / "checkpoint.pt").unlink(missing_ok=True)
    return folder


def load(spec: Mapping[str, Any]):
    """The model of a run, or of a pretrained start, in evaluation mode, on the GPU if there is one."""
    if "stage" not in spec:
        return copy.deepcopy(subjects.of(spec, "").model)
    return heads.load(made(spec) / "model").to(models.device())


def _work(spec: Mapping[str, Any]) -> Path:
    return study.runs() / "work" / study.key(spec)


def _origin(spec: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The pretrained model that a run goes back to, if it does."""
    while "stage" in spec:
        spec = spec.get("start", {})
    return spec or None


def task(spec: Mapping[str, Any]) -> tasks.Task:
    """The task of a run."""
    return _task(json.dumps(spec["corpus"], sort_keys=True), json.dumps(_origin(spec), sort_keys=True))


@lru_cache(maxsize=4)
def _task(corpus: str, checkpoint: str) -> tasks.Task:
    start = json.loads(checkpoint)
    return tasks.of(json.loads(corpus), subjects.of(start, "") if start else None)


def _build(spec: Mapping[str, Any], folder: Path, label: str) -> None:
    of, plan = task(spec), dict(spec["training"])
    model = _start(spec, of)
    dev = of.held_out(4 * plan["batch_tokens"], None, model.device)
    batches = of.epoch(plan["batch_tokens"], 3 * spec["seed"] + spec["stage"], model.device)
    if "holes" in spec:
        batches, dev = _holed(spec, of, model.device)
    with applied(model, spec, spec.get("control"), ("train", "dev")) as chosen:
        history = training.fit(model, batches, dev, plan, _work(spec), spec["seed"], None, label)
    if chosen:
        pd.DataFrame(chosen, columns=list(ADDRESS)).to_csv(folder / "heads.csv", index=False)
    history.to_csv(folder / "history.csv", index=False)
    heads.save(model, folder / "model")


def _holed(spec: Mapping[str, Any], of: tasks.Task, device: torch.device):
    """Batches of an epoch, and of dev text, with holes to be filled."""
    holes, budget = spec["holes"], spec["training"]["batch_tokens"]

    def epochs(data: Any, seed: int):
        texts = infilling.pieces(data.source, of.source.eos, holes["length"])
        return infilling.epochs(
            texts, of.source.pad, of.source.eos, infilling.mask(of.source), budget, seed, device, holes["share"]
        )

    return epochs(of.train, spec["seed"]), list(epochs(of.dev, 0)(0))


def _start(spec: Mapping[str, Any], of: tasks.Task):
    """The model that a run begins with."""
    if "start" in spec:
        return load(spec["start"])
    if of.kind == tasks.TRANSLATION:
        return of.build(spec["shape"], spec["seed"]).to(models.device())
    return models.build_bart(spec["shape"], of.source.size, spec["seed"]).to(models.device())


@contextmanager
def applied(
    model, spec: Mapping[str, Any], control: Mapping[str, Any] | None, splits: Sequence[str]
) -> Iterator[list[tuple[str, int, int]]]:
    """A model under a control, reading texts of some splits of a run's corpus.

    Parameters
    ----------
    control : mapping or None
        ``{"form": "masked", "heads"}``, ``{"form": "injected", "heads", "matrix", "span", "links"}`` or
        ``{"form": "mixed", "part", "matrix", "span", "links"}``; `heads` as `addresses`, `links` as `clusters_of`.

    Yields
    ------
    list of (kind, layer, head)
        The heads.

    Raises
    ------
    StudyError
        If there is no such control; or as what it asks for.
    """
    form = control["form"] if control else None
    if form not in (None, MASKED, INJECTED, MIXED):
        raise StudyError(f"There is no control {form!r}: write {MASKED}, {INJECTED} or {MIXED}.")
    chosen = addresses(control["heads"]) if form in (MASKED, INJECTED) else []
    block = nullcontext()
    if form == MASKED:
        block = heads.gate(model, dict.fromkeys(chosen, 0.0))
    elif form:
        links, _ = links_of(spec, control, splits)
        if form == INJECTED:
            block = coreference.injected(model, chosen, links)
        else:
            layers = len({site.layer for site in heads.sites(model, "encoder")})
            block = coreference.mixed(model, coreference.layers_of(layers, control["part"]), links)
    with block:
        yield chosen


def addresses(wanted: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """The heads that a control is for.

    Parameters
    ----------
    wanted : mapping
        ``{"by": "importance" | "probing", "order", "count", "part", "draw", "ranking", "probe"}``, `ranking` being the run
        whose heads are ranked on `probe` dev texts, with "matrix", "span" and "links" for probing; or
        ``{"by": "given", "heads"}``.

    Raises
    ------
    StudyError
        If there is no such way; or as `helpers.methods.coreference.choose`.
    """
    by = wanted["by"]
    if by == "given":
        return [(kind, int(layer), int(head)) for kind, layer, head in wanted["heads"]]
    if by not in ("importance", "probing"):
        raise StudyError(f"Heads are not chosen by {by!r}: write importance, probing or given.")
    links = {name: wanted[name] for name in ("matrix", "span", "links")} if by == "probing" else None
    scores = ranking(wanted["ranking"], wanted["probe"], links)[by]
    return coreference.choose(scores, wanted["count"], wanted["order"], wanted["part"], wanted["draw"])


def ranking(
    spec: Mapping[str, Any], probe: int, links: Mapping[str, Any] | None = None, control: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """Scores of a run's encoder heads on dev texts, from the store where they are there already.

    Parameters
    ----------
    probe : int
        The first so many dev texts.
    links : mapping, optional
        ``{"matrix", "span", "links"}`` to probe for.
    control : mapping, optional
        Under which importance is measured.

    Returns
    -------
    pandas.DataFrame
        On (kind, layer, head): importance (Michel et al. 2019, per example, divided by the norm of its layer), nats (the same
        undivided), loss (rise of the mean loss with the head off, nats a token) with low and high; with `links` probing.
    """
    described = {"run": dict(spec), "probe": probe, "links": dict(links or {}), "control": dict(control or {})}
    described["code"] = study.code_version(
        "measures/importance", "heads/controls", "methods/injection:ranking",
        "methods/coreference:_Cosine,probing,sparse,_full,_adjacent,_previous,_LINKED,arcs,_weighted,_checked,batched,tokens_of,Links",
    )  # fmt: skip

    def build(folder: Path) -> None:
        model, of = load(spec), task(spec)
        batches = of.held_out(4096, probe, model.device)
        with applied(model, spec, control, ("dev",)):
            raw = importance(model, batches, "encoder", norm=None)
            alone = leave_one_out(model, batches, "encoder")
        size = raw.pow(2).groupby(level=["kind", "layer"]).transform("sum").pow(0.5)
        table = pd.DataFrame({"importance": raw / size.where(size > 0, 1.0), "nats": raw}).join(alone)
        if links:
            table["probing"] = coreference.probing(model, batches, links_of(spec, links, ("dev",))[0])
        table.to_csv(folder / "heads.csv")

    folder = study.make(study.runs(), "rankings", described, build)
    return pd.read_csv(folder / "heads.csv", index_col=list(ADDRESS))


def outputs(one: Mapping[str, Any], split: str, beam: int) -> list[str]:
    """What the model of a row writes of a test set, from the store where it is there already."""
    spec = one["run"]
    control = one.get("control", spec.get("control"))
    described = {"injection": study.key(spec)}
    if "control" in one:
        resolved = ["corpora/resolving"] if control.get("links", "none") != "none" else []
        described |= {"control": dict(control), "by": study.code_version(*_MADE_BY, *resolved)}
    with ExitStack() as under:

        def controlled():
            model = load(spec)
            under.enter_context(applied(model, spec, control, (split,)))
            return model

        return task(spec).outputs(described, controlled, split, beam)


# --- the command -----------------------------------------------------------------------------------------------------


def make(job: Mapping[str, Any]) -> None:
    """Make what is missing of a job, row after row; a job that was killed goes on where its run last saved."""
    for name, one in job["rows"].items():
        made(one["run"], f"{job['name']}: {name}")
        for split in task(one["run"]).tests:
            outputs(one, split, job["beam"])


def main(arguments: Iterable[str] | None = None) -> None:
    """Make every row of a job file that is not in the store yet."""
    study.run_file(make, "job", "helpers.methods.injection.jobs", ("name", "beam", "rows"), arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
