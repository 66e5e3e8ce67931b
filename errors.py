"""The errors dicast raises, in two families.

* DicastError
  - DeclarationError      something the user gave must change; a retry cannot help
    · DataError           a row, a file or a data set
      MissingField        a case without something that the judge reads
    · ModelError          a model string, a key, a weights file
      ModelRefused        the server's word on it
    · RunError            a run folder that holds something else
  - ExecutionError        this call failed; asking again may help
    · ParseFailure        the model's answer is not in the form that was asked for
    · Refusal             the model declined to judge
    · ContextOverflow     the prompt is longer than the model's context window
    · Infrastructure      the server did not answer, or answered with an error
      · NoTokenProbabilities  its replies hold none
    · BudgetSpent         the calls, tokens, money or minutes allowed are used up
    · Unreadable          the model gave the offered options too little probability
    · Internal            dicast, or a judge of the user's, failed on this case

Every message reads "who: what was wrong, with the value. What to do." Keys and control characters are removed from it.
"""

import re
from typing import ClassVar, Literal

from .redaction import clean

UnscoredReason = Literal[
    "parse_failure",
    "refusal",
    "context_overflow",
    "missing_field",
    "infrastructure",
    "budget",
    "unreadable",
    "internal",
]


class DicastError(Exception):
    """Base of everything that dicast raises on purpose."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(clean(value) if isinstance(value, str) else value for value in arguments))


class DeclarationError(DicastError):
    """Something the user declared is wrong: a value, a file, a name."""


class DataError(DeclarationError):
    """A row, a file or a data set cannot be read as cases."""


class MissingField(DataError):
    """A case has not what the judge reads, such as a reference; in a run it is unscored.

    Attributes:
        reason: the word that the unscored verdict carries.
    """

    reason: ClassVar[UnscoredReason] = "missing_field"


class ModelError(DeclarationError):
    """A model string, a key or a weights file cannot be used."""


class ModelRefused(ModelError):
    """The server refused the model, the key or the account, or what was asked of the model."""


class RunError(DeclarationError):
    """A run folder cannot take or give what was asked."""


class ExecutionError(DicastError):
    """A judgment failed while running.

    Attributes:
        reason: the word that an unscored verdict carries.
        answers_forgotten: the stage that failed has removed the answers that it could not use from the store, so that
            the other answers of the judgment can stay there.
    """

    reason: ClassVar[UnscoredReason]
    answers_forgotten = False


class ParseFailure(ExecutionError):
    """The model's answer did not have the declared form, also when asked again."""

    reason = "parse_failure"


class Refusal(ExecutionError):
    """The model declined to judge."""

    reason = "refusal"


class ContextOverflow(ExecutionError):
    """The prompt is longer than the model's context window."""

    reason = "context_overflow"


class Infrastructure(ExecutionError):
    """The model's server did not answer, or answered with an error."""

    reason = "infrastructure"


class NoTokenProbabilities(Infrastructure):
    """The server's replies hold no token probabilities; one such reply may be an accident, all of them are not.

    Attributes:
        words: are in the message, also in that of an Infrastructure error that ends a run for it.
    """

    words: ClassVar[str] = "the server returned no token probabilities"


class BudgetSpent(ExecutionError):
    """The allowed calls, tokens, money or minutes are used up."""

    reason = "budget"


class Unreadable(ExecutionError):
    """The options that a question offers hold too little of the probability, so that nothing was read."""

    reason = "unreadable"


class Internal(ExecutionError):
    """An unexpected error while one case was judged; the message says of which type and where."""

    reason = "internal"


def install_hint(extra: str) -> str:
    """What to run for an extra of pyproject.toml: pip, with the packages of the extra by name.

    So it works wherever dicast came from: a wheel, a registry, an archive. Where the installed metadata knows no such
    extra (dicast runs out of a checkout that was not installed), its source folder is named.
    """
    from importlib.metadata import PackageNotFoundError, requires  # takes longer than all else here

    try:
        needs = requires("dicast") or []
    except PackageNotFoundError:
        needs = []
    marker = re.compile(rf"extra == ['\"]{re.escape(extra)}['\"]")
    packages = [need.partition(";")[0].strip() for need in needs if marker.search(need)]
    if not packages:
        return f"In the source folder of dicast, run: pip install '.[{extra}]'"
    return "Run: pip install " + " ".join(f"'{package}'" for package in sorted(packages))
