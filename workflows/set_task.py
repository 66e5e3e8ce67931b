"""A public set brings its task: judges that ask what the texts are ask about the texts of the set.

The task becomes a parameter of the judge, as if the user had given it: it is in the run's identity and in the saved
judge. What the user sets wins.
"""

from collections.abc import Callable
from dataclasses import replace

from ..data.task_descriptions import DEFAULT_TASK
from ..judging import Judge
from ..judging.registry import PROGRAMS, is_judge_file
from .case_source import CaseSource
from .judge_spec import BuiltJudge, JudgeSpec
from .memory_rows import StoredRows


def with_task(
    judge: JudgeSpec | BuiltJudge, cases: CaseSource | StoredRows, notice: Callable[[str], object]
) -> JudgeSpec | BuiltJudge:
    """The judge, asking about the texts of a public set where the user has set no task; `notice` gets a line then.

    A judge file keeps the task that it was compiled with. A user's own cases bring none.
    """
    name = cases.task if isinstance(cases, CaseSource) else None
    if not isinstance(cases, CaseSource) or name is None or not _can_take(judge, name):
        return judge
    notice(f"task: {name}, as the texts of {cases.source} are; the parameter task asks about another.")
    if isinstance(judge, JudgeSpec):
        return replace(judge, settings={**judge.settings, "task": name})
    return replace(judge, judge=judge.judge.deepcopy().set(task=name))


def task_notice(cases: CaseSource | StoredRows) -> str:
    """Which task to give a judge of cases that are prepared from a public set: their file does not name it."""
    name = cases.task if isinstance(cases, CaseSource) else None
    if not isinstance(cases, CaseSource) or name in (None, DEFAULT_TASK):
        return ""
    return f"task: judges of {cases.source} ask about {name!r}; give those of the new file --set task={name}."


def _can_take(judge: JudgeSpec | BuiltJudge, name: str) -> bool:
    """Whether the judge asks about a task, and the user has not set it."""
    if isinstance(judge, BuiltJudge):
        return _has_other_task(judge.judge, name)
    if "task" in judge.settings or is_judge_file(judge.name) or judge.name not in PROGRAMS:
        return False
    return _has_other_task(PROGRAMS.find(judge.name).build(), name)


def _has_other_task(judge: Judge, name: str) -> bool:
    if not judge.asks_about_task:
        return False
    task = judge.hparams()["task"]
    return not task.is_set and task.value == DEFAULT_TASK != name
