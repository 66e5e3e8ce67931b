"""What the page of runs shows of one run: its evaluation, its strongest disagreements, and the themes of its cases."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ..data import Case, Judged
from ..data.reason import Reason
from ..errors import DicastError
from ..evaluation import RunArrays
from ..evaluation.disagreements import disagreements
from ..evaluation.themes import LEAST, Theme, ThemedText, themes
from ..evaluation.verdict_rules import VerdictRules, merged_verdict
from .case_source import CaseSource
from .evaluations import evaluate
from .progress import Progress
from .reasons import read_reasons
from .run_results import Run
from .run_subjects import run_subject
from .run_texts import texts_of

if TYPE_CHECKING:
    from ..pages import RunReport
    from ..pages.run_report import ThemesOf

MOST_CHARACTERS = 4_000  # of a text that is clustered


def run_report(
    run: Run,
    name: str,
    cases: CaseSource | None,
    most: int,
    progress: Progress,
    options: dict[str, Any],
    *,
    with_texts: bool = True,
) -> "RunReport":
    """The content of a page about a run.

    Args:
        name: of the run on the page.
        cases: where the texts are, if not where the run read them.
        most: disagreements.
        options: of `dicast.evaluate`.
        with_texts: whether it holds anything that people or a model wrote of the cases.
    """
    from ..pages import Disagreement, RunReport, without_texts

    evaluation = evaluate(run, cases=cases, **options)
    arrays = run.arrays_by(VerdictRules(options["merge"], options["unreadable"]))
    ids = disagreements(run.arrays_by(VerdictRules(options["merge"])), most)
    listed, labelled = frozenset(ids), frozenset(arrays.labelled.ids)
    reasons = read_reasons(run) if with_texts else {}
    verdicts, digests, written = dict[str, Judged](), dict[str, str](), dict[str, str]()
    for judged in run:
        if judged.case_id in listed:
            merged = merged_verdict(judged, options["merge"])
            verdicts[judged.case_id] = merged if with_texts else without_texts(merged)
        if with_texts and judged.case_id in labelled:
            written[judged.case_id] = _written(judged, reasons.get(judged.case_id))
        digests[judged.case_id] = judged.case_digest
    texts, requests = _texts(run, cases, digests, listed, labelled, progress) if with_texts else ({}, {})
    themes_of: dict[ThemesOf, tuple[Theme, ...]] = {
        "requests": themes(_themed(arrays, requests), options["seed"]),
        "reasons": themes(_themed(arrays, written), options["seed"]),
    }
    return RunReport(
        name=name,
        evaluation=evaluation,
        disagreements=[Disagreement(verdicts[case], texts.get(case), reasons.get(case)) for case in ids],
        subject=run_subject(run),
        themes={of: rows for of, rows in themes_of.items() if rows},
    )


def _texts(
    run: Run,
    cases: CaseSource | None,
    digests: Mapping[str, str],
    listed: Collection[str],
    labelled: Collection[str],
    progress: Progress,
) -> tuple[dict[str, Case], dict[str, str]]:
    """The listed cases, read again, and what every labelled one asks; none, with a notice, where they cannot or may
    not be read.

    Args:
        digests: of each case of the run as it was judged; empty where that is not known.
    """
    listed_cases, requests, changed = dict[str, Case](), dict[str, str](), 0
    if not listed and len(labelled) < LEAST:
        return listed_cases, requests
    try:
        source = texts_of(run.path, run.source, cases)
        for case in source.cases() if source else ():
            if digests.get(case.id, "") not in ("", case.digest):
                changed += case.id in listed
                continue
            if case.id in listed:
                listed_cases[case.id] = case
            if case.id in labelled:
                requests[case.id] = _request(case)
    except DicastError as error:
        progress.notice(f"report: the page has no texts of {run.name}: {error}")
        return {}, {}
    if changed:
        progress.notice(f"report: {changed:,} cases of {run.name} have changed since; the page has no texts of them.")
    return listed_cases, requests


def _request(case: Case) -> str:
    """What a case asks; of a text that nobody asked for the text."""
    turns = [turn.text for turn in case.history if turn.role == "user"]
    text = " ".join(filter(None, [*turns, case.query]))
    return (text or case.candidates[0].text)[:MOST_CHARACTERS]


def _written(judged: Judged, reason: Reason | None) -> str:
    """The reasons for a verdict: the judge's, else the reason that was written after it; empty without any."""
    texts = [judged.rationale, *(finding.explanation for finding in judged.findings if not finding.is_factor)]
    text = " ".join(filter(None, texts)) or (reason.text if reason else "")
    return text[:MOST_CHARACTERS]


def _themed(arrays: RunArrays, texts: Mapping[str, str]) -> list[ThemedText]:
    """The labelled verdicts that have a text."""
    rows = arrays.labelled
    right = (rows.judge == rows.human).tolist()
    return [
        ThemedText(case, texts[case], is_right, str(group))
        for case, is_right, group in zip(rows.ids, right, rows.group.tolist(), strict=True)
        if texts.get(case)
    ]
