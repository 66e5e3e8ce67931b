"""`dicast show`: what a judge file learnt, in words; `dicast check --judge`: whether it still agrees with people."""

import json
from pathlib import Path

import dspy
import pytest

import dicast
from dicast.cli import run
from dicast.data import Case
from dicast.evaluation.drift import NOTHING, Drift, read_accuracy
from dicast.judging import Panel, build
from dicast.judging.heads import PairHead
from dicast.judging.judge_file import fingerprint, save, versions
from dicast.optimizers.certificates.certify import certify
from dicast.optimizers.fingerprints import case_fingerprints
from dicast.testing import MockServer

TRAINING = {
    "before": {"hits": 70, "n": 100},
    "after": {"hits": 80, "n": 100},
    "data": {"cases": "pandalm", "labels": 400},
    "spent": {"calls": 1234, "minutes": 5.25},
    "test": {"kappa": {"value": 0.512345, "low": 0.4, "high": None, "n": 100, "description": "beyond chance"}},
    "certificate": None,
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def taught():
    judge = build("direct", grading="pairwise", readout="generate")
    asked = judge.prefer.ask
    first, *rest = asked.signature.instructions.splitlines()
    asked.signature = asked.signature.with_instructions("\n".join([first, "Be strict.", *rest]))
    asked.demos = [
        dspy.Example(request="Name a prime.", response_a="9", response_b="\x1b[31m7", better="B"),
        dspy.Example(request="Another?", response_a="8", response_b="11", better="B"),
    ]
    judge.head = PairHead(
        weights={"letters": 0.5, "length": -0.7}, threshold={"spread": 0.3}, intercept=-1.0, fitted="pair", n=90
    )
    judge.threshold = 0.7
    return judge


def test_show_says_what_was_learnt_and_nothing_else(here, capsys):
    judge = taught()
    save(judge, "tone.judge.json", training=TRAINING, certificate={"risk": 0.1, "coverage": 0.625}, lm="openai/small")
    assert run(["show", "tone.judge.json"]) == 0
    first = build("direct").prefer.ask.signature.instructions.splitlines()[0]
    out = capsys.readouterr().out
    assert out.startswith(
        f"tone.judge.json  {fingerprint('tone.judge.json')[:12]}\n"
        "  direct, model openai/small\n"
        "  settings\n"
        "    grading = pairwise  (default both)\n"
        "    readout = generate  (default probability)\n"
        "  stage prefer\n"
    )
    assert f"     {first}\n    +Be strict.\n" in out
    assert (
        "    2 demos, the first:\n"
        "      request: Name a prime.\n"
        "      response_a: 9\n"
        "      response_b: ␛[31m7\n"  # nothing in a file steers the terminal
        "      better: B\n"
        "  head: pair, of 90 labels\n"
        "    length -0.7: odds × 0.497 a unit of it\n"
        "      how much longer A is than B\n"
        "    letters +0.5: 9 to 1 counts as 3 to 1\n"
        "      how far the model's letters lean to A, averaged over both orders\n"
        "    ties by spread +0.3: more ties where it is high\n"
        "      how far the criteria lie apart\n"
        "    Odds are those of A against B: 9 to 1 is a certainty of 90 %.\n"
        "    ties: 18.2 % of cases at margin 0 whose other evidence of ties is 0\n"
        "  abstains below certainty 0.7\n"
        "  certificate\n"
        "    risk: 0.1\n"
        "    coverage: 0.625\n"
        "  training\n"
        # Wilson's intervals, as statsmodels' proportion_confint gives them
        "    before: accuracy 0.700 [0.604, 0.781], 70 of 100\n"
        "    after: accuracy 0.800 [0.711, 0.867], 80 of 100\n"
        "    data:\n"
        "      cases: pandalm\n"
        "      labels: 400\n"
        "    spent:\n"
        "      calls: 1234\n"
        "      minutes: 5.25\n"
        "    test:\n"
        "      kappa: 0.512, n 100\n"
        "  written by dicast "
    ) in out
    assert "installed:" not in out
    assert "None" not in out


def test_show_as_json_holds_every_demo_and_the_intervals(here, capsys):
    save(taught(), "tone.judge.json", training=TRAINING)
    assert run(["show", "tone.judge.json", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [demo["response_b"] for demo in record["judge"]["stages"]["prefer"]["demos"]] == ["\x1b[31m7", "11"]
    assert record["judge"]["settings"]["readout"] == {"value": "generate", "default": "probability"}
    assert "+Be strict." in record["judge"]["stages"]["prefer"]["instructions"]
    assert list(record["judge"]["stages"]) == ["prefer"]
    assert [weight["words"] for weight in record["judge"]["weights"]] == [
        "how much longer A is than B",
        "how far the model's letters lean to A, averaged over both orders",
        "how far the criteria lie apart",
    ]
    assert record["accuracy"]["after"]["hits"] == 80
    assert "after" not in record["training"]


def test_show_prints_the_interval_of_the_test_and_a_dash_for_what_is_unknown(here, capsys):
    """The interval by groups that the compilation recorded, not that of independent cases."""
    unknown = {"value": None, "low": None, "high": None, "n": 0}
    kappa = {"value": 0.0, "low": None, "high": None, "n": 16}
    measures = {"kappa": kappa, "spearman": unknown}
    training = {
        "after": {"hits": 8, "n": 16, "low": 0.125, "high": 0.875},
        "test": {"compiled": {"measures": measures, "calls": 2.0, "tokens": None}},
        "note": [None],
    }
    save(build("longer"), "grouped.judge.json", training=training)
    assert run(["show", "grouped.judge.json"]) == 0
    out = capsys.readouterr().out
    assert "    after: accuracy 0.500 [0.125, 0.875], 8 of 16\n" in out
    assert "      compiled: kappa 0.000, n 16; spearman -, n 0; 2.0 calls\n" in out
    assert "    note: -\n" in out
    assert "None" not in out


def test_show_says_of_each_claim_whether_it_improved(here, capsys):
    difference = {"name": "accuracy", "value": 0.5, "low": 0.3, "high": 0.7, "n": 29, "description": "a difference"}
    test = {"name": "accuracy", "difference": difference, "p": 0.0001, "p_holm": 0.0002, "p_looks": 0.0002}
    verdicts = {"of": "verdicts", "state": "improved", "greater_is_better": True, "before": 0.5, "after": 1.0}
    cost = {"of": "cost", "state": "unchanged", "greater_is_better": False, "reason": "the same calls"}
    save(build("longer"), "claims.judge.json", training={"claims": [verdicts | {"test": test}, cost]})
    assert run(["show", "claims.judge.json"]) == 0
    out = capsys.readouterr().out
    assert "      verdicts: improved, accuracy 0.5 -> 1, p = 0.0002 (adjusted)\n" in out
    assert "      cost: unchanged: the same calls\n" in out


def test_show_of_a_judge_that_learnt_nothing_says_so(here, capsys):
    save(build("fennec"), "plain.judge.json")
    assert run(["show", "plain.judge.json"]) == 0
    assert "  nothing was learnt: the judge is the program with its defaults\n" in capsys.readouterr().out


def test_show_tells_each_member_of_a_panel_and_learned_priorities(here, capsys):
    learner = build("fennec", keep=2)
    learner.priorities.shares = {"accuracy": 0.75}
    save(Panel([taught(), learner], pool="mean"), "panel.judge.json")
    assert run(["show", "panel.judge.json"]) == 0
    out = capsys.readouterr().out
    assert "  panel\n  settings\n    pool = mean  (default majority)\n  member 1\n    direct\n" in out
    assert "  member 2\n    fennec\n" in out
    assert "    priorities\n      shares:\n        accuracy: 0.75\n" in out


def test_show_of_a_program_that_is_not_installed_tells_what_the_file_holds(here, capsys):
    save(taught(), "tone.judge.json")
    record = json.loads((here / "tone.judge.json").read_text())
    record["judge"]["program"], record["versions"]["dspy"] = "desk", "3.0.0"
    (here / "tone.judge.json").write_text(json.dumps(record))
    assert run(["show", "tone.judge.json"]) == 0
    out = capsys.readouterr().out
    assert "judge 'desk': there is no such judge." in out
    assert "    readout = generate\n" in out
    assert "Be strict." in out
    assert f"written by dicast {versions()['dicast']}, dspy 3.0.0, " in out
    assert f"  installed: dspy {versions()['dspy']}\n" in out


def test_show_of_something_else_is_one_clear_line(here, capsys):
    (here / "x.judge.json").write_text("{}")
    assert run(["show", "x.judge.json"]) == 3
    assert capsys.readouterr().err.startswith("dicast: judge file x.judge.json: field 'format' is missing")


# dicast check --judge


def pairs(folder, right, wrong):
    """Pairs of which the mock server, that always says A in both orders, ties all; people say tie on `right`."""
    labels = ["tie"] * right + ["a"] * wrong
    rows = [
        {"query": f"{folder.name} {n}", "response_a": "x", "response_b": "y", "label": label}
        for n, label in enumerate(labels)
    ]
    rows.append({"query": "unlabelled", "response_a": "x", "response_b": "y"})
    (folder / "fresh.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def check(hits, n, *more, **training):
    with MockServer() as server:
        judge = build("direct", grading="pairwise")
        save(
            judge, "tone.judge.json", training={"after": {"hits": hits, "n": n}} | training, lm=f"openai/m@{server.url}"
        )
        return run(["check", "--judge", "tone.judge.json", "--cases", "fresh.jsonl", *more]), server


def test_a_judge_that_agrees_as_before_passes(here, capsys):
    pairs(here, 27, 3)
    code, server = check(27, 30, "--margin", "0.2")
    assert code == 0
    assert len(server.requests) == 2 * 30  # the case without a label is not paid for
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"tone@{fingerprint('tone.judge.json')[:12]}|")
    assert lines[1:] == [  # as statsmodels' confint_proportions_2indep(method="newcomb", alpha=0.1) has it
        "then  accuracy 0.900 [0.744, 0.965], 27 of 30",
        "now   accuracy 0.900 [0.744, 0.965], 27 of 30",
        "The record has no groups and no interval: its labels count as independent cases. Compile again to store "
        "groups.",
        "First check of this judge; difference +0.000 [-0.206, +0.206] (98 %, so that all checks together call it "
        "worse at most 5 % of the time if it is not)",
        "difference +0.000 [-0.139, +0.139] (90 %): it still agrees; a loss of 0.2 is excluded.",
    ]


@pytest.mark.slow
def test_repeated_checks_are_counted_and_add_up(here, capsys):
    with MockServer() as server:
        lm = f"openai/m@{server.url}"
        save(build("direct", grading="pairwise"), "tone.judge.json", training={"after": {"hits": 90, "n": 100}}, lm=lm)

        def checked(name, right, wrong):
            (here / name).mkdir(exist_ok=True)
            pairs(here / name, right, wrong)
            arguments = ["check", "--judge", "tone.judge.json", "--cases", f"{name}/fresh.jsonl"]
            codes = run([*arguments, "--json"]), run(arguments)
            out, _, text = capsys.readouterr().out.partition("\n}\n")
            return codes, json.loads(out + "\n}"), text

        codes, first, text = checked("first", 7, 3)
        assert codes == (2, 2)
        assert (first["repeated"]["number"], first["repeated"]["confidence"]) == (1, 0.98)
        assert first["high"] < 0  # worse at 5 % by this check alone
        assert "worse by this check alone, not by all checks together" in text
        codes, second, text = checked("second", 70, 50)
        assert codes == (1, 1)
        assert (second["repeated"]["number"], second["repeated"]["checks"]) == (
            2,
            1,
        )  # as many labels as the record has
        codes, third, text = checked("third", 8, 2)
        assert (third["repeated"]["number"], third["repeated"]["checks"]) == (3, 2)
        assert (third["repeated"]["now"]["hits"], third["repeated"]["now"]["n"]) == (78, 130)
        assert "Third check of this judge; the latest 2 together, 130 labels: difference -0.300 [" in text
        assert codes == (1, 1)
    assert run(["show", "--history"]) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith("tone.judge.json, 70 of 120 verdicts right")


def checked_with_certificate(here, threshold, capsys):
    """A judge that agrees with half of the labels, as of then, and a certificate that 10 % disagree at most."""
    pairs(here, 40, 40)
    certificate = certify([0.9] * 100, [True] * 100).model_copy(update={"threshold": threshold})
    with MockServer() as server:
        judge = build("direct", grading="pairwise")  # of certainty 1/3
        judge.threshold = threshold
        save(
            judge, "tone.judge.json", training={"after": {"hits": 500, "n": 1000}},
            certificate=certificate.model_dump(mode="json"), lm=f"openai/m@{server.url}",
        )  # fmt: skip
        arguments = ["check", "--judge", "tone.judge.json", "--cases", "fresh.jsonl", "--margin", "0.2"]
        codes = run([*arguments, "--json"]), run(arguments)
    out, _, text = capsys.readouterr().out.partition("\n}\n")
    return codes, json.loads(out + "\n}"), text


def test_labels_that_contradict_the_certificate_of_a_judge_fail_the_check(here, capsys):
    codes, found, text = checked_with_certificate(here, 0.3, capsys)
    assert codes == (1, 1)
    assert found["outcome"] == "worse"
    assert (found["certificate_check"]["check"]["accepted"], found["certificate_check"]["check"]["errors"]) == (80, 40)
    assert "contradicts the certified 10 %." in text
    assert "Certify it again: dicast compile." in text
    assert "it still agrees; a loss of 0.2 is excluded." in text  # the accuracy of all verdicts


def test_verdicts_below_the_certified_threshold_do_not_count_against_it(here, capsys):
    codes, found, _ = checked_with_certificate(here, 0.9, capsys)
    assert codes == (0, 0)
    assert (found["outcome"], found["certificate_check"]["check"]["accepted"]) == ("agrees", 0)


def test_rows_that_a_judge_was_compiled_on_are_known_with_a_space_more(here, capsys):
    cases = [Case(id=str(n), query=f"q{n}", candidates=[{"text": "x"}, {"text": "y"}]) for n in range(4)]
    rows = [{"query": f" Q{n}  ", "response_a": "x", "response_b": "y", "label": "a"} for n in range(6)]
    (here / "fresh.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    check(8, 10, "--json", cases=case_fingerprints(cases))
    assert json.loads(capsys.readouterr().out)["now"]["n"] == 2


def test_drift_is_of_all_verdicts_also_those_that_the_threshold_abstains_from(here, capsys):
    pairs(here, 5, 5)
    judge = build("direct", grading="pairwise")
    judge.threshold = 1.0
    with MockServer() as server:
        save(judge, "tone.judge.json", training={"after": {"hits": 8, "n": 10}}, lm=f"openai/m@{server.url}")
        run(["check", "--judge", "tone.judge.json", "--cases", "fresh.jsonl", "--json"])
    record = json.loads(capsys.readouterr().out)
    assert (record["now"]["hits"], record["now"]["n"], record["unscored"]) == (5, 10, {})


def test_a_judge_that_agrees_worse_fails(here, capsys):
    pairs(here, 20, 20)
    assert check(180, 200)[0] == 1
    assert "it agrees significantly worse. Compile it again with these labels." in capsys.readouterr().out


def test_too_few_labels_are_inconclusive_and_those_needed_are_counted(here, capsys):
    pairs(here, 9, 1)
    assert check(900, 1000, "--json")[0] == 2
    values = json.loads(capsys.readouterr().out)
    assert (values["outcome"], values["now"]["n"], values["changed"]) == ("unknown", 10, [])
    needed = Drift(read_accuracy({"hits": 900, "n": 1000}).estimate, NOTHING).labels_needed()
    assert values["labels_needed"] == needed
    assert check(900, 1000)[0] == 2
    words = f"inconclusive. {needed} labels give 80 % power to rule out a loss of 0.05 if accuracy is 0.900 as recorded"
    fewest, most = values["labels_needed_low"], values["labels_needed_high"]
    assert fewest < needed < most
    ends = f"; {fewest} do if it is 0.917, {most:,} do if it is 0.880, the ends of its interval."
    assert words + ends in capsys.readouterr().out
    assert check(18, 20)[0] == 2
    assert "The record rests on 20 labels, too few for a margin of 0.05 with any number" in capsys.readouterr().out


def test_a_sample_of_the_labels_is_judged_by_seed(here, capsys):
    pairs(here, 12, 8)
    counts = []
    for seed in ("1", "1", "2"):
        check(80, 90, "--limit", "8", "--seed", seed, "--json")
        counts.append(json.loads(capsys.readouterr().out)["now"])
    assert counts[0] == counts[1]
    assert {count["n"] for count in counts} == {8}


def test_another_model_and_other_versions_are_reported(here, capsys):
    pairs(here, 5, 5)
    with MockServer() as server:
        save(build("direct"), "tone.judge.json", training={"after": {"hits": 8, "n": 10}}, lm="openai/small")
        record = json.loads((here / "tone.judge.json").read_text())
        record["versions"]["dspy"] = "3.0.0"
        (here / "tone.judge.json").write_text(json.dumps(record))
        lm = f"openai/other@{server.url}"
        run(["check", "--judge", "tone.judge.json", "--cases", "fresh.jsonl", "--lm", lm])
    out = capsys.readouterr().out
    assert f"changed: dspy {versions()['dspy']}, saved by 3.0.0\n" in out
    assert f"changed: answered by {lm}, saved with openai/small\n" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--judge", "tone.judge.json"], "--judge needs --cases with new labels"),
        (["--judge", "direct", "--cases", "fresh.jsonl"], "--judge direct: only a judge file records how it agreed."),
        (["--judge", "tone.judge.json", "--cases", "fresh.jsonl"], "its training record holds no accuracy (after:"),
        (["--judge", "good.judge.json", "--cases", "texts.jsonl"], "--cases texts.jsonl: no pair or choice with a"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_one_clear_line(here, capsys, arguments, message):
    pairs(here, 1, 1)
    (here / "texts.jsonl").write_text('{"query": "q", "response": "x", "score": 3}\n')
    save(build("longer"), "tone.judge.json")
    save(build("longer"), "good.judge.json", training={"after": {"hits": 8, "n": 10}})
    assert run(["check", *arguments]) == 3
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "training",
    [
        {"test": {"compiled": {"measures": 3}}},
        {"test": {"compiled": {"measures": {"accuracy": "high"}, "calls": 2}}},
        {"test": {"compiled": {"measures": {}, "calls": "two"}}},
        {"spent": {"usage": {"calls": "many"}, "minutes": 2}},
        {"baselines": [{"name": "longer"}], "parts": {"train": []}},
    ],
)
def test_a_training_record_of_another_make_is_shown_as_it_is(here, capsys, training):
    save(build("longer"), "other.judge.json", training=training)
    assert run(["show", "other.judge.json"]) == 0
    assert "training" in capsys.readouterr().out


def test_check_leaves_out_the_cases_that_the_judge_was_made_of(here, capsys):
    pairs(here, 27, 3)
    cases = [case for case in dicast.read_cases("fresh.jsonl") if case.label is not None]
    code, server = check(27, 30, "--margin", "0.2", cases=case_fingerprints(cases[:10]))
    assert "tone.judge.json was compiled on 10 of these 30 cases; they are excluded." in capsys.readouterr().err
    assert len(server.requests) == 2 * 20
    assert code == 2
    assert check(27, 30, cases=case_fingerprints(cases[::-1]))[0] == 3
    assert "was compiled on all of these 30 cases. Give cases that are new to it." in capsys.readouterr().err


def test_check_takes_the_cases_that_the_judge_was_compiled_on(here, capsys):
    pairs(here, 20, 10)
    with Path("fresh.jsonl").open("a") as file:
        file.write('{"id": "bad"}\n')
    assert check(20, 30)[0] == 3
    check(20, 30, "--no-ties", "--skip-bad")
    printed = capsys.readouterr()
    assert ", 0 of 10\n" in printed.out
    assert "1 bad rows were left out" in printed.err
