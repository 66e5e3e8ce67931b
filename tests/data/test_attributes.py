"""Attributes: short values of other columns; carried into verdicts and arrays, and part of no digest."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from dicast.data import Case, Judged, Verdict, read_cases
from dicast.data.rows import row_to_case
from dicast.evaluation.external_verdicts import read_external_verdicts
from dicast.evaluation.run_arrays import run_arrays
from dicast.workflows.memory_rows import json_row

PAIR: dict[str, Any] = {"query": "Say hello.", "response_a": "Hello.", "response_b": "Good day.", "label": "b"}
COLUMNS: dict[str, Any] = {
    "subset": " Neighbor ", "year": 2024, "hard": True, "note": "", "long": "x" * 101, "tags": [],
}  # fmt: skip
ATTRIBUTES = {"subset": "Neighbor", "year": "2024", "hard": "true"}


def case_of(**more: Any) -> Case:
    return row_to_case(PAIR | more, default_id="file:1")


def test_short_scalars_of_other_columns_are_attributes_as_texts() -> None:
    assert case_of(**COLUMNS).attributes == ATTRIBUTES


def test_a_field_of_a_row_is_no_attribute() -> None:
    assert case_of(aspect="warm", group="g", id="1", system_a="S").attributes == {}


def test_attributes_change_no_digest() -> None:
    assert case_of(subset="x").digest == case_of(subset="y").digest == case_of().digest


def test_every_kind_of_file_gives_the_same_attributes(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow
    import pyarrow.parquet as parquet

    row = PAIR | {"subset": "Neighbor", "year": 2024}
    (tmp_path / "x.jsonl").write_text(json.dumps(row))
    with (tmp_path / "x.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(row))
        writer.writeheader()
        writer.writerow(row)
    parquet.write_table(pyarrow.Table.from_pylist([row]), tmp_path / "x.parquet")
    (tmp_path / "frame.jsonl").write_text(json_row("cases", 1, row | {"year": 2024.0, "empty": float("nan")}))
    for name in ("x.jsonl", "x.csv", "x.parquet", "frame.jsonl"):
        (case,) = read_cases(tmp_path / name)
        assert case.attributes == {"subset": "Neighbor", "year": "2024"}, name


def test_a_mapped_column_is_no_attribute(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(json.dumps({"prompt": "Say hello."} | PAIR | {"source": "s"}))
    (case,) = read_cases(tmp_path / "x.jsonl", fields={"query": "prompt"})
    assert case.query == "Say hello."
    assert case.attributes == {"source": "s"}


def test_a_verdict_has_the_attributes_of_its_case_also_after_it_was_written() -> None:
    judged = Judged.of(case_of(**COLUMNS), Verdict(case_id="file:1", winner="a"))
    assert judged.attributes == ATTRIBUTES
    assert Judged.model_validate_json(judged.model_dump_json()) == judged
    assert judged.swapped().attributes == ATTRIBUTES


def test_rows_of_another_tool_have_attributes(tmp_path: Path) -> None:
    row = {"id": 1, "prediction": "a", "label": "b", "judge": "j", "source": "news", "raw": "x" * 200}
    (tmp_path / "verdicts.jsonl").write_text(json.dumps(row))
    (judged,) = read_external_verdicts(tmp_path / "verdicts.jsonl")
    assert judged.attributes == {"source": "news"}


def test_arrays_are_the_same_whatever_the_order_of_verdicts() -> None:
    verdicts = [
        Judged(case_id="1", winner="a", attributes={"subset": "y", "id": "1"}),
        Judged(case_id="2", winner="a", attributes={"language": "en"}, aspect="warm"),
        Judged(case_id="3", status="unscored", reason="refusal", attributes={"subset": "x"}),
    ] + [Judged(case_id=f"more {n}", winner="a", attributes={"id": str(n + 2)}) for n in range(100)]
    for order in (verdicts, verdicts[::-1]):
        attributes = run_arrays(order).attributes
        assert attributes.names == ("aspect", "language", "subset")
        assert attributes.values == (("warm",), ("en",), ("x", "y"))
        assert attributes.too_many == ("id",)
        assert attributes.codes[:2].tolist() == [[-1, -1, 1], [0, 0, -1]]
        assert attributes.case_codes[:3].tolist() == [[-1, -1, 1], [0, 0, -1], [-1, -1, 0]]


def test_rows_of_arrays_keep_their_attributes() -> None:
    run = run_arrays([Judged(case_id=str(n), winner="a", attributes={"subset": str(n)}) for n in range(3)])
    chosen = run.rows(run.attributes.codes[:, 0] > 0)
    assert chosen.ids == ("1", "2")
    assert chosen.attributes.codes[:, 0].tolist() == [1, 2]
    assert len(chosen.attributes.case_codes) == 3
