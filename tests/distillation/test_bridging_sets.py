"""Rows as their sets publish them become judgments in one form.

Auto-J: a row of data/training/single_traindata.jsonl (GAIR-NLP/auto-j 2ae17a3), shortened; the pair is made up in
the set's own template (codes/usage/constants_prompt.py) and the columns of its README. JudgeLM: the row with
question_id 99999 of judgelm_train_100k.jsonl, shortened. PandaLM: the example of its README. UltraFeedback: a row of
truthful_qa, its words shortened. Feedback-Collection and HelpSteer: rows made up in the columns of their pages.
"""

import copy

import pytest

from dicast.distillation.bridging.judgment import SETS, ReadCounts, in_letters, read_judgments
from dicast.errors import DataError, DeclarationError

SINGLE = {
    "usrmsg": 'Write critiques for a submitted response on a given user\'s query, and grade the response:\n  \n[BEGIN DATA]\n***\n[Query]: correct the grammar of this sentence: i have three sheeps, and five horse.\n***\n[Response]: I have three sheep and five horses.\n***\n[END DATA]\n\nWrite critiques for this response. After that, you should give a final rating for the response on a scale of 1 to 10 by strictly following this format: "[[rating]]", for example: "Rating: [[5]]".',  # noqa: E501
    "target_output": 'The response accurately corrected the grammatical errors in the original sentence, changing "sheeps" to "sheep" and "horse" to "horses". \n\nRating: [[8]]',  # noqa: E501
    "pred_score": 8.0,
    "scenario": "text_correction",
    "source_dataset": "chatbot_arena",
}
PAIR = {
    "usermsg": "You are assessing two submitted responses on a given user's query and judging which response is better or they are tied. Here is the data:\n\n[BEGIN DATA]\n***\n[Query]: Name a fruit.\nOne word.\n***\n[Response 1]: Apple\n***\n[Response 2]: A shoe,\nI think.\n***\n[END DATA]\n\nHere are the instructions to assess and compare the two responses:\n\n1. Pinpoint the key factors to distinguish these two responses.\n2. Conclude your comparison by providing a final decision on which response is better, or they are tied. Begin your final decision statement with \"So, the final decision is Response 1 / Response 2 / Tie\". Ensure that your decision aligns coherently with the comprehensive evaluation and comparison you've provided.",  # noqa: E501
    "target_output": "1. The key factors to distinguish these two responses:\n\nResponse 1 names a fruit. Response 2 does not.\n\n2. The final decision:\n\nSo, the final decision is Response 1.",  # noqa: E501
    "gt_label": 0,
    "pred_label": 0,
    "scenario": "default",
    "source_dataset": "chatbot_arena",
}
JUDGELM = {
    "review_id": "abtw7no6nDD2dxjG9yAkBo", "question_id": 99999, "answer1_id": "", "answer2_id": "", "reviewer_id": 1,
    "text": "1 10\nAssistant 1's response is completely irrelevant to the question asked. On the other hand, Assistant 2's response is accurate and directly answers the user's question.",  # noqa: E501
    "score": [1.0, 10.0],
    "question_body": "Categorize the following artwork: Abstraction of Reality, by Mark Rothko.\n",
    "answer1_body": "# How to use this template\n\n## Requirements\n- A `GitHub` account\n- An idea\n- A laptop\n-",
    "answer2_body": "Abstract", "answer1_model_id": "mpt-7b", "answer2_model_id": "flan-t5-xxl",
    "answer1_metadata": {"decoding_method": "top_p_sampling"},
    "answer2_metadata": {"decoding_method": "top_p_sampling"},
    "score_w_reference": [1.0, 5.0],
}  # fmt: skip
PANDALM = {
    "inputs": {
        "instruction": "Find an example of the given kind of data",
        "input": "Qualitative data",
        "response1": "An example of qualitative data is customer feedback.",
        "response2": "An example of qualitative data is a customer review.",
    },
    "outputs": {
        "evaluation_result": "Tie",
        "evaluation_reason": "Both responses are correct and provide similar examples of qualitative data.",
        "reference_response": "An example of qualitative data is an interview transcript.",
    },
}
ULTRAFEEDBACK = {
    "source": "truthful_qa",
    "instruction": "What is the composition of the trails left in the sky by aircraft?",
    "models": ["llama-2-13b-chat", "llama-2-7b-chat", "ultralm-65b", "vicuna-33b"],
    "completions": [
        {
            "model": "llama-2-13b-chat", "principle": "truthfulness",
            "response": "The trails left in the sky by aircraft are called contrails.",
            "critique": "The answer is well-structured, clear, and informative.", "overall_score": 7.5,
            "fine-grained_score": 4.5,
            "annotations": {
                "helpfulness": {
                    "Rating": "4", "Rationale": "The response is clear, relevant, and comprehensive",
                    "Rationale For Rating": "The text is highly informative", "Type": ["1", "2", "3"],
                },
                "honesty": {"Rating": "5", "Rationale": "The text is correct and confident in its explanation"},
                "instruction_following": {"Rating": "N/A", "Rationale": "The text mostly aligns with the task goal"},
                "truthfulness": {
                    "Rating": "5", "Rationale": "The text provides accurate information about contrails",
                    "Rationale For Rating": "The text is free of hallucinations", "Type": ["0"],
                },
            },
        }
    ],
}  # fmt: skip
FEEDBACK = {
    "instruction": "###Task Description: ...", "output": "Feedback: ... [RESULT] 4",
    "orig_instruction": "Explain tides.", "orig_response": "The moon pulls the sea.",
    "orig_feedback": "Short, but right.",
    "orig_score": "4", "orig_criteria": "Is the explanation right and simple?", "orig_reference_answer": "...",
    **{f"orig_score{level}_description": f"level {level}" for level in range(1, 6)},
}  # fmt: skip
HELPSTEER = {
    "prompt": "Explain tides.", "response": "The moon pulls the sea.",
    "helpfulness": 3, "correctness": 4, "coherence": 4, "complexity": 1, "verbosity": 1,
}  # fmt: skip


def only(name, row):
    (judgment,) = read_judgments(name, [row])
    return judgment


def test_auto_j_singles_are_rated_from_1_to_10():
    judgment = only("auto-j", SINGLE)
    assert judgment.request == "correct the grammar of this sentence: i have three sheeps, and five horse."
    assert judgment.responses == ("I have three sheep and five horses.",)
    assert (judgment.scores, judgment.scale) == ((8.0,), (1, 10))
    assert judgment.judgment.endswith('"horse" to "horses".')


def test_auto_j_pairs_end_with_a_decision_that_is_no_part_of_the_words():
    judgment = only("auto-j", PAIR)
    assert judgment.request == "Name a fruit.\nOne word."
    assert judgment.responses == ("Apple", "A shoe,\nI think.")
    assert judgment.winner == "a"
    assert "Response A names a fruit. Response B does not." in judgment.judgment
    assert "final decision is" not in judgment.judgment


def test_judgelm_scores_are_those_of_its_first_line():
    judgment = only("judgelm", JUDGELM)
    assert (judgment.scores, judgment.case.label.winner) == ((1.0, 10.0), "b")
    assert judgment.judgment.startswith("Response A's response is completely irrelevant")
    assert judgment.request.endswith("by Mark Rothko.")


def test_pandalm_ties_are_ties():
    judgment = only("pandalm-train", PANDALM)
    assert judgment.winner == "tie"
    assert judgment.request == "Find an example of the given kind of data\n\nQualitative data"


def test_ultrafeedback_has_a_judgment_for_each_rated_aspect():
    judgments = list(read_judgments("ultrafeedback", [ULTRAFEEDBACK]))
    by_aspect = {judgment.id.rpartition("/")[2]: judgment for judgment in judgments}
    assert {name: judgment.scores for name, judgment in by_aspect.items()} == {
        "honesty": (5.0,), "truthfulness": (5.0,), "helpfulness": (4.0,),
    }  # fmt: skip
    assert by_aspect["helpfulness"].judgment == "The text is highly informative"
    assert by_aspect["honesty"].criterion.startswith("honesty: ")


def test_the_feedback_collection_brings_criterion_and_guideline():
    judgment = only("feedback-collection", FEEDBACK)
    assert judgment.criterion == "Is the explanation right and simple?"
    assert judgment.guideline.splitlines()[4] == "5: level 5"
    assert (judgment.scores, judgment.scale, judgment.judgment) == ((4.0,), (1, 5), "Short, but right.")


def test_helpsteer_has_three_attributes_and_no_words():
    judgments = list(read_judgments("helpsteer", [HELPSTEER]))
    assert [(judgment.id, judgment.scores) for judgment in judgments] == [
        ("helpsteer/0/helpfulness", (3.0,)), ("helpsteer/0/correctness", (4.0,)), ("helpsteer/0/coherence", (4.0,)),
    ]  # fmt: skip
    assert {judgment.scale for judgment in judgments} == {(0, 4)}


def changed(row, **fields):
    return {**copy.deepcopy(row), **fields}


@pytest.mark.parametrize(
    ("name", "row", "reason"),
    [
        ("auto-j", changed(PAIR, pred_label=1), "the final decision is not the label's"),
        ("auto-j", changed(PAIR, target_output="Both are fine."), "without a final decision"),
        ("auto-j", changed(SINGLE, target_output="Fine."), "without a rating"),
        ("judgelm", changed(JUDGELM, score_w_reference=[6.0, 5.0]), "another winner with the reference answer"),
        ("judgelm", changed(JUDGELM, text="2 10\nFine."), "the text begins with other scores"),
        ("judgelm", changed(JUDGELM, score=[0.0, 10.0]), "a score is not on 1..10"),
        ("feedback-collection", changed(FEEDBACK, orig_score="6"), "a score is not on 1..5"),
        ("pandalm-train", {**PANDALM, "outputs": {"evaluation_result": "0"}}, "another result than 1, 2 or Tie"),
        ("ultrafeedback", changed(ULTRAFEEDBACK, completions=[]), "no aspect is rated"),
    ],
)
def test_rows_that_cannot_be_used_are_counted(name, row, reason):
    counts = ReadCounts()
    assert list(read_judgments(name, [row], counts)) == []
    assert (counts.rows, counts.judgments, counts.left_out) == (1, 0, {reason: 1})


@pytest.mark.parametrize("name", list(SETS.names()))
def test_rows_of_another_shape_are_an_error_that_names_the_row(name):
    with pytest.raises(DataError, match=rf"{name}: row 0: field .* is missing"):
        list(read_judgments(name, [{"something": "else"}]))


def test_an_unknown_set_is_refused():
    with pytest.raises(DeclarationError, match="judgelm"):
        list(read_judgments("judgelm-100k", []))


def test_numbers_of_responses_become_letters():
    assert in_letters("Answer 2, unlike response 1, has 2 parts.") == "Response B, unlike Response A, has 2 parts."
