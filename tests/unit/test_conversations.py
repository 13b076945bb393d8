"""Controlled dialogues: their facts can be told from the text by its rules alone, and their annotation follows these rules."""

from collections import Counter
from itertools import islice

import pytest

from helpers.records import Dialogue, Event
from helpers.world import conversations as talks

FIRST, SECOND = {"i", "me", "my"}, {"you", "your"}
THIRD = {"he": False, "him": False, "his": False, "she": True, "her": True}  # whether a woman
LAMP = Event("repair", "supan", "lamp", "belub", "on monday")
KEY = Event("lose", "ruser", "key")


@pytest.fixture(scope="module")
def dialogues():
    return list(islice(talks.conversations(1), 400))


@pytest.fixture
def female():
    return {name: bool(women) for women, names in enumerate(talks.FORENAMES) for name in names}


def name_of(dialogue, cluster, female):
    """The one name, or the one noun, among the mentions of a cluster."""
    texts = {" ".join(dialogue.words[start:stop]) for start, stop in cluster}
    names = {text for text in texts if text in female or text.startswith("the ")}
    assert len(names) == 1, (texts, dialogue.source)
    return names.pop()


def resolved(dialogue, female):
    """What each pronoun means by the rules of the module's docstring, from the words alone: place and name or noun."""
    words, out, spoken, thing = dialogue.words, [], [], None
    speakers = [words[start + 1] for start, _, _ in dialogue.turns]
    for (_, speech, stop), speaker, hearer in zip(dialogue.turns, speakers, (None, *speakers), strict=False):
        for place in range(speech, stop):
            word, following = words[place], words[min(place + 1, stop - 1)]
            if word in FIRST:
                out.append((place, speaker))
            elif word in SECOND:
                out.append((place, hearer))
            elif word in THIRD:
                clear = [who for who in spoken if female[who] == THIRD[word] and who not in (speaker, hearer)]
                out.append((place, clear[-1] if clear else None))
                spoken += clear[-1:]
            elif word == "it":
                out.append((place, thing))
            elif word in female and (following in ",!" or words[place - 1] == "hello"):
                hearer = word
            elif word in female:
                spoken.append(word)
            elif word == "the" and following in talks.THINGS:
                thing = f"the {following}"
    return out


def test_a_dialogue_that_runs_out_of_things_ends_and_not_the_generator(monkeypatch):
    monkeypatch.setitem(talks.DEEDS, "wash", ("for", ("shirt",)))
    made = list(islice(talks.conversations(1), 100))
    assert len(made) == 100 and {event.thing for d in made for event in d.events if event.verb == "wash"} == {"shirt"}


def test_pronouns_are_annotated_as_the_rules_resolve_them(female):
    seen = Counter()
    for dialogue in islice(talks.conversations(2), 600):
        at = {place: cluster for cluster in dialogue.clusters for span in cluster for place in range(*span)}
        for place, meant in resolved(dialogue, female):
            assert meant is not None, (place, dialogue.source)
            assert name_of(dialogue, at[place], female) == meant, (place, dialogue.source)
            seen[dialogue.words[place]] += 1
    assert seen.keys() == FIRST | SECOND | THIRD.keys() | {"it"} and min(seen.values()) > 2, seen


def test_summaries_are_read_back(dialogues):
    for dialogue in dialogues:
        assert talks.facts(dialogue.target) == list(dialogue.events)
    counts = talks.consistency([d.target for d in dialogues], dialogues)
    assert counts.tolist() == [[len(d.events)] * 2 for d in dialogues]


def test_sentences_outside_the_grammar_are_skipped():
    garbled = (
        "supan supan will repair the lamp", "the lamp will repair supan on monday", "Ruser has lost  the key",
        "nobody has lost the key", "ruser has lost key", "ruser has gave the key to supan",
        "ruser gave the key for supan yesterday", "ruser has lost the key to supan", "supan will repair the lamp on",
    )  # fmt: skip
    assert talks.facts(" . ".join(garbled)) == talks.facts(".".join(garbled)) == [KEY]


TWICE = (KEY, Event("lose", "supan", "key"))


@pytest.mark.parametrize(("told", "summary", "counts"), [
    ((LAMP, KEY), "ruser has lost the key . supan will repair the lamp for belub on monday .", [2, 2]),
    ((LAMP, KEY), "belub will repair the lamp for supan on monday .", [2, 0]),
    ((LAMP, KEY), "supan will repair the lamp for ruser on monday .", [2, 0]),
    ((LAMP, KEY), "supan will repair the lamp for belub tomorrow .", [2, 1]),
    ((LAMP, KEY), "belub has lost the key . ruser lost the key yesterday . ruser has lost the key .", [2, 1]),
    (TWICE, "ruser has lost the key .", [2, 1]),
])  # fmt: skip
def test_events_are_matched_one_to_one(told, summary, counts):
    dialogue = Dialogue("", talks.render_summary(told), (), (), (), told)
    assert talks.consistency([summary], [dialogue]).tolist() == [counts]
