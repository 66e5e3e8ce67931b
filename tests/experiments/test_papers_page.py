"""docs/papers.md names every experiment of the papers at its place, and each other table with the reason why not."""

import re
from pathlib import Path

import pytest

from dicast.cli import run
from dicast.experiments import shipped_experiments

PAGE = (Path(__file__).parents[2] / "docs" / "papers.md").read_text()
SECTIONS = {title.rpartition(", ")[2]: text for title, text in re.findall(r"^## (.*)\n((?:(?!## ).*\n?)*)", PAGE, re.M)}
PAPERS = ("2405.12163", "2508.10028", "2310.03304", "2406.11657", "2304.00723")
COMMAND = re.compile(r"dicast experiment run ([\w-]+)")
EXPERIMENTS = {each.name: each.content for each in shipped_experiments()}


def rows(section: str) -> list[list[str]]:
    lines = [line for line in SECTIONS[section].splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


def test_the_page_has_a_section_for_each_paper():
    assert tuple(SECTIONS) == tuple(f"arXiv {number}" for number in PAPERS)


@pytest.mark.parametrize("paper", SECTIONS)
def test_every_row_has_a_place_a_subject_and_a_command_or_a_reason(paper: str):
    for row in rows(paper):
        assert len(row) == 3, row
        place, subject, command = row
        assert place
        assert subject
        assert COMMAND.search(command) or command.startswith(("not run: ", "nothing to measure", "`dicast ")), row


def test_the_commands_are_the_experiments_of_the_papers_each_at_its_place():
    named = {
        name: (paper, place)
        for paper in SECTIONS
        for place, _, command in rows(paper)
        for name in COMMAND.findall(command)
    }
    assert named == {name: (content.paper, content.place) for name, content in EXPERIMENTS.items() if content.paper}


@pytest.mark.parametrize("name", COMMAND.findall(PAGE))
def test_every_experiment_of_the_page_can_be_shown(name: str, capsys):
    assert run(["experiment", "show", name]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert EXPERIMENTS[name].place in shown
