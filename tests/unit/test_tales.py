"""Reports with summaries, and stories: what they say hangs together and can be told from their text."""

from itertools import islice

import pytest

from helpers.world import tales
from helpers.world.lexicon import VERBS


@pytest.fixture(scope="module")
def reports():
    return list(islice(tales.reports(1), 300))


def test_a_pronoun_is_said_only_where_one_person_or_thing_can_be_meant():
    text = tales._Text(lambda: 0.0)  # dice that choose a pronoun wherever there may be one
    ann, eve, tom = (tales._Person(name, "", "doctor", female, True) for name, female in
                     (("Dadulana", True), ("Koketa", True), ("Belub", False)))  # fmt: skip
    key, ring = tales._Thing("key", mentioned=True), tales._Thing("ring", mentioned=True)
    text.near = [ann, tom, key]
    assert [text.person(who).pronoun for who in (ann, tom)] == [True, True] and text.thing(key).pronoun
    text.near, text.now = [ann, eve, tom, key, ring], []
    assert [text.person(who).pronoun for who in (ann, eve, tom)] == [False, False, True] and not text.thing(key).pronoun
    text.near, text.now = [ann], []
    assert not text.person(tom).pronoun and not text.person(eve).pronoun
    assert not text.person(ann).pronoun  # "Koketa thanked her": the sentence has another she
    text.near = []
    assert not text.person(ann).pronoun and not text.thing(key).pronoun


def test_a_summary_says_who_did_what_followed(reports):
    """What the actor hands on is said of the actor, and thanks and arrests befall the actor."""
    past = {verb.past for verb in VERBS.values()}
    for pair in reports:
        actor, after = pair.target.split()[0], pair.target.split(" , and ")[1]
        verb = next(word for word in after.split() if word in past)
        if verb in ("gave", "sold", "showed", "sent"):
            assert after.startswith(f"{verb} it to "), pair
        elif verb in ("thanked", "caught"):
            assert after.endswith(f" {verb} {actor} ."), pair
        elif verb in ("found", "took", "repaired", "visited", "bought", "saw"):
            assert after.endswith(f" {verb} it .") and not after.startswith((verb, actor)), pair


def test_a_class_of_which_all_are_used_ends_the_text_and_not_the_generator():
    cast = tales._Cast(tales.World("news"))
    cast.noun("officer")
    with pytest.raises(tales.Spent):  # there is one word for officers; drawing for another would never end
        cast.noun("officer")
