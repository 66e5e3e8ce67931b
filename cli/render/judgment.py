"""Print one judgment as a tree: the case and its profile, evidence, corrections, notes, verdict and cost."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from ...data import Case, Correction, Finding, Reviewer, Scores, Usage, Verdict
from ...data.case import Label, Profile

NAME_WIDTH = 24  # columns; a longer name is wrapped


def judgment(case: Case, verdict: Verdict) -> Panel:
    """The panel of one judgment; no text is shortened."""
    presented, evidence, result = _grid(), Tree("", guide_style="dim", hide_root=True), _grid()
    for turn in case.history:
        _row(presented, turn.role, turn.text)
    _row(presented, "request", case.query)
    if case.context:
        _row(presented, "context", case.context)
    for text in case.references if case.categories else ():
        _row(presented, "reference", text)
    if case.profile is not None:
        _row(presented, *_profile(case.profile))
    if case.aspect is not None:
        _row(presented, "aspect", case.aspect)
    for index, candidate in enumerate(case.candidates):
        system = f" ({candidate.system})" if candidate.system else ""
        _row(presented, f"{name_of(index, case)}{system}", candidate.text)
    for member in dict.fromkeys(finding.member for finding in verdict.findings):
        branch = evidence.add(Text(member, "magenta")) if member else evidence
        _add_findings(branch, case, [finding for finding in verdict.findings if finding.member == member])
    for name, numbers in verdict.measured.items():
        _add_measured(evidence, case, name, numbers)
    if verdict.rationale and not any(finding.explanation for finding in verdict.findings if not finding.is_factor):
        _row(result, "rationale", verdict.rationale)
    for correction in verdict.corrections:
        _row(result, f"{name_of(correction.candidate, case)} rewritten", _rewritten(correction), "bold green")
    for note in verdict.notes:
        _row(result, "note", note, "bold yellow")
    _row(result, "verdict", outcome(case, verdict))
    _row(result, "cost", spent(verdict.usage))
    parts = (presented, evidence, result) if evidence.children else (presented, result)
    return Panel(Group(*parts), title=Text(case.id), title_align="left", border_style="dim")


def name_of(index: int, case: Case) -> str:
    """The name of a candidate: a or b of a pair, its index among more."""
    return "text" if len(case.candidates) == 1 else "ab"[index] if case.is_pair else str(index)


def outcome(case: Case, verdict: Verdict) -> str:
    """The verdict in one line, with the human label when there is one."""
    parts = [] if verdict.winner is None else [f"winner {verdict.winner}"]
    parts += [] if verdict.category is None else [f"category {verdict.category}"]
    if verdict.status != "scored":
        why = " ".join(filter(None, [verdict.reason, verdict.detail]))
        parts.insert(0, f"{verdict.status}: {why}" if why else verdict.status)
    if verdict.scores:
        parts.append(_scores(case, verdict.scores))
    if verdict.distribution:
        parts.append(_probabilities(verdict.distribution))
    if verdict.certainty is not None:
        parts.append(f"certainty {verdict.certainty:.2f}")
    if verdict.consistent is not None and not verdict.by_head:
        parts.append("both orders agree" if verdict.consistent else "the orders differ")
    if case.label is not None:
        parts.append(f"human label {_label(case, case.label)}")
    if votes := Counter(str(vote.answer) for vote in case.votes if not isinstance(vote, Scores)):
        parts.append("votes " + ", ".join(f"{value}: {n}" for value, n in sorted(votes.items())))
    return "; ".join(parts)


def spent(usage: Usage) -> str:
    """Calls, tokens and money in one line."""
    money = f", ${usage.cost:.4f}" if usage.cost is not None else ""
    tokens = f"{usage.prompt_tokens:,} prompt + {usage.completion_tokens:,} generated tokens"
    return f"{usage.calls:,} calls ({usage.cached:,} more from the cache), {tokens}{money}"


def stage_lines(stages: Mapping[str, Usage]) -> Iterator[str]:
    """A line per stage: what it cost."""
    for stage, usage in stages.items():
        yield f"  {stage}: {spent(usage)}, {usage.seconds:.1f} s of model time"


def _add_findings(parent: Tree, case: Case, findings: Sequence[Finding]) -> None:
    """Add the factors of the guideline, then each criterion with its guideline and its evidence."""
    factors = [finding for finding in findings if finding.is_factor]
    if factors:
        branch = parent.add(Text("factors", "cyan"))
        for factor in factors:
            branch.add(_factor(factor))
    by_criterion: dict[str, list[Finding]] = {}
    for finding in findings:
        if not finding.is_factor:
            by_criterion.setdefault(finding.criterion, []).append(finding)
    for criterion, evidence in by_criterion.items():
        weight = f" (weight {evidence[0].weight:g})" if evidence[0].weight != 1 else ""
        branch = parent.add(Text(criterion + weight, "cyan"))
        if evidence[0].guideline and not factors:  # the factors repeat the guideline, line by line
            branch.add(Text(evidence[0].guideline, "dim"))
        for finding in evidence:
            branch.add(_evidence(case, finding))


def _add_measured(parent: Tree, case: Case, name: str, numbers: Sequence[float]) -> None:
    """Add a line of measured evidence: a number for each candidate."""
    values = ", ".join(f"{name_of(index, case)}: {number:.3g}" for index, number in enumerate(numbers))
    parent.add(Text.assemble((name, "cyan"), "  ", (values, "bold")))


def _factor(factor: Finding) -> Text:
    """`weight 9  accuracy: every claim is right`, with its weight in the explanation and why it was added."""
    explained = "" if factor.explained_weight is None else f", {factor.explained_weight:g} in the explanation"
    test = f": {factor.guideline}" if factor.guideline else ""
    added = f"  (added: {factor.explanation})" if factor.added else ""
    weight = (f"weight {factor.weight:g}{explained}", "bold")
    return Text.assemble(weight, "  ", Text(f"{factor.criterion}{test}"), Text(added, "green"))


def _evidence(case: Case, finding: Finding) -> Text:
    order = {"ab": "order a, b: ", "ba": "order b, a: ", None: ""}[finding.order]
    values = [_scores(case, finding.scores)] if finding.scores else []
    values += [_probabilities(finding.distribution)] if finding.distribution else []
    if finding.certainty is not None:
        values.append(f"stated certainty {finding.certainty:.2f}")
    mass = f"  (mass read {finding.mass_read:.2f})" if finding.mass_read is not None else ""
    explanation = f"  {finding.explanation}" if finding.explanation else ""
    return Text.assemble(order, (", ".join(values), "bold"), Text(explanation), (mass, "dim"))


def _rewritten(correction: Correction) -> str:
    """The change of the score and the failed criteria on one line, the new text below."""
    scores = [f"{score:.2f}" for score in (correction.before, correction.after) if score is not None]
    failed = [f"failed {'; '.join(correction.criteria)}"] if correction.criteria else []
    summary = ", ".join([*([" -> ".join(scores)] if scores else []), *failed])
    return f"{summary}\n{correction.text}" if summary else correction.text


def _profile(profile: Profile) -> tuple[str, str]:
    """The kind of the profile, and its text in the prompt."""
    from ...data.profile_text import profile_text

    if isinstance(profile, Reviewer):
        lo, hi = profile.scale
        return f"reviewer {profile.id} ({lo:g}..{hi:g})", profile_text(profile)
    return profile.kind.replace("_", " "), profile_text(profile)


def _label(case: Case, label: Label) -> str:
    if isinstance(label, Scores):
        return f"{_scores(case, label.values)} of {label.lo:g}..{label.hi:g}"
    return f"{label.answer}" + (f" (certainty {label.certainty:.2f})" if label.certainty is not None else "")


def _scores(case: Case, scores: Sequence[float]) -> str:
    if len(case.candidates) == 1:
        return f"score {scores[0]:.2f}"
    return "scores " + ", ".join(f"{name_of(index, case)}: {score:.2f}" for index, score in enumerate(scores))


def _probabilities(distribution: Mapping[str, float]) -> str:
    return ", ".join(f"p({label}) {p:.2f}" for label, p in sorted(distribution.items()))


def _grid() -> Table:
    """Names beside texts, so that the lines of a long text stay together."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(max_width=NAME_WIDTH, overflow="fold")
    grid.add_column(overflow="fold")
    return grid


def _row(grid: Table, name: str, text: str, style: str = "bold") -> None:
    grid.add_row(Text(name, style), Text(text))
