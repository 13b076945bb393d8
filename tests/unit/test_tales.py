"""Reports with summaries, and stories: what is said can mean one person or thing, and the generator ends."""

import pytest

from helpers.world import tales


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


def test_a_class_of_which_all_are_used_ends_the_text_and_not_the_generator():
    cast = tales._Cast(tales.World("news"))
    cast.noun("officer")
    with pytest.raises(tales.Spent):  # there is one word for officers; drawing for another would never end
        cast.noun("officer")
