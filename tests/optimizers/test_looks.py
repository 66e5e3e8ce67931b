"""Earlier tests of the same cases: they are noted, counted, and the outcome goes by the adjusted p-value."""

import json
import os
import stat
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from leaning_judge import Leaning, worlds

from dicast.cli import ERROR, run
from dicast.data import Case, Judged, Verdict
from dicast.data.counting import ordinal
from dicast.judging import build
from dicast.judging.judge import Judge
from dicast.judging.judge_file import save
from dicast.optimizers.compile import Compiled, Compiler
from dicast.optimizers.compile_folder import read_compilation
from dicast.optimizers.looks import Look, ledger, look_at, note_look
from dicast.optimizers.recipe import Recipe
from dicast.pages.compile_headline import compile_headline
from dicast.stats.repeated_looks import adjusted_p

PLAIN = Recipe(trials=0, estimate="split", baseline=None)


def compiled(judge: Judge, cases: list[Case], folder: Path, given: Recipe = PLAIN) -> Compiled:
    return Compiler(judge, cases, folder, given).run()


def look(name: str, *cases: str) -> Look:
    return Look(test=name, date="2026-11-01", judge="direct", objective="accuracy", cases=" ".join(cases))


def verdicts(cases: list[Case], winner: str = "a") -> list[Judged]:
    return [Judged.of(case, Verdict(case_id=case.id, winner=winner)) for case in cases]


def test_all_later_looks_together_err_as_often_as_the_first() -> None:
    levels = [0.05 / adjusted_p(1e-12, look) * 1e-12 for look in range(1, 100_000)]
    assert levels[0] == pytest.approx(0.05)
    assert 0.04999 < sum(levels[1:]) < 0.05
    assert adjusted_p(0.02, 3) == pytest.approx(0.12)
    assert adjusted_p(0.3, 9) == 1


def test_a_look_counts_the_earlier_ones_that_share_a_case() -> None:
    assert note_look(look("first", "x", "y"))[0].number == 1
    assert note_look(look("other", "z"))[0].number == 1  # other cases
    counts, kept = note_look(look("third", "y", "z", "w"))
    assert (counts.number, counts.cases, counts.seen) == (3, 3, 2)
    assert [earlier.test for earlier in kept] == ["first", "other", "third"]
    assert counts.sentence == (
        "third test of these cases (2 of 3 were tested before: 2026-11-01 direct, 2026-11-01 direct)"
    )


def test_the_same_test_again_is_the_same_look() -> None:
    note_look(look("first", "x"))
    counts, _ = note_look(look("second", "x"))
    note_look(look("third", "x"))
    assert note_look(look("second", "x"))[0] == counts
    assert len(ledger()) == 3


def test_a_case_is_known_by_its_texts() -> None:
    cases = worlds(4)
    typed_again = [
        case.model_copy(update={"id": f"other {case.id}", "query": f" {case.query.upper()}  "}) for case in cases
    ]
    first, second = (
        look_at(some, (verdicts(some), verdicts(some, "b")), judge="j", objective="accuracy")
        for some in (cases, typed_again[::-1])
    )
    assert first.test == second.test
    assert first.cases == second.cases
    assert not any(case.query in first.model_dump_json() for case in cases)


def test_a_judge_file_brings_its_looks_to_another_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, kept = note_look(look("first", "x"))
    monkeypatch.setenv("DICAST_HISTORY", str(tmp_path / "elsewhere"))
    assert note_look(look("second", "x"), kept)[0].number == 2


def test_the_ledger_is_private_and_holds_digests_only(tmp_path: Path) -> None:
    compiled(Leaning(), worlds(60), tmp_path / "out")
    folder = Path(os.environ["DICAST_HISTORY"])
    (path,) = folder.glob("*.jsonl")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (entry,) = map(json.loads, path.read_text().splitlines())
    assert set(entry) == {"test", "date", "judge", "objective", "cases"}
    assert all(set(digest) <= set("0123456789abcdef") for digest in entry["cases"].split())


def test_a_folder_of_the_ledger_is_private(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DICAST_HISTORY", str(tmp_path / "new"))
    note_look(look("first", "x"))
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_a_damaged_line_is_passed_over() -> None:
    note_look(look("first", "x"))
    path = Path(os.environ["DICAST_HISTORY"]) / "tests.jsonl"
    path.write_text(path.read_text() + '[1]\n{"test": 3}\n{"test": "cut')
    assert note_look(look("second", "x"))[0].number == 2
    assert note_look(look("third", "x"))[0].number == 3


def test_without_a_folder_to_write_the_looks_of_the_judge_file_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DICAST_HISTORY", str(tmp_path / "file" / "history"))
    counts, kept = note_look(look("second", "x"), [look("first", "x")])
    assert counts.number == 2
    assert "file/history: File exists" in counts.problem
    assert [earlier.test for earlier in kept] == ["first", "second"]


def _note(number: int) -> int:
    return note_look(look(str(number), "x"))[0].number


def test_processes_that_note_at_the_same_time_have_different_numbers() -> None:
    with ProcessPoolExecutor(4) as pool:
        assert sorted(pool.map(_note, range(12))) == list(range(1, 13))


@pytest.mark.slow
def test_another_seed_in_another_folder_is_another_look(tmp_path: Path) -> None:
    cases = worlds(400)
    first, second = (
        compiled(Leaning(), cases, tmp_path / str(seed), PLAIN.model_copy(update={"seed": seed})) for seed in (1, 2)
    )
    assert first.result.looks is not None
    assert second.result.looks is not None
    assert (first.result.looks.number, second.result.looks.number) == (1, 2)
    assert 0 < second.result.looks.seen < second.result.looks.cases
    test = second.result.decisive_test
    assert test is not None
    assert test.p is not None
    assert test.p_looks == pytest.approx(2 * test.p)
    assert "second test of these cases" in second.result.summary
    assert "of these cases" not in first.result.summary
    assert first.certificate is not None
    assert second.certificate is not None
    assert (first.certificate.looks, second.certificate.looks) == (1, 2)
    assert [earlier["test"] for earlier in second.training["looks"]][:1] == [
        earlier["test"] for earlier in first.training["looks"]
    ]


@pytest.mark.slow
def test_the_outcome_goes_by_the_adjusted_p(tmp_path: Path) -> None:
    cases = worlds(100, seed=3)
    plain = compiled(Leaning(), cases, tmp_path / "first").result
    assert plain.outcome == "improved"
    assert plain.decisive_test is not None
    assert plain.decisive_test.p is not None
    digests = ledger()[0].cases.split()
    path = Path(os.environ["DICAST_HISTORY"]) / "tests.jsonl"
    path.unlink()
    for number in range(200):
        note_look(look(str(number), digests[0]))
    again = compiled(Leaning(), cases, tmp_path / "again").result
    assert again.decisive_test is not None
    assert again.decisive_test.p == plain.decisive_test.p
    assert again.outcome == "inconclusive"
    assert "201st test of these cases (1 of " in again.summary


@pytest.mark.slow
def test_a_compilation_that_is_continued_or_repeated_is_one_look(tmp_path: Path) -> None:
    cases, out = worlds(80), tmp_path / "out"
    first = compiled(Leaning(), cases, out)
    assert compiled(Leaning(), cases, out).training["looks"] == first.training["looks"]
    (out / "test.json").unlink()  # as a kill before the last file leaves it
    assert compiled(Leaning(), cases, out).result == first.result
    repeated = compiled(Leaning(), cases, tmp_path / "copy").result
    assert repeated.looks == first.result.looks
    assert len(ledger()) == 1


@pytest.mark.slow
def test_a_judge_file_carries_the_looks_of_its_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = worlds(80)
    first = compiled(Leaning(), cases, tmp_path / "first")
    monkeypatch.setenv("DICAST_HISTORY", str(tmp_path / "elsewhere"))
    known = [Look.model_validate(entry) for entry in first.training["looks"]]
    given = Recipe(trials=0, estimate="split", baseline=None, seed=7)
    again = Compiler(Leaning(), cases, tmp_path / "again", given, looks=known).run()
    assert again.result.looks is not None
    assert again.result.looks.number == 2


def test_the_page_and_the_file_say_how_often_the_cases_were_tested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = worlds(80)
    for seed in (1, 2):
        found = compiled(Leaning(), cases, tmp_path / str(seed), PLAIN.model_copy(update={"seed": seed}))
    sentences = compile_headline(read_compilation(tmp_path / "2")).sentences
    assert found.result.looks is not None
    assert any(sentence.startswith(found.result.looks.sentence.capitalize()) for sentence in sentences)
    save(build("direct"), tmp_path / "x.judge.json", training=found.training, lm="openai/small")
    assert run(["show", str(tmp_path / "x.judge.json")]) == 0
    shown = capsys.readouterr().out
    lines = [look.line for look in ledger()]
    assert all(f"test {number}: {line}" in shown for number, line in enumerate(lines, start=1))
    assert run(["show", "--history"]) == 0
    assert all(line in capsys.readouterr().out for line in lines[:1])
    assert run(["show"]) == ERROR


def test_ordinals_read_as_words_up_to_ten() -> None:
    assert [ordinal(number) for number in (1, 10, 11, 22, 103)] == ["first", "tenth", "11th", "22nd", "103rd"]
