"""How a judge reads its evidence: sources by model, single numbers as measured evidence, the sources of a head."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import dspy

from ..data import Case, Usage, Verdict
from ..engines.ledger import charge, stage_of_calls
from ..engines.model_string import ModelString
from ..engines.models import withholding_keys
from ..engines.parallel import concurrently
from ..engines.stand_in import CHARACTERS_PER_TOKEN, StandInLM
from ..errors import DeclarationError
from ..evidence.layout import requests_of
from ..evidence.source import SOURCES, EvidenceSource, SourceItem, parse_items
from .block_base import Vectors
from .heads import Head
from .seat import Seat

ROLE = "evidence"  # of the seats of models that the parameter names
EMBEDDED = ("local", "transformers")  # providers whose states can be read without being named

_sources: dict[SourceItem, EvidenceSource] = {}  # readers are shared by copies of a judge


def items_of(text: str) -> tuple[SourceItem, ...]:
    """The items of a parameter `evidence`; those without a model have an empty one."""
    return parse_items(text, "")


def open_sources(who: str, text: str, seats: Sequence[Seat], judge_seats: Sequence[Seat]) -> tuple[EvidenceSource, ...]:
    """The sources of a list; nothing is read yet.

    Args:
        who: begins messages.
        seats: of the models that the list names.
        judge_seats: of the judge's own models; sources without a model read that of the judgment.

    Raises:
        DeclarationError: a source without a model, where the judge has none whose states can be read.
        ModelError: see `judging.trust`.
    """
    named = {seat.model: seat for seat in seats}
    sources = []
    for item in items_of(text):
        seat = named[item.model] if item.model else _judgment_seat(who, item, judge_seats)
        if not seat.admitted:
            seat.admit()
        item = replace(item, model=seat.model, trusted=seat.trusted)
        sources.append(_sources.get(item) or _sources.setdefault(item, SOURCES.find(item.kind)(item)))
    return tuple(sources)


def _judgment_seat(who: str, item: SourceItem, judge_seats: Sequence[Seat]) -> Seat:
    """The seat of the judgment's model."""
    seats = [seat for seat in judge_seats if seat.role == "judgment" and seat.model] or [
        seat for seat in judge_seats if seat.model
    ]
    models = sorted({seat.model for seat in seats})
    write = f"Name the model that is to be read: --set evidence={item.kind}=local/qwen2.5-coder-1.5b"
    if not models:
        raise DeclarationError(f"{who}: evidence {item.name!r} reads a model, and none is bound. {write}")
    if len(models) > 1:
        raise DeclarationError(f"{who}: evidence {item.name!r} names no model, of {' and '.join(models)}. {write}")
    if ModelString.parse(models[0]).provider not in EMBEDDED:
        raise DeclarationError(f"{who}: {models[0]} gives no hidden states for the evidence {item.name!r}. {write}")
    return seats[0]


def read_sources(sources: Sequence[EvidenceSource], case: Case) -> dict[str, Vectors]:
    """What each source says of the case, (candidates, width), by the source's name."""
    unknown = [source.item.model for source in sources if not source.item.trusted]
    with withholding_keys(unknown):
        arrays = concurrently(lambda source: source.read(case), sources)
    return {source.name: array for source, array in zip(sources, arrays, strict=True)}


def is_estimate() -> bool:
    """Whether calls are only counted, by a stand-in for every model."""
    return isinstance(dspy.settings.lm, StandInLM)


def charge_estimate(text: str, case: Case) -> None:
    """Charge what reading the case would cost: a call for each text and source."""
    lengths = [len(request.before) + len(request.text) for request in requests_of(case)]
    tokens = sum(math.ceil(length / CHARACTERS_PER_TOKEN) for length in lengths)
    for item in items_of(text):
        with stage_of_calls(item.name):
            charge(Usage(calls=len(lengths), prompt_tokens=tokens))


def with_scalars(verdict: Verdict, vectors: Mapping[str, Vectors]) -> Verdict:
    """The verdict with the sources that give one number a candidate, as measured evidence."""
    numbers = {name: tuple(map(float, array[:, 0])) for name, array in vectors.items() if array.shape[1] == 1}
    return verdict.model_copy(update={"measured": verdict.measured | numbers}) if numbers else verdict


def check_blocks(who: str, head: Head, sources: Sequence[EvidenceSource]) -> list[str]:
    """Whether the sources are those of the head's blocks: notes on what is not quite the same.

    Raises:
        DeclarationError: a block's source is missing, or of other weights, another layer, layout or width.
    """
    notes = []
    by_name = {source.name: source for source in sources}
    for name, block in head.blocks.items():
        source = by_name.get(block.reads or name)
        read = block.source
        if source is None:
            raise DeclarationError(
                f"{who}: its head needs the evidence {block.reads or name!r}, which is not read. Set it: "
                f"--set evidence={block.reads or name}={read.model}"
            )
        if difference := read.difference(source.spec):
            raise DeclarationError(
                f"{who}: the evidence {source.name!r} is of {difference}, on which its head was fitted. Judge with the "
                "model of the head, or compile anew."
            )
        if read.engine != source.spec.engine:
            notes.append(
                f"evidence {source.name!r} read by {source.spec.engine}; the head was fitted with {read.engine}"
            )
    return notes


def measured_of(verdicts: Sequence[tuple[str, Verdict]]) -> dict[str, Any]:
    """The measured evidence of members, each by `NAME of MEMBER`."""
    return {f"{name} of {member}": row for member, verdict in verdicts for name, row in verdict.measured.items()}
