"""What tells the evidence of two judges apart."""

from pathlib import Path

from judges import HEAD, LM, YAML

from dicast.judging import Judge, Panel, build
from dicast.judging.heads import PairHead
from dicast.optimizers.evidence import identity

OTHER = "openai/other@http://127.0.0.1:9/v1"


def different(*judges: Judge) -> int:
    return len({identity(judge)["data"] for judge in judges})


def test_which_model_answers_which_stage_counts() -> None:
    roles = ("", f",guideline={OTHER}", f",judgment={OTHER}", f",guideline={OTHER},judgment={OTHER}")
    assert different(*(build("fennec").bind(f"judge={LM}{more}") for more in roles)) == 4


def test_what_a_yaml_judge_says_counts(tmp_path: Path) -> None:
    path, found = tmp_path / "desk.yaml", []
    for text in (YAML, YAML.replace("weight: 2", "weight: 3"), YAML.replace("brief", "correct")):
        path.write_text(text)
        found.append(build(str(path)))
    assert different(*found) == 3


def test_what_a_file_that_settings_name_holds_counts(tmp_path: Path) -> None:
    path, found = tmp_path / "task.yaml", set()
    for wording in ("a poem", "a letter"):
        path.write_text(f"wording: {wording}\n")
        found.add(identity(build("explicit", task=str(path)))["data"])
    assert len(found) == 2


def test_a_judges_own_head_and_threshold_do_not_count_and_those_of_members_do() -> None:
    plain, headed = build("direct"), build("direct")
    headed.head, headed.threshold = HEAD, 0.5
    assert different(plain, headed) == 1
    other = build("direct")
    other.head = PairHead(weights={"log_odds": 0.2})
    assert different(*(Panel([build("direct"), member]) for member in (plain, headed, other))) == 3
