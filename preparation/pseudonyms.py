"""Invented names for people and places, and words that are no names by themselves."""

import random
from collections.abc import Iterator
from itertools import product

from ..data.case import digest


def _words(text: str) -> list[str]:
    """The words of a text; a call keeps these lists readable."""
    return text.split()


# Given names of no gender, so that he and she stay right; everything else is a family, a village or a thing.
GIVEN = _words(
    "Alexis Ari Ashby Avery Blair Briar Casey Devon Ellis Emery Finley Hollis Jamie Kit Lane Marlow Morgan Nico Noel "
    "Parker Quinn Reese Remy Robin Rowan Sasha Skyler Tatum Teagan Wren"
)
HEADS = _words("Al Bel Bren Cal Cor Dal Dor El Fal Hal Ker Lor Mer Nor Or Pel Ros Tal Tor Var Wes Yor")
TAILS = _words("bury by combe ford holm ley mere ridge stead thorpe ton vale wick wyn")

TITLES = frozenset(_words(
    "mr mrs ms miss mx dr prof st sir madam lady lord king queen prince princess captain capt colonel col general gen "
    "sergeant sgt lieutenant lt major officer detective inspector agent judge president father mother sister brother "
    "uncle aunt grandma grandpa doctor professor saint reverend rev jr sr"
))  # fmt: skip
# A part of many names that would be wrong to replace wherever else it occurs; Will and May are people too.
PLAIN = TITLES | frozenset(_words(
    "a an the of and or but nor so yet for to in on at by from with as if then than that this these those it its he "
    "him his she her hers they them their we us our you your i me my mine who what when where why how which there here "
    "is are was were be been am do does did has have had will would can could shall should may might must not no yes "
    "one two three first second new old great big little north south east west northern southern eastern western upper "
    "lower city town village county state street road avenue river lake mount mountain island bay sea ocean de la le "
    "los las van von der den del da di"
)) - {"will", "may"}  # fmt: skip
CALENDAR = frozenset(_words(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december christmas easter"
))  # fmt: skip


def invented(text: str, *, given_name: bool) -> Iterator[str]:
    """Names without end, in an order that the text decides; given names first where `given`."""
    generator = random.Random(f"{digest(text)}/{given_name}")
    names = [head + tail for head, tail in product(HEADS, TAILS)]
    generator.shuffle(names)
    yield from generator.sample(GIVEN, len(GIVEN)) if given_name else ()
    yield from names
    tails = TAILS
    while True:
        yield from (name + tail for name, tail in product(names, tails))
        tails = [first + second for first, second in product(tails, TAILS)]
