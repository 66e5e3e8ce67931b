"""Made-up rows of the shape that an experiment's set has, for sets that are not on this machine."""

import json
import random
from pathlib import Path
from typing import Any

from dicast.data.rewritten_texts import CORRECTED, ORIGINAL, version_id
from dicast.experiments import Experiment
from dicast.experiments.cells import Cell
from dicast.experiments.measure_address import fields_of
from dicast.judging import PROGRAMS, build

GROUPS = 6
SYSTEMS = ("alpha", "beta", "gamma")
FEATURES = {
    "age": "35-44", "education": "university", "location": "Europe", "ethnicity": "none given", "religion": "none",
    "gender": "woman", "employment": "full time", "marital_status": "single", "english_proficiency": "fluent",
}  # fmt: skip


def made_set(experiment: Experiment, name: str, folder: Path) -> Path:
    """A file of made-up cases that every judge of the set can judge, with every field that its measures name."""
    cells = [cell for cell in experiment.cells if cell.set == name]
    path = folder / f"{name}.jsonl"
    steps = experiment.content.sets[name].prepare
    options = experiment.content.sets[name].options
    rows = flat_reviews() if "histories" in steps else rows_of(cells, options, single="pairs" in steps)
    if any(spec.name == "rewrite gain" for cell in cells for spec in cell.measures):
        rows = [row | {"id": version_id(row["id"], 0, version)} for row in rows for version in (ORIGINAL, CORRECTED)]
    if any(spec.name.startswith("systems ") for cell in cells for spec in cell.measures):
        rows = [row | {"system": f"system {number % 3}"} for number, row in enumerate(rows)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def flat_reviews() -> list[dict[str, Any]]:
    """Reviews of six reviewers as `dicast prepare --with histories` takes them."""
    return [
        {"reviewer": f"r{person}", "text": f"plot {number}", "review": f"words of {person} on {number}", "score": score}
        for person in range(GROUPS)
        for number in range(12)
        for score in [(person * 3 + number * 7) % 10 + 1]
    ]


def rows_of(cells: list[Cell], options: dict[str, Any], *, single: bool = False) -> list[dict[str, Any]]:
    """Rows of six inputs, each with the texts of three systems, for every aspect that the cells choose.

    Args:
        single: texts with a score each, whatever the judges take, as `dicast prepare --with pairs` reads them.
    """
    noise = random.Random(cells[0].set)
    runs = [run for cell in cells for run in cell.runs]
    judges = ["explicit"] if single else sorted({run.judge for run in runs})
    inputs = [PROGRAMS.find(judge).inputs for judge in judges]
    aspects = sorted({(options | dict(run.options)).get("aspect") or "" for run in runs})
    fields = {name for cell in cells for spec in cell.measures for name in (*fields_of(spec.name), *cell.measuring.by)}
    rows: list[dict[str, Any]] = []
    for group in range(GROUPS):
        for aspect in aspects:
            shared: dict[str, Any] = {"query": f"Question {group}?", "group": f"g{group}"}
            shared |= {"aspect": aspect} if aspect else {}
            shared |= {field: f"{field} {group % 2}" for field in fields - {"aspect", "group"}}
            shared |= {
                "explanation": f"The person keeps to dish {group}."
            }  # of the right answer, as `pref` compares it
            shared |= profile(" ".join(inputs), group)
            if any("references" in words for words in inputs):
                shared["references"] = [f"Text {group} of {SYSTEMS[0]}"]
            for row in candidates(judges, inputs, group, noise):
                rows.append({"id": f"{group}-{aspect}-{len(rows)}", **shared, **row})
    return rows


def profile(inputs: str, group: int) -> dict[str, Any]:
    """The person, as the judges of the set need it."""
    if "a reviewer" in inputs or "history" in inputs:
        reviews = [{"text": f"plot {n}", "comment": f"words {n}", "score": (n + group) % 5 + 1} for n in range(6)]
        choices = [{"response_a": f"rain {n}", "response_b": f"sun {n}", "label": "ab"[n % 2]} for n in range(3)]
        written = {"review": f"words of r{group}", "scale": [1, 10]}
        return {"reviewer": f"r{group}", "reviews": reviews, "comparisons": choices, **written}
    if "persona" in inputs:
        return {"persona": FEATURES | {"age": str(20 + group)}}
    return {"preference": f"no dish with {group} eggs"} if "profile" in inputs or "choices" in inputs else {}


def candidates(judges: list[str], inputs: list[str], group: int, noise: random.Random) -> list[dict[str, Any]]:
    """The texts of one input, with what people said of them."""
    texts = [f"Text {group} of {system}, {noise.randrange(10**6)} words." for system in SYSTEMS]
    label = noise.choice(["a", "b", "b"])
    if all("choices" in words and "profile" in words for words in inputs):
        return [{"options": [*texts, "Something else."], "label": noise.randrange(2)}]
    if any(build(judge).pairs_only for judge in judges) or not any("single texts" in words for words in inputs):
        systems = {"system_a": SYSTEMS[0], "system_b": SYSTEMS[1]}
        return [{"response_a": texts[0], "response_b": texts[1], "label": label, **systems}]
    scored = zip(SYSTEMS, texts, strict=True)
    return [
        {"response": text, "score": noise.randint(1, 5), "scale": [1, 5], "system": system} for system, text in scored
    ]
