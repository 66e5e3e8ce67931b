"""The file of reasons in a run folder, beside its verdicts, which it leaves as they are."""

from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from ..data.reason import Reason
from ..engines.jsonl import ResumableJsonl
from ..engines.last_lines import LastLines
from ..engines.run_identity import Difference
from ..errors import RunError
from ..parsing import parse_record_json

NAME = "reasons.jsonl"
WRITTEN_AGAIN = "Delete the line; the reason is written again."


class ReasonFile(ResumableJsonl):
    """`reasons.jsonl` of a run folder, with `reasons.manifest.json` and `reasons.rejects.jsonl`.

    Args:
        folder: of the run.
        current: the digest of each verdict by the id of its case; a reason of another verdict is written anew.
    """

    def __init__(self, folder: Path, current: dict[str, str]) -> None:
        lines, manifest, lock = folder / NAME, folder / "reasons.manifest.json", folder / ".reasons.lock"
        super().__init__(lines, manifest, lock, location=lines, content="reasons")
        self.current = current

    @property
    def rejects(self) -> Path:
        return self.lines.with_suffix(".rejects.jsonl")

    def reasons(self) -> Iterator[Reason]:
        """The reasons of the verdicts as they are now, one a case.

        Raises:
            RunError: a damaged line.
        """
        for number, line in LastLines(self.lines, "case_id") if self.has_lines() else ():
            where = f"{self.lines} line {number}: not a reason"
            reason = parse_record_json(Reason, line, where, error=RunError, advice=WRITTEN_AGAIN)
            if self.current.get(reason.case_id) == reason.verdict_digest:
                yield reason

    def finished(self) -> Iterator[tuple[str, str]]:
        """The id of each case whose verdict has its reason, and the digest of the case."""
        return ((reason.case_id, reason.case_digest) for reason in self.reasons())

    def refuse(self, difference: Difference) -> NoReturn:
        raise RunError(
            f"{self.lines}: holds reasons with {difference}. Give the same --why-lm again, or delete the file to have "
            "them written anew."
        )
