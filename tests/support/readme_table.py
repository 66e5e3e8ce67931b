"""The table of judges of docs/judges.md, from the registry; `python tests/support/readme_table.py` writes it anew."""

import re
from pathlib import Path

from dicast.judging import PROGRAMS

PAGE = Path(__file__).parents[2] / "docs" / "judges.md"
TABLE = re.compile(r"\| name \| what it does \|.*?\n\n", re.DOTALL)


def judges_table() -> str:
    """One row per built-in judge; those that ask no model come last."""
    programs = sorted(PROGRAMS.built_in().values(), key=lambda program: not program.build().seats())
    rows = [("name", "what it does", "calls per case", "source"), ("---",) * 4]
    rows += [(f"`{program.name}`", program.summary, program.calls, program.source) for program in programs]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows) + "\n"


if __name__ == "__main__":
    PAGE.write_text(TABLE.sub(lambda _: judges_table(), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
