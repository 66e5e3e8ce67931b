"""A case without a group is a group by itself, whatever its id is."""

from dicast.data import Judged
from dicast.data.verdict import own_group


def test_a_case_without_a_group_never_joins_a_named_group_that_is_equal_to_its_id():
    named = Judged(case_id="1", status="unscored", reason="refusal", group="2")
    unnamed = Judged(case_id="2", status="unscored", reason="refusal")
    assert named.group_name != unnamed.group_name


def test_the_aspects_of_one_text_share_its_group():
    names = {own_group("17", None), own_group("17#tone", "tone"), own_group("17#length", "length")}
    assert names == {"id 17"}
