"""From many key-value heads to few: heads of a group share the keys and values of one (grouped queries, Ainslie et al. 2023).

Which heads share, and what they share, is chosen here: neighbours, heads drawn at random, or the hidden units of Ni et al.
(section 3.1) in groups of equal size; the mean of their projections, or those of the head with most votes (section 3.2). A
head's key and value projections are given in a basis that is the head's own affair: before a mean is taken they can be turned
into one basis, which changes nothing of what the model computes (`aligned`; Jin et al. 2024, arXiv 2412.20677).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from helpers import study
from helpers.heads import sites
from helpers.heads.families import Site
from helpers.measures.reducers import evaluating
from helpers.methods.grouping import units
from helpers.models import inputs
from helpers.study import StudyError

ROUNDS = 5  # of aligning the members of a group to their mean
TURNED = ("llama", "mistral")  # types of models whose keys and values nothing but their projections makes


@dataclass(frozen=True)
class Seen:
    """What key and value projections read on a text, layer by layer.

    Attributes
    ----------
    inputs : float64 tensor [layers, width, width]
        Second moments of the vectors that they read: sums over real tokens.
    grams : float64 tensor [batches, layers, heads, heads]
        Inner products of the key-value heads' value vectors in each batch.
    """

    inputs: Tensor
    grams: Tensor


def places(model) -> list[Site]:
    """The attention of a decoder whose key-value heads can be shared, layer by layer.

    Raises
    ------
    StudyError
        If keys and values have no projections of their own, the configuration cannot say how many there are, or heads were
        removed.
    """
    found = sites(model, "decoder")
    plain = all(site.projection(part) is not None for site in found for part in "qkv")
    if model.config.is_encoder_decoder or not plain or not hasattr(model.config, "num_key_value_heads"):
        raise StudyError(
            f"Key-value heads of {type(model).__name__} cannot be shared: give a decoder whose configuration says how many "
            "there are and whose queries, keys and values have projections of their own, such as a Llama."
        )
    if hasattr(model.config, "kept_heads"):
        raise StudyError("Heads were removed from this model: let heads share keys and values first, and remove afterwards.")
    return found


def seen(model, batches: Iterable[Mapping[str, Any]], label: str = "reading") -> Seen:
    """What the key-value heads of a decoder see and give on a text.

    Raises
    ------
    StudyError
        If there are no batches; or as `places`.
    """
    found, real, read = places(model), torch.empty(0), []
    total = [torch.zeros(model.config.hidden_size, model.config.hidden_size, dtype=torch.float64) for _ in found]
    weights = [site.projection("v").weight.detach().double().cpu() for site in found]  # type: ignore[union-attr]
    grams = []

    def keep(module, args: tuple) -> None:
        rows = args[0][real].double()
        read.append((rows.mT @ rows).cpu())

    hooks = [site.projection("v").register_forward_pre_hook(keep) for site in found]  # type: ignore[union-attr]
    try:
        with evaluating(model), torch.no_grad():
            for batch in study.progress(batches, label):
                real, read = batch.get("attention_mask", torch.ones_like(batch["input_ids"])).bool(), []
                model(**inputs(batch), use_cache=False)
                total = [before + now for before, now in zip(total, read, strict=True)]
                grams.append(torch.stack([_gram(w, now, s.head_dim) for w, now, s in zip(weights, read, found, strict=True)]))
    finally:
        for hook in hooks:
            hook.remove()
    if not grams:
        raise StudyError("There were no batches to look at: give at least one batch of text.")
    return Seen(torch.stack(total), torch.stack(grams))


def _gram(weight: Tensor, moments: Tensor, size: int) -> Tensor:
    """Inner products of heads' vectors over all tokens, from the second moments of what their projection reads."""
    heads = weight.unflatten(0, (-1, size))
    return torch.einsum("hij,jk,gik->hg", heads, moments, heads)


# --- which heads share -----------------------------------------------------------------------------------------------


def neighbours(layers: int, heads: int, groups: int) -> Tensor:
    """Groups of heads that stand side by side: int64 [layers, heads] (Ainslie et al. 2023).

    Raises
    ------
    StudyError
        If the heads cannot be split into groups of one size.
    """
    if not 0 < groups <= heads or heads % groups:
        raise StudyError(f"{heads} key-value heads cannot be split into {groups} groups of one size: choose a divisor.")
    return (torch.arange(heads) // (heads // groups)).repeat(layers, 1)


def drawn(layers: int, heads: int, groups: int, draw: int) -> Tensor:
    """Groups of equal size at random, drawn anew in each layer: int64 [layers, heads].

    Raises
    ------
    StudyError
        As `neighbours`.
    """
    rng, labels = np.random.default_rng(draw), neighbours(layers, heads, groups).numpy()
    return torch.from_numpy(rng.permuted(labels, axis=1))


def alike(grams: Tensor, groups: int, tries: int = 10) -> Tensor:
    """Groups of equal size of heads that are alike: K-means as of hidden units (equation 3), with room for as many in each.

    Heads are assigned to centres at least cost in all; of several starts the groups of least distance are taken.

    Parameters
    ----------
    grams : tensor [layers, heads, heads]
        Inner products of the heads' vectors.

    Returns
    -------
    int64 tensor [layers, heads]

    Raises
    ------
    StudyError
        As `neighbours`.
    """
    first = neighbours(len(grams), grams.shape[-1], groups)
    return torch.stack(
        [_alike(gram.double().numpy(), labels.numpy(), groups, tries) for gram, labels in zip(grams, first, strict=True)]
    )


def _alike(gram: np.ndarray, first: np.ndarray, groups: int, tries: int) -> Tensor:
    best, least = first, np.inf
    for attempt in range(tries):
        labels = first if not attempt else np.random.default_rng(attempt).permutation(first)
        for _ in range(units.ROUNDS):
            far = _distances(gram, labels, groups)
            slots = np.repeat(np.arange(groups), len(gram) // groups)
            now = slots[linear_sum_assignment(far[:, slots])[1]]
            if np.array_equal(now, labels):
                break
            labels = now
        cost = _distances(gram, labels, groups)[np.arange(len(gram)), labels].sum()
        if cost < least - 1e-9 * abs(gram).max():
            best, least = labels, cost
    order = {group: number for number, group in enumerate(dict.fromkeys(best.tolist()))}
    return torch.tensor([order[group] for group in best.tolist()])


def _distances(gram: np.ndarray, labels: np.ndarray, groups: int) -> np.ndarray:
    """Squared distances of heads to the centres of groups [heads, groups]."""
    share = np.eye(groups)[labels] / np.bincount(labels, minlength=groups)
    inner = gram @ share
    return np.diag(gram)[:, None] - 2 * inner + (share * inner).sum(0)


def winners(grams: Tensor, labels: Tensor) -> Tensor:
    """The head of each group that is nearest to the group's centre in most batches (Voting-to-Stay): int64 [layers, groups].

    Parameters
    ----------
    grams : tensor [batches, layers, heads, heads]
    labels : int64 tensor [layers, heads]
    """
    groups = int(labels.max()) + 1
    eta = units.closeness(grams, labels.expand(*grams.shape[:-1]), groups)[0]
    member = torch.nn.functional.one_hot(labels, groups).bool()  # [layers, heads, groups]
    best = eta.unsqueeze(-1).masked_fill(~member, -torch.inf).argmax(-2)  # [batches, layers, groups]
    votes = torch.nn.functional.one_hot(best, grams.shape[-1]).sum(0)
    return votes.argmax(-1)


# --- sharing ---------------------------------------------------------------------------------------------------------


def shared(model, labels: Tensor, winner: Tensor | None = None):
    """A copy of a decoder in which heads of a group share one key-value head; query heads of a group stand side by side.

    Parameters
    ----------
    labels : int64 tensor [layers, heads]
        Group of each key-value head, from 0, all of one size; query heads go with the one they read.
    winner : int64 tensor [layers, groups], optional
        The head whose projections each group takes; the mean of its members' otherwise (Ainslie et al. 2023, section 2.1).

    Returns
    -------
    transformers.PreTrainedModel
        Of the same class, in evaluation mode: its configuration has fewer key-value heads and nothing else that is new.

    Raises
    ------
    StudyError
        If groups differ in size; or as `places`.
    """
    found, groups = places(model), int(labels.max()) + 1
    if not all(torch.equal(row.sort().values, neighbours(1, len(row), groups)[0]) for row in labels):
        raise StudyError("Groups must be of one size, so that every key-value head is read by as many query heads.")
    config, state = copy.deepcopy(model.config), dict(model.state_dict())
    config.num_key_value_heads = groups
    for layer, site in enumerate(found):
        order = labels[layer].argsort(stable=True).to(model.device)
        picked = None if winner is None else winner[layer].to(model.device)
        for part, name in (("q", site.q), ("k", site.k), ("v", site.v)):
            for kind in ("weight", "bias"):
                if (key := f"{site.name}.{name}.{kind}") in state:
                    heads = state[key].unflatten(0, (len(order), -1))
                    if part != "q":
                        heads = heads[order].unflatten(0, (groups, -1)).mean(1) if picked is None else heads[picked]
                    state[key] = (heads[order] if part == "q" else heads).flatten(0, 1)
        out = state[f"{site.out_name}.weight"]
        state[f"{site.out_name}.weight"] = out.unflatten(1, (len(order), -1))[:, order].flatten(1)
    made = type(model)(config).to(model.device, model.dtype)
    made.load_state_dict(state)
    return made.eval()


def likeness(model, moments: Tensor) -> Tensor:
    """Inner products of heads' value vectors once each pair is turned together as well as can be: [layers, heads, heads].

    The largest inner product over all rotations is the nuclear norm of the two heads' products (orthogonal Procrustes).

    Parameters
    ----------
    moments : tensor [layers, width, width]
        `Seen.inputs`.

    Raises
    ------
    StudyError
        As `places`.
    """
    found = []
    for site, moment in zip(places(model), moments, strict=True):
        heads = site.projection("v").weight.detach().double().cpu().unflatten(0, (-1, site.head_dim))  # type: ignore[union-attr]
        products = torch.einsum("hij,jk,glk->hgil", heads, moment, heads)
        found.append(torch.linalg.matrix_norm(products, "nuc"))
    return torch.stack(found)


def aligned(model, labels: Tensor, moments: Tensor):
    """A copy of a decoder that computes the same, heads of each group turned into the basis of their mean.

    Values of a head are turned by the rotation that brings them nearest to the group's mean (orthogonal Procrustes), its part
    of the output projection back. Keys and queries are turned together, by an angle for each pair of numbers that rotary
    positions turn. Both for the vectors that the text of `moments` gives, in rounds, since the mean itself turns.

    Parameters
    ----------
    labels : int64 tensor [layers, heads]
        Group of each head.
    moments : tensor [layers, width, width]
        `Seen.inputs`.

    Raises
    ------
    StudyError
        If more than projections and rotary positions makes keys and values; if heads share keys and values already; or as
        `places`.
    """
    found = places(model)
    if model.config.model_type not in TURNED or any(site.projection("k").bias is not None for site in found):  # type: ignore[union-attr]
        raise StudyError(f"Keys and values of {type(model).__name__} cannot be turned: they have biases or norms of their own.")
    if any(len(set(site.groups)) < site.heads for site in found):
        raise StudyError("Heads that share keys and values cannot be turned each by itself: align a model where none share.")
    made = copy.deepcopy(model)
    for site, row, moment in zip(places(made), labels, moments, strict=True):
        parts = {part: site.projection(part).weight for part in ("q", "k", "v", "out")}  # type: ignore[union-attr]
        q, k, v = (parts[part].detach().double().cpu().unflatten(0, (site.heads, -1)) for part in "qkv")
        out = parts["out"].detach().double().cpu().unflatten(1, (site.heads, -1))
        for group in row.unique():
            own = (row == group).nonzero()[:, 0]
            turn = _turns(v[own], moment)
            v[own] = turn.mT @ v[own]
            out[:, own] = torch.einsum("dhi,hij->dhj", out[:, own], turn)
            turn = _turns(_pairs(k[own]), moment)
            q[own], k[own] = (_unpaired(turn.mH @ _pairs(heads[own])) for heads in (q, k))
        with torch.no_grad():
            for part, new in (("q", q.flatten(0, 1)), ("k", k.flatten(0, 1)), ("v", v.flatten(0, 1)), ("out", out.flatten(1))):
                parts[part].copy_(new)
    return made


def _turns(heads: Tensor, moment: Tensor) -> Tensor:
    """Rotations [heads, ..., size, size], T, of which T.mH @ heads, [heads, ..., size, width], come together."""
    mean, moment = heads[0], moment.to(heads.dtype)
    for _ in range(ROUNDS):
        left, _, right = torch.linalg.svd(heads @ moment @ mean.mH)
        turn = left @ right
        mean = (turn.mH @ heads).mean(0)
    return turn


def _pairs(heads: Tensor) -> Tensor:
    """Numbers that rotary positions turn together (the i-th of both halves) as complex ones: [heads, pairs, 1, width]."""
    return torch.complex(*heads.chunk(2, 1)).unsqueeze(2)


def _unpaired(heads: Tensor) -> Tensor:
    return torch.cat([heads.real, heads.imag], 1).squeeze(2)
