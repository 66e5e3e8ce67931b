"""`matrix-factorisation`: ratings predicted from all reviewers' histories (baseline of PerSE, arXiv 2310.03304).

The factorisation is scikit-surprise's, imported here alone.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from ..data import Case, Finding, Reviewer, Verdict, read_cases
from ..data.readers import file_digest
from ..errors import DeclarationError, install_hint
from ..judging.hparam import HParam
from ..judging.judge import FittedJudge, verdict_of
from ..judging.registry import register


@register(
    "matrix-factorisation",
    summary="baseline: the rating predicted from everybody's histories",
    source="PerSE, arXiv 2310.03304",
    inputs="single texts, pairs; a reviewer's reviews",
    calls="0",
)
class MatrixFactorisation(FittedJudge):
    """The score that biased matrix factorisation (Koren et al. 2009) predicts for reviewer and text, fitted to all
    histories of the cases but for what is to be judged; a text in nobody's history gets the reviewer's level alone. No
    LM is called.

    Args:
        factors: dimensions of the reviewers' and the texts' vectors.
        seed: of their first values.
        histories: a file of cases whose histories it is fitted to as well, such as those of other reviewers; labels
            are not read, and the file's digest is part of a run's identity.
    """

    name = "matrix-factorisation"
    scores_only = True

    def __init__(self, *, factors: int = 10, seed: int = 0, histories: str = "") -> None:
        super().__init__()
        self.factors = HParam(factors, range(1, 201), search=(5, 10))
        self.seed = HParam(seed, range(2**32), search=())
        self.histories = HParam(histories, search=(), implied=True)
        self.model: Any = None

    def resolved_models(self) -> dict[str, str]:
        path = Path(self.histories.value).expanduser()
        return {"histories": file_digest(path)} if self.histories.value and path.is_file() else {}

    def fit(self, cases: Iterable[Case]) -> Self:
        known = [(case.profile, case.candidates) for case in cases if isinstance(case.profile, Reviewer)]
        judged = {(reviewer.id, candidate.text) for reviewer, candidates in known for candidate in candidates}
        reviewers = [*self._further(), *(reviewer for reviewer, _ in known)]
        ratings = {(reviewer.id, review.text): review.score for reviewer in reviewers for review in reviewer.reviews}
        ratings = {key: score for key, score in ratings.items() if key not in judged}
        if not ratings:
            raise DeclarationError("judge 'matrix-factorisation': no case has a reviewer's history.")
        scales = {reviewer.scale for reviewer in reviewers}
        if len(scales) > 1:
            raise DeclarationError(f"judge 'matrix-factorisation': histories on several scales, {sorted(scales)}.")
        self.model = fit_ratings(ratings, scales.pop(), factors=self.factors.value, seed=self.seed.value)
        return self

    def _further(self) -> list[Reviewer]:
        """The reviewers of the file of further histories; raises DataError for a file that cannot be read."""
        if not self.histories.value:
            return []
        cases = read_cases(Path(self.histories.value).expanduser())
        return [case.profile for case in cases if isinstance(case.profile, Reviewer)]

    def lacks(self, case: Case) -> str:
        if isinstance(case.profile, Reviewer):
            return ""
        return f"judge 'matrix-factorisation': case {case.id!r} has no reviewer. Give rows with `reviewer`."

    def assess(self, case: Case) -> Verdict:
        if self.model is None:
            raise DeclarationError("judge 'matrix-factorisation': fit it to cases with histories first.")
        assert isinstance(case.profile, Reviewer)
        reviewer = case.profile.id
        scores = tuple(self.model(reviewer, candidate.text) for candidate in case.candidates)
        return verdict_of(case, [Finding(criterion="predicted rating", scores=scores)])


def fit_ratings(
    ratings: Mapping[tuple[str, str], float], scale: tuple[float, float], *, factors: int, seed: int
) -> Callable[[str, str], float]:
    """A function from (reviewer, text) to a rating on the scale, by biased matrix factorisation (SVD).

    Raises:
        DeclarationError: the extra is not installed.
    """
    try:
        from surprise import SVD, Dataset, Reader
    except ImportError:
        raise DeclarationError(
            f"judge 'matrix-factorisation' needs scikit-surprise. {install_hint('baselines')}"
        ) from None
    rows = [(reviewer, text, score, None) for (reviewer, text), score in ratings.items()]
    train = Dataset(Reader(rating_scale=scale)).construct_trainset(rows)
    model = SVD(n_factors=factors, random_state=seed).fit(train)
    return lambda reviewer, text: float(model.predict(reviewer, text).est)
