"""Which evidence a judge can read on this machine beside its answers, and what one more extra would add."""

from dataclasses import dataclass
from importlib.util import find_spec

from ..engines.model_string import ModelString
from ..errors import install_hint
from .module_base import StagedModule

STATE = "state"
EXAMPLE = "local/qwen2.5-coder-1.5b"


@dataclass(frozen=True)
class EvidenceOffer:
    """What a judge can read.

    Attributes:
        evidence: the value of its parameter `evidence` that reads the most; empty where nothing can be read.
        hints: what else could be read, a sentence each.
    """

    evidence: str = ""
    hints: tuple[str, ...] = ()


def offered_evidence(judge: StagedModule) -> EvidenceOffer:
    """The evidence that the judge's own model gives with the extras that are installed.

    Hidden states are read from `local/` and `transformers/` models; a model behind an address gives none, but a local
    model may read the same texts.
    """
    if "evidence" not in judge.hparams():
        return EvidenceOffer()
    models = {seat.model for seat in judge.seats() if seat.model and not seat.is_fixed}
    judgment = {seat.model for seat in judge.seats() if seat.model and seat.role == "judgment"} or models
    if len(judgment) != 1:
        return EvidenceOffer()
    provider = ModelString.parse(next(iter(judgment))).provider
    torch, gguf = (find_spec(name) is not None for name in ("torch", "gguf"))
    if provider == "transformers":
        return EvidenceOffer(STATE, (REWARD,))
    if provider == "local" and gguf:
        return EvidenceOffer(STATE, (REWARD,) if torch else (TORCH,))
    if provider == "local":
        return EvidenceOffer("", (f"Hidden states of the judge's model need the extra local. {install_hint('local')}",))
    if gguf and find_spec("xllamacpp") is not None:
        return EvidenceOffer("", (f"Hidden states of a local model can be read: --set evidence=state={EXAMPLE}",))
    return EvidenceOffer("", (f"With the extra local, hidden states can be read. {install_hint('local')}",))


def searched_evidence(judge: StagedModule) -> tuple[str, ...]:
    """The values of the parameter `evidence` that a structure search tries: with and without what can be read."""
    offer = offered_evidence(judge)
    return ("", offer.evidence) if offer.evidence else ()


REWARD = "A reward model can be read too: --set evidence=state,reward=MODEL (docs/evidence.md)."
TORCH = (
    "With the extra torch, transformers/MODEL reads the same states faster where the processor has bfloat16 "
    f"instructions, and reward models can be read. {install_hint('torch')}"
)
