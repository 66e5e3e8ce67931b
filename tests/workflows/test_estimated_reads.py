"""What an experiment's estimate says of evidence that another model than the judge's reads."""

import pytest

from dicast.data import Usage
from dicast.judging import build
from dicast.workflows.experiment_estimate import _cost, _models_of_evidence
from dicast.workflows.judge_spec import JudgeSpec

LOCAL = "state=local/smollm2-135m"


def test_reads_have_the_price_of_the_model_that_reads() -> None:
    """Golden: LiteLLM's table has .15 dollars for a million prompt tokens of gpt-4o-mini."""
    readers = _models_of_evidence(build("direct", evidence=LOCAL))
    spec = JudgeSpec("direct", lm="openai/gpt-4o-mini", settings={"evidence": LOCAL})
    reads, asked = ({name: Usage(calls=2, prompt_tokens=10**6)} for name in ("state", "judgment"))
    assert readers == {"state": "local/smollm2-135m"}
    assert _cost(spec, readers, reads, 1.0) == 0.0
    assert _cost(spec, readers, reads | asked, 1.0) == pytest.approx(0.15)


def test_reads_of_the_judges_own_model_have_its_price() -> None:
    assert _models_of_evidence(build("direct", evidence="state")) == {}
