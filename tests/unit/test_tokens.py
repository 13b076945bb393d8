"""Prepared pairs, subword vocabularies, word alignment and batches."""

import json
from itertools import accumulate, pairwise

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import ByT5Tokenizer, MarianTokenizer, PreTrainedTokenizerFast

from helpers import corpora, study
from helpers.corpora import Pair, tokens
from helpers.corpora.tokens import Subwords
from helpers.study import StudyError
from tests.unit import tiny_pretrained
from tests.unit.tiny_text import refused

TEXTS = {
    "en": ["the cat didn't see the dog's old ball, did it?", "i'll go to the well-known 3.5-metre house."],
    "de": ["die größte straße wäre schön, sagte er.", "der über-bürgermeister weiß, daß äpfel süß sind!"],
    "fr": ["l'été où naïve œuvre à noël, c'est ça.", "l'île aux pêcheurs, là-bas : « qu'est-ce que c'était ? »"],
    "ru": ["кошка не видит меня, правда?", "подъезд ещё чист — съешь же ёлку, эй!"],
}
SENTENCES = [
    ("the cat didn't see dog's ball, did it?", ["the", "cat", "did", "n't", "see", "dog", "'s", "ball", ",", "did", "it", "?"]),
    ('he said "no"... twice!', ["he", "said", '"', "no", '"', "...", "twice", "!"]),
    ("the 日本 cat sees 日 a", ["the", "日本", "cat", "sees", "日", "a"]),
    ("a a a aa a", ["a", "a", "a", "aa", "a"]),
    ("the   cat  sees\u00a0it", ["the", "cat", "sees", "it"]),
    ("the old cat", ["the", "cat"]),  # a word that the parser left out
]


def training_text():
    return [text for texts in TEXTS.values() for text in texts] * 5 + [text for text, _ in SENTENCES if "日" not in text]


@pytest.fixture(scope="module")
def own():
    return Subwords(tokens.learn_vocabulary(training_text(), 160))


@pytest.fixture(scope="module")
def fast():
    """A pretrained-like tokenizer with offsets: "▁" starts words, an id stands before a text and one after it."""
    return tiny_pretrained.tokenizer(training_text(), "bert", 160)


@pytest.fixture(scope="module")
def marian(tmp_path_factory):
    """A real Marian tokenizer over a tiny SentencePiece model."""
    import sentencepiece

    folder = tmp_path_factory.mktemp("marian")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(training_text()), model_prefix=str(folder / "m"), vocab_size=110, hard_vocab_limit=False,
        character_coverage=1.0, bos_id=-1, eos_id=1, unk_id=0, pad_id=-1, minloglevel=2,
    )  # fmt: skip
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "m.model"))
    known = ["</s>", "<unk>", *(p for p in map(pieces.id_to_piece, range(len(pieces))) if p not in ("<unk>", "</s>")), "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(known)}), encoding="utf-8")
    with pytest.warns(UserWarning, match="sacremoses"):
        return MarianTokenizer(str(folder / "m.model"), str(folder / "m.model"), str(folder / "vocab.json"))


def test_decoding_undoes_encoding(own):
    for text in (text for texts in TEXTS.values() for text in texts):
        ids = own.encode(text)
        assert ids[-1] == own.eos and own.tokenizer.token_to_id(tokens.UNK) not in ids
        assert own.decode_all([ids, ids + [own.pad] * 3, [own.pad, *ids]]) == [text] * 3
    # text is lower-cased and composed
    assert own.encode("KOШКА Über\u00a0e\u0301te\u0301") == own.encode("koшка über été")


def test_a_text_that_spells_a_special_token_is_plain_text(own, tmp_path):
    own.tokenizer.save(str(tmp_path / "v.json"))
    for vocabulary in (own, Subwords.load(tmp_path / "v.json")):
        for text in ("the </s> cat", "<pad>", "a<unk>b"):
            ids = vocabulary.encode(text)
            assert vocabulary.eos not in ids[:-1] and vocabulary.pad not in ids and len(ids) > len(text.split()) + 2


def test_vocabularies_are_saved_and_read(own, tmp_path):
    path = tmp_path / "source.json"
    own.tokenizer.save(str(path))
    read = Subwords.load(path)
    assert (read.pad, read.eos, read.size) == (0, 1, own.size)
    assert tokens.learn_vocabulary(iter(training_text()), 160).to_str() == own.tokenizer.to_str()  # of the text alone
    path.write_bytes(path.read_bytes()[:-200])
    for broken in (path, tmp_path / "nowhere.json"):
        refused(broken, Subwords.load, broken)


def test_the_targets_ids_stand_after_the_sources(own, tmp_path):
    own.tokenizer.save(str(tmp_path / "source.json"))
    tokens.learn_vocabulary(TEXTS["ru"], 90).save(str(tmp_path / "target.json"))
    source, target = tokens.sides(tmp_path)
    text, plain = TEXTS["ru"][0], Subwords.load(tmp_path / "target.json")
    ids, labels = source.encode(text), target.encode(text)
    assert max(ids) < source.size <= min(labels[:-1]) and labels[-1] == source.eos
    assert [i - source.size for i in labels[:-1]] == plain.encode(text)[:-1]
    assert target.decode_all([labels, [target.pad, *labels, target.pad], [*ids, *labels], []]) == [text] * 3 + [""]
    assert target.pieces(labels) == plain.pieces(plain.encode(text))


def by_letters(text, words, spans):
    """For each span the word of its first letter that belongs to a word; slow and plain."""
    at, owner = 0, {}
    for number, word in enumerate(words):
        at = text.index(word, at)
        owner |= {at + i: number for i in range(len(word))}
        at += len(word)
    found = []
    for start, stop in spans:
        if text[start:stop].strip() == "" and stop > start:  # a word-start mark of its own: the word behind it
            stop += 1
        found.append(next((owner[i] for i in range(start, stop) if i in owner), -1))
    return found


@pytest.mark.parametrize(("text", "words"), SENTENCES)
def test_word_ids_are_those_of_the_letters(own, fast, text, words):
    found = own.word_ids(text, words)
    assert found == by_letters(text, words, [*own.tokenizer.encode(text).offsets, (0, 0)])
    assert set(found) == {*range(len(words)), -1}
    offsets = fast(text, return_offsets_mapping=True)["offset_mapping"]
    assert Subwords(fast).word_ids(text, words) == by_letters(text, words, offsets)


@pytest.mark.parametrize(("text", "words"), SENTENCES)
def test_word_ids_of_a_sentencepiece_vocabulary(marian, text, words):
    pieces = marian.tokenize(text)
    found = Subwords(marian).word_ids(text, words)
    assert len(found) == len(marian(text)["input_ids"]) == len(pieces) + 1 and found[-1] == -1
    surfaces = [piece.surface for piece in marian.spm_source.encode(text, return_type="proto").pieces]
    assert "".join(surfaces) == text
    ends = list(accumulate(map(len, surfaces)))
    spans = list(zip([0, *ends], ends, strict=False))
    if pieces[0] == "▁":  # the first word's mark stands for no letter
        spans[0] = (0, 1)
    wanted = by_letters(text, words, spans)
    known = [marian.convert_tokens_to_ids(p) != marian.unk_token_id for p in pieces]
    assert [w for w, k in zip(found, known, strict=False) if k] == [w for w, k in zip(wanted, known, strict=True) if k]


@pytest.mark.parametrize("words", [["dog"], ["cat", "the"]])
def test_words_that_are_not_in_the_text(own, words):
    refused("is not in 'the cat'", own.word_ids, "the cat", words)


@pytest.fixture(scope="module")
def data(own):
    pairs = []
    for i in range(60):
        words = ("the old cat sees it and i go to a house well".split() * 2)[i % 5 : i % 5 + 1 + (i * 7) % 13]
        target = TEXTS["ru"][i % 2][: 3 + (i * 5) % 17]
        pairs.append(Pair(" ".join(words), target, tuple(words)))
    return tokens.encode(pairs, own, own)


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_sentence_beyond_the_models_positions(own, side):
    pair = Pair("the cat", "the cat")
    length = len(own.encode("the cat"))
    assert len(tokens.encode([pair], own, own, length)) == 1
    setattr(pair, side, "the cat sees it")
    refused(f"{len(own.encode('the cat sees it'))} tokens", tokens.encode, [pair], own, own, length)
    refused("no sentence pairs", tokens.encode, [], own, own)


@pytest.mark.parametrize("shuffle", [None, 1])
@pytest.mark.parametrize("budget", [1, 200, 10_000])
def test_batches_hold_every_row_once_and_are_filled(data, shuffle, budget):
    def size(rows):
        return sum(max(len(side[i]) for i in rows) for side in (data.source, data.target)) * len(rows)

    groups = tokens.rows_of_batches(data, 0, budget, shuffle)
    assert sorted(i for group in groups for i in group) == list(range(len(data)))
    assert all(size(group) <= budget or len(group) == 1 for group in groups)
    assert groups == tokens.rows_of_batches(data, 0, budget, shuffle)
    assert [batch["index"].tolist() for batch in tokens.Batches(data, 0, budget)] == tokens.rows_of_batches(data, 0, budget)
    if shuffle is None:  # the next row did not fit
        assert all(size([*left, right[0]]) > budget for left, right in pairwise(groups))


def test_collate(own, data):
    rows = [3, 11, 40, 5]
    batch = tokens.collate(data, rows, own.pad)
    assert batch["index"].tolist() == rows and all(t.dtype == torch.long for t in batch.values())
    width, wide = (max(len(side[i]) for i in rows) for side in (data.source, data.target))
    for row, i in enumerate(rows):
        n, m = len(data.source[i]), len(data.target[i])
        assert batch["input_ids"][row].tolist() == data.source[i] + [own.pad] * (width - n)
        assert batch["attention_mask"][row].tolist() == [1] * n + [0] * (width - n)
        assert batch["labels"][row].tolist() == data.target[i] + [-100] * (wide - m)
        assert batch["word_ids"][row].tolist() == data.words[i] + [-1] * (width - n)
    assert "word_ids" not in tokens.collate(tokens.encode([Pair("the cat", "кошка")], own, own), [0], own.pad)
    inside = tokens.Encoded([[5, 0, 1], [1]], [[1], [1]], [[], []])  # a pad token inside a sentence is not masked
    assert tokens.collate(inside, [0, 1], 0)["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]


def test_spec_says_what_a_corpus_depends_on():
    settings = study.settings("tiny")
    refused("'es'", corpora.spec, settings, "es", "news", 1)
    refused("'poems'", corpora.spec, settings, "ru", "poems", 1)
    refused("'wmt'", corpora.spec, settings | {"corpus": "wmt"}, "ru", "news", 1)
    assert corpora.spec(settings, "ru", "news", 1) == corpora.spec(settings | {"beam": 9}, "ru", "news", 1)


@pytest.mark.parametrize("text", ["Tom said he left .", "Zoë saw 4 €"])
def test_tokenizers_of_bytes_know_their_words(text):
    """They mark no beginning of a word; a space belongs to the word behind it."""
    words = text.split()
    owners = [number for number, word in enumerate(words) for _ in (" " * (number > 0) + word).encode()]
    assert tokens.Subwords(ByT5Tokenizer()).word_ids(text, words) == [*owners, -1]


def test_a_tokenizer_without_padding_pads_with_its_end():
    inner = Tokenizer(models.WordLevel({f"w{place}": place for place in range(9)}, unk_token="w2"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    made = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="w1", unk_token="w2")
    subwords = tokens.Subwords(made)
    data = tokens.encode([Pair("w4 w5", "w6"), Pair("w4", "w5")], subwords, subwords)
    (batch,) = tokens.Batches(data, subwords.pad)
    assert batch["attention_mask"].sum(1).tolist() == [len(data.source[row]) for row in batch["index"].tolist()]
    with pytest.raises(StudyError, match="neither a padding nor an end"):
        tokens.Subwords(PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="w2"))
