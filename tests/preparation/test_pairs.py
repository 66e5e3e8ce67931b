"""Pairs are sampled from scored texts: so many, both scores kept, strata by the difference, the order random."""

import json
from collections import Counter
from pathlib import Path

import pytest

import dicast
from dicast import Case
from dicast.cli import run as command
from dicast.data import read_cases
from dicast.errors import DataError
from dicast.preparation.pairs import Pairs
from dicast.workflows import CaseSource


def texts(inputs=12, systems=6, aspects=("fluency", "coherence")):
    """Scored texts of several systems for each input."""
    return [
        Case(
            id=f"{item}-{system}#{aspect}",
            query=f"Summarise news {item}.",
            candidates=[{"text": f"Summary of {item} by {system}", "system": f"s{system}"}],
            aspect=aspect,
            label={"values": [1 + (item * 7 + system * 5 + len(aspect)) % 9 / 2], "lo": 1, "hi": 5},
            group=f"doc{item}",
            meta={"source": "news", "length": system},
        )
        for item in range(inputs)
        for system in range(systems)
        for aspect in aspects
    ]


def built(cases, seed=0, **settings):
    return Pairs().set(**settings).build(cases, seed=seed)


def test_each_pair_keeps_both_texts_systems_and_scores_of_one_input_and_aspect():
    cases = texts()
    by_text = {(case.candidates[0].text, case.aspect): case for case in cases}
    result = built(cases, n=50)
    assert Counter(pair.aspect for pair in result.cases) == {"fluency": 50, "coherence": 50}
    assert len({pair.id for pair in result.cases}) == 100
    for pair in result.cases:
        sources = [by_text[candidate.text, pair.aspect] for candidate in pair.candidates]
        assert pair.label.values == tuple(source.label.values[0] for source in sources)
        assert [candidate.system for candidate in pair.candidates] == [s.candidates[0].system for s in sources]
        assert {source.group for source in sources} == {pair.group}
        assert {source.query for source in sources} == {pair.query}
        assert pair.meta["source"] == "news"
        assert pair.meta["inputs"] == "the same"


def test_the_strata_are_by_the_distance_of_the_scores():
    result = built(texts(aspects=("fluency",)), n=90)
    apart = {name: [] for name in ("hard", "medium", "easy")}
    for pair in result.cases:
        first, second = pair.label.values
        assert pair.meta["score_difference"] == pytest.approx(abs(first - second))
        apart[pair.meta["stratum"]].append(abs(first - second))
    assert max(apart["hard"]) < min(apart["medium"])
    assert max(apart["medium"]) < min(apart["easy"])
    assert result.parts["hard"] == {
        "pairs": len(apart["hard"]), "ties": apart["hard"].count(0), "least": min(apart["hard"]),
        "most": max(apart["hard"]),
    }  # fmt: skip


def test_the_better_text_is_first_about_as_often_as_second():
    winners = Counter(pair.label.winner for pair in built(texts(inputs=30), n=200).cases)
    assert winners["a"] + winners["b"] + winners["tie"] == 400
    assert abs(winners["a"] - winners["b"]) < 4 * (winners["a"] + winners["b"]) ** 0.5


def test_the_same_seed_samples_the_same_pairs():
    assert built(texts(), seed=3, n=40).cases == built(texts(), seed=3, n=40).cases
    assert built(texts(), seed=3, n=40).cases != built(texts(), seed=4, n=40).cases


def test_fewer_pairs_than_asked_are_all_of_them():
    assert len(built(texts(inputs=2, systems=3, aspects=("fluency",))).cases) == 2 * 3


def test_texts_of_different_inputs_come_with_their_own_input():
    cases = texts(inputs=20, systems=1, aspects=("overall",))
    result = built(cases, n=30, scope="set")
    assert len(result.cases) == 30
    assert result.counts["pairs of different inputs"] == 30
    for pair in result.cases:
        assert pair.query == ""
        for candidate in pair.candidates:
            number = candidate.text.split("news ")[1].split(".")[0]
            assert candidate.text == f"Input:\nSummarise news {number}.\n\nText:\nSummary of {number} by 0"


def test_texts_without_an_input_stay_as_they_are():
    dialogs = [case.model_copy(update={"query": ""}) for case in texts(inputs=9, systems=1, aspects=("overall",))]
    for pair in built(dialogs, scope="set").cases:
        assert all(candidate.text.startswith("Summary of") for candidate in pair.candidates)
        assert pair.meta["inputs"] == "the same"


def test_where_no_input_has_two_texts_the_error_names_the_way_out():
    with pytest.raises(DataError, match="no two scored texts of one input among 5 cases. --set scope=set pairs any"):
        built(texts(inputs=5, systems=1, aspects=("overall",)))
    pair = Case(id="p", query="q", candidates=[{"text": "x"}, {"text": "y"}])
    with pytest.raises(DataError, match=r"among 1 cases \(1 cases of several texts\). Give single texts"):
        built([pair])


def test_what_is_no_scored_text_is_counted():
    pair = Case(id="p", query="q", candidates=[{"text": "x"}, {"text": "y"}])
    bare = Case(id="n", query="q", candidates=[{"text": "x"}])
    assert built([*texts(), pair, bare]).left_out == {"cases of several texts": 1, "texts without a score": 1}


def test_a_run_over_the_pairs_has_tau_and_accuracy_by_stratum(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("texts.jsonl").write_text("".join(case.model_dump_json() + "\n" for case in texts(aspects=("fluency",))))
    assert command(["prepare", "--with", "pairs", "--cases", "texts.jsonl", "--set", "n=60", "--seed", "5",
                    "--out", "pairs.jsonl", "--json"]) == 0  # fmt: skip
    record = json.loads(capsys.readouterr().out)
    assert record["counts"] == {"texts": 72, "pairs": 60}
    assert sum(part["pairs"] for part in record["parts"].values()) == 60
    run = dicast.run("longer", "pairs.jsonl", out="run")
    evaluation = dicast.evaluate(run, by="stratum")
    assert evaluation.measure("tau of pairs") is not None
    assert {row.value for row in evaluation.subgroups.tables[0].rows} == {"hard", "medium", "easy"}
    assert [stratum.name for stratum in evaluation.strata] == ["hard", "medium", "easy"]


@pytest.mark.parametrize(("name", "scope"), [("summeval", "input"), ("openmeva", "input"), ("fed-turn", "set")])
def test_pairs_of_the_sets_of_the_paper(public_sets, tmp_path, name, scope):
    source = CaseSource(name, root=public_sets)
    out = tmp_path / "pairs.jsonl"
    run = dicast.prepare("pairs", source, out, seed=1, settings={"scope": scope})
    pairs = list(read_cases(out))
    counts = Counter(pair.aspect for pair in pairs)
    assert set(counts.values()) == {200}
    assert run.built.counts["pairs"] == 200 * len(counts)
