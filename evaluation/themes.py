"""Cases clustered by their words: what do requests, or the reasons for verdicts, have in common where the judge is
wrong?

Texts become TF-IDF vectors, of these the largest components are kept (latent semantic analysis, Deerwester et al. 1990;
there texts without a common word can be near), and k-means puts near ones together (Lloyd 1982; starts of Arthur &
Vassilvitskii 2007). None of it sees whether a verdict is right, so the accuracy of a theme can be tested against
that of all other cases; p-values are adjusted for all themes (Holm 1979).
"""

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..stats.contrasts import proportion_contrasts
from ..stats.paired import holm
from .measure_factories import proportion_measure
from .results import Measure

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
LEAST = 60  # distinct texts; with fewer there are no themes
LARGEST = 2_000  # distinct texts that are clustered; of more, a random sample
SMALLEST = 10  # labelled cases of a theme; smaller clusters are none
A_THEME = 30  # distinct texts, on average
MOST = 8  # themes
WORDS = 6  # of a theme
VOCABULARY = 2_000
DIMENSIONS = 20
STARTS = 8
WORD = re.compile(r"[^\W\d_]{3,}")
_COMMON = """
    the and that this with for are was were has have had not but its his her their they them you your our from into
    than then there these those which what who whom when where why how can could would should will shall may might
    must been being does did doing about also more most some any all each such only very just because while both one
    two other another new few like need want get use using used make given give based below above following please
    response responses answer answers better request verdict user"""
COMMON = frozenset(_COMMON.split())


@dataclass(frozen=True)
class ThemedText:
    """A text of a labelled case.

    Attributes:
        is_right: whether the verdict is the human label.
        group: cases of one group are not independent.
    """

    case_id: str
    text: str
    is_right: bool
    group: str


@dataclass(frozen=True)
class Theme:
    """Cases whose texts share words.

    Attributes:
        words: that are more frequent in it than in the others, the most distinctive first.
        case_ids: of its cases, the wrong verdicts first, then those nearest to its middle.
        accuracy: of its verdicts.
        others: accuracy of all other verdicts.
        p: two-sided, of no difference, adjusted for all themes; None: not tested.
    """

    words: tuple[str, ...]
    case_ids: tuple[str, ...]
    accuracy: Measure
    others: Measure
    p: float | None


def themes(texts: Sequence[ThemedText], seed: int = 0) -> tuple[Theme, ...]:
    """The themes of at least 10 labelled cases, the least accurate first; none of fewer than 60 distinct texts.

    Args:
        seed: of the clustering and of the tests; the same texts in any order and the same seed give the same themes.
    """
    rows = sorted((text for text in texts if WORD.search(text.text)), key=lambda row: (row.text, row.case_id))
    distinct = sorted({row.text for row in rows})
    if len(distinct) < LEAST:
        return ()
    if len(distinct) > LARGEST:
        sample = np.random.default_rng(seed).choice(len(distinct), LARGEST, replace=False)
        distinct = [distinct[place] for place in sorted(sample.tolist())]
    places = {text: place for place, text in enumerate(distinct)}
    rows = [row for row in rows if row.text in places]
    vectors, vocabulary = tf_idf(distinct)
    if len(vocabulary) < 2:
        return ()
    clusters = _clusters(vectors, min(MOST, max(2, len(distinct) // A_THEME)), seed)
    where = np.array([places[row.text] for row in rows])
    codes = clusters[where]
    large = [
        code for code in range(int(codes.max()) + 1) if min((codes == code).sum(), (codes != code).sum()) >= SMALLEST
    ]
    p_values = _p_values(rows, codes, large, seed)
    shown = [_theme(rows, vectors[where], vocabulary, codes == code, p_values.get(code)) for code in large]
    return tuple(sorted(shown, key=lambda theme: (theme.accuracy.value, theme.words)))


def tf_idf(texts: Sequence[str]) -> tuple[Floats, list[str]]:
    """Vectors of length 1, (texts, words), and their words: (1 + ln n) (1 + ln((1 + N) / (1 + df))), as scikit-learn's
    with sublinear_tf; words of three letters at least, in two texts at least, and in no more than half of them."""
    counts = [Counter(word.lower() for word in WORD.findall(text)) for text in texts]
    frequency = Counter(word for words in counts for word in words.keys() - COMMON)
    usable = [word for word, n in frequency.items() if 2 <= n <= len(texts) / 2]
    vocabulary = sorted(sorted(usable, key=lambda word: (-frequency[word], word))[:VOCABULARY])
    places = {word: place for place, word in enumerate(vocabulary)}
    weights = np.zeros((len(texts), len(vocabulary)))
    for number, words in enumerate(counts):
        for word in words.keys() & places.keys():
            rarity = 1 + np.log((1 + len(texts)) / (1 + frequency[word]))
            weights[number, places[word]] = (1 + np.log(words[word])) * rarity
    length = np.linalg.norm(weights, axis=1, keepdims=True)
    return weights / np.where(length > 0, length, 1), vocabulary


def _clusters(vectors: Floats, k: int, seed: int) -> Codes:
    """The cluster of each row: the closest of several starts of k-means on the largest components."""
    from scipy.cluster.vq import kmeans2
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import svds

    rank = min(DIMENSIONS, min(vectors.shape) - 1)
    left, sizes, _ = svds(csr_array(vectors), k=rank, v0=np.ones(min(vectors.shape)))
    points = left * sizes
    points = points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)
    generator = np.random.default_rng(seed)
    best, least = np.zeros(len(points), dtype=np.intp), np.inf
    for _ in range(STARTS):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="One of the clusters is empty")  # then there is a theme less
            centres, codes = kmeans2(points, k, iter=30, minit="++", missing="warn", rng=generator)
        spread = float(((points - centres[codes]) ** 2).sum())
        if spread < least - 1e-9:
            best, least = codes.astype(np.intp), spread
    return best


def _p_values(rows: Sequence[ThemedText], codes: Codes, large: Sequence[int], seed: int) -> dict[int, float]:
    """The adjusted p-value of each large cluster with groups enough inside and outside."""
    hits = np.array([row.is_right for row in rows])
    if not large or hits.all() or not hits.any():
        return {}
    contrasts = proportion_contrasts(hits, codes.astype(np.int64), int(codes.max()) + 1, _groups(rows), seed=seed)
    values = {code: contrasts[code].p for code in large if not np.isnan(contrasts[code].p)}
    return dict(zip(values, holm(list(values.values())).tolist(), strict=True))


def _theme(
    rows: Sequence[ThemedText], vectors: Floats, vocabulary: Sequence[str], inside: NDArray[np.bool_], p: float | None
) -> Theme:
    middle = vectors[inside].mean(axis=0)
    lead = middle - vectors[~inside].mean(axis=0)
    nearness = vectors @ middle
    members = sorted(np.flatnonzero(inside).tolist(), key=lambda place: (rows[place].is_right, -nearness[place], place))
    return Theme(
        words=tuple(
            vocabulary[place] for place in np.argsort(-lead, kind="stable")[:WORDS].tolist() if lead[place] > 0
        ),
        case_ids=tuple(rows[place].case_id for place in members),
        accuracy=_accuracy([rows[place] for place in members]),
        others=_accuracy([rows[place] for place in np.flatnonzero(~inside).tolist()]),
        p=p,
    )


def _accuracy(rows: Sequence[ThemedText]) -> Measure:
    hits = np.array([row.is_right for row in rows])
    return proportion_measure("accuracy", hits, _groups(rows), "the verdict equals the human label")


def _groups(rows: Sequence[ThemedText]) -> Codes:
    return np.unique([row.group for row in rows], return_inverse=True)[1]
