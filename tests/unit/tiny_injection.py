"""The rows of coreference injection for tiny models; one is trained when the first test of a session reads it."""

from pathlib import Path
from typing import Any

from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from helpers import corpora, study
from helpers.corpora import tokens
from helpers.methods.coreference import runs
from tests.unit.tiny_models import tiny_model

SEED, FIRST, FURTHER, WARM = 1, 6, 3, 3  # steps of the base, of the rows, of filling holes
_MODEL = {"model.layers": 3, "model.width": 24, "model.heads": 3, "model.feed_forward": 48, "model.dropout": 0.1}
_DIALOGUES = {
    "dev": 8, "test": 8, "steps": FIRST, "further": FURTHER, "batch_tokens": 400, "learning_rate": 2e-2, "rate": 2e-2,
    "warmup": 2, **_MODEL, "train": 60, "vocabulary": 500, "longest": 48, "denoising": WARM, "piece": 16,
    "model.decoder_layers": 1,
}  # fmt: skip
CHANGED = {  # heads whose attention is not uniform after so few steps, texts that are cut
    **{f"coreference.summarization.{name}": value for name, value in _DIALOGUES.items()},
    "coreference.probe": 6, "coreference.masks": 2,
}  # fmt: skip


def settings(changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """The settings of profile tiny with what is changed here, and more changes."""
    return study.settings("tiny", CHANGED | (changes or {}))


def rows() -> dict[str, dict[str, dict]]:
    """The rows by part and name."""
    return runs.rows_of(settings(), SEED)


def plan(changes: dict[str, Any] | None = None, start: str = "") -> runs.Rows:
    """What describes these rows."""
    return runs.Rows(settings(changes), SEED, checkpoint=start)


def texts(corpus: dict[str, Any]) -> list[str]:
    """Both sides of what a corpus has to train on."""
    pairs = corpora.read_pairs(corpora.file(corpora.prepare(corpus), "train"))
    return [text for pair in pairs for text in (pair.source, pair.target)]


def checkpoint(folder: Path, texts: list[str], family: str, vocabulary: int, **sizes: int) -> Path:
    """A folder as one downloads it: a model of random weights, and a tokenizer that is learnt from texts."""
    inner = tokens.learn_vocabulary(texts, vocabulary)
    inner.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
    tokenizer.save_pretrained(folder)
    tiny_model(family, vocab_size=len(tokenizer), **sizes).save_pretrained(folder)
    return folder


def pretrained(base: Path) -> str:
    """A folder with a BART so large that what it writes depends on its attention."""
    folder = base / "injection" / "bart"
    if not folder.exists():
        checkpoint(folder, texts(plan().corpus), "bart", 500, max_position_embeddings=80)
    return str(folder)
