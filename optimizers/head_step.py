"""The head step of a compilation: heads on recorded evidence, out of fold where labels measure them, and the final one.

A head is fitted to the cases that its judge may learn from. The verdicts out of fold of the same fit measure it, each
by a head that was fitted, and chosen, without the case and its group. At the end the head is fitted to all labels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..data import Case, Judged
from ..judging.judge import Judge
from .certificates.out_of_fold import ranked_out_of_fold
from .checkpoints import Checkpoints
from .compile_folder import HEAD
from .evidence import Evidence, ProgressCallbacks, fit_head, identity, vectors_of, with_head, without_head
from .final_head import FINAL, FinalHead
from .fingerprints import digest, digest_of
from .head.fit import HeadFit, TooFewVerdicts
from .head.head_labels import HeadLabels
from .head.worth import EvidenceWorth
from .prompts.prompt_state import demonstrated
from .recipe import Recipe
from .split_step import ALL

Rows = Sequence[tuple[Case, Judged]]
OF_PART = ("test", "certify")  # parts with evidence in a folder of the same name; the others share one


@dataclass
class HeadStep:
    """The heads of one compilation.

    Args:
        lessons: labelled cases beside the parts that a head is fitted to as well.

    Attributes:
        labels, worth: of the head that was fitted last.
        final: of the head that is delivered; None before.
        best: the judge with the head that was fitted last; None before its evidence was recorded.
    """

    recipe: Recipe
    parts: Mapping[str, Sequence[Case]]
    evidence: Evidence
    checkpoints: Checkpoints
    progress: ProgressCallbacks
    lessons: Sequence[Case] = ()
    labels: HeadLabels | None = field(default=None, init=False)
    worth: tuple[EvidenceWorth, ...] = field(default=(), init=False)
    final: FinalHead | None = field(default=None, init=False)
    best: Judge | None = field(default=None, init=False)
    _fits: dict[str, HeadFit] = field(default_factory=dict, init=False, repr=False)

    @property
    def is_cross_fitted(self) -> bool:
        """Whether no part is set aside, so that verdicts out of fold measure the judge."""
        return ALL in self.parts

    def with_head(self, judge: Judge, learn: Sequence[Case], *, searched: bool) -> Judge:
        """The judge with a head fitted to its evidence, without cases that its demos show.

        The judge stays unchanged if the recipe has no head, or there are too few verdicts for a head.

        Args:
            searched: whether its prompts were chosen on these cases. The head is fitted to them nevertheless, and its
                record says so: there are no others, and fewer labels cost more than the choice (docs/compiling.md).
        """
        self.labels, self.worth = None, ()
        rows = [*zip(learn, self.evidence.of(judge, learn, "learn"), strict=True)]
        self.best = judge
        if not self.recipe.head:
            return judge
        rows += self._lessons(judge)
        name = f"head-{digest(identity(judge))}"
        try:
            content = self.checkpoints.once(name, lambda: _content(self.fit(judge, rows), searched=searched))
        except TooFewVerdicts as error:
            self.progress.step("head", f"left out: {error}")
            return judge
        headed = self._read(judge, name, content)
        self._report(headed)
        self.best = headed
        return headed

    def fit(self, judge: Judge, rows: Rows) -> HeadFit:
        """The head of these verdicts, without cases that its demos show; the same fit is not done twice."""
        usable = [pair for pair in rows if not demonstrated(judge, pair[0])]
        cases, verdicts = columns(usable)
        key = f"{digest(identity(judge))} {digest_of(cases)}"
        if key not in self._fits:
            as_read = [self.evidence.as_read.get(case.id, case) for case in cases]
            headless = without_head(judge)
            self._fits[key] = fit_head(headless, cases, verdicts, **self.recipe.head_options, as_read=as_read)
        return self._fits[key]

    def rows(self, judge: Judge) -> list[tuple[Case, Judged]]:
        """All labelled cases with the judge's verdicts without a head, in the order of the parts."""
        return [
            pair
            for name, part in self.parts.items()
            for pair in zip(part, self.evidence.of(judge, part, name if name in OF_PART else "learn"), strict=True)
        ]

    def out_of_fold(self, judge: Judge) -> tuple[list[Judged], dict[str, float]]:
        """The verdicts of all labelled cases out of fold, and by case id what ranks them; those of the judge where it
        has no head."""
        rows = self.rows(judge)
        cases, verdicts = columns(rows)
        if judge.head is None:
            return verdicts, {}
        fitted = self.fit(judge, rows)
        order = ranked_out_of_fold(cases, verdicts, fitted.without, vectors_of(without_head(judge), cases, verdicts))
        return [Judged.of(case, verdict) for case, verdict in zip(cases, fitted.crossfitted, strict=True)], order

    def of_all(self, judge: Judge) -> list[Judged]:
        """The verdicts of all labelled cases by a head that is fitted to all of them: what the delivered judge says."""
        rows = self.rows(judge)
        headed = with_head(judge, self.fit(judge, rows).head)
        return self.evidence.headed(headed, *columns(rows))

    def refitted(self, judge: Judge, *, reason: str, searched: bool) -> Judge:
        """The judge with its head fitted to all labels, and a line on which estimate speaks for it.

        Args:
            reason: why the head stays as it is; empty: it does not.
            searched: whether anything but a head was chosen on labels.
        """
        if judge.head is None:
            return judge
        n = sum(map(len, self.parts.values()))
        if reason or self.is_cross_fitted:
            self.final = FinalHead.of(judge.head.n, n, cross_fitted=self.is_cross_fitted, reason=reason)
            self.progress.step("final", self.final.sentence.partition(";")[0])
            return judge
        rows, before = [*self.rows(judge), *self._lessons(judge)], judge.head.n

        def fitted() -> dict[str, Any]:
            return _content(self.fit(judge, rows), searched=searched) | {"tested": before}

        name = f"{FINAL}-{digest(identity(judge))}"
        content = self.checkpoints.once(name, fitted)
        headed = self._read(judge, name, content)
        assert headed.head is not None
        with self.checkpoints.reading(name):
            self.final = FinalHead.of(headed.head.n, n, cross_fitted=False, tested=int(content["tested"]))
        self.progress.step("final", self.final.sentence.partition(";")[0])
        return headed

    def _report(self, headed: Judge) -> None:
        assert headed.head is not None
        fitted = f"fitted to {headed.head.n} cases: {headed.head.fitted}"
        self.progress.step("head", "; ".join(filter(None, [fitted, self.labels.sentence if self.labels else ""])))
        for source in self.worth:
            self.progress.step("evidence", source.sentence)

    def _lessons(self, judge: Judge) -> Rows:
        if not self.lessons:
            return []
        return [*zip(self.lessons, self.evidence.of(judge, self.lessons, "lessons"), strict=True)]

    def _read(self, judge: Judge, name: str, content: Mapping[str, Any]) -> Judge:
        """The judge with the head of a file."""
        with self.checkpoints.reading(name):
            head = HEAD.validate_python(content["head"])
            self.labels = HeadLabels.model_validate(content["labels"]) if "labels" in content else None
            self.worth = tuple(map(EvidenceWorth.model_validate, content.get("worth", ())))
        return with_head(judge, head)


def _content(result: HeadFit, *, searched: bool) -> dict[str, Any]:
    """A fit as the file of a head holds it."""
    candidates = [candidate.model_dump() for candidate in result.candidates]
    labels = result.labels.model_copy(update={"searched": result.labels.n if searched else 0})
    worth = [worth.model_dump(mode="json") for worth in result.worth]
    return {
        "head": result.head.model_dump(mode="json"), "labels": labels.model_dump(), "candidates": candidates,
        **({"worth": worth} if worth else {}),
    }  # fmt: skip


def columns(rows: Rows) -> tuple[list[Case], list[Judged]]:
    """The cases, and their verdicts."""
    return [case for case, _ in rows], [verdict for _, verdict in rows]
