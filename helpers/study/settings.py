"""Profiles and what can be changed in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from helpers.study.errors import StudyError

# --- profiles: a profile only sets parameters; every one can be overridden ------------------------------------------

_MODEL = {"layers": 3, "width": 128, "heads": 8, "feed_forward": 512, "dropout": 0.1}
_TRAIN = {
    "steps": 1000, "batch_tokens": 2048, "learning_rate": 2e-3, "warmup": 200, "cooldown": 0.0, "betas": [0.9, 0.98],
    "label_smoothing": 0.1, "clip": 1.0, "evaluate_every": 200, "patience": 0, "average": 0,
}  # fmt: skip
_PRUNE = {  # section 6: further training with gates or with heads gone, all runs of a model alike
    "steps": 250, "learning_rate": 5e-4, "warmup": 50, "cooldown": 0.3, "evaluate_every": 50, "dev": 200,
    "start": 2.0, "gate_rate": 0.3, "temperature": 0.33,  # log alpha, its learning rate, the gates' temperature
    "penalties": [0.001, 0.0025, 0.006, 0.015, 0.04], "penalties_all": [0.003, 0.01, 0.03],  # lambda, of the sum over heads
    "compared": [0.015], "scratch": [0.01],  # prices whose head counts, whose head maps other runs imitate
    "criteria": ["random", "confidence", "relevance", "gradient, example", "leave-one-out"], "draws": 3, "variants": True,
    "beam": 1, "seeds": 1, "languages": 1, "all_kinds": 1,  # models a register with encoder heads, models in all with all kinds
    "deep_steps": 0,  # of the model with a deep decoder; 0: as training.steps
}  # fmt: skip
_TASK = {  # "longest": words of a document to be summarized, tokens of an example of a language model
    "text": "", "train": 0, "dev": 500, "test": 500, "vocabulary": 1000, "longest": 64, "steps": 1500, "batch_tokens": 512,
    "learning_rate": 8e-3, "warmup": 200, "groups": 2, "votes": 0,  # batches that vote, 0 for an epoch
    "model": _MODEL | {"layers": 2, "width": 64, "feed_forward": 256, "dropout": 0.0},
}  # fmt: skip
_GROUP = {  # grouped heads: what is trained from scratch, in two stages of which "first" is the first's share
    "translation": _TASK | {"text": "de-subtitles", "train": 20000},
    "summarization": _TASK | {"text": "reports", "train": 12000, "longest": 100},
    "language": _TASK | {"text": "stories", "train": 8000},
    "first": 0.6, "alpha": 0.5, "beta": 0.5, "which": "V", "weight": 0.01, "settled": 0.4,
    "gates": {"rate": 0.3, "penalty": 0.01},
    "numbers": [1, 2, 4, 8], "strengths": [0.1, 10.0, 100.0],  # of groups; factors on the weight
    "probe": 16, "shots": 20,  # dev examples on which heads are looked at, and how often in a stage
    "parts": ["peers", "ablations", "numbers", "strengths"],  # rows of translation beside the main ones
    "jobs": 2, "seeds": 1, "beam": 1,
    "converged": 1, "converged_steps": 150, "converged_rate": 5e-4, "converged_votes": 200,  # a converged model, grouped late
}  # fmt: skip
_COREF_TASK = {  # all rows start from a model trained for "steps" and train "further"; "longest": subwords of a dialogue
    "text": "dialogues", "train": 12000, "dev": 300, "test": 500, "vocabulary": 1000, "longest": 256, "links": "gold",
    "checkpoint": "",  # a pretrained model to start from, by Hub name or folder
    "denoising": 1000, "piece": 40,  # steps of a warm-up that fills holes, in pieces of so many tokens
    "steps": 1500, "further": 400, "batch_tokens": 1024, "learning_rate": 3e-3, "warmup": 200, "rate": 2e-3,
    "betas": [0.9, 0.98],
    "model": _MODEL | {"layers": 3, "decoder_layers": 2, "width": 64, "feed_forward": 256, "dropout": 0.0},
}  # fmt: skip
_COREF = {  # coreference in the heads that matter least
    "summarization": _COREF_TASK,
    "translation": _COREF_TASK | {
        "text": "de-subtitles", "train": 20000, "dev": 500, "longest": 64, "denoising": 0, "steps": 900, "batch_tokens": 512,
        "learning_rate": 8e-3, "rate": 3e-3, "model": _TASK["model"],
    },
    "matrix": "full", "span": "first", "probe": 200,  # dev texts on which heads are ranked
    "draws": 2, "heads": [1, 2, 4], "mixed": ["upper", "all"], "most": 0,
    "rates": [0.1, 0.3, 0.6, 1.0], "resolvers": ["rule"], "written": ["rule"],  # in training and writing; in writing alone
    "orders": 1, "paces": [0.3, 3.0], "lengths": [0.5], "masks": 3,  # training settings; draws of heads that are off
    "parts": ["selection", "where", "matrices", "quality", "inference", "training", "masks"],
    "jobs": 2, "seeds": 1, "alone": 2, "beam": 1,  # seeds of the main rows, of the plain one
}  # fmt: skip
_COMPARE = {  # notebook 06: all measures of all models, and heads removed by each at equal numbers
    "votes": 512,  # tokens of a batch that votes
    "l1": {"steps": 100, "rate": 0.02, "penalty": 0.01, "batch_tokens": 1024},  # gates under an L1 price, weights frozen
    "criteria": ["attnlrp", "cp", "votes", "L1 gates", "syntactic", "positional"],  # beside pruning.criteria
    "dialogues": 60,  # dev dialogues on which a summarizer's heads are measured
    "matched": 80,  # dev sentences on which heads of two seeds are matched
}  # fmt: skip
_TINY = _TASK | {
    "train": 200, "dev": 24, "test": 24, "vocabulary": 200, "steps": 20, "warmup": 4,
    "model": _MODEL | {"layers": 2, "width": 32, "heads": 4, "feed_forward": 64, "dropout": 0.0},
}  # fmt: skip
_NATURAL = _TASK | {
    "dev": 500, "test": 0, "vocabulary": 4000, "steps": 1400, "batch_tokens": 2048, "learning_rate": 3e-3, "warmup": 300,
    "votes": 300, "model": _MODEL | {"dropout": 0.0},
}  # fmt: skip
_PAPER = _TASK | {
    "dev": 2000, "test": 0, "vocabulary": 32_000, "steps": 100_000, "batch_tokens": 32_000, "learning_rate": 7e-4,
    "warmup": 4000, "model": _MODEL | {"layers": 6, "width": 512, "feed_forward": 2048, "dropout": 0.3},
}  # fmt: skip
PROFILES: dict[str, dict[str, Any]] = {
    "tiny": {
        "corpus": "controlled", "train": 400, "dev": 48, "test": 32, "vocabulary": 300, "beam": 1, "bootstrap": 100,
        "relevance": 16, "truth": 8, "seeds": 2,
        "model": _MODEL | {"layers": 2, "width": 32, "heads": 4, "feed_forward": 64},
        "training": _TRAIN | {"steps": 12, "batch_tokens": 1024, "warmup": 4, "evaluate_every": 6},
        "pruning": _PRUNE | {"steps": 8, "warmup": 2, "evaluate_every": 4, "dev": 16, "penalties": [0.01, 0.2],
                             "penalties_all": [0.2], "compared": [0.2], "scratch": [0.2], "criteria": ["random", "relevance"],
                             "draws": 1, "gate_rate": 0.5},
        "grouping": _GROUP | {
            "translation": _TINY | {"text": "de-subtitles"}, "summarization": _TINY | {"text": "reports", "longest": 100},
            "language": _TINY | {"text": "stories"}, "numbers": [1, 2, 4], "strengths": [10.0, 100.0], "shots": 4, "probe": 8,
            "converged_steps": 6, "jobs": 1, "seeds": 2,
        },
        "coreference": _COREF | {
            "summarization": _COREF_TASK | {
                "train": 200, "dev": 24, "test": 12, "vocabulary": 300, "longest": 70, "denoising": 6, "steps": 10,
                "further": 4, "warmup": 2, "model": _COREF_TASK["model"] | {"width": 24, "heads": 3, "feed_forward": 48},
            },
            "translation": _COREF_TASK | {name: value for name, value in _TINY.items() if name in _COREF_TASK} | {
                "text": "de-subtitles", "denoising": 0, "further": 6,
            },
            "probe": 16, "heads": [1, 2], "rates": [0.5, 1.0], "orders": 1, "paces": [3.0], "lengths": [2.0], "masks": 1,
            "jobs": 1, "seeds": 2,
        },
        "comparison": _COMPARE | {"l1": {"steps": 4, "rate": 0.1, "penalty": 0.01, "batch_tokens": 256}, "dialogues": 6,
                                  "criteria": ["attnlrp", "L1 gates"], "matched": 12},
    },
    "laptop": {
        "corpus": "controlled", "train": 55000, "dev": 1000, "test": 500, "vocabulary": 2000, "beam": 1, "bootstrap": 1000,
        "relevance": 250, "truth": 200,  # dev sentences: explained; translated without each head
        "seeds": 1,  # of the models that notebook 06 compares
        # a shallow decoder: what context a source word needs is the encoder's to find
        "model": _MODEL | {"dropout": 0.0, "decoder_layers": 1, "decoder_heads": 2},
        "training": _TRAIN | {"steps": 3000, "batch_tokens": 1024, "learning_rate": 3e-3, "cooldown": 0.3,
                              "evaluate_every": 750},
        "pruning": _PRUNE | {"deep_steps": 2000},
        "grouping": _GROUP,
        "coreference": _COREF,
        "comparison": _COMPARE,
    },
    "natural": {
        "corpus": "natural", "train": 0, "dev": 2000, "test": 0, "vocabulary": 8000, "beam": 4, "bootstrap": 1000,
        "relevance": 250, "truth": 0, "seeds": 1,
        "model": _MODEL | {"width": 256, "feed_forward": 1024},
        "training": _TRAIN | {"steps": 6000, "batch_tokens": 4096, "warmup": 800, "learning_rate": 1e-3,
                              "evaluate_every": 500, "cooldown": 0.3},
        "pruning": _PRUNE | {"steps": 1000, "warmup": 100, "gate_rate": 0.1, "evaluate_every": 100, "dev": 1000, "languages": 3,
                             "all_kinds": 3},
        "grouping": _GROUP | {
            "translation": _NATURAL | {"text": "fr-local", "steps": 1800, "batch_tokens": 1024},
            "summarization": _NATURAL | {"text": "dialogsum", "longest": 160, "model": _NATURAL["model"] | {"layers": 2}},
            "language": _NATURAL | {"text": "novels", "longest": 128},
            "parts": ["peers", "numbers"], "numbers": [2, 4], "seeds": 3, "converged_steps": 400,
        },
        "coreference": _COREF | {
            "summarization": _COREF_TASK | {
                "text": "samsum", "train": 0, "dev": 500, "test": 0, "vocabulary": 4000, "longest": 300, "links": "rule",
                "denoising": 2000, "piece": 48, "steps": 1000, "further": 600, "batch_tokens": 2048, "learning_rate": 2e-3,
                "warmup": 300, "rate": 1e-3, "model": _MODEL | {"dropout": 0.0},
            },
            "translation": _COREF_TASK | {"steps": 0}, "resolvers": [],
            "written": ["stored:samsum_coref/samsum_coref_val_test.tar.xz:data/SAMsum_data/test.source"],
            "parts": ["inference", "masks"], "seeds": 3,
        },
        "comparison": _COMPARE | {"l1": {"steps": 100, "rate": 0.02, "penalty": 0.01, "batch_tokens": 2048}},
    },
    "paper": {
        "corpus": "natural", "train": 0, "dev": 2000, "test": 0, "vocabulary": 32000, "beam": 4, "bootstrap": 1000,
        "relevance": 500, "truth": 0, "seeds": 3,
        "model": _MODEL | {"layers": 6, "width": 512, "feed_forward": 2048},
        "training": _TRAIN | {"steps": 200_000, "batch_tokens": 32_000, "warmup": 16_000, "learning_rate": 1.4e-3,
                              "evaluate_every": 2048, "patience": 10, "average": 5},
        "pruning": _PRUNE | {"steps": 20_000, "learning_rate": 2e-4, "gate_rate": 0.01, "warmup": 2000, "evaluate_every": 1000,
                             "dev": 2000, "beam": 4, "seeds": 3, "languages": 3, "all_kinds": 6},
        "grouping": _GROUP | {
            "translation": _PAPER | {"text": "de-wmt", "groups": 4},
            "summarization": _PAPER | {"text": "cnn_dailymail", "longest": 450, "vocabulary": 50_000},
            "language": _PAPER | {
                "text": "wikitext", "longest": 512, "groups": 8,
                "model": _MODEL | {"layers": 16, "width": 1024, "heads": 16, "feed_forward": 4096},
            },
            "numbers": [1, 2, 4, 8], "jobs": 8, "seeds": 3, "beam": 4, "converged_steps": 10_000, "converged_rate": 2e-4,
            "converged_votes": 0,
        },
        "coreference": _COREF | {
            "summarization": _COREF_TASK | {
                "text": "samsum-hub", "train": 0, "dev": 0, "test": 0, "longest": 500, "links": "stanza",
                "checkpoint": "facebook/bart-large", "betas": [0.9, 0.95], "further": 51_500, "batch_tokens": 512, "rate": 2e-5,
            },
            "translation": _COREF_TASK | {"steps": 0},
            "most": 16, "jobs": 8, "seeds": 3, "beam": 5,
        },
        "comparison": _COMPARE | {"l1": {"steps": 1000, "rate": 0.01, "penalty": 0.01, "batch_tokens": 8000}},
    },
}  # fmt: skip


OPTIONAL = {  # as the encoder's where a profile does not say
    "model.decoder_layers": 3, "model.decoder_heads": 8, "coreference.summarization.model.decoder_layers": 3,
    "coreference.translation.model.decoder_layers": 2,
}  # fmt: skip


def settings(profile: str, overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A profile's settings with `overrides`, whose names may be dotted ("training.steps").

    Raises
    ------
    StudyError
        For an unknown profile, an unknown name, or a value of another type than the profile's.
    """
    if profile not in PROFILES:
        raise StudyError(f"There is no profile {profile!r}: choose one of {', '.join(PROFILES)}.")
    chosen = json.loads(json.dumps(PROFILES[profile]))
    for name, value in (overrides or {}).items():
        *path, last = name.split(".")
        place: Any = chosen
        for part in path:
            place = place.get(part) if isinstance(place, dict) else None
        old = place.get(last, OPTIONAL.get(name)) if isinstance(place, dict) else None
        if old is None or isinstance(old, dict):
            known = dict.fromkeys([*_names(chosen), *OPTIONAL])
            raise StudyError(f"There is no setting {name!r}: choose one of {', '.join(known)}.")
        if isinstance(old, float) and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if type(value) is not type(old):
            raise StudyError(f"The setting {name!r} takes a {type(old).__name__} such as {old!r}, not {value!r}.")
        place[last] = value
    return chosen


def _names(table: Mapping[str, Any], prefix: str = "") -> list[str]:
    names = []
    for name, value in table.items():
        names += _names(value, f"{prefix}{name}.") if isinstance(value, dict) else [prefix + name]
    return names


def parse_overrides(text: str) -> dict[str, Any]:
    """Read "training.steps=200 beam=4" as overrides; values are JSON, and anything else is a string."""
    overrides = {}
    for item in text.split():
        name, equals, value = item.partition("=")
        if not equals:
            raise StudyError(f"Cannot read the setting {item!r}: write NAME=VALUE.")
        try:
            overrides[name] = json.loads(value)
        except json.JSONDecodeError:
            overrides[name] = value
    return overrides
