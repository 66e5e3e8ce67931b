"""Matrix factorisation of ratings by scikit-surprise, the kept library for explicit ratings; imported here alone."""

from collections.abc import Callable, Mapping

from ..errors import DeclarationError


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
            "judge 'matrix-factorisation' needs scikit-surprise. Run: pip install 'dicast[baselines]'"
        ) from None
    rows = [(reviewer, text, score, None) for (reviewer, text), score in ratings.items()]
    train = Dataset(Reader(rating_scale=scale)).construct_trainset(rows)
    model = SVD(n_factors=factors, random_state=seed).fit(train)
    return lambda reviewer, text: float(model.predict(reviewer, text).est)
