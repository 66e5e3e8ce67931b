"""Run every program on its own kind of human-labelled case, and print one table: n, scores, coverage, calls, tokens.

    python benchmarks/programs.py --out runs/programs                 # all rows, resumable; hours on two cores
    python benchmarks/programs.py --out runs/programs --only fed      # the rows whose name begins so
    python benchmarks/programs.py --out runs/programs --report        # the table of what is there, nothing is run

The sets come from `dicast data get NAME` or $DICAST_DATA. Subsets are drawn with seed 1; they are small, so the figures
show that each program works and what it costs, and rank nothing.
"""

import argparse
import json
import math
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from dicast.data import Judged
from dicast.engines.batch import read_manifest, read_verdicts
from dicast.evaluation import evaluate
from dicast.judging import PROGRAMS

FED = "--cases fed-turn --aspect overall --limit 20 --seed 1"
STORY = "--cases openmeva --limit 16 --seed 1"
SUMMARY = "--cases summeval --aspect coherence --limit 8 --seed 1"
REFERENCE = "--cases summeval --aspect coherence"
CHOICE = "--cases prefeval-implicit --limit 24 --seed 1"
CHOICE_PREF = "--cases prefeval-implicit --limit 3 --seed 1 --set factors=4"
PERSON = "--cases prism --limit 16 --seed 1"
PAIR = "--cases pandalm --no-ties --limit 12 --seed 1"
PAIR_FENNEC = "--cases pandalm --no-ties --limit 3 --seed 1 --branches 2"
READ, WRITE = "--readout probability", "--readout generate"
REVIEWER = "--cases perse-mpst --limit 3 --seed 1"
REVIEWER_PAIR = "--cases perse-doc --limit 2 --seed 1 --set max_words=1500"

ROWS: dict[str, str] = {
    "authored-rubric": "--judge rubric --cases authored --limit 8 --seed 1",
    "authored-probe": "--judge probe --cases authored --limit 8 --seed 1",
    "authored-questions": "--judge questions --cases authored --limit 8 --seed 1 --set bank=short",
    "fed-explicit-V4-read": f"--judge explicit {FED} --set form=V4 {READ}",
    "fed-implicit": f"--judge implicit {FED}",
    "fed-explicit-V1": f"--judge explicit {FED} --set form=V1",
    "prefeval-reminder-read": f"--judge reminder {CHOICE} {READ}",
    "prefeval-reminder": f"--judge reminder {CHOICE} {WRITE}",
    "prefeval-zero-shot-read": f"--judge zero-shot {CHOICE} {READ}",
    "prefeval-zero-shot": f"--judge zero-shot {CHOICE} {WRITE}",
    "prism-standard-read": f"--judge persona {PERSON} {READ}",
    "prism-standard": f"--judge persona {PERSON} {WRITE}",
    "prism-certainty": f"--judge persona {PERSON} {WRITE} --set setting=certainty",
    "prism-tie": f"--judge persona {PERSON} {WRITE} --set setting=tie",
    "pandalm-pairwise-V1-read": f"--judge pairwise {PAIR} {READ} --set form=V1",
    "pandalm-pairwise-V1": f"--judge pairwise {PAIR} {WRITE} --set form=V1",
    "pandalm-pairwise-V3-read": f"--judge pairwise {PAIR} {READ} --set form=V3",
    "prefeval-pref": f"--judge pref {CHOICE_PREF} {WRITE} --set explain=true",
    "prefeval-pref-read": f"--judge pref {CHOICE_PREF} {READ}",
    "pandalm-fennec": f"--judge fennec {PAIR_FENNEC} {WRITE}",
    "pandalm-fennec-read": f"--judge fennec {PAIR_FENNEC} {READ}",
    "pandalm-fennec-single": f"--judge fennec-single {PAIR_FENNEC} {WRITE}",
    "pandalm-fennec-single-read": f"--judge fennec-single {PAIR_FENNEC} {READ}",
    "mpst-perse-read": f"--judge perse {REVIEWER} {READ} --set comment_first=false",
    "mpst-perse": f"--judge perse {REVIEWER} {WRITE}",
    "doc-perse-pairwise-read": f"--judge perse-pairwise {REVIEWER_PAIR} {READ}",
    "doc-perse-pairwise": f"--judge perse-pairwise {REVIEWER_PAIR} {WRITE}",
    "summeval-implicit": f"--judge implicit {SUMMARY}",
    "summeval-explicit-V4-read": f"--judge explicit {SUMMARY} --set form=V4 {READ}",
    "openmeva-implicit": f"--judge implicit {STORY}",
    "openmeva-explicit-V4-read": f"--judge explicit {STORY} --set form=V4 {READ}",
    "pandalm-fennec-correct": f"--judge fennec-correct {PAIR_FENNEC} {WRITE} --set single=true",
    "pandalm-fennec-asked": "--judge fennec --cases pandalm --no-ties --limit 4 --seed 1 --branches 3 "
    f"--set keep=1 --set priority=asked {READ}",
    "prefeval-pref-permutation-read": f"--judge pref {CHOICE_PREF} {READ} --set weighting=permutation",
    "prefeval-pref-no-preference-read": f"--judge pref {CHOICE_PREF} {READ} --set personalise=false",
    "pandalm-panel": f"--judge direct --cases pandalm --no-ties --limit 4 --seed 1 {WRITE} --set grading=pairwise "
    "--order one --samples 3 --pool majority",
    "fed-explicit-V2": f"--judge explicit {FED} --set form=V2",
    "fed-explicit-V5": "--judge explicit --cases fed-turn --aspect overall --limit 6 --seed 1 "
    "--set form=V5",
    "pandalm-pairwise-V4": f"--judge pairwise --cases pandalm --no-ties --limit 3 --seed 1 {WRITE} --set form=V4",
    "prism-none-read": f"--judge persona {PERSON} {READ} --set features=none",
    "prism-key-read": f"--judge persona {PERSON} {READ} --set features=key",
    "prism-both-read": f"--judge persona {PERSON} {READ} --order both",
    "fed-explicit-V3": f"--judge explicit {FED} --set form=V3",
    "fed-explicit-V4": f"--judge explicit {FED} --set form=V4",
    "pandalm-pairwise-V3": f"--judge pairwise {PAIR} {WRITE} --set form=V3",
    "pandalm-pairwise-V2-read": f"--judge pairwise {PAIR} {READ} --set form=V2",
    "openmeva-explicit-V1": f"--judge explicit {STORY} --set form=V1",
    "summeval-explicit-V1": f"--judge explicit {SUMMARY} --set form=V1",
    "mpst-reviewer-average": "--judge reviewer-average --cases perse-mpst",
    "mpst-matrix-factorisation": "--judge matrix-factorisation --cases perse-mpst",
    "doc-reviewer-average": "--judge reviewer-average --cases perse-doc",
    "pandalm-third-person": "--judge third-person --cases pandalm --no-ties",
    "summeval-rouge-1": f"--judge rouge-1 {REFERENCE}",
    "summeval-rouge-2": f"--judge rouge-2 {REFERENCE}",
    "summeval-rouge-l": f"--judge rouge-l {REFERENCE}",
    "summeval-bleu": f"--judge bleu {REFERENCE}",
    "summeval-bertscore": f"--judge bertscore {REFERENCE} --set model=roberta-large --set layer=17",
    "summeval-bartscore": f"--judge bartscore {REFERENCE} --set model=facebook/bart-large-cnn",
    "summeval-perplexity": "--judge perplexity --cases summeval --aspect fluency --limit 48 --seed 1",
    "openmeva-perplexity": "--judge perplexity --cases openmeva",
    "pandalm-mt-bench": f"--judge mt-bench {PAIR}",
    "pandalm-longer": f"--judge longer {PAIR}",
    "pandalm-majority": f"--judge majority {PAIR}",
}  # fmt: skip
FEWEST = 10  # texts that a correlation is reported for
HEADER = "| row | judge | n | scored | accuracy | Spearman | mass read | calls | prompt tokens | written tokens |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/programs"))
    parser.add_argument("--lm", default="local/qwen2.5-coder-1.5b")
    parser.add_argument("--only", default="", help="rows whose name begins so")
    parser.add_argument("--report", action="store_true", help="print the table of what is there; run nothing")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = {name: arguments for name, arguments in ROWS.items() if name.startswith(options.only)}
    for name, arguments in rows.items():
        if not options.report:
            run(name, arguments, options.out, options.lm)
    lines = [measured(name, options.out / name) for name in rows if has_verdicts(options.out / name)]
    print(json.dumps(lines, indent=1) if options.json else table(lines))
    return 0


def run(name: str, arguments: str, out: Path, lm: str) -> None:
    """One row; what was judged before is not judged again."""
    words = shlex.split(arguments)
    if PROGRAMS.find(words[1]).calls != "0":
        words += ["--lm", lm]
    print(f"{name}: dicast judge {shlex.join(words)}", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "dicast", "judge", *words, "--out", str(out / name), "--json"]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL)


def has_verdicts(folder: Path) -> bool:
    verdicts = folder / "verdicts.jsonl"
    return verdicts.is_file() and verdicts.stat().st_size > 0


def measured(name: str, folder: Path) -> dict[str, Any]:
    """The figures of one run folder; tokens and calls are per case and leave answers from the cache out."""
    judged, identity = list(read_verdicts(folder)), read_manifest(folder)["identity"]
    evaluation, cases = evaluate(judged, identity), len(judged)
    accuracy, spearman, usage = evaluation.measure("accuracy"), evaluation.measure("spearman"), evaluation.usage
    return {
        "row": name,
        "judge": identity["judge"],
        "n": cases,
        "scored": evaluation.scored,
        "unscored": evaluation.unscored,
        "accuracy": accuracy.model_dump(include={"value", "low", "high", "n"}) if accuracy else {"n": 0},
        "spearman": spearman.value if spearman and cases >= FEWEST else None,
        "mass": mass(judged),
        "calls": (usage.calls + usage.cached) / cases,
        "prompt_tokens": usage.prompt_tokens / max(1, usage.calls),
        "written_tokens": usage.completion_tokens / max(1, usage.calls),
    }


def mass(judged: list[Judged]) -> float | None:
    """The mean probability of the options, over findings read from tokens; None when all were written."""
    read = [finding.mass_read for verdict in judged for finding in verdict.findings if finding.mass_read is not None]
    return math.fsum(read) / len(read) if read else None


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as a markdown table; tokens are means per call that was made."""

    def line(row: dict[str, Any]) -> str:
        share = row["accuracy"]
        accuracy = (
            f"{share['value']:.3f} [{share['low']:.3f}, {share['high']:.3f}]" if share.get("low") is not None else "-"
        )
        cells = [
            row["row"], f"`{row['judge']}`", row["n"], row["scored"], accuracy, number(row["spearman"], 2),
            number(row["mass"], 3), *(number(row[name], 1) for name in ("calls", "prompt_tokens", "written_tokens")),
        ]  # fmt: skip
        return "| " + " | ".join(map(str, cells)) + " |"

    return "\n".join([HEADER, "| --- " * HEADER.count("|", 1) + "|", *map(line, rows)])


def number(value: float | None, digits: int) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


if __name__ == "__main__":
    sys.exit(main())
