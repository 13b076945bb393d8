"""A tiny Llama and a tiny BERT with tokenizers, and a root of natural texts as ../shared/data has it: all of it invented."""

import random

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from helpers import study
from tests.unit.tiny_models import tiny_model
from tests.unit.tiny_text import write, write_archive, write_rows

VERBS, NOUNS, ADJECTIVES = ("sees", "likes", "finds"), ("cat", "dog", "gardener", "mountain"), ("old", "friendly")
SIZES = {
    "passages": 4, "pieces": 2, "piece": 6, "left_out": 4, "window": 10, "sentences": 12, "fractions": [0.25, 0.5], "draws": 1,
    "prices": [0.001, 10.0], "trained": [10.0], "steps": 4,
    "trained_dialogues": 8, "further_dialogues": 8, "test_dialogues": 6, "longest": 90, "link_seeds": 2,
}  # fmt: skip
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "<s>"]


def settings(folder, **more):
    """The tiny profile with both models in `folder`, which are measured on little text."""
    own = {"pretrained.decoder": str(folder / "llama"), "pretrained.encoder": str(folder / "bert")}
    return study.settings("tiny", {f"pretrained.{name}": size for name, size in SIZES.items()} | own | more)


def make(folder):
    """Models and texts in `folder`, which is then a root of natural texts."""
    drawn = random.Random(0)
    sentences = [_sentence(drawn) for _ in range(60)]
    write(folder / "ud_ewt" / "en_ewt-ud-dev.conllu.xz", "".join(_conllu(one) for one in sentences[:30]))
    write(folder / "ud_ewt" / "en_ewt-ud-train.conllu.xz", "".join(_conllu(one) for one in sentences))
    gum = {"dep/GUM_bio_one.conllu": "".join(map(_conllu, sentences[30:])), "dep/GENTLE_poem_one.conllu": "no tree at all"}
    write_archive(folder / "gum" / "gum.tar.xz", gum)
    for split in ("valid", "test"):
        articles = [f" = Article {place} = \n \n" + " ".join(_text(_sentence(drawn)) for _ in range(12)) for place in range(8)]
        write(folder / "wikitext" / f"wiki.{split}.txt.xz", "\n \n".join(articles) + " It is 1 @,@ 000 . It is <unk> . \n")
    _dialogues(folder, drawn)
    texts = [_text(one) for one in sentences]
    for family in ("llama", "bert"):
        own = tokenizer(texts, family)
        own.save_pretrained(folder / family)
        model = tiny_model(family, vocab_size=len(own), bos_token_id=4, eos_token_id=3)
        (model.bert if family == "bert" else model).save_pretrained(folder / family)


def _dialogues(folder, drawn):
    """Dialogues of two people as SAMSum has them, and the predicted links of the test set: "she" is who spoke before."""
    for split, count in {"train": 20, "val": 16, "test": 8}.items():
        rows, links = [], []
        for _ in range(count):
            name, thing = drawn.choice(["Anna", "Mary"]), drawn.choice(NOUNS)
            rows.append(
                {"dialogue": f"{name}: I see the {thing} .\nTom: she sees it .", "summary": f"{name} sees the {thing} ."}
            )
            tokens = f"# {name} : I see the {thing} . # Tom : she sees it .".replace(" ", " Ġ").split(" ")
            links.append(f"{' '.join(tokens)} ##### [] ##### [11] ##### [1] ##### {len(tokens)}")
        write_rows(folder / "samsum" / f"{split}.jsonl.xz", [row | {"id": str(n)} for n, row in enumerate(rows)])
    archive = folder / "samsum_coref" / "samsum_coref_val_test.tar.xz"
    write_archive(archive, {"data/SAMsum_data/test.source": "\n".join(links) + "\n"})


def _sentence(drawn):
    """Words, heads and relations of "the [old] cat sees the dog [well] ."."""
    words, heads, relations = (
        ["the", "", "", "the", "", "."],
        [1, 2, -1, 4, 2, 2],
        ["det", "nsubj", "root", "det", "obj", "punct"],
    )
    words[1], words[2], words[4] = drawn.choice(NOUNS), drawn.choice(VERBS), drawn.choice(NOUNS)
    if drawn.random() < 0.5:
        heads = [head + (head >= 1) for head in heads]
        words.insert(1, drawn.choice(ADJECTIVES)), heads.insert(1, 2), relations.insert(1, "amod")
    if drawn.random() < 0.5:
        words.insert(-1, "well"), heads.insert(-1, relations.index("root")), relations.insert(-1, "advmod")
    return words, heads, relations


def _text(sentence):
    return " ".join(sentence[0])


def _conllu(sentence):
    rows = [
        f"{place}\t{word}\t{word}\tX\t_\t_\t{head + 1}\t{relation}\t_\t_"
        for place, (word, head, relation) in enumerate(zip(*sentence, strict=True), 1)
    ]
    return "\n".join([f"# text = {_text(sentence)}", *rows]) + "\n\n"


def tokenizer(texts, family, size=50):
    """As one downloads it with a Llama, or with a BERT, which puts an id before a text and one after it."""
    made = Tokenizer(models.BPE(unk_token="[UNK]"))
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    made.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=size, special_tokens=SPECIAL, show_progress=False))
    own = {"pad_token": "[PAD]", "unk_token": "[UNK]", "eos_token": "[SEP]"}
    if family == "llama":
        return PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", **own)
    made.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return PreTrainedTokenizerFast(tokenizer_object=made, cls_token="[CLS]", sep_token="[SEP]", **own)
