"""dicast.testing's LM under its earlier names."""

from dicast.testing import ScriptedLM
from dicast.testing import answer_fields as asked_for
from dicast.testing import prompt_text as prompt
from dicast.testing.scripted_lm import Answer

__all__ = ["Answer", "asked_for", "prompt", "scripted"]


def scripted(answer, *, cache=False, schema=True):
    """The LM, twice: as the LM and as the record of its requests."""

    def renamed(request):
        value = answer(request)
        if isinstance(value, dict) and set(value) == {"logprobs"}:
            return {"token_probabilities": value["logprobs"]}
        return value

    lm = ScriptedLM(renamed, cache=cache, schema=schema)
    return lm, lm
