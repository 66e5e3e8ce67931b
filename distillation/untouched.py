"""The untouched test part: a teacher that was compiled on these cases must have had the same one.

A judge file says on which cases it was compiled, with which seed, and how many cases each part had. The split is a
function of cases, seed and proportions, so that the same cases, seed and sizes are the same parts. The head of a
compiled judge is fitted to all labels at the end; in a distillation over the same cases it is fitted anew, to train and
select.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..data import Case
from ..data.joined_groups import join_groups
from ..data.text_digest import case_text_digest
from ..errors import DeclarationError
from ..optimizers.fingerprints import count_of, seen_before


def check_teacher(training: Mapping[str, Any], parts: Mapping[str, Sequence[Case]], seed: int) -> None:
    """Raise DeclarationError where a compiled teacher may have learnt from cases of this test part.

    Args:
        training: of its judge file; empty for a teacher that was not compiled.
        parts: of this distillation.
    """
    is_seen = seen_before(training.get("cases"))
    cases = [case for part in parts.values() for case in part]
    seen = sum(map(is_seen, cases))
    if not seen:
        return
    sizes, known = training.get("parts"), count_of(str(training.get("cases")))
    sizes_now = {name: len(part) for name, part in parts.items()}
    distinct = len(set(map(case_text_digest, cases)))  # a judge file counts cases of equal texts once
    if training.get("estimate") == "cross-fitted":
        return  # only its head has learnt from labels, and that is fitted anew
    if seen == len(cases) and distinct == known and sizes == sizes_now and training.get("seed") == seed:
        return
    if not any(is_seen(case) for case in parts["test"]):
        return
    was = f"seed {training.get('seed')}, parts {_sizes(sizes)}, {known} distinct cases in all"
    raise DeclarationError(
        f"distil: the teacher was compiled on {seen:,} of these {len(cases):,} labelled cases, split otherwise ({was}; "
        f"here seed {seed}, parts {_sizes(sizes_now)}), so that the test part would not be untouched. Give the cases, "
        "seed and parts of its compilation, or cases that are new to it."
    )


def has_learnt_test(training: Mapping[str, Any], parts: Mapping[str, Sequence[Case]]) -> bool:
    """Whether the head of a compiled teacher was fitted to labels of this test part."""
    final = training.get("final")
    of_all = isinstance(final, Mapping) and bool(final.get("of_all"))
    return of_all and any(map(seen_before(training.get("cases")), parts["test"]))


def apart(unlabelled: Sequence[Case], parts: Mapping[str, Sequence[Case]]) -> list[Case]:
    """The unlabelled cases that share no group and no text with a part that the student is measured or fitted on.

    Groups are joined by equal and near-equal texts, as before a split. Cases of the train part may be among them.
    """
    measured = [case for name, part in parts.items() if name != "train" for case in part]
    everything = [*measured, *parts["train"], *unlabelled]
    keys = join_groups(everything).keys
    closed = set(keys[: len(measured)])
    ids = {case.id for case in everything[: -len(unlabelled) or None]}
    rows = zip(unlabelled, keys[len(everything) - len(unlabelled) :], strict=True)
    return [case.model_copy(update={"group": key}) for case, key in rows if key not in closed and case.id not in ids]


def _sizes(parts: object) -> str:
    if not isinstance(parts, Mapping):
        return "unknown"
    return ", ".join(f"{name} {count}" for name, count in parts.items())
