"""A training set: a folder of rows without duplicates and without texts of the evaluation sets, with its data card.

train.jsonl, validation.jsonl   rows (`TrainingRow`), which trl, axolotl and LLaMA-Factory read too
card.json, card.md              counts; the JSON is written last and holds the digests of both files
dataset_info.json, axolotl.yaml for other trainers (`other_trainers`)
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..data import Case
from ..engines.jsonl import rewriting, write_whole
from ..errors import DataError, DeclarationError
from ..parsing import parse_record_json, read_text
from ..paths import private_folder
from .data_card import DataCard, part_counts, recurring_rows
from .mixing import mixed_tasks, split_rows
from .other_trainers import AXOLOTL, LLAMA_FACTORY, TRAIN, VALIDATION, axolotl, llama_factory
from .row import TrainingRow
from .row_texts import overlap

CARD, PAGE = "card.json", "card.md"
PROPORTION = 0.05  # of the rows, for validation
ANEW = "Build the set anew."


@dataclass(frozen=True)
class TrainingSet:
    """A training set on disk.

    Attributes:
        folder: where its files are.
        card: what it holds.
    """

    folder: Path
    card: DataCard

    def rows(self, part: str = "train") -> Iterator[TrainingRow]:
        """The rows of "train" or "validation".

        Raises:
            DataError: a damaged line.
        """
        path = self.folder / (TRAIN if part == "train" else VALIDATION)
        for number, line in enumerate(path.read_bytes().splitlines(), start=1):
            yield parse_record_json(TrainingRow, line, f"{path} line {number}: not a row", advice=ANEW)


def build(
    rows: Iterable[TrainingRow],
    folder: Path,
    *,
    against: Mapping[str, Iterable[Case]] | None = None,
    mix: Mapping[str, float] | None = None,
    validation: float = PROPORTION,
    validation_groups: Collection[str] | None = None,
    seed: int = 0,
    before: Mapping[str, int] | None = None,
) -> TrainingSet:
    """The set of these rows, written into the folder; the same rows and seed give the same files.

    Args:
        against: evaluation sets by name; rows that hold a text of theirs are left out (see `row_texts.overlap`).
        mix: weights of tasks, see `mixing.mixed_tasks`.
        validation: the proportion of rows for validation, by group.
        validation_groups: the groups that validate, in place of a draw.
        seed: of mixing and split.
        before: counts of what happened before, for the card (`TraceRows.counts`).

    Raises:
        DataError: no row is left.
        DeclarationError: a weight or proportion that cannot be used.
        RunError: the folder cannot be written.
    """
    rows, sets = list(rows), {name: list(cases) for name, cases in (against or {}).items()}
    dropped: Counter[str] = Counter()
    unique = list(rows_by_text(rows).values())
    dropped["equal to an earlier row"] = len(rows) - len(unique)
    shared = overlap(unique, sets)
    dropped.update({f"in the evaluation set {kind}": n for kind, n in shared.counts.items()})
    clean = [row for number, row in enumerate(unique) if number not in shared.rows]
    chosen = mixed_tasks(clean, mix or {}, seed)
    dropped["beyond the mix of tasks"] = len(clean) - len(chosen)
    train, held_out = split_rows(chosen, validation, seed, validation_groups)
    if not train:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in (+dropped).items()) or "none was given"
        raise DataError(f"{folder}: no row is left to train on ({reasons}). Give other cases, or less to leave out.")
    private_folder(folder)
    (folder / CARD).unlink(missing_ok=True)
    files = {name: _written(folder / name, part) for name, part in ((TRAIN, train), (VALIDATION, held_out))}
    card = DataCard(
        train=part_counts(train, TRAIN, files[TRAIN]),
        validation=part_counts(held_out, VALIDATION, files[VALIDATION]),
        recurring=recurring_rows(train, held_out),
        dropped=dict(+dropped),
        before=dict(before or {}),
        against={name: len(cases) for name, cases in sets.items()},
        mix=dict(mix or {}),
        seed=seed,
    )
    write_whole(folder / LLAMA_FACTORY, llama_factory())
    write_whole(folder / AXOLOTL, axolotl())
    write_whole(folder / PAGE, card.markdown())
    write_whole(folder / CARD, card.model_dump_json(indent=1) + "\n")
    return TrainingSet(folder, card)


def read_set(folder: Path) -> TrainingSet:
    """The training set of a folder.

    Raises:
        DataError: it has no card, so that it may not be whole, or its rows are not those of the card.
    """
    path = folder / CARD
    if not path.is_file():
        raise DataError(f"{folder}: has no {CARD}, so it is no training set, or was not finished. {ANEW}")
    card = parse_record_json(DataCard, read_text(path), str(path), advice=ANEW)
    for part in (card.train, card.validation):
        file = folder / part.file
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != part.sha256:
            raise DataError(f"{file}: is not the file that {CARD} describes. {ANEW}")
    return TrainingSet(folder, card)


def check_against(rows: Sequence[TrainingRow], against: Mapping[str, Iterable[Case]]) -> None:
    """Do nothing, or raise DeclarationError where a row holds a text of an evaluation set."""
    shared = overlap(rows, against)
    if shared.rows:
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in shared.counts.items())
        raise DeclarationError(
            f"training set: {len(shared.rows):,} of {len(rows):,} rows hold texts of an evaluation set ({kinds}). "
            "Build the set with these sets named."
        )


def rows_by_text(rows: Iterable[TrainingRow]) -> dict[tuple[str, ...], TrainingRow]:
    """The first row of each conversation up to its answer; the answer and the targets of later ones do not count."""
    first: dict[tuple[str, ...], TrainingRow] = {}
    for row in rows:
        first.setdefault(tuple(f"{message.role}\0{message.content}" for message in row.prompt), row)
    return first


def _written(path: Path, rows: Iterable[TrainingRow]) -> str:
    """Write the rows as one whole file: its SHA-256."""
    digest = hashlib.sha256()
    with rewriting(path) as file:
        for row in rows:
            line = row.model_dump_json().encode() + b"\n"
            digest.update(line)
            file.write(line)
    return digest.hexdigest()
