"""Gradient importance (Michel et al. 2019, section 4.1) by definition: one unpadded sentence at a time, no backward pass.

A derivative is the difference of two losses, with one head's output a little larger and a little smaller.
"""

import math
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass

import torch

from helpers.heads.families import sites

STEP = 1e-6  # so small that hardly a unit's kink lies within


@dataclass
class Sentence:
    """What the model reads, without padding, and {row of the logits: token that it is to predict}."""

    inputs: dict[str, torch.Tensor]
    predicts: dict[int, int]


def read(model, batches) -> list[Sentence]:
    """Every sentence of the batches that has something to predict."""
    found = []
    for batch in batches:
        for row in range(len(batch["input_ids"])):
            length = batch["input_ids"].shape[1]
            real = [i for i in range(length) if "attention_mask" not in batch or batch["attention_mask"][row, i] == 1]
            source, labels = batch["input_ids"][row].tolist(), batch["labels"][row].tolist()
            inputs = {"input_ids": [source[i] for i in real]}
            if model.config.is_encoder_decoder:
                target = [token for token in labels if token != -100]
                predicts = dict(enumerate(target))
                if target:
                    fed = model.prepare_decoder_input_ids_from_labels(torch.tensor([target]))
                    inputs["decoder_input_ids"] = fed[0].tolist()
            else:
                known, ahead = [labels[i] for i in real], int(sites(model)[0].kind == "decoder")  # BERT predicts in place
                predicts = {t - ahead: known[t] for t in range(ahead, len(known)) if known[t] != -100}
            if predicts:
                found.append(Sentence({name: torch.tensor([ids]) for name, ids in inputs.items()}, predicts))
    return found


def losses(model, sentence: Sentence, changes: Iterable[tuple]) -> list[float]:
    """Loss of a sentence as it is, then for each change ((kind, layer, head), position or None for all, factor of the output).

    A loss is minus the log-probability of all that is to be predicted. Each is a row of one batch through the whole model.
    """
    changes, hooks = list(changes), []
    for site in sites(model):
        chosen = [one for one in enumerate(changes, 1) if one[1][0][:2] == (site.kind, site.layer)]

        def scale(module, args, site=site, chosen=chosen):
            hidden = args[0].clone()
            for row, ((_, _, head), position, factor) in chosen:
                where = slice(None) if position is None else position
                hidden[row, where, head * site.head_dim : (head + 1) * site.head_dim] *= factor
            return (hidden,)

        hooks.append(site.projection("out").register_forward_pre_hook(scale))
    inputs = {name: values.repeat(1 + len(changes), 1) for name, values in sentence.inputs.items()}
    with torch.no_grad():
        found = model(**inputs, use_cache=False).logits.double().log_softmax(-1)
    for hook in hooks:
        hook.remove()
    return [-sum(float(one[row, token]) for row, token in sentence.predicts.items()) for one in found]


def leave_one_out(model, batches, heads: Iterable[tuple]) -> dict:
    """{(kind, layer, head): how much the loss rises when the head's output is 0, a predicted token}."""
    heads, sentences = list(heads), read(model, batches)
    rows = [losses(model, sentence, [(address, None, 0.0) for address in heads]) for sentence in sentences]
    tokens = sum(len(sentence.predicts) for sentence in sentences)
    return {address: sum(row[i] - row[0] for row in rows) / tokens for i, address in enumerate(heads, 1)}


def importance(model, batches, per: str, heads: Iterable[tuple], gates: Mapping[tuple, float] | None = None) -> dict:
    """{(kind, layer, head): importance}, not normalised, of a model in float64 whose heads' outputs have factors `gates`."""
    model = deepcopy(model).eval()
    for address, factor in (gates or {}).items():
        columns(model, address).mul_(factor)
    sentences = read(model, batches)
    heads = list(heads)
    values = {address: [] for address in heads}
    for sentence in sentences:
        places = [(a, t) for a in heads for t in ([None] if per == "example" else _positions(sentence, a[0]))]
        for (address, _), slope in zip(places, _slopes(model, sentence, places), strict=True):
            values[address].append(abs(slope))
    return {address: sum(slopes) / len(slopes) for address, slopes in values.items()}


def patching(model, batches, heads: Iterable[tuple]) -> dict:
    """{(kind, layer, head): minus the slope of the loss of all sentences in the head's gate, a predicted token}."""
    heads, sentences = list(heads), read(model, batches)
    rows = [_slopes(model, sentence, [(address, None) for address in heads]) for sentence in sentences]
    tokens = sum(len(sentence.predicts) for sentence in sentences)
    return {address: -sum(row[i] for row in rows) / tokens for i, address in enumerate(heads)}


def layer_norm(values: Mapping[tuple, float]) -> dict:
    """Every value divided by the root of the summed squares of its layer, which `values` must hold whole."""
    found = {}
    for kind, layer, head in values:
        size = math.sqrt(sum(value**2 for (k, l, _), value in values.items() if (k, l) == (kind, layer)))
        found[kind, layer, head] = values[kind, layer, head] / size if size else 0.0
    return found


def _positions(sentence: Sentence, kind: str) -> list[int]:
    """Query positions that count: every source token; in the decoder and its cross-attention those that predict something."""
    return list(range(sentence.inputs["input_ids"].shape[1])) if kind == "encoder" else sorted(sentence.predicts)


def _slopes(model, sentence: Sentence, places: list[tuple]) -> list[float]:
    """Derivatives of the loss in a factor of a head's output, each at one position or (None) at all of them."""
    ends = losses(model, sentence, [(*place, factor) for factor in (1 + STEP, 1 - STEP) for place in places])[1:]
    return [(more - less) / (2 * STEP) for more, less in zip(ends[: len(places)], ends[len(places) :], strict=True)]


def columns(model, address: tuple) -> torch.Tensor:
    """The weights of the output projection that read one head, to be written in place."""
    kind, layer, head = address
    site = next(s for s in sites(model) if (s.kind, s.layer) == (kind, layer))
    weight = site.projection("out").weight.data
    if isinstance(site.projection("out"), torch.nn.Linear):
        weight = weight.T  # GPT-2 stores the transpose
    return weight[head * site.head_dim : (head + 1) * site.head_dim]
