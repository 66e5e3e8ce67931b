"""What a certificate says: thresholds, what they keep, and the sentence that a user reads."""

from ...data.case import Record

ALIKE = "each group (a prompt, a person) counting alike"  # one case of each is drawn, however many it has


class Point(Record):
    """A threshold, what it keeps, how many of these disagree with people, and the p-value against `risk`."""

    threshold: float
    kept: int
    errors: int
    p: float


class CascadePoint(Record):
    """As `Point`, with a threshold for each judge; None: this judge is left out."""

    thresholds: tuple[float | None, ...]
    kept: int
    errors: int
    p: float


class Certified(Record):
    """What certificates of one judge and of a cascade have in common.

    Attributes:
        risk: the disagreement that is allowed among kept verdicts.
        delta: the probability of a certificate that does not hold.
        cases: labelled cases that were given.
        n: those that were used, one a group.
        kept: those that the certified threshold keeps; 0 without one.
        errors: kept ones that disagree with people.
        kept_of_all, errors_of_all: the same of all cases given, drawn or not; None where that is not known.
        coverage: kept / n, with its 95 % interval.
        bound: the exact upper limit of the risk at this threshold at 1 - delta (Clopper & Pearson 1934), as if no
            other had been tested; what is guaranteed is `risk`. None without a threshold.
        needed: without a threshold: labelled cases, one a group, for an 80 % chance of one, if people go on to disagree
            as often where the sequence stopped; None where that is too often, or with a threshold.
        seed: of the draw from groups.
    """

    risk: float
    delta: float
    cases: int
    n: int
    kept: int
    errors: int
    kept_of_all: int | None = None
    errors_of_all: int | None = None
    coverage: float
    coverage_low: float
    coverage_high: float
    bound: float | None
    needed: int | None
    seed: int

    @property
    def _promise(self) -> str:
        alike = f", {ALIKE}" if self._grouped else ""
        return f"in at most {percent(self.risk)} of cases{alike}, with {percent(1 - self.delta)} confidence"

    @property
    def _grouped(self) -> bool:
        return self.n != self.cases

    def _granted(self, verdicts: str) -> str:
        interval = f"[{percent(self.coverage_low)}, {percent(self.coverage_high)}]"
        told = (
            f"{verdicts} disagree with people {self._promise}: of {used(self.n, self.cases)} "
            f"{self.kept:,} are kept ({percent(self.coverage)} {interval}), and {self.errors:,} of these disagree."
        )
        return told + of_all(self.n, self.cases, self.kept_of_all, self.errors_of_all)

    def _refused(self, stopped: Point | CascadePoint) -> str:
        told = (
            f"No threshold can be certified to disagree with people {self._promise}: of {used(self.n, self.cases)} "
            f"{stopped.kept:,} are kept where the test starts, and {stopped.errors:,} of these disagree."
        )
        if self.needed is None:
            return f"{told} That is too often for more labels to help."
        wanted = "groups of labelled cases" if self._grouped else "labelled cases"
        return f"{told} If it goes on like this, {self.needed:,} {wanted} would be needed."


class Certificate(Certified):
    """A threshold of one judge.

    Attributes:
        threshold: a verdict is kept when its certainty is at or above; None: none could be certified.
        stopped: the first threshold that was tested and not rejected; None where all were rejected.
        curve: every threshold at which something changes, the strictest first, tested or not.
    """

    threshold: float | None
    stopped: Point | None
    curve: tuple[Point, ...]

    def told(self) -> str:
        """The sentence that a user reads."""
        if self.threshold is None and self.stopped is not None:
            return self._refused(self.stopped)
        return self._granted(f"Verdicts of certainty {self.threshold:g} or more")


class CascadeCertificate(Certified):
    """Thresholds of judges asked in turn, certified together.

    Attributes:
        thresholds: of each judge, in the order in which they are asked; None: this judge is left out. Empty when no
            cascade could be certified.
        decided: the share of all cases that each judge decides; they sum to the coverage.
        asked: the share of all cases that each judge is asked.
        cost: of a case, in the unit of the costs given; None when none were.
        stopped: the first thresholds that were tested and not rejected; None where all were rejected.
        curve: all thresholds on the way at which something changes, in its order, tested or not.
    """

    thresholds: tuple[float | None, ...]
    decided: tuple[float, ...]
    asked: tuple[float, ...]
    cost: float | None
    stopped: CascadePoint | None
    curve: tuple[CascadePoint, ...]

    def told(self) -> str:
        """The sentence that a user reads."""
        if not self.thresholds and self.stopped is not None:
            return self._refused(self.stopped)
        reached = ", ".join("left out" if one is None else f"{one:g}" for one in self.thresholds)
        decided = ", ".join(percent(one) for one in self.decided)
        priced = "" if self.cost is None else f", and a case costs {self.cost:,.1f}"
        kept = self._granted(f"Verdicts of judges asked in turn, each kept at its certainty ({reached}) or more,")
        of = "cases, counted so" if self._grouped else "all cases"
        return f"{kept} The judges decide {decided} of {of}{priced}."


class Check(Record):
    """A certificate against other labelled cases.

    Attributes:
        risk: of the certificate.
        n: cases that were used, one a group.
        kept: those that the certified threshold keeps.
        errors: kept ones that disagree with people.
        cases, kept_of_all, errors_of_all: labelled cases that were given, drawn or not, and the same of all of them;
            None where that is not known.
        rate: errors / kept, with its exact interval at 1 - delta (Clopper & Pearson 1934); None when nothing is kept.
        holds: whether these cases leave room for the certificate, `low` not above `risk`; None when nothing is kept.
    """

    risk: float
    n: int
    kept: int
    errors: int
    cases: int | None = None
    kept_of_all: int | None = None
    errors_of_all: int | None = None
    rate: float | None
    low: float | None
    high: float | None
    holds: bool | None

    def told(self) -> str:
        """The sentence that a user reads."""
        if self.rate is None or self.low is None or self.high is None:
            return f"Of {used(self.n, self.cases, 'other ')} none is kept; they say nothing of the certificate."
        interval = f"{percent(self.rate)} [{percent(self.low)}, {percent(self.high)}]"
        word = "leaves room for" if self.holds else "contradicts"
        told = (
            f"Of {used(self.n, self.cases, 'other ')} {self.kept:,} are kept, and {self.errors:,} of these disagree "
            f"with people: {interval}, which {word} the certified {percent(self.risk)}."
        )
        return told + of_all(self.n, self.cases, self.kept_of_all, self.errors_of_all)


def used(n: int, cases: int | None, other: str = "") -> str:
    """What was counted, in words: cases, or groups where one case of each was drawn."""
    if cases in (None, n):
        return f"{n:,} {other}labelled cases"
    return f"{n:,} {other}groups, one labelled case drawn from each,"


def of_all(n: int, cases: int | None, kept: int | None, errors: int | None) -> str:
    """A sentence on all cases given, after one on those drawn from groups; empty where all were used."""
    if cases is None or cases == n or not kept or errors is None:
        return ""
    return f" Of all {cases:,} cases {kept:,} are kept, and {errors:,} of these disagree ({percent(errors / kept)})."


def percent(share: float) -> str:
    """A share in [0, 1] in percent, three digits.

    Example:
        >>> percent(0.1), percent(0.9512), percent(0)
        ('10 %', '95.1 %', '0 %')
    """
    return f"{100 * share:.3g} %"
