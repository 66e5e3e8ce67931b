"""Rows of one case: equal rows count once, different rows are refused, as which of them counts cannot be known."""

import hashlib

from ..data import Judged
from ..engines.jsonl import key
from ..errors import DataError


class RepeatedRows:
    """The rows of a file or list so far, by case.

    Args:
        source: what messages call the rows.

    Attributes:
        count: rows that are equal to an earlier row of the same case.
    """

    def __init__(self, source: str) -> None:
        self.source, self.count = source, 0
        self._seen: dict[int, tuple[int, bytes]] = {}  # hash of the id: line and digest of its first row

    def is_new(self, number: int, judged: Judged) -> bool:
        """Whether the row in this line is the first one of its case.

        Raises:
            DataError: an earlier row of the case has another content.
        """
        digest = hashlib.blake2b(judged.model_dump_json().encode(), digest_size=16).digest()
        line, earlier = self._seen.setdefault(key(judged.case_id), (number, digest))
        if line == number:
            return True
        if earlier != digest:
            raise DataError(
                f"{self.source} line {number}: case {judged.case_id!r} has another verdict, label or field in line "
                f"{line}. Delete the line that does not count; rows of different cases need different ids or aspects, "
                "and rows of different judges a field that --where chooses by, as in judge=NAME."
            )
        self.count += 1
        return False
