"""English out of plans: words with their gold dependency tree.

Labels are those of spaCy's English models (ClearNLP): prepositions head their noun, the copula heads its clause, auxiliaries
depend on the lexical verb. The root is labelled "root" and its head is -1. Nothing is capitalised but names and "I".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

from helpers.world import lexicon
from helpers.world.lexicon import FEMALE, KINDS, NAMES, NOUNS, VERBS
from helpers.world.meanings import NP, PP, Clause


@dataclass(slots=True)
class English:
    """A realised English sentence."""

    words: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)  # position of each word's head, -1 for the root
    relations: list[str] = field(default_factory=list)  # of each word to its head

    def add(self, word: str, relation: str, head: int = -1) -> int:
        """Append a word and return its position; a head not known yet is set later."""
        words = self.words
        words.append(word)
        self.heads.append(head)
        self.relations.append(relation)
        return len(words) - 1


_WORDS = {key: lexicon.sense(key) for key in (*lexicon.ADJECTIVES, *lexicon.ADVERBS)}
_PREPOSITIONS = {key: entry.preposition.split() for key, entry in lexicon.PREPOSITIONS.items()}
_PRONOUNS = {  # subject and object form
    (1, "sg"): ("I", "me"), (1, "pl"): ("we", "us"), (2, "sg"): ("you", "you"), (2, "pl"): ("you", "you"),
    (3, "pl"): ("they", "them"),
}  # fmt: skip
_DETERMINERS = {
    "the": "det", "a": "det", "this": "det", "every": "det", "two": "nummod", "three": "nummod", "many": "amod",
    "my": "poss", "your": "poss", "his": "poss", "her": "poss", "our": "poss", "their": "poss",
}  # fmt: skip
_COMMA_AFTER = frozenset(("fortunately", "finally", "recently"))
_CONTRACTED = {"can": "ca", "will": "wo"}


def _pronoun(np: NP, form: int) -> str:
    if np.person != 3 or np.number == "pl":
        return _PRONOUNS[np.person, np.number][form]
    noun = NOUNS.get(np.noun)
    if noun is None or noun.cls == "person":
        return (("he", "him"), ("she", "her"))[np.noun in FEMALE][form]
    return "it"


def _agreement(np: NP | None) -> tuple[int, bool]:
    """Person and whether plural; what is missing (who, what) is third person singular."""
    return (3, False) if np is None else (np.person, np.many)


def _finite(entry, tense: str, person: int, plural: bool) -> str:
    if entry.lemma == "be":
        if tense == "past":
            return "were" if plural or person == 2 else "was"
        return "are" if plural or person == 2 else "am" if person == 1 else "is"
    if tense == "past":
        return entry.past
    return entry.third if person == 3 and not plural else entry.lemma


def _group(c: Clause, entry, person: int, plural: bool, inverted: bool) -> tuple[str, tuple[str, ...], str]:
    """The finite verb ("" if it is the verb itself), the words before the verb, and the verb's form."""
    lemma, tense, alone = entry.lemma, c.tense, not (c.negated or inverted)
    do = "did" if tense == "past" else "do" if plural or person != 3 else "does"
    if c.imperative:
        return "do" if c.negated else "", (), lemma
    if c.modal == "want":
        return ("", (), _finite(_WANT, tense, person, plural)) if alone else (do, (), "want")
    if c.modal or tense == "future":
        finite = "could" if c.modal == "can" and tense == "past" else c.modal or "will"
        return (finite, ("be",), entry.participle) if c.passive else (finite, (), lemma)
    if tense == "perfect":
        return "have" if plural or person != 3 else "has", ("been",) if c.passive else (), entry.participle
    if c.progressive or c.passive:
        return _finite(_BE, tense, person, plural), (), entry.ing if c.progressive else entry.participle
    if alone or lemma == "be":
        return "", (), _finite(entry, tense, person, plural)
    return do, (), lemma


_WANT, _BE = SimpleNamespace(lemma="want", third="wants", past="wanted"), VERBS["be"]


class _Speaker:
    """Puts the words of one sentence in order."""

    def __init__(self, register: str):
        self.out = English()
        self.add, self.words, self.heads = self.out.add, self.out.words, self.out.heads
        self.register = register

    # -- noun phrases
    def noun_phrase(self, np: NP, relation: str, head: int = -1, form: int = 1) -> int:
        """Add a noun phrase; `form` is 0 for the subject's pronoun, 1 for the object's."""
        add = self.add
        if np.pronoun:
            return add(_pronoun(np, form), relation, head)
        if np.noun in NOUNS:
            top = self.common(np, relation, head)
        elif np.surname:
            first = add(np.noun, "compound")
            top = self.heads[first] = add(np.surname, relation, head)
        else:
            top = add(np.noun, relation, head)
        if np.place is not None:
            self.prepositional(np.place, top)
        if np.relative is not None:
            self.relative(np, top)
        if np.coordinate is not None:
            add("and", "cc", top)
            self.noun_phrase(np.coordinate, "conj", top, form)
        return top

    def common(self, np: NP, relation: str, head: int) -> int:
        """Add a common noun with possessor or determiner, degree and adjectives; return its position."""
        add, words, heads, noun = self.add, self.words, self.heads, NOUNS[np.noun]
        start, article, loose, saxon = len(words), -1, [], False
        if np.genitive is not None and self.saxon(np.genitive):
            saxon, owner = True, self.noun_phrase(np.genitive, "poss")
            add("'" if words[owner].endswith("s") and np.genitive.number == "pl" else "'s", "case", owner)
            loose.append(owner)
        elif np.determiner and not (np.determiner == "a" and np.number == "pl"):
            article = add(np.determiner, _DETERMINERS[np.determiner])
            loose.append(article)
        degree = add(np.degree, "advmod") if np.degree and np.adjectives else -1
        for adjective in np.adjectives:
            place = add(_WORDS[adjective], "amod")
            loose.append(place)
            if degree >= 0:
                heads[degree], degree = place, -1
        top = add(noun.plural if np.number == "pl" else noun.singular, relation, head)
        for place in loose:
            heads[place] = top
        if article >= 0 and np.determiner == "a":
            following = words[start + 1]
            if (following[0] in "aeiou" and following[:3] != "uni") or following == "honest":
                words[article] = "an"
        if np.genitive is not None and not saxon:
            self.noun_phrase(np.genitive, "pobj", add("of", "prep", top))
        return top

    def saxon(self, possessor: NP) -> bool:
        """Whether to say "the teacher 's brother" rather than "the brother of the teacher"."""
        noun = NOUNS.get(possessor.noun)
        if noun is None:
            return NAMES[possessor.noun].kind != "town"
        return noun.cls == "person" and self.register == "subtitles"

    def prepositional(self, pp: PP, head: int) -> None:
        """Add a prepositional phrase; "in front of" is a chain of three."""
        first, *rest = _PREPOSITIONS[pp.preposition]
        place = self.add(first, "prep", head)
        if rest:
            place = self.add("of", "prep", self.add("front", "pobj", place))
        self.noun_phrase(pp.np, "pobj", place)

    def relative(self, np: NP, head: int) -> None:
        clause, noun = np.relative, NOUNS.get(np.noun)
        person = noun is None or noun.cls == "person"
        word = "which" if clause.gap == "subject" and self.register == "news" else "that"
        pronoun = self.add("who" if person and clause.gap == "subject" else word, "dobj")
        self.clause(clause, "relcl", head, pronoun, (3, np.number == "pl"))

    # -- clauses
    def clause(
        self, c: Clause, relation: str, head: int = -1, fronted: int = -1, agreement: tuple[int, bool] | None = None
    ) -> int:
        """Add a clause and return the position of its verb.

        `fronted` is the position of the relative pronoun, -1 if there is none, `agreement` its person and whether it is plural.
        """
        add, heads, entry = self.add, self.heads, VERBS[c.verb]
        to_verb, to_lexical = self.opening(c)
        subject, role = (c.object, "nsubjpass") if c.passive else (c.subject, "nsubj")
        if fronted >= 0 and c.gap == "subject":
            self.out.relations[fronted] = role
            to_verb.append(fronted)
        else:
            if fronted >= 0:
                to_lexical.append(fronted)
            agreement = _agreement(subject)
        inverted = c.question not in ("", "who")
        if c.question == "who":
            to_verb.append(add("who", role))
        elif subject is not None and not inverted:
            to_verb.append(self.noun_phrase(subject, role, -1, 0))
        group = _group(c, entry, *agreement, inverted)
        verb = self.verbs(c, group, (subject if inverted else None, role), (relation, head), to_verb)
        lexical = self.wanted(entry, verb) if c.modal == "want" else verb
        for place in to_verb:
            heads[place] = verb
        for place in to_lexical:
            heads[place] = lexical
        self.rest(c, entry, lexical)
        if c.complement or c.subordinate or c.coordinate:
            self.join(c, verb, lexical)
        return verb

    def opening(self, c: Clause) -> tuple[list[int], list[int]]:
        """Add a clause that comes first, a question word, initial adverbs; what depends on the finite, on the lexical verb."""
        add, to_verb, to_lexical = self.add, [], []
        if c.subordinate is not None and c.subordinate[2]:
            to_verb += [self.subordinate(c.subordinate), add(",", "punct")]
        if c.question and c.question not in ("polar", "who"):
            place = add(c.question, "dobj" if c.question == "what" else "advmod")
            (to_lexical if c.question in ("what", "where") else to_verb).append(place)
        for adverb in c.adverbs:
            if adverb.position == "initial":
                to_verb.append(add(_WORDS[adverb.adverb], "advmod"))
                if adverb.adverb in _COMMA_AFTER:
                    to_verb.append(add(",", "punct"))
        return to_verb, to_lexical

    def verbs(
        self, c: Clause, group: tuple, subject: tuple[NP | None, str], verb: tuple[str, int], to_verb: list[int]
    ) -> int:  # fmt: skip
        """Add the verb group with negation, medial adverbs and an inverted subject; return the position of the verb."""
        add, negated, (finite, middle, form) = self.add, c.negated, group
        early = between = late = ()
        if c.adverbs:
            medial = [a.adverb for a in c.adverbs if a.position == "medial"]
            early = [a for a in medial if negated and KINDS[a] == "sentence" and a != "really"]
            late = [a for a in medial if KINDS[a] == "manner"]
            between = [a for a in medial if a not in early and a not in late]
        contracted = negated and self.register == "subtitles" and "am" not in (finite, form)
        for adverb in early:
            to_verb.append(add(_WORDS[adverb], "advmod"))
        place = -1
        if finite:
            passive = c.passive and not middle
            word = _CONTRACTED.get(finite, finite) if contracted else finite
            to_verb.append(add(word, "auxpass" if passive else "aux"))
        elif c.verb == "be" and c.modal != "want":
            place = add(form, *verb)
        if contracted:
            to_verb.append(add("n't", "neg"))
        if subject[0] is not None:
            to_verb.append(self.noun_phrase(*subject, -1, 0))
        if negated and not contracted:
            to_verb.append(add("not", "neg"))
        for adverb in between:
            to_verb.append(add(_WORDS[adverb], "advmod"))
        for word in middle:
            to_verb.append(add(word, "auxpass"))
        for adverb in late:
            to_verb.append(add(_WORDS[adverb], "advmod"))
        return add(form, *verb) if place < 0 else place

    def wanted(self, entry, verb: int) -> int:
        """Add what is wanted, "to read"; return the position of the lexical verb."""
        to = self.add("to", "aux")
        lexical = self.heads[to] = self.add(entry.lemma, "xcomp", verb)
        return lexical

    def join(self, c: Clause, verb: int, lexical: int) -> None:
        """Add the clauses behind: complement, subordinate, coordinate."""
        add, heads = self.add, self.heads
        if c.complement is not None:
            mark = add("that", "mark")
            heads[mark] = self.clause(c.complement, "ccomp", lexical)
        if c.subordinate is not None and not c.subordinate[2]:
            if c.subordinate[0] == "although":
                add(",", "punct", verb)
            heads[self.subordinate(c.subordinate)] = verb
        if c.coordinate is not None:
            add(",", "punct", verb)
            add(c.coordinate[0], "cc", verb)
            self.clause(c.coordinate[1], "conj", verb)

    def subordinate(self, subordinate: tuple) -> int:
        mark = self.add(subordinate[0], "advmod" if subordinate[0] == "when" else "mark")
        verb = self.heads[mark] = self.clause(subordinate[1], "advcl")
        return verb

    def rest(self, c: Clause, entry, verb: int) -> None:
        """Add what follows the verb: objects, attribute, agent, adverbs, places."""
        add, passive = self.add, c.passive
        obj, recipient = (None if passive else c.object), c.recipient
        if obj is not None and not entry.preposition:
            if recipient is not None and not obj.pronoun and not (recipient.adjectives or recipient.followed):
                self.noun_phrase(recipient, "dative", verb)
                recipient = None
            self.noun_phrase(obj, "dobj", verb)
        if recipient is not None:
            self.noun_phrase(recipient, "pobj", add("to", "dative", verb))
        attribute = c.attribute
        if attribute is not None:
            if isinstance(attribute, str):
                degree = add(c.degree, "advmod") if c.degree else -1
                place = add(_WORDS[attribute], "acomp", verb)
                if degree >= 0:
                    self.heads[degree] = place
            else:
                self.noun_phrase(attribute, "attr", verb)
        if passive and c.subject is not None:
            self.noun_phrase(c.subject, "pobj", add("by", "agent", verb))
        times = None
        for item in c.adverbs:
            if item.position == "final" and KINDS[item.adverb] in ("manner", "place"):
                add(_WORDS[item.adverb], "advmod", verb)
            elif item.position == "final":
                times = item.adverb
        if entry.preposition and obj is not None:
            self.noun_phrase(obj, "pobj", add(entry.preposition, "prep", verb))
        for pp in c.places:
            self.prepositional(pp, verb)
        if times is not None:
            add(_WORDS[times], "advmod", verb)


def realise(clause: Clause, register: str) -> English:
    """Say a plan in English; "subtitles" contract "not" ("do n't") and say "the teacher 's brother", "news" does neither."""
    speaker = _Speaker(register)
    root = speaker.clause(clause, "root")
    speaker.add("?" if clause.question else ".", "punct", root)
    return speaker.out
