"""What a training row refuses."""

import pytest
from pydantic import ValidationError

from dicast.distillation.row import TrainingRow, most_probable

USER, ANSWER = {"role": "user", "content": "Which?"}, {"role": "assistant", "content": "B"}
ROW = {"task": "t", "case_id": "1", "group": "g", "source": "traces", "messages": (USER, ANSWER)}


def test_a_row_ends_with_the_answer():
    row = TrainingRow(**ROW, targets={"A": 0.25, "B": 0.75})
    assert (row.answer, [message.role for message in row.prompt]) == ("B", ["user"])
    assert TrainingRow.model_validate_json(row.model_dump_json()) == row


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"messages": (ANSWER, USER)}, "of the user, not of the assistant"),
        ({"targets": {"A": 0.2, "B": 0.7}}, "sum to 0.9"),
        ({"targets": {"A": 0.7, "B": 0.3}}, "not the most probable"),
        ({"targets": {"A": 0.5, "C": 0.5}}, "not the most probable"),
        ({"weight": 0}, "greater than 0"),
    ],
)
def test_what_cannot_be_learnt_is_refused(fields, problem):
    with pytest.raises(ValidationError, match=problem):
        TrainingRow(**{**ROW, **fields})


def test_the_first_of_equal_tokens_is_the_answer():
    assert most_probable({"A": 0.5, "B": 0.5}) == "A"
