"""Each member of a panel writes its answers as it is set: by its model string, or by its number."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import dicast
from dicast.errors import DeclarationError, RunError
from dicast.judging import Judge
from dicast.judging.judge_file import load, save
from dicast.testing import MockServer

ROWS = [{"id": str(n), "query": "q", "response_a": f"a {n}", "response_b": "b", "label": "a"} for n in range(2)]
YAML = "judges: pairs\ninstructions: Judge.\ncriteria: [tone]\norder: one\njudgment.temperature: 0.4\n"


@pytest.fixture
def yaml_judge(tmp_path: Path) -> str:
    path = tmp_path / "tone.yaml"
    path.write_text(YAML)
    return str(path)


def spec(server: MockServer, judge: str, options: tuple[str, str] = ("", ""), **settings: Any) -> dicast.JudgeSpec:
    models = (server.model_string("one") + options[0], server.model_string("two") + options[1])
    return dicast.JudgeSpec(judge, panel=models, settings=settings)


def temperatures(judge: Judge) -> list[float]:
    return [member.stages()[0].decoded()["temperature"] for member in judge.members]


@pytest.mark.parametrize(
    ("options", "settings", "expected"),
    [
        (("", ""), {}, [0.4, 0.4]),
        (("", ""), {"members[1].temperature": 0.9}, [0.4, 0.9]),
        (("", ""), {"temperature": 0.2, "members[1].judgment.temperature": 0.9}, [0.2, 0.9]),
        ((",temperature=0.1", ",temperature=0.9"), {"temperature": None}, [0.1, 0.9]),
    ],
)
def test_requests_manifest_and_judge_file_have_the_decoding_of_each_member(
    options: tuple[str, str], settings: Mapping[str, Any], expected: list[float], yaml_judge: str, tmp_path: Path
) -> None:
    with MockServer() as server:
        panel = spec(server, yaml_judge, options, **settings)
        dicast.run(panel, ROWS, out=tmp_path / "run", limit=1)
        asked = {body["model"]: body["temperature"] for body in server.requests}
        assert asked == dict(zip(("one", "two"), expected, strict=True))
        manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
        roles = manifest["decoding"]["roles"]
        shown = [stage["temperature"] for role in roles for stage in roles[role].values()]
        assert shown == expected
        other = spec(server, yaml_judge, options, **{**settings, "members[0].temperature": 0.7})
        with pytest.raises(RunError, match="holds a run with settings"):
            dicast.run(other, ROWS, out=tmp_path / "run")
        assert len(list(dicast.run(panel, ROWS, out=tmp_path / "run"))) == 2
        save(panel.build(), tmp_path / "panel.judge.json")
    assert temperatures(load(tmp_path / "panel.judge.json")) == expected


def test_a_member_that_is_not_there_is_refused(yaml_judge: str) -> None:
    with MockServer() as server, pytest.raises(DeclarationError, match=r"members\[2\]\.temperature: there is no role"):
        spec(server, yaml_judge, ("", ""), **{"members[2].temperature": 0.9}).build()


def test_settings_of_the_members_of_a_saved_panel_go_to_them_in_every_sample(yaml_judge: str, tmp_path: Path) -> None:
    with MockServer() as server:
        save(spec(server, yaml_judge).build(), tmp_path / "panel.judge.json")
    of_one = {"members[1].temperature": 0.9}
    saved = dicast.JudgeSpec(str(tmp_path / "panel.judge.json"), settings=of_one, samples=3).build()
    assert temperatures(saved.members[0]) == [0.4, 0.9]
