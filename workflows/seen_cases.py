"""Cases that a judge has seen before it judges them: it was compiled on them, or learned from a run over them."""

from collections.abc import Iterable, Iterator

from ..data import Case
from ..data.text_digest import case_text_digest
from ..engines.batch import read_verdicts
from ..judging.judge_file import read
from ..judging.registry import JUDGE_SUFFIX
from ..optimizers.fingerprints import seen_before
from .judge_spec import BuiltJudge, JudgeSpec


class SeenCases:
    """Counts the seen cases as they pass. Cases are equal by their normalised texts; of runs of earlier versions by id.

    Attributes:
        rows: the cases so far.
        seen: those of them that the judge has seen.
    """

    def __init__(self, spec: JudgeSpec | BuiltJudge) -> None:
        self.rows = self.seen = 0
        self.name, self.texts, self.ids = spec.name, set[str](), set[str]()
        is_file = isinstance(spec, JudgeSpec) and spec.name.endswith(JUDGE_SUFFIX)
        self.compiled_on = seen_before(read(spec.name).training.get("cases") if is_file else None)
        if isinstance(spec, JudgeSpec) and spec.learn is not None:
            for judged in read_verdicts(spec.learn):
                (self.texts if judged.text_digest else self.ids).add(judged.text_digest or judged.case_id)

    def counted(self, cases: Iterable[Case]) -> Iterator[Case]:
        """The same cases."""
        for case in cases:
            self.rows += 1
            self.seen += self._is_seen(case)
            yield case

    def notice(self) -> str:
        """The sentence to say; empty where all cases are new."""
        if not self.seen:
            return ""
        return (
            f"{self.name} has learned from {self.seen:,} of these {self.rows:,} cases: on them it agrees more with "
            "people than on new ones."
        )

    def _is_seen(self, case: Case) -> bool:
        if self.texts or self.ids:
            return case_text_digest(case) in self.texts or case.id in self.ids
        return self.compiled_on(case)
