"""A verdict as one row of a table."""

from typing import Any

from ..data import Judged, Scores


def flat_row(judged: Judged) -> dict[str, Any]:
    """A verdict as one row of a table: no nested value, the same columns for every verdict."""
    pair = len(judged.scores or ()) == 2
    scores = dict(enumerate(judged.scores or ()))
    label = None if isinstance(judged.label, Scores) else judged.human_answer
    distribution = judged.distribution or {}
    return {
        "case_id": judged.case_id,
        "status": judged.status,
        "reason": judged.reason,
        "winner": None if judged.winner is None else str(judged.winner),
        **({"category": judged.category} if judged.categories else {}),
        "label": label,
        "certainty": judged.certainty,
        "consistent": None if judged.by_head else judged.consistent,
        "score": None if pair else scores.get(0),
        "score_a": scores.get(0) if pair else None,
        "score_b": scores.get(1) if pair else None,
        "label_score": judged.label.values[0] if judged.label is not None and hasattr(judged.label, "values") else None,
        "p_a": distribution.get("a"),
        "p_b": distribution.get("b"),
        "p_tie": distribution.get("tie"),
        **{f"p_{name}": distribution.get(name) for name in judged.categories},
        "rationale": judged.rationale,
        "group": judged.group,
        "aspect": judged.aspect,
        **judged.usage.model_dump(include={"calls", "prompt_tokens", "completion_tokens", "cost"}),
    }
