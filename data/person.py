"""Who the person behind a case is, as a digest: whose labels teach a judge about whom."""

from .case import Case, Reviewer, digest


def person_of(case: Case) -> str | None:
    """16 hex digits that name the person of a case; None where the case has no profile.

    A reviewer is named by its `id`; who has another profile by the case's `group`, where there is one, else by the
    profile itself, so that equal profiles are one person. The digest keeps the name out of files, but who knows a name
    can tell whether it is there.
    """
    if case.profile is None:
        return None
    if isinstance(case.profile, Reviewer):
        return digest(f"reviewer {case.profile.id}")
    if case.group is not None:
        return digest(f"group {case.group}")
    return digest(case.profile.model_dump_json())
