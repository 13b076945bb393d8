"""Word tables: what a speaker of a language may get wrong who corrects them."""

import pytest

from helpers.world import LANGUAGES, lexicon, word_tables

NAMES = {"de": "german", "fr": "french", "ru": "russian"}
KEYS = {"nouns": {*lexicon.NOUNS, "potato.mass"}, "adjectives": lexicon.ADJECTIVES, "adverbs": lexicon.ADVERBS}
KEYS["verbs"] = {*lexicon.VERBS, "go.far", "come.far", "go.can", "go.want", "need.soon"}


@pytest.mark.parametrize("path", sorted(word_tables.FOLDER.glob("*.tsv")), ids=lambda path: path.stem)
def test_no_row_stands_twice_or_has_a_cell_too_many(path):
    rows = [tuple(row.items()) for row in word_tables.read(path.stem)]
    assert len(rows) == len({*rows}) and all(row[-1][0] is not None and row[0][1] for row in rows)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("words", KEYS)
def test_what_is_translated_is_a_word_of_the_world(language, words):
    rows = word_tables.read(f"{NAMES[language]}_{words}")
    assert {row["key"] for row in rows} <= {*KEYS[words]}
    genders = {(row["key"], row.get("gender")) for row in rows}
    assert len(genders) == len({key for key, _ in genders}), "a sentence agrees with either word"
