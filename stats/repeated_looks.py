"""P-values of tests that are repeated on the same cases, adjusted so that any number of looks errs at most 5 %.

A two-sided p of at most 5 % calls a judge better that is not with a probability of at most 2.5 %. The first look at
some cases has this level. All later looks together have as much again: look k >= 2 has 2.5 % / (k (k - 1)), and these
levels sum to 2.5 %, as 1 / (k (k - 1)) = 1 / (k - 1) - 1 / k telescopes (alpha spending without a planned end; DeMets &
Lan 1994, Statistics in Medicine 13; Foster & Stine 2008, J. Royal Statistical Society B 70).

What is guaranteed. Take any case, and all looks that test it. Any two of them share that case, so the m-th of them
has at least m - 1 earlier looks with a shared case, and its level is at most that of look m. By the union bound some of
these looks calls a judge better that is not, with probability at most 2.5 % + 2.5 % = 5 %, however many looks there are
and however they depend on one another. The same holds for "worse". Looks that share no case use other evidence and
do not count.

What is assumed. Each test has its level for the judges that it compares. That holds where the judges of look k do not
depend on what earlier looks said of the tested cases, but for whether they called a judge better. A judge that was
changed after reading which test cases it got wrong was fitted to them, and no adjustment repairs that.
"""

import math

ALPHA = 0.05  # two-sided level of a first look


def adjusted_p(p: float, look: int) -> float:
    """The two-sided p-value of a look, adjusted for the earlier looks at the same cases, in [0, 1]; NaN stays NaN.

    Args:
        p: two-sided, in [0, 1].
        look: 1 for the first look.

    Example:
        >>> adjusted_p(0.02, 1), round(adjusted_p(0.02, 3), 2)
        (0.02, 0.12)
    """
    return p if math.isnan(p) else min(1.0, p * max(1, look * (look - 1)))
