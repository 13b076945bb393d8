"""The rules `cp` and `attnlrp`: relevance of all heads for all targets at once, by replaying one recorded forward pass.

With weights or statistics held constant the model is a linear map of its streams, and a relevance is a derivative times
an activation: R(head at target t) = sum over positions of d logit_t / d o * o. Cotangents of all targets are pulled down
together; in the encoder, where one may as well push the tangents of heads up, both meet where that costs least.

A norm in front of a linear map is folded into the map, so that a block costs its matrix products and little else.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from helpers.heads import compat
from helpers.measures.lrp.layout import Attention, FeedForward, Found, Layout, Norm, Tape

CELLS = 1 << 21  # numbers of a feed-forward block that one chunk of targets may hold: beyond the cache it only gets slower


class _FrozenNorm:
    """A norm whose standard deviation is a constant: a linear map."""

    def __init__(self, norm: Norm, x: Tensor) -> None:
        self.weight, self.centred = norm.weight, norm.centred
        self.inverse = norm.statistics(x)[1].unsqueeze(1)  # [B, 1, n, 1]

    def pull(self, g: Tensor, rows: slice) -> Tensor:
        g = g * self.weight
        if self.centred:
            g -= g.mean(-1, keepdim=True)
        return g.mul_(self.inverse[:, :, rows])

    def push(self, x: Tensor) -> Tensor:
        if self.centred:
            x = x - x.mean(-1, keepdim=True)
        return x * self.inverse * self.weight


class Folded:
    """The weights of a block's first maps with the norm before them folded in; made once a model.

    A pre-norm block reads W (gamma (x - mean x) / std): gamma and the centring go into W, 1/std stays with the position.
    """

    def __init__(self, block: Attention | FeedForward, pre_norm: bool) -> None:
        self.block, self.pre_norm = block, pre_norm
        self.out = block.out.weight  # [d, inside]
        if isinstance(block, FeedForward):
            self.maps = [self._fold(linear.weight) for linear in block.inner]
        else:
            query, *memory = (linear.weight for linear in block.inner)
            own = block.site.kind == "cross"  # keys and values read the encoder's output as it is
            self.maps = [self._fold(query), *(weight if own else self._fold(weight) for weight in memory)]

    def _fold(self, weight: Tensor) -> Tensor:
        if not self.pre_norm:
            return weight
        weight = weight * self.block.norm.weight
        return weight - weight.mean(-1, keepdim=True) if self.block.norm.centred else weight


class _FeedForward:
    """A feed-forward block at the positions of one batch."""

    def __init__(self, block: FeedForward, folded: Folded, tape: Tape, half: bool) -> None:
        self.folded = folded
        self.norm = None if folded.pre_norm else _FrozenNorm(block.norm, tape.given[block.norm.module])
        hidden, *linear = (tape.made[inner] for inner in block.inner)
        act = block.act(hidden)
        # the activation passes relevance unchanged: as a linear map it is a factor for each number
        passed = torch.where(hidden == 0, 0, act / hidden)
        factors: list[Tensor | None] = [passed]
        if linear:  # a product: half to each factor, or all to the linear one while the gate is a constant
            factors = [0.5 * passed * linear[0], 0.5 * act] if half else [None, act]
        inverse = block.norm.statistics(tape.given[block.norm.module])[1] if folded.pre_norm else None
        self.branches = [
            ((factor if inverse is None else factor * inverse).unsqueeze(1), weight)
            for factor, weight in zip(factors, folded.maps, strict=True)
            if factor is not None
        ]
        self.cost = folded.out.numel() * (1 + len(self.branches))

    def pull(self, g: Tensor, rows: slice) -> Tensor:
        if self.norm:
            g = self.norm.pull(g, rows)
        inside = g.matmul(self.folded.out)  # before g changes
        for factor, weight in self.branches:
            last = weight is self.branches[-1][1]
            branch = inside.mul_(factor[:, :, rows]) if last else inside * factor[:, :, rows]
            g = _add_product(g, branch, weight)
        return g

    def push(self, x: Tensor) -> Tensor:
        first, *rest = (x.matmul(weight.T).mul_(factor) for factor, weight in self.branches)
        x = _add_product(x, sum(rest, first), self.folded.out.T)
        return self.norm.push(x) if self.norm else x


class _Attention:
    """An attention block at the positions of one batch; `account` keeps what the last pull `lost` inside, [B, targets]."""

    account = False
    lost: Tensor

    def __init__(self, block: Attention, folded: Folded, tape: Tape, half: bool) -> None:
        self.block, self.folded, self.tape = block, folded, tape
        site = self.site = block.site
        where = site.kind, site.layer
        self.norm = None if folded.pre_norm else _FrozenNorm(block.norm, tape.given[block.norm.module])
        inverse = block.norm.statistics(tape.given[block.norm.module])[1].unsqueeze(1) if folded.pre_norm else None
        self.query_scale, self.key_scale = inverse, None if site.kind == "cross" else inverse  # [B, 1, n, 1]
        self.output = tape.given[block.out].unsqueeze(1)  # [B, 1, n, heads * head_dim], behind the gates
        gates = tape.gates[where]
        self.gates = None if gates is None else gates.repeat_interleave(site.head_dim, -1)[:, None, None]
        self.weights = tape.weights[where].flatten(0, 1)  # [B * heads, n, m]
        self.half = half
        if half:
            q, k, v = (part.flatten(0, 1) for part in tape.heads(block))  # [B * heads, n or m, head_dim]
            constant = tape.constant(site)[:, None, None]
            # half of a head's relevance goes to its weights (not to injected ones), and half of that to queries, half to keys
            self.to_value = torch.where(constant, 1.0, 0.5).to(q)
            self.q, self.k = (t * compat.scaling(site.module) * 0.5 for t in (q, k))
            self.v = torch.where(constant, 0.0, 0.5).to(q) * v
        self.cost = folded.out.numel() * (4 if half else 2)

    @property
    def keys(self) -> int:
        return self.weights.shape[-1]

    def pull(self, g: Tensor, rows: slice, own: bool, keys: int, stop: bool = False) -> tuple[Tensor, Tensor | None, Tensor]:
        """Cotangents of the block's output [B, C, n, d] to those of its input, of its keys' stream, and to head relevance.

        Parameters
        ----------
        own : bool
            Instead of C targets at n positions each, n targets at their own position each (C = 1).
        keys : int
            How many of the keys' positions count.
        stop : bool
            Nothing below the heads is asked for.

        Returns
        -------
        query, key : tensors [B, C, n, d], [B, C or n, m, d] or None
        relevance : tensor [B, C or n, heads]
        """
        if self.norm:
            g = self.norm.pull(g, rows)
        batch, targets, queries, _ = g.shape
        heads, size = self.site.heads, self.site.head_dim
        out = g.matmul(self.folded.out)
        relevance = (out * self.output[:, :, rows]).unflatten(-1, (heads, size)).sum(-1)  # [B, C, n, heads]
        relevance = relevance[:, 0] if own else relevance.sum(2)
        if stop and not (self.half and self.site.kind == "cross"):
            return g, None, relevance
        if self.gates is not None:
            out *= self.gates
        # [B * heads, n, C, head_dim]
        out = out.view(batch, targets, queries, heads, size).permute(0, 3, 2, 1, 4).reshape(-1, queries, targets, size)
        weights, below = self.weights[:, rows, :keys], None
        if self.half:
            scores = out.flatten(1, 2).matmul(self.v[:, :keys].mT).unflatten(1, (queries, targets))  # [B * heads, n, C, m]
            scores *= weights.unsqueeze(2)
            scores -= weights.unsqueeze(2) * scores.sum(-1, keepdim=True)
            query = scores.flatten(1, 2).matmul(self.k[:, :keys]).unflatten(1, (queries, targets))
            g = self._add(g, query.transpose(1, 2), self.folded.maps[0], self.query_scale, rows)
            if not stop:
                key = self._to_keys(scores, self.q[:, rows], own, weigh=False)
                below = self._add(None, key, self.folded.maps[1], self.key_scale, slice(keys))
        if not stop:
            value = self._to_keys(weights, out, own)
            if self.half:
                value *= self.to_value.unsqueeze(-1)
            if self.account:
                arrived = {"v": (value, slice(keys))}
                if self.half:
                    arrived |= {"k": (key, slice(keys)), "q": (query.transpose(1, 2), rows)}
                self.lost = relevance.sum(-1) - self._arrived(arrived, own)
            below = self._add(below, value, self.folded.maps[2], self.key_scale, slice(keys))
        return g, below, relevance

    def _arrived(self, cotangents: dict[str, tuple[Tensor, slice]], own: bool) -> Tensor:
        """Relevance of queries, keys and values: [B, targets]."""
        parts, found = dict(zip("qkv", self.tape.heads(self.block), strict=True)), []
        for which, (cotangent, rows) in cotangents.items():
            x = parts[which].flatten(0, 1)[:, None, rows]
            sums = (cotangent * x).sum((1, 3) if own and which == "q" else (2, 3))
            found.append(sums.unflatten(0, (len(self.output), self.site.heads)).sum(1))
        return sum(found[1:], found[0])

    def _to_keys(self, weights: Tensor, rows: Tensor, own: bool, weigh: bool = True) -> Tensor:
        """Sum over queries, or not where each query is a target of its own: [B * heads, C, m, head_dim]."""
        if own:  # [B*H, n, (1,) m] and [B*H, n, (1,) head_dim]
            weights, rows = (weights, rows.squeeze(2)) if weigh else (weights.squeeze(2), rows)
            return weights.unsqueeze(-1) * rows.unsqueeze(2)
        if weigh:  # the same weights for every target
            summed = weights.mT.matmul(rows.flatten(2)).unflatten(2, rows.shape[2:])  # [B*H, m, C, head_dim]
            return summed.transpose(1, 2)
        targets = weights.shape[2]
        return weights.permute(0, 2, 3, 1).flatten(1, 2).matmul(rows).unflatten(1, (targets, -1))

    def _add(self, stream: Tensor | None, heads: Tensor, weight: Tensor, scale: Tensor | None, rows: slice) -> Tensor:
        """Heads [B * heads, C, n, head_dim] through a projection onto a stream [B, C, n, d]."""
        joined = heads.unflatten(0, (len(self.output), self.site.heads)).permute(0, 2, 3, 1, 4).flatten(-2)
        if scale is not None:
            joined = joined * scale[:, :, rows]
        return joined.matmul(weight) if stream is None else _add_product(stream, joined, weight)

    def push(self, x: Tensor) -> Tensor:
        """Tangents [B, K, n, d] of the block's input to those of its output, and after them the block's own heads."""
        heads, size = self.site.heads, self.site.head_dim
        parts = [] if heads else [x]  # without heads a layer adds a constant
        if heads and x.shape[1]:
            value = self._split(x, 2)  # [B * heads, n, K * head_dim]
            if self.half:
                value = value * self.to_value
            out = self.weights.matmul(value).unflatten(-1, (-1, size))  # [B * heads, n, K, head_dim]
            if self.half:
                query, key = (self._split(x, which).unflatten(-1, (-1, size)) for which in (0, 1))
                scores = query.flatten(1, 2).matmul(self.k.mT).unflatten(1, query.shape[1:3])  # [B*H, n, K, m]
                scores += self.q.matmul(key.flatten(1, 2).mT).unflatten(-1, key.shape[1:3]).transpose(2, 3)
                scores *= self.weights.unsqueeze(2)
                scores -= self.weights.unsqueeze(2) * scores.sum(-1, keepdim=True)
                out += scores.flatten(1, 2).matmul(self.v).unflatten(1, scores.shape[1:3])
            joined = out.unflatten(0, (-1, heads)).permute(0, 3, 2, 1, 4).flatten(-2)  # [B, K, n, heads * head_dim]
            if self.gates is not None:
                joined = joined * self.gates
            parts.append(_add_product(x, joined, self.folded.out.T))
        heads_out = self.output.squeeze(1).unflatten(-1, (heads, size)).transpose(1, 2)  # [B, heads, n, head_dim]
        parts.append(heads_out.matmul(self.folded.out.T.view(heads, size, len(self.folded.out))))
        x = torch.cat(parts, 1)
        return self.norm.push(x) if self.norm else x

    def _split(self, x: Tensor, which: int) -> Tensor:
        projected = x.matmul(self.folded.maps[which].T)
        if self.key_scale is not None:
            projected *= self.key_scale
        return projected.unflatten(-1, (self.site.heads, -1)).permute(0, 3, 2, 1, 4).flatten(0, 1).flatten(-2)


def _add_product(stream: Tensor, inside: Tensor, weight: Tensor) -> Tensor:
    """stream + inside @ weight, in place where the stream's layout allows it."""
    if not stream.is_contiguous():
        return stream + inside.matmul(weight)
    stream.view(-1, stream.shape[-1]).addmm_(inside.flatten(0, -2), weight)
    return stream


# --- a batch -----------------------------------------------------------------------------------------------------------


class Replay:
    """All targets of one batch under one of the two rules.

    Parameters
    ----------
    plan : Layout
    folded : dict of block -> Folded
        Made once for a model.
    tape : Tape
        One forward pass.
    rule : str
        ``cp`` or ``attnlrp``.
    kinds : collection of str
        Kinds of attention that are asked for; without ``encoder`` nothing goes below the encoder's output.
    targets : int
        How many targets a sentence has, at most: it decides where the encoder is cut.
    full : bool
        Go on to the bottom of both stacks, and say what arrives there and what is lost inside attention.
    """

    def __init__(
        self, plan: Layout, folded: dict, tape: Tape, rule: str, kinds: tuple[str, ...], targets: int, full: bool = False
    ) -> None:
        self.plan, self.tape, self.full = plan, tape, full
        self.parts: dict[str, list[_FeedForward | _Attention]] = {}
        self.final: dict[str, _FrozenNorm | None] = {}
        for side, stack in (("encoder", plan.encoder), ("decoder", plan.decoder)):
            if stack is not None and (side == "decoder" or "encoder" in kinds):
                self.parts[side] = [_part(folded[block], tape, rule == "attnlrp") for block in stack.blocks]
                final = stack.final
                self.final[side] = None if final is None else _FrozenNorm(final, tape.given[final.module])
        for attention in self._attentions():
            attention.account = full
        if "encoder" in self.parts:
            self.cut = 0 if full else best_cut(self.parts["encoder"], targets)
            self.tangents = self._bottom("encoder")[:, :0]  # of no head yet
            for part in self.parts["encoder"][: self.cut]:
                self.tangents = part.push(self.tangents)

    def chunk(self, first: int, last: int) -> Found:
        """Head relevance of targets first to last - 1: {(kind, layer): [B, targets, heads]}.

        With `full` also "target" and "source", what arrives at the first layers' inputs, and "attention", what is lost
        between a head's output and its queries, keys and values, summed over all heads: [B, targets] each.
        """
        heads: Found = {}
        rows = slice(first, last)
        g = self.plan.head.weight[self.tape.top[:, rows]].unsqueeze(1) * self.plan.head_scale  # [B, 1, targets, d]
        if self.plan.project is not None:
            g = g.matmul(self.plan.project.weight)
        if final := self.final["decoder"]:
            g = final.pull(g, rows)
        own, memory = True, None  # until self-attention spreads it, a target's relevance is at its own position
        parts = self.parts["decoder"]
        lowest = None if self.full else _lowest(parts)
        for part in reversed(parts):
            if isinstance(part, _FeedForward):
                g = part.pull(g, rows)
                continue
            cross = part.site.kind == "cross"
            stop = part is lowest or (cross and "encoder" not in self.parts)
            keys = part.keys if cross else last
            g, below, heads[part.site.kind, part.site.layer] = part.pull(g, rows, own, keys, stop)
            if part is lowest:
                break
            if below is None:  # nobody asks for the encoder
                continue
            if cross:
                memory = below if memory is None else memory.add_(below)
            elif own:
                at = torch.arange(last - first, device=g.device)
                below[:, at, first + at] += g[:, 0]
                own, rows, g = False, slice(last), below
            else:
                g = g.add_(below)
        if self.full:
            heads["target"] = (g * self._bottom("decoder")[:, :, rows]).sum((2, 3))
        if memory is not None:
            self._encoder(memory, heads)
        if self.full:
            top, *rest = (part.lost for part in self._attentions())
            heads["attention"] = sum(rest, top)
        return heads

    def _attentions(self) -> Iterator[_Attention]:
        return (part for parts in self.parts.values() for part in parts if isinstance(part, _Attention))

    def _bottom(self, side: str) -> Tensor:
        """The stream that enters the first layer of a side: [B, 1, n, d]."""
        stack = getattr(self.plan, side)
        first = stack.blocks[0]
        return self.tape.given[first.norm.module if stack.pre_norm else first.inner[0]].unsqueeze(1)

    def _encoder(self, g: Tensor, heads: Found) -> None:
        """Relevance of encoder heads from cotangents of the encoder's output [B, C, m, d]."""
        parts, everywhere = self.parts["encoder"], slice(None)
        if final := self.final["encoder"]:
            g = final.pull(g, everywhere)
        lowest = None if self.cut or self.full else _lowest(parts)
        for part in reversed(parts[self.cut :]):
            if isinstance(part, _FeedForward):
                g = part.pull(g, everywhere)
                continue
            g, below, heads["encoder", part.site.layer] = part.pull(g, everywhere, False, part.keys, part is lowest)
            if below is None:  # these heads are the lowest
                return
            g = g.add_(below)
        if self.full:
            heads["source"] = (g * self._bottom("encoder")).sum((2, 3))
        if self.cut:
            met = g.flatten(2).matmul(self.tangents.flatten(2).mT)  # [B, C, heads below the cut]
            sites = [part.site for part in parts[: self.cut] if isinstance(part, _Attention)]
            for site, relevance in zip(sites, met.split([site.heads for site in sites], -1), strict=True):
                heads["encoder", site.layer] = relevance


def _part(folded: Folded, tape: Tape, half: bool) -> _FeedForward | _Attention:
    block = folded.block
    if isinstance(block, Attention):
        return _Attention(block, folded, tape, half)
    return _FeedForward(block, folded, tape, half)


def _lowest(parts: list) -> _Attention:
    return next(part for part in parts if isinstance(part, _Attention))


def best_cut(parts: list, targets: int) -> int:
    """How many blocks of the encoder, from the bottom, heads are pushed through; the targets are pulled through the rest."""
    costs = []
    for cut in range(len(parts) + 1):
        pulled = targets * sum(part.cost for part in parts[cut:])
        pushed = heads = 0
        for part in parts[:cut]:
            pushed += heads * part.cost
            heads += part.site.heads if isinstance(part, _Attention) else 0
        costs.append(pulled + pushed)
    return costs.index(min(costs))
