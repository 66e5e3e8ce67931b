"""Near duplicates: texts that share nearly all their character 5-grams, found by MinHash (Broder 1997).

Locality-sensitive hashing (datasketch, https://ekzhu.com/datasketch/lsh.html) proposes pairs; each proposed pair is
then compared exactly, so that a reported pair is at or above the bound. Of pairs at the bound about 2 in 10,000 are not
proposed, of more similar ones fewer.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Shingles = NDArray[np.uint64]
Signatures = NDArray[np.uint32]

BOUND = 0.8
"""The Jaccard similarity of the 5-grams from which two texts are near duplicates.

In the public labelled sets pairs above it differ in a word, a number or the punctuation; between .6 and .8 most are
different sentences of one pattern. docs/compiling.md has the counts.
"""
SHINGLE = 5  # characters
BANDS, ROWS = 16, 4  # of a pair of similarity s a proportion of 1 - (1 - s^4)^16 is proposed: .9998 at .8
COMPARED = 20  # proposed texts, the most similar by their signatures, that are compared exactly
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio (Knuth, The Art of Computer Programming 6.4)


def near_duplicates(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of indices that connect near duplicates: similar texts are in one chain of pairs.

    The result does not depend on the order of the texts. A text is paired with at most `COMPARED` that sort before it.

    Args:
        texts: different and normalised, see `text_digest.normalised`.
    """
    from datasketch import MinHash, MinHashLSH

    order = sorted(range(len(texts)), key=texts.__getitem__)
    index = MinHashLSH(num_perm=BANDS * ROWS, params=(BANDS, ROWS))
    empty = MinHash(BANDS * ROWS, hashfunc=int)
    signatures: Signatures = np.empty((len(texts), BANDS * ROWS), dtype=np.uint32)
    shingles: list[Shingles] = [np.empty(0, dtype=np.uint64)] * len(texts)
    pairs: list[tuple[int, int]] = []
    for number in order:
        shingles[number] = shingles_of(texts[number])
        sketch = empty.copy()
        sketch.update_batch((shingles[number] >> np.uint64(32)).tolist())
        signatures[number] = sketch.hashvalues
        proposed = np.array(sorted(index.query(sketch)), dtype=np.int64)
        likely = (signatures[proposed] == signatures[number]).mean(axis=1)
        compared = proposed[np.argsort(-likely, kind="stable")[:COMPARED]].tolist()
        similar = [other for other in compared if jaccard(shingles[number], shingles[other]) >= BOUND]
        pairs += [(other, number) for other in similar]
        if len(similar) < COMPARED:  # else these represent it: thousands of texts of one pattern stay quick
            index.insert(number, sketch, check_duplication=False)
    return pairs


def shingles_of(text: str) -> Shingles:
    """Hashes of the distinct runs of 5 characters of a text, sorted; a shorter text is one run."""
    characters = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    width = min(SHINGLE, len(characters))
    hashes = np.zeros(len(characters) - width + 1, dtype=np.uint64)
    for offset in range(width):
        hashes = (hashes + characters[offset : len(characters) - width + 1 + offset]) * MULTIPLIER
        hashes ^= hashes >> np.uint64(29)
    return np.unique(hashes)


def jaccard(first: Shingles, second: Shingles) -> float:
    """The number of shared shingles over the number of all shingles of both texts."""
    shared = len(np.intersect1d(first, second, assume_unique=True))
    return shared / max(len(first) + len(second) - shared, 1)
