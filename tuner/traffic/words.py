"""Words that tell nothing of a source, and others in place of those that might."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent


@cache
def words() -> frozenset[str]:
    """Words of the trade, and of the language around it."""
    return frozenset((_HERE / "words.txt").read_text(encoding="ascii").split())


@cache
def programs() -> frozenset[str]:
    """Programs that run on so many hosts that their names say nothing of one."""
    return frozenset((_HERE / "programs.txt").read_text(encoding="ascii").split())


_CONSONANTS, _VOWELS = b"bdfgklmnprstvz", b"aeiou"
# Whole texts are written before each trial: a table gives each letter.
_CONSONANT_OF, _VOWEL_OF = (
    bytes(letters[number % len(letters)] for number in range(256))
    for letters in (_CONSONANTS, _VOWELS)
)


class StandIns:
    """Words of the same length and spelling in place of those that a source alone has, the same
    one for each; they follow from the order in which the words come, not from the words.

    Those that are `kept` stay, and with `verbatim` everything does.
    """

    def __init__(self, words_kept: Iterable[str], *, verbatim: bool) -> None:
        self.verbatim = verbatim
        self._kept = frozenset(word.lower() for word in words_kept)
        self._given: dict[str, str] = {}
        self._count: dict[int, int] = {}

    def may_stay(self, word: str) -> bool:
        """Whether a word says nothing of the source, or stands elsewhere anyway."""
        lower = word.lower()
        says_nothing = len(lower) == 1 or lower in words() or lower in programs()
        return self.verbatim or says_nothing or lower in self._kept

    def stand_in(self, word: str) -> str:
        """What stands for it: itself if it may stay."""
        if self.may_stay(word):
            return word
        stand_in = self._given.get(word.lower())
        if stand_in is None:
            number = self._count.get(len(word), 0)
            self._count[len(word)] = number + 1
            drawn = hashlib.shake_128(f"{len(word)} {number}".encode()).digest(len(word))
            stand_in = self._given[word.lower()] = pronounceable(drawn)
        if word.isupper():
            return stand_in.upper()
        return stand_in.capitalize() if word[:1].isupper() else stand_in

    def text(self, text: str) -> str:
        """A text with others in place of its words."""
        return re.sub(r"[^\W\d_]+", lambda word: self.stand_in(word[0]), text)

    def program(self, name: str) -> str:
        """What stands for the name of a program: itself where many hosts have it."""
        if self.verbatim or name in programs() or name.lower() in self._kept:
            return name
        return re.sub(r"\d", "0", self.text(name))

    def host(self, name: str, number: int) -> str:
        """A name as long as that of a host, with its number of all."""
        if self.verbatim or name.lower() in self._kept:
            return name
        digits = str(number)
        whole = f"host{digits}" if len(name) <= 4 + len(digits) else f"host-{digits}"
        return whole[-len(name) :] if len(name) < len(whole) else whole.ljust(len(name), "x")


def pronounceable(drawn: bytes) -> str:
    """A word with a letter for each byte, consonants and vowels in turn."""
    letters = bytearray(drawn)
    letters[::2] = drawn[::2].translate(_CONSONANT_OF)
    letters[1::2] = drawn[1::2].translate(_VOWEL_OF)
    return letters.decode("ascii")
