"""`dicast cascade`: what is certified and printed, what a stop leaves, and the judge file on other cases."""

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from dicast.cli import run
from dicast.data import Judged, read_cases
from dicast.engines.batch import read_verdicts
from dicast.errors import DeclarationError
from dicast.evaluation.check_history import CheckedCase, CheckHistory, Rows
from dicast.judging import Cascade, build
from dicast.judging.heads import PairHead
from dicast.judging.judge_file import load, read, save
from dicast.optimizers.certificates.certificate_check import check_certificate
from dicast.optimizers.certificates.certify import CascadeCertificate, certify, certify_cascade
from dicast.testing import MockServer

CASCADE = ["cascade", "small.judge.json", "large.judge.json", "--cases", "labels.jsonl"]
FILE = "compiled/cascade-labels.judge.json"
ORDERS = {"small": "one", "large": "both"}  # so that a verdict of the large one costs twice as much
SURE, DOUBT = 0.97, 0.56


def models_of(body: dict[str, Any]) -> dict[str, float]:
    """Both models. The small one is sure of three cases in five and guesses at the others; the large one errs on one
    in ten. What either is sure of is right: of 100 cases the small one names 60 + 20, the large one 90."""
    prompt = json.dumps(body["messages"][-1])
    found = re.search(r"question (\d+)", prompt)
    assert found is not None
    number, good_first = int(found.group(1)), prompt.index("good") < prompt.index("poor")
    sure = number % 5 < 3 if body["model"] == "small" else number % 10 != 9
    right = sure or (body["model"] == "small" and number % 2 == 0)
    share = SURE if sure else DOUBT
    first = share if good_first == right else 1 - share
    return {"A": 0.9 * first, "B": 0.9 * (1 - first), "3": 0.1}  # the score is always the middle one


def write(path: str, numbers: range, *, about: str = "", wrong: int = 0) -> None:
    """Pairs whose better text says so; of the last `wrong` people say the contrary."""
    rows = []
    for number in numbers:
        better = "ab"[number % 3 % 2]
        people = better if number < numbers.stop - wrong else "ab"[better == "a"]
        texts = {f"response_{side}": "good" if side == better else "poor" for side in "ab"}
        rows.append({"id": f"{number:04}", "query": f"{about} question {number}", "label": people, **texts})
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_members(server: MockServer) -> None:
    for model, order in ORDERS.items():
        save(build("direct", grading="pairwise", order=order), f"{model}.judge.json", lm=lm(server, model))


def lm(server: MockServer, model: str) -> str:
    return f"openai/{model}@{server.url}"


@pytest.fixture(scope="module")
def models() -> Iterator[MockServer]:
    with MockServer(token_probabilities=models_of) as running:
        yield running


@pytest.fixture(scope="module")
def judged(models: MockServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of judge files, 100 labelled pairs, and the cascade that was certified on them."""
    folder = tmp_path_factory.mktemp("judged")
    with contextlib.chdir(folder):
        write("labels.jsonl", range(100))
        write_members(models)
        assert run(CASCADE) == 0
    assert len(models.requests) == 100 + 2 * 100
    return folder


@pytest.fixture
def server(models: MockServer, judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MockServer:
    """The models' server, with a copy of that folder to work in."""
    shutil.copytree(judged, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return models


def learnt(path: str = FILE) -> tuple[Any, ...]:
    """All of a judge file that does not say how long it took."""
    file = read(path)
    return file.judge, file.certificate, {name: text for name, text in file.training.items() if name != "spent"}


def found_thresholds(path: str) -> tuple[float | None, ...]:
    return CascadeCertificate.model_validate(read(path).certificate).thresholds


def as_dict(value: Any) -> dict[str, Any]:
    assert isinstance(value, dict)
    return value


def evidence(member: str) -> list[Judged]:
    (found,) = Path("compiled/cascade-labels.evidence").glob(f"{member}-*")
    return sorted(read_verdicts(found), key=lambda one: one.case_id)


# what is certified


def test_two_judges_are_certified_together(server: MockServer, capsys: pytest.CaptureFixture[str]) -> None:
    """Worked out by hand from `models_of`; the intervals are Wilson's as statsmodels' proportion_confint gives them."""
    assert run(CASCADE) == 0
    printed = capsys.readouterr()
    assert [line.rstrip() for line in printed.out.splitlines()] == [
        "judge    threshold  reached  decides  accuracy              tokens a verdict",
        "1 small  0.57       100 %    60 %     0.800 [0.711, 0.867]  55.0",
        "2 large  0.57       40 %     30 %     0.900 [0.826, 0.945]  110.0",
        "Verdicts of the cascade, each accepted at its judge's certainty (0.57, 0.57) or more, disagree with people in "
        "at most 10 % of cases, with 95 % confidence: of 100 labelled cases 90 are accepted (90 % [82.6 %, 94.5 %]), "
        "and 0 of these disagree. The judges decide 60 %, 30 % of all cases, and a case costs 99.0.",
        "A case costs 99.0 tokens, against 110.0 if the last judge got every case: 90 %.",
        f"judge: {FILE}   dicast show {FILE}",
    ]
    place = server.url.split("/")[2]
    assert printed.err.splitlines() == [
        f"texts go to {place}, this machine (named by small.judge.json)",
        f"texts go to {place}, this machine (named by large.judge.json)",
        "judged  small: 100 cases",
        "judged  large: 100 cases",
    ]


def test_copies_count_once(server: MockServer, capsys: pytest.CaptureFixture[str]) -> None:
    """40 pairs and their copies under another group, by a space: 40 groups, in the certificate and its check."""
    write("labels.jsonl", range(40))
    rows = [json.loads(line) for line in Path("labels.jsonl").read_text().splitlines()]
    copies = [row | {"id": f"copy {row['id']}", "query": f"{row['query']} ", "group": row["id"]} for row in rows]
    Path("labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows + copies))
    run(CASCADE)
    printed = capsys.readouterr()
    assert "of 40 groups (80 labelled cases)" in " ".join(printed.out.split())
    assert "groups  80 of 80 cases joined by equal texts" in printed.err
    assert read(FILE).training["joined"] == "80 of 80 cases joined by equal texts"


def test_as_json_all_of_it_is_printed(server: MockServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*CASCADE, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["judge"], record["unit"], record["spent"]["usage"]["calls"]) == (FILE, "tokens", 300)
    assert (record["certificate"]["accepted"], record["members"]["2 large"]["decided"]) == (90, 0.3)
    assert read(FILE).certificate == record["certificate"]


def test_the_judge_file_decides_as_its_certificate_counts(server: MockServer) -> None:
    assert run(["judge", "--judge", FILE, "--cases", "labels.jsonl", "--out", "again"]) == 0
    found = list(read_verdicts(Path("again")))
    kept = [one for one in found if one.status == "scored"]
    certificate = CascadeCertificate.model_validate(read(FILE).certificate)
    assert len(kept) == certificate.accepted
    assert sum(one.winner != one.human_winner for one in kept) == certificate.errors
    assert {one.status for one in found} == {"scored", "abstained"}
    assert sum(one.usage.calls + one.usage.cached for one in found) == 100 + 2 * 40  # of two in five the large one


def test_a_cascade_of_one_member_is_certified_as_that_judge(server: MockServer) -> None:
    assert run(["cascade", "large.judge.json", "--cases", "labels.jsonl", "--seed", "4"]) == 0
    verdicts = evidence("large")
    alone = certify(
        [one.certainty if one.certainty is not None else np.nan for one in verdicts],
        [one.winner == one.human_winner for one in verdicts],
        groups=[one.group for one in verdicts],
    )  # fmt: skip
    found = CascadeCertificate.model_validate(read(FILE).certificate)
    assert found.thresholds == (alone.threshold,)
    assert (found.accepted, found.errors, found.coverage, found.bound) == (
        alone.accepted, alone.errors, alone.coverage, alone.bound,
    )  # fmt: skip
    judge = load(FILE)
    assert isinstance(judge, Cascade)
    assert judge.settings()["thresholds[0]"] == alone.threshold


def test_nothing_certified_is_exit_2_and_no_judge_file(server: MockServer, capsys: pytest.CaptureFixture[str]) -> None:
    write("few.jsonl", range(25), about="few")
    assert run([*CASCADE[:3], "--cases", "few.jsonl"]) == 2
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "judge    threshold  reached  decides  accuracy              tokens a verdict",
        "1 small  -          -        -        0.800 [0.609, 0.911]  55.0",
        "2 large  -          -        -        0.920 [0.750, 0.978]  110.0",
        "No threshold can be certified to disagree with people in at most 10 % of cases, with 95 % confidence: of 25 "
        "labelled cases 25 are accepted where the test starts, and 2 of these disagree: a disagreement of 8 % "
        "[0.984 %, 26 %]. These labels are too few to tell. At 8 % an 80 % chance of a certificate takes 1,290 "
        "labelled cases; at 0.984 %, the least that these allow, 46.",
        "No judge file was written.",
    ]
    assert not Path("compiled/cascade-few.judge.json").exists()


def test_a_judge_that_is_too_often_wrong_is_not_helped_by_more_labels(
    server: MockServer, capsys: pytest.CaptureFixture[str]
) -> None:
    write("wrong.jsonl", range(100), wrong=50)
    assert run([*CASCADE[:3], "--cases", "wrong.jsonl", "--json"]) == 2
    record = json.loads(capsys.readouterr().out)
    assert (record["judge"], record["certificate"]["thresholds"], record["certificate"]["needed"]) == (None, [], None)
    assert [one["threshold"] for one in record["members"].values()] == [None, None]


# members


def test_thresholds_of_their_own_go_and_heads_stay_and_decide_offline(server: MockServer) -> None:
    judge, asked = load("small.judge.json"), len(server.requests)
    judge.head, judge.threshold = PairHead(weights={"letters": 2.0}), 0.999
    save(judge, "small.judge.json")
    assert run(CASCADE) == 0
    first, second = read(FILE).judge.members
    assert (first.head, first.threshold, second.head, second.threshold) == (judge.head, None, None, None)
    assert {round(one.certainty or 0, 6) for one in evidence("small")} == {SURE, DOUBT}
    assert len(server.requests) == asked
    case, sure = next(iter(read_cases("labels.jsonl"))), load(FILE).members[0]
    assert sure(case).certainty == pytest.approx((SURE / (1 - SURE)) ** 2 / (1 + (SURE / (1 - SURE)) ** 2))


def test_programs_and_yaml_files_are_answered_by_the_lm_given_and_judge_files_by_their_own(
    server: MockServer,
) -> None:
    yaml = "judges: pairs\ninstructions: Judge.\ncriteria: [kind]\nreadout: probability\n"
    Path("desk.yaml").write_text(yaml)
    names = ["small.judge.json", "desk.yaml", "direct"]
    more = ["--limit", "12", "--lm", lm(server, "large"), "--out", "compiled/mixed.judge.json"]
    assert run(["cascade", *names, "--cases", "labels.jsonl", *more]) == 2
    lms = [
        json.loads(path.read_text())["identity"]["lm"]
        for path in sorted(Path("compiled/mixed.evidence").glob("*/manifest.json"))
    ]
    assert lms == [lm(server, "large"), lm(server, "large"), lm(server, "small")]  # desk, direct, small


def test_a_member_that_is_left_out_is_not_in_the_judge_file(
    server: MockServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the first is surest of is wrong, so that the test ends where it is let in."""
    judge = load("small.judge.json")
    judge.head = PairHead(weights={"letters": -4.0})
    save(judge, "small.judge.json")
    assert run(CASCADE) == 0
    assert "1 small  left out   -        -        0.200 [0.133, 0.289]  55.0" in capsys.readouterr().out
    file = read(FILE)
    assert [member.settings["order"] for member in file.judge.members] == ["both"]
    assert file.judge.settings == {"thresholds[0]": found_thresholds(FILE)[1]}


# stops and refusals


def test_ctrl_c_keeps_what_is_judged_and_the_same_command_goes_on(server: MockServer) -> None:
    class Striking(MockServer):
        strikes = (10, 60)

        def record(self, body: dict[str, Any]) -> None:
            super().record(body)
            if len(self.requests) in self.strikes:
                os.kill(os.getpid(), signal.SIGINT)

    write("labels.jsonl", range(40), about="stopped")
    command = [*CASCADE, "--risk", "0.2", "--workers", "2"]
    assert run(command) == 0
    whole = learnt()
    Path(FILE).unlink()
    with Striking(token_probabilities=models_of) as fresh:
        write_members(fresh)
        for _ in fresh.strikes:
            assert run(command) == 130
            assert not Path(FILE).exists()
        assert run(command) == 0
    assert (len(fresh.request_counts), fresh.request_counts.total()) == (120, 120)  # nothing is paid twice
    (judge, *result), (judge_of_whole, *result_of_whole) = learnt(), whole
    assert result == result_of_whole
    assert judge.settings == judge_of_whole.settings


def test_a_spent_budget_is_exit_2_and_more_of_it_goes_on(
    server: MockServer, capsys: pytest.CaptureFixture[str]
) -> None:
    write("labels.jsonl", range(40), about="budget")
    before = len(server.requests)
    command = [*CASCADE, "--risk", "0.2", "--workers", "1", "--out", "budget.judge.json"]
    assert run([*command, "--budget", "calls=50"]) == 2
    assert "50 of 50 calls are used." in capsys.readouterr().err
    assert len(server.requests) == before + 50
    assert run(command) == 0
    assert len(server.requests) == before + 120
    result = as_dict(read("budget.judge.json").training["spent"])
    assert (result["usage"]["calls"], result["sessions"]) == (120, 2)


def test_other_cases_and_other_members_are_judged_anew(server: MockServer) -> None:
    before = len(server.requests)
    write("labels.jsonl", range(20), about="other texts")
    run(CASCADE)
    assert len(server.requests) == before + 60
    save(build("direct", grading="pairwise", order="both"), "small.judge.json", lm=lm(server, "small"))
    run(CASCADE)
    assert len(server.requests) == before + 60 + 20  # of the small one's other order; the rest is in the cache
    assert len(list(Path("compiled/cascade-labels.evidence").glob("small-*"))) == 3
    assert len(list(Path("compiled/cascade-labels.evidence").glob("large-*"))) == 2


def test_cases_that_a_member_was_compiled_on_are_refused(
    server: MockServer, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--out", "made", "--trials", "0", "--set", "grading=pairwise", "--lm", lm(server, "large")]
    run(["compile", "direct", "--cases", "labels.jsonl", *options])
    capsys.readouterr()
    assert run(["cascade", "made/direct.judge.json", "large.judge.json", "--cases", "labels.jsonl"]) == 3
    assert capsys.readouterr().err.endswith(
        "dicast: cascade: made/direct.judge.json was compiled on 100 of these 100 cases, so it is more certain of them "
        "than of others. Certify on labelled cases that are new to every member.\n"
    )
    assert run(["cascade", FILE, "large.judge.json", "--cases", "labels.jsonl"]) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["longer", "--cases", "labels.jsonl"], "cascade: longer gave no verdict with a certainty, so it can never"),
        (["longer", "--cases", "plain.jsonl"], "cascade: no pair or choice with a label. Give cases that people have"),
        (["longer", "--cases", "labels.jsonl", "--out", "x.json"], "--out x.json: a cascade is saved as a judge file."),
        (["gone.judge.json", "--cases", "labels.jsonl"], "judge file gone.judge.json: cannot be read (No such file"),
        (["majority", "--cases", "labels.jsonl"], "judge 'majority': no labelled case was given"),
    ],
)
def test_what_cannot_be_certified_is_one_clear_line(
    server: MockServer, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    Path("plain.jsonl").write_text('{"query": "q", "response_a": "x", "response_b": "y"}\n')
    assert run(["cascade", *arguments]) == 3
    assert f"dicast: {message}" in capsys.readouterr().err


def test_bad_rows_are_put_aside_when_asked(server: MockServer, capsys: pytest.CaptureFixture[str]) -> None:
    with Path("labels.jsonl").open("a") as file:
        file.write('{"query": "no responses"}\n')
    assert run(CASCADE) == 3
    assert run([*CASCADE, "--skip-bad"]) == 0
    assert "1 bad rows are in compiled/cascade-labels.evidence/rejects.jsonl" in capsys.readouterr().err


# the judge file


def test_show_says_a_cascade_in_words(server: MockServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", FILE]) == 0
    out = capsys.readouterr().out
    assert (
        "  cascade\n"
        "  member 1, decides at certainty 0.57 or more\n"
        f"    direct, model {lm(server, 'small')}\n"
        "    settings\n"
        "      grading = pairwise  (default both)\n"
        "      order = one  (default both)\n"
        "  member 2, decides at certainty 0.57 or more\n"
    ) in out
    assert (
        "  certificate\n    Verdicts of the cascade, each accepted at its judge's certainty (0.57, 0.57) or more, "
    ) in out
    assert "      1 small:\n        threshold: 0.57\n        reached: 1\n        decided: 0.6\n" in out
    assert run(["show", FILE, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["judge"]["members"][0]["decision_threshold"] == 0.57


@pytest.mark.parametrize(
    ("n", "wrong", "code", "expected"),
    [  # intervals as scipy's binomtest(k, n).proportion_ci(0.95, method="exact") gives them
        (60, 0, 0, "Of 60 other labelled cases 54 are accepted, and 0 of these disagree with people: 0 % [0 %, 6.6 %], "
         "which is compatible with the certified 10 %. A disagreement above 15 % is excluded."),
        (60, 20, 1, "Of 60 other labelled cases 54 are accepted, and 18 of these disagree with people: 33.3 % [21.1 %, "
         "47.5 %], which contradicts the certified 10 %. Certify it again: dicast cascade."),
        (20, 0, 2, "Of 20 other labelled cases 18 are accepted, and 0 of these disagree with people: 0 % [0 %, 18.5 "
         "%], which is compatible with the certified 10 %. One above 15 % is not excluded; 26 labels would do it with "
         "80 % power."),
    ],
)  # fmt: skip
def test_check_holds_a_cascade_against_its_certificate(
    server: MockServer, capsys: pytest.CaptureFixture[str], n: int, wrong: int, code: int, expected: str
) -> None:
    write("fresh.jsonl", range(1000, 1000 + n), about="fresh", wrong=wrong)
    assert run(["check", "--judge", FILE, "--cases", "fresh.jsonl"]) == code
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("then  Verdicts of the cascade, each accepted at its judge's certainty (0.57, 0.57)")
    assert lines[2:] == [f"now   {expected}"]
    assert run(["check", "--judge", FILE, "--cases", "fresh.jsonl", "--json"]) == code
    found = json.loads(capsys.readouterr().out)
    assert (found["outcome"], found["check"]["n"]) == (["agrees", "worse", "unknown"][code], n)
    assert found["unscored"] == {"abstained": n // 10}
    assert found["usage"]["calls"] + found["usage"]["cached"] == n + 2 * (2 * n // 5)


# the statistics of a check


def certificate(kept: int, errors: int, n: int, risk: float = 0.1) -> CascadeCertificate:
    sure = np.array([0.9] * kept + [0.0] * (n - kept))
    right = np.array([False] * errors + [True] * (n - errors))
    found = certify_cascade([(sure, right)], risk=risk)
    assert (found.accepted, found.errors) in {(kept, errors), (n, errors)}
    return found.model_copy(update={"accepted": kept, "errors": errors, "coverage": kept / n})


def verdicts(kept: int, errors: int, n: int) -> list[Judged]:
    return [
        Judged(
            case_id=str(number), group=str(number), winner="b" if number < errors else "a", label={"value": "a"},
            status="scored" if number < kept else "abstained",
        )
        for number in range(n)
    ]  # fmt: skip


@pytest.mark.parametrize(("kept", "errors", "margin"), [(180, 4, 0.05), (100, 0, 0.02), (300, 12, 0.05)])
def test_the_labels_needed_exclude_the_margin_with_four_chances_of_five(kept: int, errors: int, margin: float) -> None:
    made = certificate(kept, errors, 2 * kept)
    needed = check_certificate(made, verdicts(1, 0, 1), margin=margin).needed
    assert needed is not None

    def power(n: int) -> float:
        shown = [
            k for k in range(n + 1) if check_certificate(made, verdicts(n, k, n), margin=margin).outcome == "agrees"
        ]
        return float(sum(binom.pmf(k, n, errors / kept) for k in shown))

    assert power(needed // 2) >= 0.8  # half of all are kept
    assert power(needed // 2 - 1) < 0.8


def test_a_cascade_that_disagrees_as_certified_is_called_worse_in_at_most_2_5_percent() -> None:
    made = certificate(100, 2, 100)
    for kept in (20, 60, 200):
        worse = [k for k in range(kept + 1) if check_certificate(made, verdicts(kept, k, kept)).outcome == "worse"]
        assert sum(binom.pmf(k, kept, made.risk) for k in worse) <= 0.025
        assert worse


def test_a_cascade_that_is_checked_weekly_is_called_worse_in_at_most_5_percent_of_all_years() -> None:
    made, rng = certificate(100, 0, 100), np.random.default_rng(0)
    years = [
        any(
            check_certificate(made, verdicts(30, 0, 30), history=CheckHistory(checks[: week + 1])).outcome == "worse"
            for week in range(26)
        )
        for checks in (year_of_checks(rng, made.risk) for _ in range(60))
    ]
    assert sum(years) <= binom.ppf(0.999, 60, made.delta)
    found = check_certificate(made, verdicts(30, 0, 30), history=CheckHistory(year_of_checks(rng, 0.4)))
    assert (found.outcome, found.number, found.checks) == ("worse", 26, 4)
    assert "26th check of this judge: the labels of the latest 4 checks together contradict" in found.summary()


def year_of_checks(rng: np.random.Generator, disagreement: float) -> tuple[Rows, ...]:
    """26 checks of 30 labels."""
    return tuple(
        {
            f"{week} {number}": CheckedCase(f"{week} {number}", bool(rng.random() >= disagreement), True)
            for number in range(30)
        }
        for week in range(26)
    )


def test_a_check_that_keeps_nothing_cannot_tell() -> None:
    found = check_certificate(certificate(100, 0, 100), verdicts(kept=0, errors=0, n=10))
    assert found.outcome == "unknown"
    assert found.summary().startswith("Of 10 other labelled cases none is accepted, so the certificate is not checked.")


def test_abstained_verdicts_are_not_kept_whatever_they_name() -> None:
    found = check_certificate(certificate(100, 0, 100), verdicts(kept=40, errors=0, n=100)).check
    assert (found.n, found.accepted, found.errors) == (100, 40, 0)


def test_a_margin_must_be_a_share() -> None:
    with pytest.raises(DeclarationError, match="margin 1 is not in"):
        check_certificate(certificate(100, 0, 100), verdicts(10, 0, 10), margin=1)


def test_the_commands_of_the_docs_run_in_order(server: MockServer) -> None:
    docs = (Path(__file__).parents[2] / "docs" / "compiling.md").read_text()
    (block,) = re.findall(r"```sh\n(.*?)```", docs.partition("## A cascade")[2].partition("\n## ")[0], re.DOTALL)
    for number, name in enumerate(("fresh", "pairs", "later"), start=2):
        write(f"{name}.jsonl", range(100 * number, 100 * number + 60), about=name)
    assert [run(shlex.split(command)[1:]) for command in block.splitlines()] == [0, 0, 0, 0]


def test_cases_that_a_judge_could_not_score_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def thinks(body: dict[str, Any]) -> dict[str, float]:
        found = re.search(r"question (\d+)", json.dumps(body["messages"][-1]))
        assert found is not None
        return {"<think>": 1.0} if body["model"] == "small" and int(found.group(1)) % 4 == 1 else models_of(body)

    monkeypatch.chdir(tmp_path)
    with MockServer(token_probabilities=thinks) as running:
        write_members(running)
        write("labels.jsonl", range(40), about="unread")
        assert run([*CASCADE, "--risk", "0.2"]) in (0, 2)
    steps = " ".join(capsys.readouterr().err.split())
    assert "small: 40 cases, 10 unscored: 10 unreadable" in steps
    assert "large: 40 cases " in f"{steps} "
