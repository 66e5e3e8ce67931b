"""Rows of one case: equal rows count once, different rows are refused, as which of them counts cannot be known."""

from ..data import Judged
from ..engines.jsonl import key
from ..errors import DataError
from ..parsing import load_json, shown

OF_CASE = {"label", "votes", "group", "lengths", "systems", "attributes"}
FIELDS = {"verdict": set(Judged.model_fields) - OF_CASE - {"case_id", "aspect"}} | {
    name: {name} for name in sorted(OF_CASE)
}


class RepeatedRows:
    """The rows of a file or list so far, by case.

    Args:
        source: what messages call the rows.

    Attributes:
        count: rows that are equal to an earlier row of the same case.
    """

    def __init__(self, source: str) -> None:
        self.source, self.count = source, 0
        self._seen: dict[int, tuple[int, tuple[int, ...]]] = {}  # hash of the id: line and hashes of its first row

    def is_new(self, number: int, judged: Judged) -> bool:
        """Whether the row in this line is the first one of its case.

        Raises:
            DataError: an earlier row of the case has another content.
        """
        hashes = tuple(hash(judged.model_dump_json(include=fields)) for fields in FIELDS.values())
        line, earlier = self._seen.setdefault(key(judged.case_id), (number, hashes))
        if line == number:
            return True
        differing = [name for name, ours, theirs in zip(FIELDS, hashes, earlier, strict=True) if ours != theirs]
        if differing:
            value = judged.model_dump_json(include=FIELDS[differing[0]], exclude_defaults=True)
            raise DataError(
                f"{self.source} line {number}: case {judged.case_id!r} is in line {line} with another {differing[0]} "
                f"(this line: {shown(load_json(value))}). Delete the line that does not count; rows of different cases "
                "need different ids or aspects, and rows of different judges a field to choose by, as in "
                "FILE.jsonl:judge=NAME."
            )
        self.count += 1
        return False
