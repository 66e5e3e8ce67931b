"""Baselines: length, majority, a reviewer's mean, matrix factorisation, people, and the model's own choice."""

import json
import random
import re
import string
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request

from dicast.data import Candidate, Case, Comparison, Preference, Review, Reviewer, Verdict
from dicast.errors import DeclarationError
from dicast.judging import build
from dicast.programs.matrix_factorization import MatrixFactorisation
from dicast.programs.multiple_choice import drawn_order
from dicast.testing import Answer, ScriptedLM, prompt_text

PAIR = Case(id="p", query="q", candidates=[{"text": "short"}, {"text": "much longer"}])


def reviewer(*scores: float, **fields: Any) -> Reviewer:
    reviews = [Review(text=f"plot {n}", comment="c", score=score) for n, score in enumerate(scores)]
    return Reviewer(**({"id": "r", "reviews": reviews} | fields))


def text_for(profile: Any, text: str = "a new plot", **fields: Any) -> Case:
    return Case(**({"id": "t", "query": "", "candidates": [{"text": text}], "profile": profile} | fields))


def pair_for(profile: Any) -> Case:
    return PAIR.model_copy(update={"profile": profile})


# length


def test_the_longer_text_wins() -> None:
    verdict = build("longer")(PAIR)
    assert (verdict.winner, verdict.scores, verdict.consistent) == ("b", (5, 11), None)


def test_texts_of_one_length_tie() -> None:
    even = PAIR.model_copy(update={"candidates": (PAIR.candidates[0],) * 2})
    assert build("longer")(even).winner == "tie"


def test_the_longest_of_many_is_named_by_its_index_and_a_single_text_has_a_score() -> None:
    many = Case(id="m", query="q", candidates=[{"text": "a" * n} for n in (2, 3, 9, 1)])
    assert build("longer")(many).winner == 2
    assert build("longer")(text_for(None)).scores == (10,)


# majority


def labelled(*labels: Any, count: int = 2) -> list[Case]:
    candidates = [{"text": f"{n}"} for n in range(count)]
    return [Case(id="m", query="q", candidates=candidates, label={"value": label}) for label in labels]


@pytest.mark.parametrize(
    ("labels", "winner", "share"),
    [("aab", "a", 2 / 3), ("abb", "b", 2 / 3), (("tie", "tie", "a"), "tie", 2 / 3), ("ba", "a", 1 / 2)],
)
def test_the_most_frequent_label_is_said_of_every_case(labels: Any, winner: str, share: float) -> None:
    judge = build("majority").fit(labelled(*labels))
    for case in (PAIR, PAIR.swapped()):
        assert (judge(case).winner, judge(case).certainty) == (winner, pytest.approx(share))


def test_the_most_frequent_index_is_a_number() -> None:
    assert build("majority").fit(labelled(2, 2, 0, count=3))(PAIR).winner == 2


def test_a_majority_of_nothing_is_refused() -> None:
    with pytest.raises(DeclarationError, match="no labelled case was given, so there is no majority"):
        build("majority")(PAIR)


# a reviewer's mean


@pytest.mark.parametrize(("scores", "mean"), [((7,), 7), ((1, 10), 5.5), ((2, 4, 9), 5), ((1.1, 1.2, 1.3), 1.2)])
def test_every_text_gets_the_mean_of_the_history(scores: tuple[float, ...], mean: float) -> None:
    verdict = build("reviewer-average")(text_for(reviewer(*scores)))
    assert verdict.scores == (pytest.approx(mean),)
    assert build("reviewer-average")(pair_for(reviewer(*scores))).scores == pytest.approx((mean, mean))


def test_two_texts_of_one_mean_tie() -> None:
    verdict = build("reviewer-average")(pair_for(reviewer(2, 9)))
    assert (verdict.winner, verdict.consistent) == ("tie", None)


def test_a_score_of_the_judged_text_does_not_enter_the_mean() -> None:
    known = reviewer(2, 4, 10)
    verdict = build("reviewer-average")(text_for(known, text=known.reviews[2].text))
    assert verdict.scores == (3,)


def choices(*labels: Any) -> Reviewer:
    return Reviewer(
        id="r",
        comparisons=[Comparison(response_a=f"x{n}", response_b=f"y{n}", label=one) for n, one in enumerate(labels)],
    )


@pytest.mark.parametrize(
    ("labels", "winner", "certainty"),
    [("a", "a", 1), ("b", "b", 1), (("tie",), "tie", 1), ("abb", "b", 2 / 3), ("ab", "tie", 0)],
)
def test_of_a_pair_the_usual_choice_is_repeated(labels: Any, winner: str, certainty: float) -> None:
    verdict = build("reviewer-average")(pair_for(choices(*labels)))
    assert (verdict.winner, verdict.certainty) == (winner, pytest.approx(certainty))


def test_a_choice_about_the_judged_texts_is_not_repeated() -> None:
    result = Comparison(response_a=PAIR.candidates[0].text, response_b=PAIR.candidates[1].text, label="b")
    known = Reviewer(id="r", comparisons=[result, result, *choices("a").comparisons])
    assert build("reviewer-average")(pair_for(known)).winner == "a"


@pytest.mark.parametrize("profile", [None, Preference(text="no meat")])
def test_without_a_reviewer_there_is_no_mean(profile: Any) -> None:
    with pytest.raises(DeclarationError, match="case 't' has no reviewer"):
        build("reviewer-average")(text_for(profile))


def test_without_a_history_there_is_no_mean() -> None:
    with pytest.raises(DeclarationError, match="case 't' has a reviewer without a history"):
        build("reviewer-average")(text_for(Reviewer(id="r")))


# matrix factorisation


def ratings(seed: int = 0) -> list[tuple[str, str, float]]:
    """Fifteen reviewers' ratings of forty plots, each of a dozen."""
    noise = random.Random(seed)
    taste = {f"plot {n}": noise.uniform(2, 9) for n in range(40)}
    found = []
    for one in range(15):
        severity = noise.uniform(-2, 2)
        for text in noise.sample(sorted(taste), 12):
            score = min(10, max(1, round(taste[text] + severity + noise.gauss(0, 1))))
            found.append((f"reviewer {one}", text, float(score)))
    return found


def rated_cases(judged: int = 1, scale: tuple[float, float] = (1, 10)) -> list[Case]:
    """For each reviewer, their last texts to judge and the rest as history."""
    by_reviewer: dict[str, list[tuple[str, float]]] = {}
    for name, text, score in ratings():
        by_reviewer.setdefault(name, []).append((text, score))
    cases = []
    for name, rated in by_reviewer.items():
        history = [Review(text=text, score=score) for text, score in rated[:-judged]]
        person = Reviewer(id=name, reviews=history, scale=scale)
        texts = [{"text": text} for text, _ in rated[-judged:]]
        cases.append(Case(id=name, query="", candidates=texts, profile=person))
    return cases


def known_ratings(cases: list[Case]) -> list[tuple[str, str, float]]:
    rows = []
    for case in cases:
        assert isinstance(case.profile, Reviewer)
        rows += [(case.profile.id, review.text, review.score) for review in case.profile.reviews]
    return rows


@pytest.mark.parametrize(("factors", "seed"), [(10, 0), (3, 7)])
def test_matrix_factorisation_predicts_what_surprise_predicts(factors: int, seed: int, tmp_path: Path) -> None:
    surprise = pytest.importorskip("surprise")
    cases = rated_cases()
    file = tmp_path / "ratings.tsv"
    file.write_text("".join(f"{name}\t{text}\t{score}\n" for name, text, score in known_ratings(cases)))
    reader = surprise.Reader(line_format="user item rating", sep="\t", rating_scale=(1, 10))
    train = surprise.Dataset.load_from_file(str(file), reader=reader).build_full_trainset()
    model = surprise.SVD(n_factors=factors, random_state=seed).fit(train)

    judge = MatrixFactorisation(factors=factors, seed=seed).fit(cases)
    for case in cases:
        expected = model.predict(case.id, case.candidates[0].text).est
        assert judge(case).scores == (pytest.approx(expected, abs=1e-12),)


def test_matrix_factorisation_tells_texts_apart_better_than_the_mean_does() -> None:
    pytest.importorskip("surprise")
    cases = rated_cases()
    judge = build("matrix-factorisation").fit(cases)
    assert len({judge(case).scores for case in cases}) == len(cases)
    truth = {(name, text): score for name, text, score in ratings()}
    errors = [(judge(case).scores[0] - truth[case.id, case.candidates[0].text]) ** 2 for case in cases]
    mean = sum(score for *_, score in known_ratings(cases)) / len(known_ratings(cases))
    plain = [(mean - truth[case.id, case.candidates[0].text]) ** 2 for case in cases]
    assert sum(errors) < sum(plain)


def test_matrix_factorisation_is_never_fitted_to_what_is_judged() -> None:
    pytest.importorskip("surprise")
    honest = rated_cases()
    scores = [build("matrix-factorisation").fit(honest)(case).scores for case in honest]
    # The judged text with a score that gives it away is in the histories of a copy: nothing may change.
    leaking = []
    for case in honest:
        assert isinstance(case.profile, Reviewer)
        result = Review(text=case.candidates[0].text, score=1)
        person = case.profile.model_copy(update={"reviews": (*case.profile.reviews, result)})
        leaking.append(case.model_copy(update={"profile": person}))
    judge = build("matrix-factorisation").fit(leaking)
    assert [judge(case).scores for case in leaking] == scores


def test_matrix_factorisation_learns_from_the_histories_of_another_file(tmp_path: Path) -> None:
    pytest.importorskip("surprise")
    cases = rated_cases()
    file = tmp_path / "others.jsonl"
    file.write_text("".join(case.model_dump_json() + "\n" for case in cases[5:]))
    judge = build("matrix-factorisation", histories=str(file)).fit(cases[:5])
    together = build("matrix-factorisation").fit([*cases[5:], *cases[:5]])
    alone = build("matrix-factorisation").fit(cases[:5])
    assert [judge(case).scores for case in cases[:5]] == [together(case).scores for case in cases[:5]]
    assert [judge(case).scores for case in cases[:5]] != [alone(case).scores for case in cases[:5]]


def test_the_digest_of_the_further_histories_is_part_of_the_identity(tmp_path: Path) -> None:
    file = tmp_path / "others.jsonl"
    file.write_text("{}")
    first = build("matrix-factorisation", histories=str(file)).resolved_models()
    file.write_text("{ }")
    assert first != build("matrix-factorisation", histories=str(file)).resolved_models()
    assert build("matrix-factorisation").resolved_models() == {}


def test_what_is_judged_is_not_learned_from_another_file(tmp_path: Path) -> None:
    pytest.importorskip("surprise")
    cases = rated_cases()
    scores = [build("matrix-factorisation").fit(cases)(case).scores for case in cases]
    leaks = []
    for case in cases:
        seen = [Review(text=candidate.text, score=10) for candidate in case.candidates]
        assert isinstance(case.profile, Reviewer)
        leaks.append(case.model_copy(update={"profile": case.profile.model_copy(update={"reviews": tuple(seen)})}))
    file = tmp_path / "leaks.jsonl"
    file.write_text("".join(case.model_dump_json() + "\n" for case in leaks))
    judge = build("matrix-factorisation", histories=str(file)).fit(cases)
    assert [judge(case).scores for case in cases] == scores


def test_matrix_factorisation_does_not_read_labels() -> None:
    pytest.importorskip("surprise")
    cases = rated_cases()
    unlabelled = [case.model_copy(update={"label": None, "meta": {"score": 10}}) for case in cases]
    first, second = (build("matrix-factorisation").fit(some) for some in (cases, unlabelled))
    assert [first(case).scores for case in cases] == [second(case).scores for case in unlabelled]


def test_a_text_judged_for_one_reviewer_may_be_another_s_history() -> None:
    pytest.importorskip("surprise")
    cases = rated_cases()
    judged = {case.candidates[0].text for case in cases}
    assert judged & {text for _, text, _ in known_ratings(cases)}
    judge = build("matrix-factorisation").fit(cases)
    assert all(judge(case).status == "scored" for case in cases)


def test_predictions_stay_on_the_reviewers_scale() -> None:
    pytest.importorskip("surprise")
    halved = [
        case.model_copy(
            update={
                "profile": case.profile.model_copy(
                    update={
                        "scale": (0.5, 5),
                        "reviews": tuple(r.model_copy(update={"score": r.score / 2}) for r in case.profile.reviews),
                    }
                )
            }
        )
        for case in rated_cases()
        if isinstance(case.profile, Reviewer)
    ]
    judge = build("matrix-factorisation").fit(halved)
    assert all(0.5 <= judge(case).scores[0] <= 5 for case in halved)


def test_a_text_in_nobody_s_history_gets_the_reviewer_s_level() -> None:
    pytest.importorskip("surprise")
    cases = rated_cases()
    judge = build("matrix-factorisation").fit(cases)
    unread = [case.model_copy(update={"candidates": text_for(None, "unread").candidates}) for case in cases]
    scores = [judge(case).scores for case in unread]
    assert len(set(scores)) == len(cases)
    assert scores[0] == judge(unread[0].model_copy(update={"candidates": text_for(None, "also").candidates})).scores


def test_of_a_pair_the_higher_prediction_wins() -> None:
    pytest.importorskip("surprise")
    cases = rated_cases(judged=2)
    judge = build("matrix-factorisation").fit(cases)
    for case in cases:
        verdict = judge(case)
        assert verdict.winner == ("a" if verdict.scores[0] > verdict.scores[1] else "b")


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        ([], "no case has a reviewer's history"),
        ([text_for(None)], "no case has a reviewer's history"),
        ([text_for(reviewer(3), text="plot 0")], "no case has a reviewer's history"),
        ([text_for(reviewer(3)), text_for(reviewer(3, id="s", scale=(1, 5)))], "histories on several scales"),
    ],
)
def test_histories_that_cannot_be_used_are_refused(cases: list[Case], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        build("matrix-factorisation").fit(cases)


def test_matrix_factorisation_must_be_fitted_first() -> None:
    with pytest.raises(DeclarationError, match="fit it to cases with histories first"):
        build("matrix-factorisation")(text_for(reviewer(3)))


def test_matrix_factorisation_needs_a_reviewer() -> None:
    pytest.importorskip("surprise")
    judge = build("matrix-factorisation").fit(rated_cases())
    with pytest.raises(DeclarationError, match="case 't' has no reviewer"):
        judge(text_for(None))


# people who judge for somebody else


def voted(*votes: Any) -> Case:
    given = [{"value": v[0], "certainty": v[1]} if isinstance(v, tuple) else {"value": v} for v in votes]
    return Case(id="v", query="q", candidates=PAIR.candidates, votes=given)


@pytest.mark.parametrize(
    ("votes", "winner", "certainty"),
    [
        (("a", "a", "b"), "a", 2 / 3),
        (("b", "b", "b"), "b", 1),
        (("tie", "a", "tie"), "tie", 2 / 3),
        (("a", "b", "tie"), "tie", 1 / 3),
        (("a", "b"), "tie", 0),
        ((("a", 0.9), ("a", 0.5), ("b", 1.0)), "a", 0.7),  # the mean certainty of the majority
        ((("a", 0.9), "a", ("b", 1.0)), "a", 0.9),
        ((("b", 0.2), ("b", 0.4), ("b", 0.9)), "b", 0.5),
    ],
)
def test_the_majority_of_three_decides_with_the_mean_certainty_of_the_majority(
    votes: tuple[Any, ...], winner: str, certainty: float
) -> None:
    verdict = build("third-person")(voted(*votes))
    assert (verdict.winner, verdict.certainty) == (winner, pytest.approx(certainty))


def test_the_shares_of_the_votes_are_the_distribution() -> None:
    assert build("third-person")(voted("a", "b", "a", "tie")).distribution == {"a": 0.5, "b": 0.25, "tie": 0.25}


def test_the_label_is_not_a_vote() -> None:
    case = voted("b", "b", "a").model_copy(update={"label": voted("a").votes[0]})
    assert build("third-person")(case).winner == "b"


def test_votes_on_several_options_are_counted_by_index() -> None:
    options = [{"text": f"{n}"} for n in range(3)]
    case = Case(id="v", query="q", candidates=options, votes=[{"value": n} for n in (2, 2, 0)])
    assert build("third-person")(case).winner == 2


def test_without_votes_nobody_has_spoken() -> None:
    with pytest.raises(DeclarationError, match="case 'p' has no votes"):
        build("third-person")(PAIR)


# the model's own choice

OPTIONS = Case(
    id="o",
    query="What to cook?",
    candidates=[{"text": text} for text in ("steak", "lentils", "beef", "fish")],
    profile=Preference(text="no meat"),
)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_with_k_the_average_is_of_the_reviews_that_perse_shows(seed: int) -> None:
    known = reviewer(*range(1, 10))
    case = text_for(known)
    lm = ScriptedLM({"review": "r", "score": 5})
    with dspy.context(lm=lm):
        build("perse", k=3, seed=seed)(case)
    shown = [float(score) for score in re.findall("Score: ([0-9.]+)", prompt_text(lm.requests[0]))]
    assert len(shown) == 3
    assert build("reviewer-average", k=3, seed=seed)(case).scores == pytest.approx((sum(shown) / 3,))


def test_with_k_the_repeated_choice_is_the_choice_that_perse_pairwise_shows() -> None:
    """PerSE's baseline for k=1 (arXiv 2310.03304)."""
    for seed in range(6):
        case = pair_for(choices(*"abab"))
        lm = ScriptedLM({"preferred": "A"})
        with dspy.context(lm=lm):
            build("perse-pairwise", k=1, seed=seed)(case)
        (shown,) = set(re.findall("Preferred: ([AB])", prompt_text(lm.requests[0])))
        assert build("reviewer-average", k=1, seed=seed)(case).winner == shown.lower()


def test_choices_about_another_aspect_are_not_repeated() -> None:
    named = [
        choice.model_copy(update={"aspect": aspect})
        for choice, aspect in zip(choices("a", "a", "b").comparisons, ("ending", "ending", "surprise"), strict=True)
    ]
    case = pair_for(Reviewer(id="r", comparisons=named)).model_copy(update={"aspect": "surprise"})
    assert build("reviewer-average")(case).winner == "b"


def test_without_any_review_the_score_is_drawn_from_the_whole_scale() -> None:
    cases = [text_for(reviewer(5, 5), text=f"Text {n}.") for n in range(200)]
    scores = [build("reviewer-average", k=0)(case).scores[0] for case in cases]
    assert set(scores) == set(range(1, 11))
    assert 5 < sum(scores) / 200 < 6
    again = [build("reviewer-average", k=0)(case).scores[0] for case in cases]
    other = [build("reviewer-average", k=0, seed=1)(case).scores[0] for case in cases]
    assert scores == again != other


def test_without_any_choice_the_winner_is_drawn_and_does_not_depend_on_the_order() -> None:
    judge = build("reviewer-average", k=0)
    cases = [
        pair_for(choices("a", "a")).model_copy(
            update={"candidates": [Candidate(text=f"x{n}"), Candidate(text=f"y{n}")]}
        )
        for n in range(60)
    ]
    winners = [judge(case).winner for case in cases]
    assert 15 < winners.count("a") < 45
    assert [judge(case.swapped()).swapped().winner for case in cases] == winners


def run(name: str, case: Case, answer: Any, **settings: Any) -> tuple[Verdict, list[Request]]:
    lm = ScriptedLM(answer if callable(answer) else lambda request: answer)
    with dspy.context(lm=lm):
        return build(name, **settings)(case), lm.requests


def letters_of(request: Request) -> dict[str, str]:
    """Each option's text by its letter, as shown."""
    lines = (request.messages[0].text or "").partition("Options:\n")[2].split("\n>>>\n")
    return {line.strip()[0]: line.partition("<<<\n")[2].removesuffix("\n>>>") for line in lines if ". <<<" in line}


def choosing(word: str) -> Any:
    def answer(request: Request) -> Answer:
        letter = next(letter for letter, text in letters_of(request).items() if text == word)
        if request.config.logprobs:
            return {"token_probabilities": {one: 0.7 if one == letter else 0.1 for one in "ABCD"}}
        return {"chosen": letter}

    return answer


@pytest.mark.parametrize("name", ["zero-shot", "reminder"])
@pytest.mark.parametrize("readout", ["generate", "probability"])
@pytest.mark.parametrize(("word", "index"), [("steak", 0), ("lentils", 1), ("beef", 2), ("fish", 3)])
def test_the_model_s_choice_is_the_verdict(name: str, readout: str, word: str, index: int) -> None:
    verdict, requests = run(name, OPTIONS, choosing(word), readout=readout)
    assert verdict.winner == index
    assert verdict.certainty == pytest.approx(1.0 if readout == "generate" else 0.7)
    assert len(requests) == 1


@pytest.mark.parametrize("name", ["zero-shot", "reminder"])
def test_every_option_is_shown_once_with_a_letter_in_order(name: str) -> None:
    _, (request,) = run(name, OPTIONS, choosing("fish"))
    shown = letters_of(request)
    assert list(shown) == ["A", "B", "C", "D"]
    assert sorted(shown.values()) == ["beef", "fish", "lentils", "steak"]


def test_only_the_reminder_asks_to_consider_the_preference() -> None:
    _, (plain,) = run("zero-shot", OPTIONS, choosing("fish"))
    _, (reminded,) = run("reminder", OPTIONS, choosing("fish"))
    sentence = "Take into account what the person said earlier"
    assert (sentence in prompt_text(plain), sentence in prompt_text(reminded)) == (False, True)
    assert letters_of(plain) == letters_of(reminded)


def test_both_show_what_the_person_said_earlier() -> None:
    for name in ("zero-shot", "reminder"):
        _, (request,) = run(name, OPTIONS, choosing("fish"))
        assert "Earlier:\n<<<\nno meat\n>>>" in prompt_text(request)


def test_by_probability_every_option_has_its_share() -> None:
    verdict, _ = run("zero-shot", OPTIONS, choosing("lentils"), readout="probability")
    assert verdict.distribution == pytest.approx({"0": 0.1, "1": 0.7, "2": 0.1, "3": 0.1})
    assert verdict.scores == pytest.approx((0.1, 0.7, 0.1, 0.1))
    assert verdict.findings[0].mass_read == pytest.approx(1.0)


def test_the_order_of_the_options_depends_on_texts_question_and_seed_alone() -> None:
    texts = ["steak", "lentils", "beef", "fish"]
    order = [texts[index] for index in drawn_order(texts, "0\0q")]
    assert [texts[::-1][index] for index in drawn_order(texts[::-1], "0\0q")] == order
    others = {tuple(texts[index] for index in drawn_order(texts, f"{seed}\0q")) for seed in range(50)}
    assert len(others) > 15  # of 24


def test_every_place_is_drawn_about_equally_often() -> None:
    n, texts = 600, ["steak", "lentils", "beef", "fish"]
    first = [drawn_order(texts, f"0\0question {number}")[0] for number in range(n)]
    # 150 expected of each; standard deviation sqrt(600 * 1/4 * 3/4) = 10.6
    assert all(abs(first.count(index) - n / 4) < 5 * 10.6 for index in range(4))


@pytest.mark.parametrize("name", ["zero-shot", "reminder"])
def test_two_options_are_a_pair_with_letters(name: str) -> None:
    pair = OPTIONS.model_copy(update={"candidates": OPTIONS.candidates[:2]})
    verdict, _ = run(name, pair, choosing("lentils"))
    assert (verdict.winner, verdict.distribution) == ("b", {"a": 0.0, "b": 1.0})


@pytest.mark.parametrize("count", [12, 20])
@pytest.mark.parametrize("readout", ["generate", "probability"])
def test_up_to_twenty_options_have_a_letter_each(count: int, readout: str) -> None:
    many = OPTIONS.model_copy(update={"candidates": tuple(_option(f"dish {n}") for n in range(count))})
    last = string.ascii_uppercase[count - 1]
    answer = {"token_probabilities": {last: 1.0}} if readout == "probability" else {"chosen": last}
    verdict, (request,) = run("zero-shot", many, answer, readout=readout)
    assert list(letters_of(request)) == list(string.ascii_uppercase[:count])
    assert isinstance(verdict.winner, int)
    assert many.candidates[verdict.winner].text == letters_of(request)[last]


def _option(text: str) -> Any:
    return text_for(None, text).candidates[0]


@pytest.mark.parametrize("count", [1, 21])
@pytest.mark.parametrize("name", ["zero-shot", "reminder"])
def test_one_option_is_no_choice_and_more_than_twenty_are_too_many(name: str, count: int) -> None:
    case = OPTIONS.model_copy(update={"candidates": tuple(_option(f"dish {n}") for n in range(count))})
    with pytest.raises(DeclarationError, match=f"judge '{name}': case 'o' has {count} candidates. Give 2 to 20"):
        run(name, case, {"chosen": "A"})


@pytest.mark.parametrize("letter", ["E", "a", "1", ""])
def test_a_letter_that_no_option_has_is_unscored(letter: str) -> None:
    verdict, requests = run("zero-shot", OPTIONS, json.dumps({"chosen": letter}))
    assert (verdict.reason, len(requests)) == ("parse_failure", 3)


@pytest.mark.parametrize("readout", ["generate", "probability"])
def test_equal_options_share_the_choice(readout: str) -> None:
    twice = OPTIONS.model_copy(update={"candidates": tuple(_option(text) for text in ("fish", "beef", "fish"))})
    answer = {"token_probabilities": {"A": 0.8, "B": 0.1, "C": 0.1}} if readout == "probability" else {"chosen": "A"}
    verdict, _ = run("zero-shot", twice, answer, readout=readout)
    shares = verdict.distribution or {}
    assert shares["0"] == shares["2"]
