"""Remove heads for good: rows of the q, k and v projections and columns of the output projection, physically.

A removed head computes what a gate of 0 makes of it, nothing, and costs nothing. Layers become ragged; one that loses
all heads adds the bias of its output projection only. Of grouped queries any one can go: those that are left read the keys
and values that they read before, which go when nothing reads them any longer. Which heads are left, in the numbering of
the model before the first cut, stands in ``model.config.kept_heads``, so that copies and saved folders carry it.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
import transformers
from accelerate import init_empty_weights
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import GenerationConfig, PreTrainedConfig, PreTrainedModel
from transformers.initialization import no_init_weights

from helpers.heads import compat, fewer_heads
from helpers.heads.attention import Watch
from helpers.heads.families import ADDRESS, addresses, locate, paths, sites
from helpers.heads.gates import Gate, open_hooks
from helpers.study import StudyError

REMOVABLE = (  # model types: those of `sites`
    "bart", "bert", "gemma2", "gemma3_text", "gpt2", "gpt_neox", "llama", "marian", "mbart", "mistral", "opt", "pegasus",
    "phi3", "qwen2", "qwen3", "roberta", "t5",
)  # fmt: skip
CONFIG, WEIGHTS, CODE = "config.json", "model.safetensors", Path(fewer_heads.__file__)


# -------------------- remove


def remove(model: PreTrainedModel, heads: Iterable[tuple[str, int, int]]) -> PreTrainedModel:
    """Cut heads out of a model, in place (Voita et al. 2019, section 6.1: heads whose gate closed).

    Logits, gradients of what is left, and generated text are those of `gate` with 0, to rounding. Parameters of cut
    projections are new objects: build the optimiser afterwards.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Of a family that `sites` knows, with any task head.
    heads : iterable of (kind, layer, head)
        Addresses in the numbering of the model as it is now, which `sites` shows; `kept` tells the original numbers.

    Returns
    -------
    transformers.PreTrainedModel
        The same model.

    Raises
    ------
    StudyError
        Before anything is cut: for another family, an unknown or repeated address, a projection that is no plain
        linear layer, or a model inside an open block of `gate`, `record` or `inject`.
    """
    named_heads = addresses(heads)
    twice = [address for address, times in Counter(named_heads).items() if times > 1]
    if twice:
        raise StudyError(f"head {twice[0]} is to be removed twice: name each head once.")
    left, chosen = kept(model), locate(model, dict.fromkeys(named_heads))
    for site, removed in chosen:
        if None in removed:
            raise StudyError(f"{(site.kind, site.layer)} names a whole layer: name each of its heads, {ADDRESS}.")
        projections = [*fewer_heads.projections(site.module).values(), site.projection("out")]
        if len(projections) < 2 or not all(map(compat.plain_map, projections)):
            raise StudyError(f"the projections of {site.name} are not plain linear layers: merge or unwrap them first.")
    if chosen and model.config.model_type == "phi3" and compat.rotary_share(model.config) != 1:
        raise StudyError(
            "Heads cannot be removed from a Phi-3 whose positions turn a part of each head alone (partial_rotary_factor)."
        )
    for site in sites(model) if chosen else ():
        if any([open_hooks(site.projection("out"), Gate), open_hooks(site.module, Watch)]):
            raise StudyError("heads cannot be removed inside an open block of gate, record or inject: leave it first.")
    for site, removed in chosen:
        stay = [head for head in range(site.heads) if head not in removed]
        left[site.kind, site.layer] = [left[site.kind, site.layer][head] for head in stay]
        fewer_heads.cut(site.module, site.projection("out"), stay)
    if chosen:
        model.config.kept_heads = {f"{kind}.{layer}": numbers for (kind, layer), numbers in left.items()}
    return model


def kept(model: PreTrainedModel) -> dict[tuple[str, int], list[int]]:
    """Original numbers of the heads that each attention module has left.

    Returns
    -------
    dict
        ``{(kind, layer): [head, ...]}`` for every site in the order of `sites`: head i of the model as it is now was
        number ``[i]`` before the first cut. All heads of a model that was never cut.

    Raises
    ------
    StudyError
        If the map in the model's config does not fit its weights; or as `sites`.
    """
    places = sites(model)
    stored = getattr(model.config, "kept_heads", None)
    if stored is None:
        return {(site.kind, site.layer): list(range(site.heads)) for site in places}
    left = _read_map(stored, {(site.kind, site.layer): None for site in places})
    for site in places:
        if len(left[site.kind, site.layer]) != site.heads:
            raise StudyError(
                f"the map kept_heads has {len(left[site.kind, site.layer])} heads for {site.kind} layer {site.layer}, the"
                f" weights have {site.heads}: take the config that belongs to them."
            )
    return left


# -------------------- save and load


def save(model: PreTrainedModel, folder: str | Path, dtype: torch.dtype | None = None) -> None:
    """Write config (with the map of kept heads), weights and generation settings, whole or not at all.

    Other files that are in the folder already, such as a tokenizer's, stay. Transformers read the folder without this
    project: a whole model as they wrote it, one with fewer heads by an automatic class's
    ``from_pretrained(folder, trust_remote_code=True)``, which runs the file `helpers.heads.fewer_heads` that is written beside
    the weights.

    Parameters
    ----------
    dtype : torch.dtype, optional
        Number type of the file, such as ``torch.float16``; the model's own by default. The model itself stays as it is.

    Raises
    ------
    StudyError
        If the folder is a file, or holds something but no saved model; if a weight is too large for the number type; for
        another family than `remove` takes; if the model holds other tensors than its class in transformers, as one with
        adapters or masks does; or as `kept`.
    """
    kept(model)
    _check_tensors(model)
    config = _written(model)
    tensors = {name: _cast(name, tensor.detach().cpu(), dtype).contiguous() for name, tensor in _tensors(model).items()}
    folder = Path(folder).resolve()
    saved = (folder / CONFIG).exists() and (folder / WEIGHTS).exists()
    if folder.exists() and not saved and not (folder.is_dir() and not any(folder.iterdir())):
        raise StudyError(f"{folder} exists and holds no saved model: choose another folder or empty it.")
    scratch, old = (folder.with_name(f".{folder.name}.{os.getpid()}.{what}") for what in ("new", "old"))
    try:
        if folder.exists():
            shutil.copytree(folder, scratch, ignore=shutil.ignore_patterns(WEIGHTS))
        scratch.mkdir(parents=True, exist_ok=True)
        config.dtype = str(dtype or model.dtype).removeprefix("torch.")
        config.save_pretrained(scratch)
        (scratch / CODE.name).unlink(missing_ok=True)
        if hasattr(config, "auto_map"):
            shutil.copyfile(CODE, scratch / CODE.name)
        if model.can_generate():
            model.generation_config.save_pretrained(scratch)
        save_file(tensors, scratch / WEIGHTS, metadata={"format": "pt"})
        if folder.exists():
            folder.rename(old)
        scratch.rename(folder)
    finally:
        if old.exists() and not folder.exists():
            old.rename(folder)
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _class(model: PreTrainedModel) -> type[PreTrainedModel]:
    """The class of transformers that a model is of, itself or by inheritance."""
    return next(one for one in type(model).__mro__ if getattr(transformers, one.__name__, None) is one)  # type: ignore[return-value]


def _check_tensors(model: PreTrainedModel) -> None:
    """Refuse to write what `load` would not read."""
    with torch.device("meta"):
        plain = _class(model)(copy.deepcopy(model.config))
    names = {*model.state_dict()} ^ {*plain.state_dict()}
    if names:
        raise StudyError(
            f"This {type(model).__name__} holds other tensors than {type(plain).__name__} of transformers"
            f" ({min(names)}): merge or unwrap what was added to it (adapters, masks, quantisation) before it is saved."
        )
    away = [name for name, tensor in model.state_dict().items() if tensor.device.type == "meta"]
    if away:
        raise StudyError(f"{away[0]} is offloaded, not in memory: load the model whole before it is saved.")


def _written(model: PreTrainedModel) -> PreTrainedConfig:
    """The configuration that a folder gets: a cut model's says how transformers builds it."""
    config = _bare(copy.deepcopy(model.config))
    config.architectures = [_class(model).__name__]
    if hasattr(config, "kept_heads"):
        config.attention_at = paths(model)
        config.auto_map = {name: f"{CODE.stem}.{made}" for name, made in compat.auto_classes(model).items()}
    return config


def _bare(config: PreTrainedConfig) -> PreTrainedConfig:
    """A configuration without what only a folder needs."""
    for name in ("attention_at", "auto_map"):
        if hasattr(config, name):
            delattr(config, name)
    return config


def _cast(name: str, tensor: Tensor, dtype: torch.dtype | None) -> Tensor:
    """A tensor in another number type if it is one of real numbers, all of which must have a place there."""
    if dtype is None or not tensor.is_floating_point():
        return tensor
    if float(tensor.abs().max() if tensor.numel() else 0.0) > torch.finfo(dtype).max:
        raise StudyError(f"{name} holds numbers too large for {dtype}: save the model in a wider number type.")
    return tensor.to(dtype)


def load(folder: str | Path, dtype: torch.dtype | None = None) -> PreTrainedModel:
    """Read a model that `save` wrote, on the CPU, in evaluation mode; in its own number type logits are equal bit for bit.

    What ``save_pretrained`` wrote in one file, of a cut model or not, can be read as well, and folders that `save` wrote before
    it put code into them. Attention is SDPA.

    Parameters
    ----------
    dtype : torch.dtype, optional
        Number type of the model; the file's own by default.

    Raises
    ------
    StudyError
        If the folder or a file in it is missing or damaged, the family is another than `remove` takes, the map of
        kept heads is malformed or does not fit the weights, or tensors are missing or surplus.
    """
    folder = Path(folder)
    model_class, config_class = _classes(folder)
    config = _bare(config_class.from_pretrained(folder))
    # full size, without numbers but those that are computed, not learnt; drawing the others would take most of the time
    with init_empty_weights(include_buffers=False), no_init_weights():
        model = model_class(config).eval()
    model.tie_weights()
    try:
        tensors = compat.own_names(load_file(folder / WEIGHTS))
    except FileNotFoundError:
        raise StudyError(f"{folder} has no weights ({WEIGHTS}): save the model again.") from None
    except (SafetensorError, OSError) as error:
        raise StudyError(f"{folder / WEIGHTS} is damaged ({error}): save the model again.") from None
    full, stored = sites(model), getattr(config, "kept_heads", None)
    if stored is not None:
        left = _read_map(stored, {(site.kind, site.layer): site.heads for site in full})
        for site in full:
            if len(left[site.kind, site.layer]) < site.heads:
                fewer_heads.cut(site.module, site.projection("out"), left[site.kind, site.layer])
    wanted = _tensors(model)
    for name, tensor in compat.unsaved(model, wanted.keys() - tensors.keys()).items():
        tensors[name] = tensor.to(next(iter(tensors.values())).dtype)
    for names, what in ((wanted.keys() - tensors.keys(), "lacks"), (tensors.keys() - wanted.keys(), "has surplus")):
        if names:
            raise StudyError(f"{folder / WEIGHTS} {what} tensors of {model_class.__name__}: {', '.join(sorted(names)[:3])}.")
    wrong = [name for name, tensor in tensors.items() if tensor.shape != wanted[name].shape]
    if wrong:
        raise StudyError(
            f"{wrong[0]} in {folder / WEIGHTS} has not the size that {folder / CONFIG} gives, with its map kept_heads: take the"
            " config that belongs to it, or save the model again."
        )
    first = {id(tensor): name for name, tensor in wanted.items()}
    state = {name: first[id(tensor)] for name, tensor in model.state_dict(keep_vars=True).items()}
    # copies: what is read lies at odd addresses of the file, where sums may round otherwise
    tensors = {name: _cast(name, tensor, dtype).clone() for name, tensor in tensors.items()}
    model.load_state_dict({name: tensors[first_name] for name, first_name in state.items()}, assign=True)
    model.tie_weights()
    if model.can_generate() and (folder / "generation_config.json").exists():
        model.generation_config = GenerationConfig.from_pretrained(folder)
    return model


def _tensors(model: PreTrainedModel) -> dict[str, Tensor]:
    """Parameters and buffers of the state, each once, under its first name."""
    state = model.state_dict(keep_vars=True)
    first: dict[int, str] = {}
    for name, tensor in state.items():
        first.setdefault(id(tensor), name)
    return {name: state[name] for name in first.values()}


def _classes(folder: Path) -> tuple[type[PreTrainedModel], type[PreTrainedConfig]]:
    """The class of the model that a folder's config names, and of its config."""
    if not folder.is_dir():
        raise StudyError(f"there is no folder {folder}: give one that save() wrote.")
    try:
        settings = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        kind, (name, *_) = settings["model_type"], settings["architectures"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StudyError(f"{folder / CONFIG} is no config of a saved model ({error}): save the model again.") from None
    made: Any = getattr(transformers, str(name), None)
    configured: Any = (
        getattr(made, "config_class", None) if isinstance(made, type) and issubclass(made, PreTrainedModel) else None
    )
    if configured is None or kind not in REMOVABLE or configured.model_type != kind:
        raise StudyError(f"{folder} holds {name} (model type {kind}); only {', '.join(REMOVABLE)} can be loaded here.")
    return made, configured


def _read_map(stored: object, counts: Mapping[tuple[str, int], int | None]) -> dict[tuple[str, int], list[int]]:
    """``{(kind, layer): heads}`` from the config's ``{"kind.layer": heads}``; checked against the heads of each layer."""
    places = {f"{kind}.{layer}": (kind, layer) for kind, layer in counts}
    if not isinstance(stored, Mapping) or stored.keys() != places.keys():
        names = set(stored) ^ set(places) if isinstance(stored, Mapping) else {type(stored).__name__}
        raise StudyError(f"the map kept_heads must name every layer of the model and no other; see {', '.join(sorted(names))}.")
    for name, heads in stored.items():
        count = counts[places[name]]
        whole = isinstance(heads, list) and all(type(head) is int for head in heads)
        if not whole or heads != sorted(set(heads)) or any(h < 0 or (count is not None and h >= count) for h in heads):
            raise StudyError(
                f"the map kept_heads has {heads!r} for {name}, not different heads in rising order"
                + (f" from 0 to {count - 1}." if count else ".")
            )
    return {place: list(stored[name]) for name, place in places.items()}
