"""A rewritten text beside the text that it was made from: two cases, which any judge of single texts can score.

A judge that rewrites texts prefers what it wrote itself, and the texts were chosen for their low scores. So the gain is
measured by another judge, which scores both texts (Fennec, arXiv 2405.12163, Table 4).
"""

from collections.abc import Iterator

from .case import Candidate, Case
from .verdict import Verdict

ORIGINAL, CORRECTED = "original", "corrected"


def versions(case: Case, verdict: Verdict) -> Iterator[Case]:
    """For each rewritten candidate the original and the corrected text, each as a case.

    The ids are those of the case with "#INDEX#original" and "#INDEX#corrected", the group is that of the
    case, so that cases of one prompt stay together. The `version` is an attribute, and part of the system's name.
    """
    for correction in verdict.corrections:
        candidate = case.candidates[correction.candidate]
        for version, text in ((ORIGINAL, candidate.text), (CORRECTED, correction.text)):
            system = " ".join(filter(None, (candidate.system, version)))
            yield Case(
                id=version_id(case.id, correction.candidate, version),
                query=case.query,
                history=case.history,
                candidates=(Candidate(text=text, system=system),),
                profile=case.profile,
                aspect=case.aspect,
                group=case.split_key,
                meta=case.meta | {"version": version, "weak_criteria": "; ".join(correction.criteria)},
            )


def version_id(case_id: str, candidate: int, version: str) -> str:
    """The id of one version of a candidate."""
    return f"{case_id}#{candidate}#{version}"


def is_version(case_id: str) -> bool:
    """Whether the id is of a version of a candidate.

    Example:
        >>> is_version("17#0#original"), is_version("17")
        (True, False)
    """
    return case_id.rpartition("#")[2] in (ORIGINAL, CORRECTED)


def original_of(version_id: str) -> str | None:
    """The id of the original of a corrected text; None for any other id.

    Example:
        >>> original_of("17#0#corrected")
        '17#0#original'
    """
    name, mark, version = version_id.rpartition("#")
    return f"{name}#{ORIGINAL}" if mark and version == CORRECTED else None
