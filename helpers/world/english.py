"""English out of plans: words with their gold dependency tree.

Labels are those of spaCy's English models (ClearNLP): prepositions head their noun, the copula heads its clause, auxiliaries
depend on the lexical verb. The root is labelled "root" and its head is -1. Nothing is capitalised but names and "I".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from helpers.world.lexicon import PREPOSITIONS, adjectives, adverbs, female, names, nouns, sense, verbs
from helpers.world.plan import NP, PP, Clause

RELATIONS = frozenset(
    "root nsubj nsubjpass dobj dative attr acomp amod advmod neg aux auxpass det poss case prep pobj agent mark advcl ccomp "
    "xcomp relcl cc conj nummod compound punct".split()
)


@dataclass(slots=True)
class English:
    """A realised English sentence.

    Attributes
    ----------
    words : list of str
    heads : list of int
        Position of each word's head, -1 for the root.
    relations : list of str
        Each word's relation to its head, one of `RELATIONS`.
    """

    words: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)

    def add(self, word: str, relation: str, head: int = -1) -> int:
        """Append a word and return its position; a head not known yet is set later."""
        self.words.append(word)
        self.heads.append(head)
        self.relations.append(relation)
        return len(self.words) - 1


_NOUNS, _VERBS, _FEMALE = nouns(), verbs(), female()
_WORDS = {key: sense(key) for key in (*adjectives(), *adverbs(), *_VERBS)}
_KINDS = {key: entry.kind for key, entry in adverbs().items()}
_PREPOSITIONS = {key: entry[0].split() for key, entry in PREPOSITIONS.items()}
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
    noun = _NOUNS.get(np.noun)
    if noun is None or noun.cls == "person":
        return (("he", "him"), ("she", "her"))[np.noun in _FEMALE][form]
    return "it"


def _agreement(np: NP | None) -> tuple[int, bool]:
    """Person and whether plural; what is missing (who, what) is third person singular."""
    if np is None:
        return 3, False
    return np.person, np.number == "pl" or np.coordinate is not None


def _finite(entry, tense: str, person: int, plural: bool) -> str:
    """Present or past of a verb."""
    if entry.lemma == "be":
        if tense == "past":
            return "were" if plural or person == 2 else "was"
        return "are" if plural or person == 2 else "am" if person == 1 else "is"
    if tense == "past":
        return entry.past
    return entry.third if person == 3 and not plural else entry.lemma


@dataclass(frozen=True, slots=True)
class _Want:
    lemma: str = "want"
    third: str = "wants"
    past: str = "wanted"


_WANT, _BE = _Want(), _VERBS["be"]


class _Speaker:
    """Puts the words of one sentence in order."""

    __slots__ = ("add", "heads", "out", "register", "words")

    def __init__(self, register: str):
        self.out = English()
        self.add, self.words, self.heads = self.out.add, self.out.words, self.out.heads
        self.register = register

    # -- noun phrases
    def noun_phrase(self, np: NP, relation: str, head: int = -1, form: int = 1) -> int:
        """Add a noun phrase; `form` is 0 for the subject's pronoun, 1 for the object's."""
        add, words, heads = self.add, self.words, self.heads
        if np.pronoun:
            return add(_pronoun(np, form), relation, head)
        noun = _NOUNS.get(np.noun)
        if noun is None:
            if np.surname:
                first = add(np.noun, "compound")
                top = add(np.surname, relation, head)
                heads[first] = top
            else:
                top = add(np.noun, relation, head)
        else:
            start, possessor, article = len(words), np.genitive, -1
            if possessor is not None and not self.saxon(np, possessor):
                possessor = None
            if possessor is not None:
                owner = self.noun_phrase(possessor, "poss")
                add("'" if words[owner].endswith("s") and possessor.number == "pl" else "'s", "case", owner)
                loose = [owner]
            elif np.determiner and not (np.determiner == "a" and np.number == "pl"):
                article = add(np.determiner, _DETERMINERS[np.determiner])
                if np.determiner == "this" and np.number == "pl":
                    words[article] = "these"
                loose = [article]
            else:
                loose = []
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
            if np.genitive is not None and possessor is None:
                self.noun_phrase(np.genitive, "pobj", add("of", "prep", top))
        if np.place is not None:
            self.prepositional(np.place, top)
        if np.relative is not None:
            self.relative(np, top)
        if np.coordinate is not None:
            add("and", "cc", top)
            self.noun_phrase(np.coordinate, "conj", top, form)
        return top

    def saxon(self, np: NP, possessor: NP) -> bool:
        """Whether to say "the teacher 's brother" rather than "the brother of the teacher"."""
        if np.determiner != "the" or possessor.pronoun:
            return False
        if possessor.genitive or possessor.place or possessor.relative or possessor.coordinate or possessor.adjectives:
            return False
        noun = _NOUNS.get(possessor.noun)
        if noun is None:
            return names()[possessor.noun].kind != "town"
        return noun.cls == "person" and self.register == "subtitles"

    def prepositional(self, pp: PP, head: int) -> None:
        """Add a prepositional phrase; "in front of" is a chain of three."""
        place = head
        first, *rest = _PREPOSITIONS[pp.preposition]
        place = self.add(first, "prep", head)
        if rest:
            place = self.add("of", "prep", self.add("front", "pobj", place))
        self.noun_phrase(pp.np, "pobj", place)

    def relative(self, np: NP, head: int) -> None:
        """Add a relative clause to the noun at `head`."""
        clause, noun = np.relative, _NOUNS.get(np.noun)
        person = noun is None or noun.cls == "person"
        word = "which" if clause.gap == "subject" and self.register == "news" else "that"
        pronoun = self.add("who" if person and clause.gap == "subject" else word, "dobj")
        self.clause(clause, "relcl", head, pronoun, (3, np.number == "pl"))

    # -- clauses
    def clause(
        self, c: Clause, relation: str, head: int = -1, fronted: int = -1, agreement: tuple[int, bool] | None = None
    ) -> int:
        """Add a clause and return the position of its verb.

        Parameters
        ----------
        fronted : int
            Position of the relative pronoun, -1 if there is none.
        agreement : tuple of (int, bool) or None
            Of a relative pronoun: person, and whether plural.
        """
        add, heads, relations = self.add, self.heads, self.out.relations
        entry = _VERBS[c.verb]
        question, gap, passive = c.question, c.gap, c.passive
        to_verb, to_lexical = [], []  # words before the verb that depend on it
        subordinate = c.subordinate
        first = -1
        if subordinate is not None and subordinate[2]:
            first = self.subordinate(subordinate)
            to_verb += [first, add(",", "punct")]
        if question and question not in ("polar", "who"):
            place = add(question, "dobj" if question == "what" else "advmod")
            (to_lexical if question in ("what", "where") else to_verb).append(place)
        medial, final = [], []
        for adverb in c.adverbs:
            if adverb.position == "initial":
                to_verb.append(add(_WORDS[adverb.adverb], "advmod"))
                if adverb.adverb in _COMMA_AFTER:
                    to_verb.append(add(",", "punct"))
            else:
                (medial if adverb.position == "medial" else final).append(adverb.adverb)

        # the subject
        subject = c.object if passive else c.subject
        role = "nsubjpass" if passive else "nsubj"
        if fronted >= 0:
            if gap == "subject":
                relations[fronted] = role
                to_verb.append(fronted)
                person, plural = agreement
            else:
                to_lexical.append(fronted)
                person, plural = _agreement(subject)
        else:
            person, plural = _agreement(subject)
        inverted = question not in ("", "who")
        said = subject is None
        if question == "who":
            to_verb.append(add("who", role))
        elif subject is not None and not inverted:
            to_verb.append(self.noun_phrase(subject, role, -1, 0))
            said = True

        # the verb group: words before the lexical verb and its form
        want, tense, modal = c.modal == "want", c.tense, c.modal
        negated, lemma = c.negated, entry.lemma
        finite, middle, form = "", (), lemma
        if c.imperative:
            if negated:
                finite = "do"
        elif want:
            form = _finite(_WANT, tense, person, plural)
            if negated or inverted:
                finite, form = "did" if tense == "past" else "do" if plural or person != 3 else "does", "want"
        else:
            if modal:
                finite = "could" if modal == "can" and tense == "past" else modal
                if passive:
                    middle, form = ("be",), entry.participle
            elif tense == "future":
                finite = "will"
                if passive:
                    middle, form = ("be",), entry.participle
            elif tense == "perfect":
                finite, form = "have" if plural or person != 3 else "has", entry.participle
                if passive:
                    middle = ("been",)
            elif c.progressive:
                finite, form = _finite(_BE, tense, person, plural), entry.ing
            elif passive:
                finite, form = _finite(_BE, tense, person, plural), entry.participle
            elif lemma == "be":
                form = _finite(_BE, tense, person, plural)
            elif negated or inverted:
                finite = "did" if tense == "past" else "do" if plural or person != 3 else "does"
            else:
                form = _finite(entry, tense, person, plural)
        simple_be = lemma == "be" and not finite and not want
        contracted = negated and self.register == "subtitles" and "am" not in (finite, form)
        finite_role = "auxpass" if passive and not middle and not modal and tense != "perfect" else "aux"
        early = [a for a in medial if negated and _KINDS[a] == "sentence" and a != "really"] if medial else medial
        late = [a for a in medial if _KINDS[a] == "manner"] if medial else medial
        for adverb in early:
            to_verb.append(add(_WORDS[adverb], "advmod"))
        verb = -1
        if simple_be:
            verb = add(form, relation, head)
        elif finite:
            to_verb.append(add(_CONTRACTED.get(finite, finite) if contracted else finite, finite_role))
        if contracted:
            to_verb.append(add("n't", "neg"))
        if inverted and not said:
            to_verb.append(self.noun_phrase(subject, role, -1, 0))
        if negated and not contracted:
            to_verb.append(add("not", "neg"))
        if medial:
            for adverb in medial:
                if adverb not in early and adverb not in late:
                    to_verb.append(add(_WORDS[adverb], "advmod"))
        for word in middle:
            to_verb.append(add(word, "auxpass"))
        for adverb in late:
            to_verb.append(add(_WORDS[adverb], "advmod"))
        if verb < 0:
            verb = add(form, relation, head)
        lexical = verb
        if want:
            to = add("to", "aux")
            be = add("be", "auxpass") if passive else -1
            lexical = add(entry.participle if passive else lemma, "xcomp", verb)
            heads[to] = lexical
            if be >= 0:
                heads[be] = lexical
        for place in to_verb:
            heads[place] = verb
        for place in to_lexical:
            heads[place] = lexical
        if first >= 0:
            heads[first] = verb

        self.rest(c, entry, lexical, final, passive)
        if c.complement is not None:
            mark = add("that", "mark")
            heads[mark] = self.clause(c.complement, "ccomp", lexical)
        if subordinate is not None and not subordinate[2]:
            if subordinate[0] == "although":
                add(",", "punct", verb)
            heads[self.subordinate(subordinate)] = verb
        if c.coordinate is not None:
            add(",", "punct", verb)
            add(c.coordinate[0], "cc", verb)
            self.clause(c.coordinate[1], "conj", verb)
        return verb

    def subordinate(self, subordinate: tuple) -> int:
        mark = self.add(subordinate[0], "advmod" if subordinate[0] == "when" else "mark")
        verb = self.heads[mark] = self.clause(subordinate[1], "advcl")
        return verb

    def rest(self, c: Clause, entry, verb: int, final: list[str], passive: bool) -> None:
        """Add what follows the verb: objects, attribute, agent, adverbs, places."""
        add = self.add
        obj, recipient = (None if passive else c.object), c.recipient
        if obj is not None and not entry.at:
            if recipient is not None and not obj.pronoun and (recipient.pronoun or _short(recipient)):
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
        for adverb in final:
            if _KINDS[adverb] in ("manner", "place"):
                add(_WORDS[adverb], "advmod", verb)
            else:
                times = adverb
        if entry.at and obj is not None:
            self.noun_phrase(obj, "pobj", add(entry.at, "prep", verb))
        for pp in c.places:
            self.prepositional(pp, verb)
        if times is not None:
            add(_WORDS[times], "advmod", verb)


def _short(np: NP) -> bool:
    return not (np.genitive or np.place or np.relative or np.coordinate or np.adjectives)


def realise(clause: Clause, register: str) -> English:
    """Say a plan in English.

    Parameters
    ----------
    clause : Clause
    register : str
        "subtitles" contracts "not" ("do n't") and says "the teacher 's brother"; "news" does neither.

    Returns
    -------
    English
    """
    speaker = _Speaker(register)
    root = speaker.clause(clause, "root")
    speaker.add("?" if clause.question else ".", "punct", root)
    return speaker.out
