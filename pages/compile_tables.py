"""The tables of a compilation's page as plain text cells; the HTML and the Markdown share them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..evaluation.results import Evaluation, Measure
from ..optimizers.claims import Claim, measured
from ..optimizers.compile_folder import Compilation, PromptSearch
from ..optimizers.finetune import FineTuned, FineTuning
from ..optimizers.head.worth import EvidenceWorth
from ..optimizers.objective import title_of
from ..optimizers.result import JudgeOnTest
from ..optimizers.structure.pareto import StructureTrial
from ..optimizers.structure.search import StructureSearch
from .compile_searches import higher_is_better, prompt_change, prompt_measure, structure_change, structure_measure
from .formatting import MISSING, format_interval, format_measure, format_p_value, format_value, readable
from .text_tables import TextCell, TextRow, TextTable

COLUMNS = ("accuracy", "both-orders accuracy", "kappa", "nDCG", "spearman", "pearson", "kendall", "log-loss", "ECE")
LOWER_IS_BETTER = ("log-loss", "ECE")
REFERENCES = ("chance", "majority", "longer", "human ceiling")
DESCRIPTIONS = {
    "uncompiled": "the program without changes, without a head",
    "head": "with a head on its evidence",
    "head and prompts": "with optimised prompts and a head",
    "prompts": "with optimised prompts",
    "without fine-tuning": "with what was learnt before a student was trained",
    "compiled": "with everything that was learnt",
    "student": "the small model, with its head",
    "teacher": "the judge that it learnt from",
    "base": "the model that it was trained from, without a head",
    "base with a head": "the same with a head fitted to the labels",
    "chance": "one of the texts at random",
    "majority": "always the most frequent label",
    "longer": "the longer text",
    "human ceiling": "one annotator against the others",
}


OF_FOLDS = (
    "The heads of different folds have different intercepts, so Spearman out of fold may fall where the delivered "
    "judge orders the texts as before."
)


def judges_grid(compilation: Compilation) -> TextTable:
    """The judges side by side on the test part, with the baselines without a model and the human ceiling."""
    result = compilation.result
    title = "Test part" if result.estimate == "split" else "All labels, out of fold"
    return judges_table(result.judges, result.compiled, result.reference_measures, title=title)


def order_note(compilation: Compilation) -> str:
    """That a rank correlation out of fold may be below that of the delivered judge; "" where no score is shown."""
    return f" {OF_FOLDS}" if _is_known(compilation.result.compiled.evaluation, "spearman") else ""


def claims_grid(claims: Sequence[Claim], title: str, note: str = "") -> TextTable:
    """What may have improved, each with its one test."""
    rows = []
    for claim in claims:
        test = claim.test
        difference = _measure_cell(test.difference if test else None)
        p_values = (test.p, test.p_looks) if test else (None, None)
        cells = (
            TextCell(claim.of, claim.reason or measured(claim)),
            TextCell(format_value(claim.before)),
            TextCell(format_value(claim.after)),
            difference,
            *(TextCell(format_p_value(p)) for p in p_values),
            TextCell(claim.state),
        )
        rows.append(TextRow(cells, "faint" if claim.state == "unchanged" else ""))
    return TextTable(title, ("", "Before", "After", "Difference", "p", "p (adjusted)", ""), tuple(rows), note)


def judges_table(
    judges: Sequence[JudgeOnTest], lead: JudgeOnTest, references: Sequence[Measure], *, title: str = "Test part"
) -> TextTable:
    """Judges side by side on the same labels.

    Args:
        lead: of these, the judge whose row is marked; the columns are its measures.
        references: baselines without a model and the human ceiling; others are left out.
    """
    names = [name for name in COLUMNS if _is_known(lead.evaluation, name)]
    references = [measure for measure in references if measure.name in REFERENCES]
    column = "spearman" if "spearman" in names else "accuracy"
    rows = [_judge_row(judge, names, lead.name) for judge in judges]
    rows += [_reference_row(measure, names, column) for measure in references]
    heads = tuple(readable(name) + (" ↓" if name in LOWER_IS_BETTER else "") for name in names)
    n = max((judge.evaluation.labelled for judge in judges), default=0)
    return TextTable(
        f"{title}, {n:,} cases",
        ("Judge", *heads, "Calls", "Tokens"),
        tuple(rows),
        "Below each value its 95 % interval. Calls and tokens are means per verdict and include cached answers.",
    )


def aspects_grid(compilation: Compilation) -> TextTable:
    """The objective by aspect, before and after compiling, with the paired test."""
    rows = []
    for row in compilation.result.aspects:
        test = row.test
        cells = (*map(_measure_cell, (row.before, row.after, test.difference if test else None)),)
        p_values = (test.p, test.p_holm) if test else (None, None)
        rows.append(TextRow((TextCell(row.aspect), *cells, *(TextCell(format_p_value(p)) for p in p_values))))
    return TextTable(
        f"{readable(title_of(compilation.result.objective))} by aspect",
        ("Aspect", "Uncompiled", "Compiled", "Difference", "p", "p (Holm)"),
        tuple(rows),
        "The figure of all texts is the mean over aspects. Whole groups are swapped in each test.",
    )


def evidence_grid(worth: Sequence[EvidenceWorth]) -> TextTable:
    """What each source of evidence beside the judge's answers adds."""
    rows = []
    for row in worth:
        interval = "" if row.low is None else f"{format_value(row.low)} to {format_value(row.high)}"
        cells = (
            TextCell(row.name, row.decision),
            TextCell(format_value(row.without)),
            TextCell(format_value(row.loss)),
            TextCell(format_value(row.gain), interval),
        )
        rows.append(TextRow(cells, "" if row.used else "faint"))
    return TextTable(
        "Evidence beside the judge's answers",
        ("Source", "Loss without it", "Loss with it", "Gain"),
        tuple(rows),
        "Losses on labels that neither the heads nor the choice among them saw, in nats (of scores: squared points); "
        "intervals leave out whole groups. A head weighs a source that predicts the labels by itself, "
        "unless heads without it are better.",
    )


def structure_grid(compilation: Compilation, search: StructureSearch) -> TextTable:
    """Every trial of the structure search with its objective and its cost."""
    rows = []
    for trial in search.trials:
        measure = structure_measure(trial, compilation)
        is_chosen = trial.number == search.chosen
        unscored = trial.cases - trial.scored
        cells = (
            TextCell(str(trial.number), structure_change(trial, search)),
            TextCell(*_outcome(trial, search)),
            TextCell(format_measure(measure), format_interval(measure)),
            TextCell(format_value(trial.calls if trial.cases else None)),
            TextCell(format_value(None if trial.tokens is None else round(trial.tokens))),
            TextCell(f"{trial.cases:,}", f"{unscored:,} unscored" if unscored else ""),
        )
        rows.append(TextRow(cells, "marked" if is_chosen else "faint" if trial.status != "complete" else ""))
    return TextTable(
        "Structure trials",
        ("Trial", "Outcome", _objective_head(compilation), "Calls", "Tokens", "Cases"),
        tuple(rows),
        "Values are of the cases that chose the structure, so the best one is too optimistic; the test part is not.",
    )


def prompts_grid(compilation: Compilation, search: PromptSearch) -> TextTable:
    """Every trial of the prompt search with its objective."""
    rows = []
    for trial in search.trials:
        is_chosen = trial.number == search.chosen
        cells = (
            TextCell(str(trial.number), prompt_change(trial, search)),
            TextCell("chosen" if is_chosen else ""),
            TextCell(format_measure(prompt_measure(trial, compilation))),
            TextCell(f"{trial.judged:,}", f"{trial.unscored:,} unscored" if trial.unscored else ""),
        )
        rows.append(TextRow(cells, "marked" if is_chosen else ""))
    return TextTable(
        "Prompt trials",
        ("Trial", "Outcome", _objective_head(compilation), "Cases"),
        tuple(rows),
        "Values are of the select part; a dash means that the prompts did not judge all of it.",
    )


def finetune_grid(finetuning: FineTuning) -> TextTable:
    """Rows and figures of the training."""
    trained = finetuning.trained or FineTuned(model="")
    figures = {**{f"{part} rows": n for part, n in trained.rows.items()}, **trained.figures}
    rows = [(readable(name), value) for name, value in figures.items() if value is not None]
    cells = [format_value(value) if isinstance(value, int | float) else str(value) for _, value in rows]
    names = [name for name, _ in rows]
    table = tuple(TextRow((TextCell(name), TextCell(cell))) for name, cell in zip(names, cells, strict=True))
    return TextTable("Fine-tuning", ("", "Value"), table)


def recipe_grid(compilation: Compilation) -> TextTable:
    """Recipe, models and versions of the compilation."""
    rows = tuple(TextRow((TextCell(name), TextCell(words))) for name, words in _facts(compilation))
    return TextTable("Recipe", ("", ""), rows, wordy=True)


def _facts(compilation: Compilation) -> Iterator[tuple[str, str]]:
    identity, file = compilation.identity, compilation.judge_file
    recipe: Mapping[str, Any] = identity["recipe"]
    yield "program", compilation.judge_name
    yield "objective", title_of(compilation.result.objective)
    yield "model", str(identity["lm"])
    if file is not None and (models := sorted(set(file.judge.lm.values()))) and models != [identity["lm"]]:
        yield "model of the compiled judge", ", ".join(f"{role}={model}" for role, model in file.judge.lm.items())
    yield "head", "fitted" if recipe["head"] else "none"
    writer = f", written by {recipe['prompt_lm']}" if recipe["prompt_lm"] else ""
    yield "prompt optimizer", "none" if recipe["prompts"] == "none" else recipe["prompts"] + writer
    trials = recipe["trials"]
    yield "structure search", f"at most {trials} trials, prefer {recipe['prefer']}" if trials else "none"
    if compilation.finetuning is not None:
        yield "fine-tuned from", compilation.finetuning.base
    yield "seed", str(recipe["seed"])
    yield "labelled cases", f"SHA-256 {str(identity['cases'])[:12]}"
    if compilation.result.estimate == "cross-fitted":
        yield "estimate", "cross-fitted: all labels, each judged by a head fitted without it and its group"
    if compilation.joined:
        yield "split", compilation.joined
    if file is not None:
        yield "versions", ", ".join(f"{name} {number}" for name, number in file.versions.items())


def _measure_cell(measure: Measure | None) -> TextCell:
    return TextCell(MISSING) if measure is None else TextCell(format_measure(measure), format_interval(measure))


def _judge_row(judge: JudgeOnTest, names: Sequence[str], lead: str) -> TextRow:
    measures = [judge.evaluation.measure(name) for name in names]
    values = list(map(_measure_cell, measures))
    unscored = judge.evaluation.cases - judge.evaluation.scored
    description = DESCRIPTIONS.get(judge.name, "the baseline of the recipe")
    description += f"; {unscored:,} unscored" if unscored else ""
    tokens = None if judge.tokens is None else round(judge.tokens)
    cost = (TextCell(format_value(judge.calls)), TextCell(format_value(tokens)))
    return TextRow((TextCell(judge.name, description), *values, *cost), "marked" if judge.name == lead else "")


def _reference_row(measure: Measure, names: Sequence[str], column: str) -> TextRow:
    value = TextCell(format_measure(measure), format_interval(measure))
    cells = [value if name == column else TextCell("") for name in names]
    return TextRow((TextCell(measure.name, DESCRIPTIONS[measure.name]), *cells, TextCell(""), TextCell("")), "faint")


def _is_known(evaluation: Evaluation, name: str) -> bool:
    measure = evaluation.measure(name)
    return measure is not None and measure.value is not None


def _objective_head(compilation: Compilation) -> str:
    return readable(title_of(compilation.result.objective)) + ("" if higher_is_better(compilation.result) else " ↓")


def _outcome(trial: StructureTrial, search: StructureSearch) -> tuple[str, str]:
    """The outcome of a trial, and the reason of a stopped or unusable one."""
    reason = trial.detail if trial.rival is None else f"beaten by trial {trial.rival}"
    if trial.number == search.chosen:
        return "chosen", reason
    on_front = trial.number in search.front
    return "on the Pareto front" if on_front else "" if trial.status == "complete" else trial.status, reason
