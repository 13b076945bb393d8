"""Grouped Head Attention: hidden units, group constraint, Voting-to-Stay (Ni et al. 2023, arXiv 2305.14380).

Every head of a layer is one very long vector, its feature map over all real tokens of a batch. Distances, K-means, centres,
cosines and the constraint all follow from the inner products of these vectors, a [heads, heads] Gram matrix: one product of
matrices a layer and batch, and the rest is arithmetic on tiny tables. Grams of several batches add up to the Gram of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from sklearn.metrics import silhouette_score
from torch import Tensor, nn
from torch.nn import functional as F

from helpers import gpu, study
from helpers.heads import record, sites
from helpers.heads.families import Site
from helpers.heads.gates import check_computed_once
from helpers.measures.reducers import evaluating
from helpers.models import cross_entropy, inputs
from helpers.study import StudyError

MAPS = {"V": "value vectors", "A": "attention weights", "O": "head outputs"}  # feature maps, section 3.1
ROUNDS = 100  # of K-means, at most
_TINY = 1e-30


# --- hidden units: K-means on Gram matrices --------------------------------------------------------------------------


def starts(heads: int, groups: int, seed: int = 0, tries: int = 1) -> list[list[int]]:
    """Heads whose vectors are the first centres of K-means in each of its tries: `groups` distinct ones, drawn by the seed."""
    if not 1 <= groups <= heads:
        raise StudyError(f"{heads} heads cannot be put into {groups} groups: choose from 1 to {heads}.")
    rng = np.random.default_rng(seed)
    return [rng.choice(heads, groups, replace=False).tolist() for _ in range(tries)]


def clusters(gram: Tensor, groups: int, seed: int = 0, tries: int = 1) -> Tensor:
    """Groups of heads by K-means (HUDS, equation 3), from inner products alone.

    Lloyd's algorithm with Euclidean distances until the assignment stays. An empty group takes the head that is farthest from
    its own centre. Groups are numbered by their first head, so that numbers mean the same from batch to batch.

    Of a Gram matrix [..., heads, heads] for any number of layers at once: int64 [..., heads]. Each layer keeps the groups of
    least inertia, the sum of squared distances to the centres. One try serves training, which groups the heads of every batch
    anew; groups that are read as a finding need some ten.
    """
    table = gram.detach().double().flatten(0, -3) if gram.ndim > 3 else gram.detach().double().view(-1, *gram.shape[-2:])
    every = torch.stack([_lloyd(table, groups, first) for first in starts(gram.shape[-1], groups, seed, tries)])
    share = _shares(every, groups, table)
    inertia = -((share > 0) * (table @ share)).sum((-2, -1))  # less the squares of all vectors, which no try changes
    labels = every[inertia.argmin(0), torch.arange(len(table), device=table.device)]
    member = F.one_hot(labels, groups)
    rank = member.argmax(-2).argsort(-1).argsort(-1)
    return rank.gather(-1, labels).view(gram.shape[:-1])


def _lloyd(table: Tensor, groups: int, first: list[int]) -> Tensor:
    """Groups [layers, heads] by Lloyd's algorithm from the vectors of the heads `first`, numbered by these."""
    square = table.diagonal(dim1=-2, dim2=-1)
    far = square[:, None, first] - 2 * table[:, :, first]  # squared distance to each centre, less the head's own square
    labels = _filled(far, square, groups)
    for _ in range(ROUNDS):
        share = _shares(labels, groups, table)
        inner = table @ share
        far = (share * inner).sum(-2, keepdim=True) - 2 * inner
        before, labels = labels, _filled(far, square, groups)
        if torch.equal(before, labels):
            break
    return labels


def _filled(far: Tensor, square: Tensor, groups: int) -> Tensor:
    """The nearest centre of each head [layers, heads]; groups left empty take the heads farthest from their centres."""
    labels = far.argmin(-1)
    counts = F.one_hot(labels, groups).sum(-2)
    for layer in (counts == 0).any(-1).nonzero()[:, 0].tolist():
        away = square[layer] + far[layer].gather(-1, labels[layer][:, None])[:, 0]
        for group in (counts[layer] == 0).nonzero()[:, 0].tolist():
            free = counts[layer][labels[layer]] > 1  # a group's only member stays
            head = int(away.masked_fill(~free, -torch.inf).argmax())
            counts[layer, labels[layer, head]] -= 1
            counts[layer, group] += 1
            labels[layer, head], away[head] = group, -torch.inf
    return labels


def _shares(labels: Tensor, groups: int, like: Tensor) -> Tensor:
    """What each head adds to the centre of each group [..., heads, groups]: 1 / members in its own group, else 0."""
    member = F.one_hot(labels, groups).to(like)
    return member / member.sum(-2, keepdim=True)


def hidden_units(features: Tensor, groups: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Hidden-unit discovery (HUDS, section 3.1, equation 3): groups of heads and their centres.

    Parameters
    ----------
    features : tensor [heads, dim]
        The feature map of each head of a layer, as one vector.
    groups : int
        C of the paper.
    seed : int
        Of the heads that K-means starts from, as in `clusters`.

    Returns
    -------
    labels : int64 tensor [heads]
        Group of each head; groups are numbered by their first head.
    centres : tensor [groups, dim]
        Mean vector of each group, its hidden unit; carries the features' gradient.

    Raises
    ------
    StudyError
        If there are fewer heads than groups, or no group.
    """
    labels = clusters(gram(features), groups, seed)
    return labels, _shares(labels, groups, features).mT @ features


# --- group constraint ------------------------------------------------------------------------------------------------


def closeness(gram: Tensor, labels: Tensor, groups: int) -> tuple[Tensor, Tensor]:
    """Cosines of heads with the centre of their group, and of centres with each other.

    Tensors [..., heads] and [..., groups, groups] of Gram matrices [..., heads, heads]. The centres are means of live vectors:
    gradient flows through them, as in the public code.
    """
    share = _shares(labels, groups, gram)
    with gpu.unrounded(gram.device):
        inner = gram @ share  # head . centre
        centres = share.mT @ inner
    norms = centres.diagonal(dim1=-2, dim2=-1).clamp_min(_TINY).sqrt()
    product = inner.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    length = gram.diagonal(dim1=-2, dim2=-1).clamp_min(_TINY).sqrt()
    return product / (length * norms.gather(-1, labels)), centres / (norms.unsqueeze(-1) * norms.unsqueeze(-2))


def group_loss(gram: Tensor, labels: Tensor, groups: int, alpha: float, beta: float) -> tuple[Tensor, Tensor, Tensor]:
    """Group constraint with continuous hidden units (equation 4B) of each layer.

    -alpha * mean cosine of heads with their centre + beta * mean cosine of pairs of centres. The paper's phi is read as the
    negative cosine: as printed, with the cosine, members of a group would be pushed far; the public code has these signs.

    Parameters
    ----------
    gram : tensor [..., heads, heads]
    labels : int64 tensor [..., heads]
    alpha, beta : float
        Weights of homogenisation and of diversification.

    Returns
    -------
    loss, homogeneity, diversity : tensors [...]
        The loss, and its two mean cosines (detached).

    Raises
    ------
    StudyError
        If a head's vector is zero, so that it has no cosine, or there is one group and a weight on pairs of groups.
    """
    if groups == 1 and beta:
        raise StudyError(f"One group has no other to differ from: set beta to 0, not {beta}, or take more groups.")
    square = gram.detach().diagonal(dim1=-2, dim2=-1)
    if not bool((square != 0).all()):
        *layer, head = (square == 0).nonzero()[0].tolist()
        where = f" in layer {layer[0]} of those given" if layer else ""
        raise StudyError(f"The feature map of head {head}{where} is all zero, so it is in no group: leave removed heads out.")
    to_centre, between = closeness(gram, labels, groups)
    pairs = torch.triu_indices(groups, groups, 1, device=gram.device)
    far = between[..., pairs[0], pairs[1]]
    near, far = to_centre.mean(-1), far.mean(-1) if groups > 1 else to_centre.new_zeros(to_centre.shape[:-1])
    return beta * far - alpha * near, near.detach(), far.detach()


def cosines(gram: Tensor) -> Tensor:
    """Cosines of heads with each other, from inner products: [..., heads, heads]."""
    length = gram.diagonal(dim1=-2, dim2=-1).clamp_min(_TINY).sqrt()
    return gram / (length.unsqueeze(-1) * length.unsqueeze(-2))


def compactness(gram: Tensor, labels: Tensor) -> dict[str, float]:
    """How compact and how far apart the groups of one layer are (Fig. 2).

    "silhouette" (mean over heads, -1 to 1) and "dunn" (least distance between groups by largest inside one), both with
    Euclidean distances and larger where groups are clearer; nan with one group or with single heads only.
    """
    gram = gram.detach().double()
    if not 1 < len(labels.unique()) < len(labels):
        return {"silhouette": float("nan"), "dunn": float("nan")}
    square = gram.diagonal()
    distance = (square[:, None] + square - 2 * gram).clamp_min(0).sqrt().fill_diagonal_(0)
    same = labels[:, None] == labels
    widest = float(distance[same].max())
    dunn = float(distance[~same].min()) / widest if widest else float("nan")
    return {"silhouette": float(silhouette_score(distance.cpu(), labels.cpu(), metric="precomputed")), "dunn": dunn}


# --- feature maps ----------------------------------------------------------------------------------------------------


def gram(vectors: Tensor) -> Tensor:
    """Inner products of heads: vectors [heads, dim] -> [heads, heads], in single precision or more under autocast too."""
    with gpu.unrounded(vectors.device):  # bfloat16's three digits of an inner product give heads other groups
        vectors = vectors.to(torch.promote_types(vectors.dtype, torch.float32))
        return vectors @ vectors.mT


@dataclass
class Watched:
    """What the last forward pass showed of the feature maps; `feed` says beforehand which tokens are real."""

    model: Any
    places: list[Site]
    reduce: Callable[[Tensor], Any]
    maps: dict[tuple[str, int], Any] = field(default_factory=dict)
    real: tuple[Tensor, Tensor] | None = None

    def feed(self, batch: Mapping[str, Any]) -> None:
        """Take the masks of the next forward pass's batch.

        `input_ids`, `attention_mask` (all real if absent), and for an encoder-decoder `labels` (-100 where padded).
        """
        if self.model.config.is_encoder_decoder and "labels" not in batch:
            raise StudyError("The batch has no labels, so that nothing says which target tokens are real: add them.")
        ids = batch["input_ids"]
        source = batch["attention_mask"].bool() if "attention_mask" in batch else torch.ones_like(ids, dtype=torch.bool)
        target = batch["labels"] != -100 if self.model.config.is_encoder_decoder else source
        self.real, self.maps = (source, target), {}

    def _fed(self) -> tuple[Tensor, Tensor]:
        if self.real is None:
            raise StudyError("Nothing says which tokens are real: call feed(batch) before the forward pass.")
        return self.real

    @property
    def grams(self) -> list[Tensor]:
        """The results of all sites in the order of `helpers.heads.families`."""
        return [self.maps[site.kind, site.layer] for site in self.places]

    def _rows(self, site: Site, hidden: Tensor, of_source: bool) -> None:
        """Keep what the map [batch, tokens, heads * head_dim] says of the heads."""
        real = self._fed()[0 if of_source else 1]
        rows = hidden[real].unflatten(-1, (site.heads, site.head_dim))  # [real tokens, heads, head_dim]
        self.maps[site.kind, site.layer] = self.reduce(rows.transpose(0, 1).flatten(1))

    def _value(self, site: Site, module: nn.Module, args: tuple, out: Tensor) -> None:
        if len(set(site.groups)) < site.heads:  # of grouped queries each gets the values that it reads
            out = out.unflatten(-1, (-1, site.head_dim))[..., list(site.groups), :].flatten(-2)
        self._rows(site, out, site.kind != "decoder")

    def _output(self, site: Site, module: nn.Module, args: tuple) -> None:
        self._rows(site, args[0], site.kind == "encoder")

    def _weights(self, site: Site, weights: Tensor) -> None:
        source, target = self._fed()
        query = source if site.kind == "encoder" else target
        key = target if site.kind == "decoder" else source
        real = query[:, :, None] & key[:, None]
        self.maps[site.kind, site.layer] = self.reduce(weights.transpose(0, 1)[:, real])


@contextmanager
def watch(
    model, which: str = "V", kinds: Sequence[str] | None = None, reduce: Callable[[Tensor], Any] = gram
) -> Iterator[Watched]:
    """See the feature maps of a forward pass: of each head one vector, over all real tokens of the batch.

    ``with watch(model, "V") as watched: watched.feed(batch); model(**inputs(batch)); watched.grams``

    Maps are "V", value vectors (of keys); "A", attention weights (query x key); "O", head outputs before the output projection
    (of queries); section 3.1. Of a layer is kept what `reduce` makes of its vectors [heads, dim].
    """
    if which not in MAPS:
        raise StudyError(f"There is no feature map {which!r}: choose from {', '.join(MAPS)}.")
    places = [site for site in sites(model, tuple(kinds) if kinds else None) if site.heads]
    watched = Watched(model, places, reduce)
    with ExitStack() as undo:
        if which == "A":
            undo.enter_context(record(model, watched._weights, kinds=tuple(kinds) if kinds else None))
        for site in places if which != "A" else ():
            module = site.projection("v" if which == "V" else "out")
            if module is None:
                raise StudyError(
                    f"{type(model).__name__} has no separate value projection, so no feature map V: choose A or O."
                )
            if which == "V":
                undo.callback(module.register_forward_hook(partial(watched._value, site)).remove)
            else:
                undo.callback(module.register_forward_pre_hook(partial(watched._output, site)).remove)
        yield watched


def stacked(tables: Sequence[Tensor]) -> Iterator[tuple[list[int], Tensor]]:
    """Tables of layers with as many heads, put together: (positions in the list, tensor [layers, heads, ...])."""
    by_size: dict[int, list[int]] = {}
    for place, table in enumerate(tables):
        by_size.setdefault(len(table), []).append(place)
    for places in by_size.values():
        yield places, torch.stack([tables[place] for place in places])


# --- Voting-to-Stay --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ballot:
    """The votes of one epoch, a tensor [heads] a layer.

    votes: batches in which a head was the best of its group; scores: sum over batches of eta, the head's cosine with the centre
    of its group; labels: groups of the whole epoch, by K-means on the vectors of all batches; voters: how many there were.
    """

    places: list[Site]
    votes: list[Tensor]
    scores: list[Tensor]
    labels: list[Tensor]
    voters: int
    groups: int


def ballot(
    model, batches: Iterable[Mapping[str, Any]], which: str = "V", groups: int = 2, kinds: Sequence[str] | None = None
) -> Ballot:
    """Let every batch vote for the heads that are closest to their hidden units (Voting-to-Stay, section 3.2, algorithm 1).

    The model is frozen: nothing is trained, no dropout. In each batch the heads are grouped anew.

    Parameters
    ----------
    batches : iterable of batches
        One epoch of training text.
    which, groups, kinds
        As in `watch` and `clusters`.

    Raises
    ------
    StudyError
        If there are no batches, or more groups than heads somewhere.
    """
    votes: list[Tensor] = []
    scores: list[Tensor] = []
    total: list[Tensor] = []
    count = 0
    with evaluating(model), torch.no_grad(), watch(model, which, kinds) as watched:
        for batch in study.progress(batches, "voting"):
            watched.feed(batch)
            model(**inputs(batch), use_cache=False)
            grams = [table.double() for table in watched.grams]
            if not count:
                votes = [torch.zeros(len(table), dtype=torch.long, device=table.device) for table in grams]
                scores, total = [torch.zeros_like(table[0]) for table in grams], [torch.zeros_like(t) for t in grams]
            for places, together in stacked(grams):
                labels = clusters(together, groups)
                eta = closeness(together, labels, groups)[0]
                for place, won, close in zip(places, _best(eta, labels, groups), eta, strict=True):
                    votes[place] += won
                    scores[place] += close
            for place, table in enumerate(grams):
                total[place] += table
            count += 1
    if not count:
        raise StudyError("There were no batches to vote on: give Voting-to-Stay at least one batch of training text.")
    labels = [clusters(table, groups) for table in total]
    return Ballot(watched.places, votes, scores, labels, count, groups)


def _best(worth: Tensor, labels: Tensor, groups: int) -> Tensor:
    """1 for the head of most worth in each group, the first of equal ones, else 0: int64 [..., heads]."""
    member = F.one_hot(labels, groups).bool()
    best = worth.unsqueeze(-1).masked_fill(~member, -torch.inf).argmax(-2)
    return F.one_hot(best, worth.shape[-1]).sum(-2)


def stay(ballot: Ballot) -> list[tuple[str, int, int]]:
    """The heads that the votes keep: (kind, layer, head) of the first of most votes in each group of the epoch."""
    kept = []
    for site, votes, labels in zip(ballot.places, ballot.votes, ballot.labels, strict=True):
        chosen = _best(votes.double(), labels, ballot.groups).nonzero()[:, 0]
        kept += [(site.kind, site.layer, head) for head in chosen.tolist()]
    return kept


# --- group-constraint training ---------------------------------------------------------------------------------------


class Grouped(nn.Module):
    """A model trained under the group constraint, as one module; with `form` None a plain model that is watched now and then.

    In training a forward pass leaves the constraint of its batch in `term`, which `objective` adds to the cross-entropy. The
    model itself is not changed.

    Parameters
    ----------
    model : transformers.PreTrainedModel
    form : str or None
        "cosine" is equation 4B (`group_loss`).
    alpha, beta : float
        Weights of homogenisation and diversification.
    which, groups
        As in `watch` and `clusters`.
    weight : float
        Of the constraint, a mean over layers (paper; the public code sums them), against cross-entropy a token. The public code
        adds it to a sum over tokens: its weight a token is layers / tokens of a batch.
    probe : batch, optional
        Text on which heads are compared at step 0, `every` and so on, up to `steps`.
    """

    def __init__(
        self, model, form: str | None = "cosine", alpha: float = 0.5, beta: float = 0.5, which: str = "V", groups: int = 2,
        weight: float = 1.0, probe: Mapping[str, Tensor] | None = None, every: int = 0, steps: int = 0,
    ) -> None:  # fmt: skip
        super().__init__()
        if form not in (None, "cosine"):
            raise StudyError(f"There is no group constraint {form!r}: choose 'cosine', or None for none.")
        self.model, self.form, self.alpha, self.beta, self.which, self.groups = model, form, alpha, beta, which, groups
        self.weight, self.every, self.probe, self.term = weight, every, probe, None
        self.places = [site for site in sites(model) if site.heads]
        for site in self.places if form else ():
            starts(site.heads, groups)
        self.register_buffer("taken", torch.zeros((), dtype=torch.long))
        self.looks = steps // every + 1 if probe is not None and every else 0
        self.shots = [f"grams_{number}" for number in range(len(self.places))] if self.looks else []
        for name, site in zip(self.shots, self.places, strict=False):
            self.register_buffer(name, torch.full((self.looks, site.heads, site.heads), torch.nan, dtype=torch.float64))

    def forward(self, **fed: Any):
        """What the model gives; in training with the constraint of the batch in `term`."""
        self.term, step = None, int(self.taken)
        check_computed_once(self.model)
        if self.training and self.shots and step % self.every == 0 and step // self.every < self.looks:
            self._look(step // self.every)
        batch = dict(fed)
        fed |= {"use_cache": False}
        labels = fed.pop("labels", None)  # without them the model spares a loss of its own
        if labels is not None and self.model.config.is_encoder_decoder and "decoder_input_ids" not in fed:
            fed["decoder_input_ids"] = self.model.prepare_decoder_input_ids_from_labels(labels=labels)
        if self.training and self.form:
            with watch(self.model, self.which) as watched:
                watched.feed(batch)
                out = self.model(**fed)
            self.term = self.weight * self._constraint(watched.grams)
        else:
            out = self.model(**fed)
        if self.training:
            self.taken += 1
        return out

    def _constraint(self, grams: list[Tensor]) -> Tensor:
        terms = 0.0
        for _, together in stacked(grams):
            terms += group_loss(together, clusters(together, self.groups), self.groups, self.alpha, self.beta)[0].sum()
        return terms / len(grams)

    def _look(self, number: int) -> None:
        with evaluating(self.model), torch.no_grad(), watch(self.model, self.which) as watched:
            watched.feed(self.probe)
            self.model(**inputs(self.probe), use_cache=False)
        for name, table in zip(self.shots, watched.grams, strict=True):
            self.get_buffer(name)[number] = table.double()

    def trace(self) -> dict[str, np.ndarray]:
        """What was watched: "grams_N" [looks, H, H] of each layer."""
        return {name: self.get_buffer(name).cpu().numpy() for name in self.shots}


def objective(grouped: Grouped, batch: Mapping[str, Any], smoothing: float) -> Tensor:
    """Label-smoothed cross-entropy (mean over target tokens) plus the group constraint (L = L_t + L_z, section 3.1)."""
    loss = cross_entropy(grouped, batch, smoothing)
    return loss if grouped.term is None else loss + grouped.term
