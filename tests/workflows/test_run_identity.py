"""What identifies a run: a folder is continued with the same judge, models and cases, and with nothing else."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

import dicast
from dicast.cli import run as command
from dicast.engines.batch import RunFolder, read_manifest, read_verdicts
from dicast.engines.run_identity import differences, judge_digest, merged
from dicast.errors import DeclarationError, RunError
from dicast.testing import MockServer
from dicast.workflows import CaseSource, Progress

ROWS = [
    {"id": f"r{n}", "query": f"q{n}", "response_a": f"left {n}", "response_b": f"right {n} ", "label": "ab"[n % 2]}
    for n in range(20)
]


class Notices(Progress):
    """Keeps the notices."""

    def __init__(self):
        self.lines = []

    def notice(self, text):
        self.lines.append(text)


def write(rows, path="pairs.jsonl"):
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    write(ROWS)
    return tmp_path


def ids(path="out"):
    return Counter(judged.case_id for judged in read_verdicts(Path(path)))


def lines(path="out"):
    return (Path(path) / "verdicts.jsonl").read_text().splitlines(keepends=True)


def expected(rows=ROWS):
    return Counter(row["id"] for row in rows)


def judge(*options, out="out", cases="pairs.jsonl", name="longer"):
    return command(["judge", "--judge", name, "--cases", cases, "--out", out, *options])


# the cases as they are read


def test_exchanged_columns_do_not_continue_a_run(capsys):
    assert judge("--limit", "8") == 0
    before = lines()
    assert judge("--fields", "response_a=response_b,response_b=response_a") == 3
    error = capsys.readouterr().err
    assert "case 'r0' of pairs.jsonl is not the case that was judged" in error
    assert "fields.response_a = None, now it is 'response_b'" in error
    assert lines() == before


def test_another_scale_of_human_scores_does_not_continue_a_run(capsys):
    write([{"id": f"s{n}", "query": "q", "response": "text " * n, "score": n % 5 + 1} for n in range(12)])
    run = dicast.run(Length(), "pairs.jsonl", out="scored", limit=6)
    assert run.status == "complete"
    with pytest.raises(RunError, match=r"its label was 1 on 1..5 and is 1 on 1..10 \(scale = \[1.0, 5.0\], now"):
        dicast.run(Length(), CaseSource("pairs.jsonl", scale=(1, 10)), out="scored")
    assert sum(ids("scored").values()) == 6


class Length(dicast.Judge):
    """Scores a text by its length."""

    name = "length"

    def deepcopy(self):
        return self

    def assess(self, case):
        from dicast.data import Verdict

        return Verdict(case_id=case.id, scores=(min(5.0, 1.0 + len(case.candidates[0].text) / 10),))


def test_a_file_that_grew_or_was_sorted_anew_continues_case_by_case():
    dicast.run("longer", "pairs.jsonl", out="out", limit=7)
    write(ROWS[::-1] + [row | {"id": f"new {row['id']}"} for row in ROWS])
    notices = Notices()
    assert dicast.run("longer", "pairs.jsonl", out="out", progress=notices).status == "complete"
    assert notices.lines == ["pairs.jsonl: not as before; its 7 judged cases are the same, so the run goes on."]
    assert sum(ids().values()) == 40
    assert read_manifest(Path("out"))["identity"]["data"] == CaseSource("pairs.jsonl").digest()
    assert dicast.run("longer", "pairs.jsonl", out="out").status == "complete"
    assert set(ids().values()) == {1}


def test_columns_with_other_names_continue_a_run_of_the_same_cases():
    dicast.run("longer", "pairs.jsonl", out="out", limit=7)
    write(
        [{"chosen" if name == "response_a" else name: value for name, value in row.items()} for row in ROWS], "b.jsonl"
    )
    dicast.run("longer", CaseSource("b.jsonl", fields={"response_a": "chosen"}), out="out")
    assert ids() == expected()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "tie"}, "case 'r3' of pairs.jsonl is not the case that was judged: its label was 'b' and is 'tie'"),
        ({"response_a": "x"}, r"its texts had \[6, 8\] characters and have \[1, 8\]"),
        ({"query": "another"}, "it has another query"),
        ({"id": "new"}, "1 of its 20 judged cases are not in pairs.jsonl"),
    ],
)
def test_a_judged_case_that_changed_or_is_gone_is_named(change, message):
    dicast.run("longer", "pairs.jsonl", out="out")
    before = lines()
    write([row | change if row["id"] == "r3" else row for row in ROWS])
    with pytest.raises(RunError, match=message):
        dicast.run("longer", "pairs.jsonl", out="out")
    assert lines() == before


def test_columns_that_no_judge_sees_may_change():
    dicast.run("longer", "pairs.jsonl", out="out", limit=5)
    write([row | {"source": "web"} for row in ROWS])
    dicast.run("longer", "pairs.jsonl", out="out")
    assert ids() == expected()


def test_a_random_sample_is_continued_from_the_same_file_only():
    dicast.run("longer", "pairs.jsonl", out="out", limit=5, seed=1)
    assert dicast.run("longer", "pairs.jsonl", out="out", limit=5, seed=1).status == "complete"
    write([*ROWS, ROWS[0] | {"id": "new"}])
    with pytest.raises(RunError, match="out: holds a run with data ="):
        dicast.run("longer", "pairs.jsonl", out="out", limit=5, seed=1)


def test_a_judge_that_is_fitted_to_its_cases_is_continued_with_the_same_cases():
    dicast.run("majority", "pairs.jsonl", out="out", limit=8)
    Path("out/verdicts.jsonl").write_text("".join(lines()[:3]))
    assert dicast.run("majority", "pairs.jsonl", out="out", limit=8).status == "complete"
    assert sum(ids().values()) == 8
    with pytest.raises(RunError, match="out: holds a run with fitted_cases ="):
        dicast.run("majority", "pairs.jsonl", out="out", limit=9)


def test_more_cases_of_the_same_file_continue_a_run():
    for limit in (3, 10, None):
        dicast.run("longer", "pairs.jsonl", out="out", limit=limit)
    assert ids() == expected()


# the models that answer


def test_another_server_behind_the_same_name_does_not_continue_a_run(monkeypatch, capsys):
    with MockServer() as first, MockServer() as second:
        monkeypatch.setenv("OPENAI_API_BASE", first.url)
        assert judge("--lm", "openai/m", "--limit", "4", name="direct") == 0
        monkeypatch.setenv("OPENAI_API_BASE", second.url)
        assert judge("--lm", "openai/m", name="direct") == 3
        error = " ".join(capsys.readouterr().err.split())
        assert "out: holds a run with models." in error
        assert f"= 'openai/m@{first.url}', now it is 'openai/m@{second.url}'" in error
        assert second.request_counts.total() == 0
        assert judge("--lm", f"openai/m@{first.url}", name="direct") == 0
    assert ids() == expected()


def test_another_weights_file_of_the_same_path_does_not_continue_a_run():
    weights = Path("model.gguf")
    weights.write_bytes(b"GGUF one")
    spec = dicast.JudgeSpec("direct", f"local/{weights.absolute()}")
    first = spec.identity(spec.build())
    assert not list(differences(first, spec.identity(spec.build())))
    stamp = weights.stat()
    weights.write_bytes(b"GGUF two")
    os.utime(weights, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    changed = list(differences(first, spec.identity(spec.build())))
    assert changed
    assert all(difference.name.startswith("models.") for difference in changed)


def test_a_preparation_is_not_continued_with_other_columns_or_another_server(monkeypatch):
    write([{"id": str(n), "query": "q", "response": f"Ann {n}", "other": f"Bob {n}"} for n in range(4)])
    with MockServer(answer="some text") as first, MockServer(answer="some text") as second:
        monkeypatch.setenv("OPENAI_API_BASE", first.url)
        dicast.prepare("summarise", "pairs.jsonl", "out.jsonl", lm="openai/m", limit=2)
        source = CaseSource("pairs.jsonl", fields={"response": "other"})
        with pytest.raises(RunError, match="fields.response = None, now it is 'other'"):
            dicast.prepare("summarise", source, "out.jsonl", lm="openai/m")
        monkeypatch.setenv("OPENAI_API_BASE", second.url)
        with pytest.raises(RunError, match=r"holds prepared cases with models\..* = "):
            dicast.prepare("summarise", "pairs.jsonl", "out.jsonl", lm="openai/m")


def test_a_compilation_is_not_continued_with_another_server(monkeypatch):
    rows = [row | {"id": f"{n}-{row['id']}", "query": f"{n} {row['query']}"} for n in range(5) for row in ROWS]
    with MockServer() as first, MockServer() as second:
        monkeypatch.setenv("OPENAI_API_BASE", first.url)
        options = {"out": "compiled", "lm": "openai/m", "trials": 0, "workers": 2}
        assert dicast.compile("direct", rows, budget="calls=60", **options).status == "budget"
        monkeypatch.setenv("OPENAI_API_BASE", second.url)
        with pytest.raises(RunError, match=r"compiled: holds a compilation with models\..*, now it is"):
            dicast.compile("direct", rows, **options)
        assert second.request_counts.total() == 0
        monkeypatch.setenv("OPENAI_API_BASE", first.url)
        assert dicast.compile("direct", rows, budget="calls=60", **options).status == "budget"


def test_evidence_of_a_case_that_changed_is_not_used(tmp_path):
    from dicast.optimizers.evidence import record

    cases = list(dicast.read_cases("pairs.jsonl"))
    judge = dicast.judge("longer")
    record(judge, cases[:5], tmp_path / "evidence", 2, on_verdict=lambda judged: None)
    assert len(record(judge, cases, tmp_path / "evidence", 2, on_verdict=lambda judged: None)) == len(cases)
    changed = [case.model_copy(update={"query": "another"}) for case in cases]
    with pytest.raises(RunError, match="case 'r0' is not the case that was judged: it has another query"):
        record(judge, changed, tmp_path / "evidence", 2, on_verdict=lambda judged: None)


# verdicts and their manifest


def test_verdicts_without_a_manifest_are_neither_continued_nor_evaluated(capsys):
    dicast.run("majority", "pairs.jsonl", out="out")
    Path("out/manifest.json").unlink()
    before = lines()
    for arguments in (["judge", "--judge", "longer", "--cases", "pairs.jsonl", "--out", "out"], ["evaluate", "out"]):
        assert command(arguments) == 3
        assert "has verdicts but no manifest.json" in " ".join(capsys.readouterr().err.split())
    assert lines() == before


def test_verdicts_of_another_judge_are_named_with_their_line():
    dicast.run("majority", "pairs.jsonl", out="majority", limit=3)
    dicast.run("longer", "pairs.jsonl", out="out")
    with Path("out/verdicts.jsonl").open("a") as file:
        file.writelines(lines("majority"))
    with pytest.raises(RunError, match=r"verdicts.jsonl line 21: the verdict of case .* is of another judge or model"):
        dicast.evaluate("out")
    Path("majority/manifest.json").replace("out/manifest.json")
    with pytest.raises(RunError, match=r"line \d+: the verdict of case .* is of another judge or model"):
        dicast.run("majority", "pairs.jsonl", out="out", limit=3)


def test_every_verdict_names_its_case_and_judge():
    dicast.run("longer", "pairs.jsonl", out="out")
    digests = {case.id: case.digest for case in dicast.read_cases("pairs.jsonl")}
    expected_judge = judge_digest(read_manifest(Path("out"))["identity"])
    for judged in read_verdicts(Path("out")):
        assert (judged.case_digest, judged.judge_digest) == (digests[judged.case_id], expected_judge)
    assert len(set(digests.values())) == len(ROWS)


def test_a_run_of_an_earlier_version_is_continued_by_its_manifest():
    dicast.run("longer", "pairs.jsonl", out="out", limit=5)
    older = [json.loads(line) for line in lines()]
    for row in older:
        del row["case_digest"], row["judge_digest"]
    write(older, "out/verdicts.jsonl")
    manifest = json.loads(Path("out/manifest.json").read_text())
    for name in ("models", "fields", "scale"):
        manifest["identity"].pop(name, None)
    Path("out/manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(RunError, match="fields.response_a = None, now it is 'response_b'"):
        dicast.run("longer", CaseSource("pairs.jsonl", fields={"response_a": "response_b"}), out="out")
    notices = Notices()
    dicast.run("longer", "pairs.jsonl", out="out", limit=9, progress=notices)
    assert "5 verdicts are of an earlier version and name neither case nor model" in notices.lines[0]
    assert dicast.evaluate("out").cases == 9
    write([*ROWS, ROWS[0] | {"id": "new"}])
    with pytest.raises(RunError, match="out: holds a run with data ="):
        dicast.run("longer", "pairs.jsonl", out="out")


def test_of_repeated_lines_the_last_counts():
    dicast.run("longer", "pairs.jsonl", out="out")
    first = json.loads(lines()[0])
    other = first | {"winner": "tie"}
    with Path("out/verdicts.jsonl").open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in [first] * 9 + [other])
    folder = RunFolder(Path("out"))
    assert Counter(judged.case_id for judged in folder.judged()) == expected()
    assert folder.repeated == 10
    assert {judged.winner for judged in read_verdicts(Path("out")) if judged.case_id == first["case_id"]} == {"tie"}
    notices = Notices()
    dicast.run("longer", "pairs.jsonl", out="out", progress=notices)
    assert notices.lines == ["out/verdicts.jsonl: 10 lines have a later one of the same case; the last one counts."]


# reasons to ask again


def fails(reason):
    class Failing(dicast.Judge):
        name = "failing"

        def deepcopy(self):
            return self

        def assess(self, case):
            from dicast.data import Verdict

            asked.append(case.id)
            return Verdict(case_id=case.id, status="unscored", reason=reason, detail="so")

    asked = []
    return Failing(), asked


@pytest.mark.parametrize(
    ("reason", "retry", "times"),
    [
        ("internal", None, 2),
        ("unreadable", None, 2),
        ("budget", None, 2),
        ("parse_failure", None, 1),
        ("parse_failure", "parse_failure,refusal", 2),
        ("refusal", "parse_failure", 1),
        ("context_overflow", "all", 2),
        ("internal", "refusal", 2),
    ],
)
def test_unscored_cases_are_judged_again_by_their_reason(reason, retry, times):
    judge, asked = fails(reason)
    for _ in range(2):
        dicast.run(judge, ROWS[:3], out="out", retry=retry)
    assert Counter(asked) == {f"r{n}": times for n in range(3)}
    assert ids() == expected(ROWS[:3])


def test_a_word_that_is_no_reason_is_refused(capsys):
    with pytest.raises(DeclarationError, match="retry: 'typos' is no reason. Give some of parse_failure, refusal"):
        dicast.run("longer", ROWS, out="out", retry="typos")
    assert judge("--retry", "typos") == 3


def test_reasons_that_are_no_text_are_refused():
    with pytest.raises(DeclarationError, match=r"retry: \['refusal'\] is not a text. Write it as in"):
        dicast.run("longer", ROWS, out="out", retry=["refusal"])


def test_a_rewrite_that_was_killed_loses_nothing():
    judge, _ = fails("internal")
    dicast.run(judge, ROWS[:3], out="out")
    before = Path("out/verdicts.jsonl").read_bytes()
    Path("out/verdicts.part").write_bytes(before[:50])  # as a kill in the middle of a rewrite leaves it
    dicast.run(judge, ROWS[:3], out="out")
    assert ids() == expected(ROWS[:3])
    assert not Path("out/verdicts.part").exists()


def test_an_identity_that_is_continued_keeps_its_words():
    before = {"judge": "x", "settings": {"order": "both"}, "data": "1"}
    now = {"judge": "x", "settings": {"order": "both"}, "data": "2", "models": {"judge": "m"}}
    assert [str(difference) for difference in differences(before, now)] == ["data = '1', now it is '2'"]
    assert merged(before, now) == before | {"data": "2", "models": {"judge": "m"}}
