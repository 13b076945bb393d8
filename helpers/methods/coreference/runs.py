"""Runs of coreference injection: what is trained with which heads masked, injected or left alone, and where the result lies.

A *run* is described by a spec: what it starts from (random weights, another run, a pretrained model), a training plan, and a
*control*: what stands in the place of which heads while it trains and writes (`applied`). Before the task a run may fill holes
in pieces of its texts (`helpers.corpora.infilling`). A *row* of a table is a run with the control under which it writes: its
own, or another at inference alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from helpers import corpora, gpu, heads, models, study, training
from helpers.corpora import dialogues, infilling, tokens
from helpers.corpora.clusters import shuffled
from helpers.heads.families import ADDRESS
from helpers.measures.worth import by_layer, importance, leave_one_out
from helpers.methods.coreference import matrices
from helpers.records import Cluster
from helpers.runs import outputs, subjects
from helpers.runs import training as translators
from helpers.study import StudyError

PLAIN = "plain"
MASKED, INJECTED, MIXED = "masked", "injected", "mixed"
MAIN = "injected, lowest"


# --- what there is to do ---------------------------------------------------------------------------------------------


def row(run: Mapping[str, Any], control: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A row of a table: a run, and the control under which it writes if that is not its own."""
    return {"run": dict(run)} | ({"control": dict(control)} if control is not None else {})


def truth(corpus: Mapping[str, Any], links: str) -> str:
    """The best clusters that are known of a corpus: gold ones of generated dialogues, else those that are injected."""
    return "gold" if corpus["corpus"] == "controlled" else links


def links_name(links: str) -> str:
    """The name of clusters (`clusters_of`) in tables: a resolver's, with that of the file or model that it reads."""
    name, plus, change = links.partition("+")
    kind, colon, detail = name.partition(":")
    return kind + (f" ({Path(detail.rpartition(':')[2]).name})" if colon else "") + plus + change


class Rows:
    """The rows of summarization by part and name.

    `seed` is of weights and of the order of text, `text` that of the corpus, the same by default; `checkpoint` is a pretrained
    model to start from, by Hub name or folder, "" for the profile's.
    """

    def __init__(self, settings: Mapping[str, Any], seed: int, text: int | None = None, checkpoint: str = "") -> None:
        self.chosen, self.seed = settings["coreference"], seed
        self.block = self.chosen["summarization"]
        self.checkpoint = checkpoint or self.block["checkpoint"]
        self.corpus = dialogues.spec(self.block, self.block["text"], seed if text is None else text, self.checkpoint)
        self.truth = truth(self.corpus, self.block["links"])
        names = ("batch_tokens", "learning_rate", "warmup", "betas")
        plan = settings["training"] | {name: self.block[name] for name in names}
        plan |= {"patience": 0, "average": 1, "cooldown": 0.0}
        steps, more = self.block["steps"], self.block["further"]
        self.first = plan | {"steps": steps, "evaluate_every": max(1, steps // 3)}
        self.further = plan | {"learning_rate": self.block["rate"], "steps": more, "warmup": max(1, more // 10)}
        self.further |= {"evaluate_every": max(1, more // 2), "cooldown": 0.5}

    def spec(self, plan: Mapping[str, Any], stage: int, **given: Any) -> dict[str, Any]:
        """Everything that a run depends on, without what is given but empty; each stage has an order of the text of its own."""
        known = {"corpus": dict(self.corpus), "training": dict(plan), "seed": self.seed, "stage": stage}
        return known | {name: dict(value) for name, value in given.items() if value}

    def base(self) -> dict[str, Any]:
        """What all rows start from: a pretrained model, or one trained on the task after a denoising warm-up, if any."""
        if self.checkpoint:
            return subjects.checkpoint_spec(self.checkpoint, self.corpus, self.seed)
        before, shape = self.block["denoising"], self.block["model"]
        if not before:
            return self.spec(self.first, 1, shape=shape)
        holes = {"share": 0.3, "length": self.block["piece"]}
        plan = self.first | {"steps": before, "evaluate_every": max(1, before // 3)}
        return self.spec(self.first, 1, start=self.spec(plan, 0, shape=shape, holes=holes))

    def tuned(self, control: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A run of further training, all alike but for the control."""
        return self.spec(self.further, 2, start=self.base(), control=control)

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
        """The comparisons that the paper's claims need: other heads, links that say nothing, true links."""
        by = self.block["links"]
        rows = {
            PLAIN: row(self.plain()),
            "masked, lowest": row(self.tuned(self.masked())),
            MAIN: row(self.tuned(self.injected())),
            "injected, random": row(self.tuned(self.injected(order="random"))),
            "injected, highest": row(self.tuned(self.injected(order="highest"))),
            "layer of its own, upper": row(self.tuned(self.mixed("upper"))),
        }
        rows |= self.given(f"{by}+shuffled")
        rows[f"{MAIN}, no links"] = row(self.tuned(self.injected({"links": "none"})))
        rows["injected, probing"] = row(self.tuned(self.injected(by="probing")))
        return rows | (self.given(self.truth) if self.truth != by else {})

    def given(self, links: str) -> dict[str, dict]:
        """Other clusters, in training and writing."""
        return {f"{MAIN}, {links_name(links)}": row(self.tuned(self.injected({"links": links})))}

    def side_by_side(self) -> dict[str, dict]:
        """What a training of its own holds side by side: every layer mixed, random heads, and resolvers of other kinds."""
        by, main = self.block["links"], self.main()
        rows = {name: main[name] for name in (PLAIN, MAIN, f"{MAIN}, {by}+shuffled")}
        for links in (by, f"{by}+shuffled"):
            rows[f"layer of its own, all, {links}"] = row(self.tuned(self.mixed("all", links=links)))
        for draw in range(3):
            rows[f"injected, random {draw + 1}"] = row(self.tuned(self.injected(order="random", draw=draw)))
        for links in ("nearest", "match", self.truth):
            rows |= self.given(links)
        return rows

    def masks(self) -> dict[str, dict]:
        """1 to all heads a layer off at inference: the lowest, the highest, random ones."""
        count, plain, rows = self.block["model"]["heads"], self.plain(), {}
        for number in range(1, count + 1):
            for order in matrices.ORDERS:
                for draw in range(self.chosen["masks"] if order == "random" else 1):
                    name = f"{order}{f' {draw + 1}' if draw else ''}, {number} a layer"
                    if number < count or self.checkpoint or (order == "lowest" and not draw):  # all heads are all heads
                        rows[name] = row(plain, self.masked(order=order, count=number, draw=draw))
        return rows


def rows_of(settings: Mapping[str, Any], seed: int, checkpoint: str = "") -> dict[str, dict[str, dict]]:
    """The rows of summarization by part and name: "main", "masks", and as "seed N" the main ones of more seeds.

    There are none with "steps" 0.
    """
    if not settings["coreference"]["summarization"]["steps"]:
        return {}
    rows = Rows(settings, seed, checkpoint=checkpoint)
    parts = {"main": rows.main(), "masks": rows.masks()}
    for more in range(seed + 1, seed + settings["coreference"]["seeds"]):
        parts[f"seed {more}"] = Rows(settings, more, seed, checkpoint).main()
    return parts


def stages(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A run and the runs that it starts from, the latest first."""
    while "stage" in spec:
        yield spec
        spec = spec.get("start", {})


# --- links of a corpus -----------------------------------------------------------------------------------------------


def clusters_of(folder: Path, split: str, by: str) -> list[tuple[Cluster, ...]]:
    """Clusters of a split's dialogues.

    `by` is "none", or a resolver (`helpers.corpora.resolvers.resolver`), maybe followed by "+shuffled".
    """
    name, _, change = by.partition("+")
    if name == "none":
        return [()] * len(corpora.read_pairs(corpora.file(folder, split)))
    clusters = dialogues.resolved(folder, split, name)
    if change == "shuffled":
        return shuffled(clusters, 0)
    if change:
        raise StudyError(f"Clusters cannot be changed by {change!r}: write +shuffled.")
    return clusters


@lru_cache(maxsize=8)
def _encoded(folder: Path, split: str, checkpoint: str, corpus: str) -> list[tuple[list[int], list[int]]]:
    """Of each text of a split its token ids, and of each token its word."""
    side, pairs = subjects.of_text(json.loads(corpus), checkpoint).source, corpora.read_pairs(corpora.file(folder, split))
    ids = side.encode_all([pair.source for pair in pairs])
    return [(row, side.word_ids(pair.source, pair.words)) for row, pair in zip(ids, pairs, strict=True)]


@lru_cache(maxsize=4)
def _linked(folder: Path, split: str, matrix: str, span: str, by: str, checkpoint: str, corpus: str):
    clusters, texts = clusters_of(folder, split, by), _encoded(folder, split, checkpoint, corpus)
    mentions = [matrices.tokens_of(one, words, span) for one, (_, words) in zip(clusters, texts, strict=True)]
    return [(ids, matrices.sparse(one, len(ids), matrix)) for one, (ids, _) in zip(mentions, texts, strict=True)]


def links_of(spec: Mapping[str, Any], control: Mapping[str, Any], splits: Iterable[str]) -> matrices.Links:
    """The links of some splits of a run's corpus."""
    folder, links = subjects.text_of(spec).folder, matrices.Links()
    names = (subjects.origin(spec).get("pretrained", ""), json.dumps(spec["corpus"], sort_keys=True))
    for split in splits:
        for ids, sparse in _linked(folder, split, control["matrix"], control["span"], control["links"], *names):
            links.add(ids, sparse)
    return links


# --- making a run ----------------------------------------------------------------------------------------------------


def run(spec: Mapping[str, Any], label: str = "coreference") -> study.Recipe:
    """The recipe of a run: among its results history.csv, and where there is a control heads.csv."""
    return INJECTION.of(spec, label)


def opened(spec: Mapping[str, Any]):
    """The model of a run, or of a pretrained start, in evaluation mode, on the device in use."""
    return translators.stored(run(spec)) if "stage" in spec else subjects.of_spec(spec, "").model


def _train(spec: Mapping[str, Any], place: study.Place) -> None:
    text, plan = subjects.text_of(spec), dict(spec["training"])
    if "start" in spec:
        model = opened(spec["start"])
    else:
        model = models.build_bart(spec["shape"], text.source.size, spec["seed"]).to(gpu.device())
    dev = text.held_out(training.held_out(plan), None, model.device)
    epochs = text.epoch(plan["batch_tokens"], 3 * spec["seed"] + spec["stage"], model.device)
    if "holes" in spec:
        epochs, dev = _holed(spec, text, model.device)
    with applied(model, spec, spec.get("control"), ("train", "dev")) as chosen:
        history = training.fit(model, epochs, dev, plan, place.work, spec["seed"], None, place.label)
    if chosen:
        pd.DataFrame(chosen, columns=list(ADDRESS)).to_csv(place.results / "heads.csv", index=False)
    history.to_csv(place.results / "history.csv", index=False)
    translators.keep(model, place)


def _needs(spec: Mapping[str, Any]) -> Iterator[study.Recipe | study.Need]:
    yield study.Need(corpora.recipe(spec["corpus"]), weights="splits" not in spec)  # else a test set is read
    if (start := spec.get("start", {})) and "splits" not in spec:  # else it is a control's needs that are asked for
        yield from [study.Need(run(start), weights=True)] if "stage" in start else subjects.needs(start)
    if control := spec.get("control"):
        if "ranking" in control.get("heads", {}):
            yield ranked_for(control["heads"])
        if "links" in control:
            yield from links_needs(spec, control, spec.get("splits", ("train", "dev")))


def links_needs(
    spec: Mapping[str, Any], links: Mapping[str, Any], splits: Iterable[str]
) -> Iterator[study.Recipe | study.Need]:
    """What the links of some splits of a run's dialogues are read from, where a resolver has to find them."""
    by = links["links"].partition("+")[0]
    if by not in ("none", "gold"):
        yield from (study.Need(dialogues.clusters(spec["corpus"], split, by), split == "train") for split in splits)


@contextmanager
def _opened(spec: Mapping[str, Any], splits: tuple[str, ...], control: Mapping[str, Any] | None) -> Iterator[Any]:
    model = opened(spec)
    with applied(model, spec, control if control is not None else spec.get("control"), splits):
        yield model


INJECTION = study.Kind("injected", 1, _train, _needs, opened=_opened)


def _holed(spec: Mapping[str, Any], text: subjects.Subject, device: torch.device):
    """Batches of an epoch, and of dev text, with holes to be filled."""
    holes, side, budget = spec["holes"], text.source, spec["training"]["batch_tokens"]
    hole = side.tokenizer.token_to_id(tokens.UNK)  # of a vocabulary that is learnt, which has no mask

    def epochs(data: Any, seed: int):
        texts = infilling.pieces(data.source, side.eos, holes["length"])
        return infilling.epochs(texts, side.pad, side.eos, hole, budget, seed, device, holes["share"])

    return epochs(text.train, spec["seed"]), list(epochs(text.dev, 0)(0))


@contextmanager
def applied(
    model, spec: Mapping[str, Any], control: Mapping[str, Any] | None, splits: Sequence[str]
) -> Iterator[list[tuple[str, int, int]]]:
    """A model under a control, reading texts of some splits of a run's corpus; gives the heads.

    A control is ``{"form": "masked", "heads"}``, ``{"form": "injected", "heads", "matrix", "span", "links"}`` or ``{"form":
    "mixed", "part", "matrix", "span", "links"}``; `heads` as `addresses`, `links` as `clusters_of`.
    """
    form = control["form"] if control else None
    chosen = addresses(control["heads"]) if form in (MASKED, INJECTED) else []
    block = nullcontext()
    if form == MASKED:
        block = heads.gate(model, dict.fromkeys(chosen, 0.0))
    elif form:
        links = links_of(spec, control, splits)
        if form == INJECTED:
            block = matrices.injected(model, chosen, links)
        else:
            layers = len({site.layer for site in heads.sites(model, "encoder")})
            block = matrices.mixed(model, matrices.layers_of(layers, control["part"]), links)
    with block:
        yield chosen


def addresses(wanted: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """The heads that a control is for.

    `wanted` is ``{"by": "importance" | "probing", "order", "count", "part", "draw", "ranking", "probe"}``, `ranking` being the
    run whose heads are ranked on `probe` dev texts, with "matrix", "span" and "links" for probing.
    """
    scores = _read(ranked_for(wanted))[wanted["by"]]
    return matrices.choose(scores, wanted["count"], wanted["order"], wanted["draw"])


def ranking(spec: Mapping[str, Any], probe: int, control: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """Scores of a run's encoder heads on the first dev texts, so many as `probe`, from the store where they are there already.

    On (kind, layer, head): importance (Michel et al. 2019, per example, divided by the norm of its layer), nats (the same
    undivided), loss (rise of the mean loss with the head off, nats a token) with low and high; all under a `control`, if any.
    """
    return _read(ranked(spec, probe, None, control))


def _read(ranking: study.Recipe) -> pd.DataFrame:
    return pd.read_csv(ranking.results / "heads.csv", index_col=list(ADDRESS))


def ranked(
    spec: Mapping[str, Any], probe: int, links: Mapping[str, Any] | None = None, control: Mapping[str, Any] | None = None
) -> study.Recipe:
    """The recipe of `ranking`; with `links` (``{"matrix", "span", "links"}``) of how far attention follows these, too."""
    described = {"run": dict(spec), "probe": probe, "links": dict(links or {}), "control": dict(control or {})}
    return RANKING.of(described, "ranking of heads")


def ranked_for(wanted: Mapping[str, Any]) -> study.Recipe:
    """The recipe of the ranking that heads are chosen by, as `addresses` takes them."""
    links = {name: wanted[name] for name in ("matrix", "span", "links")} if wanted["by"] == "probing" else None
    return ranked(wanted["ranking"], wanted["probe"], links)


def _rank(described: Mapping[str, Any], place: study.Place) -> None:
    spec, links = described["run"], described["links"]
    model, text = opened(spec), subjects.text_of(spec)
    batches = text.held_out(4096, described["probe"], model.device)
    with applied(model, spec, described["control"] or None, ("dev",)):
        raw = importance(model, batches, "encoder", norm=None)
        alone = leave_one_out(model, batches, "encoder")
    table = pd.DataFrame({"importance": by_layer(raw), "nats": raw}).join(alone)
    if links:
        table["probing"] = matrices.probing(model, batches, links_of(spec, links, ("dev",)))
    table.to_csv(place.results / "heads.csv")


def _rank_needs(described: Mapping[str, Any]) -> Iterator[study.Recipe | study.Need]:
    spec, links, control = (described[name] for name in ("run", "links", "control"))
    yield from [study.Need(run(spec), weights=True)] if "stage" in spec else subjects.needs(spec)
    if control:
        yield from _needs({"corpus": spec["corpus"], "control": control, "splits": ("dev",)})
    if links:
        yield from links_needs(spec, links, ("dev",))


RANKING = study.Kind("ranking", 1, _rank, _rank_needs, job="with")


def written(one: Mapping[str, Any], split: str, beam: int) -> list[str]:
    """What the model of a row writes of a test set (`helpers.runs.outputs.read`)."""
    return outputs.read(run(one["run"]), split, beam, one.get("control"))
