"""docs/security.md says what the code does."""

import re
from pathlib import Path

from dicast.cli.dotenv_file import SETTINGS
from dicast.judging.trust import METADATA_ADDRESSES, admitted
from dicast.redaction import SECRET_NAMES

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "security.md").read_text()


def test_the_page_names_what_a_dotenv_file_may_set():
    (row,) = [line for line in PAGE.splitlines() if line.startswith("| `.env`")]
    named = set(re.findall(r"DICAST_\w+", row.split("|")[2]))
    local = {name for name in SETTINGS if name.startswith("DICAST_LOCAL_")}
    assert named == (SETTINGS - local) | {"DICAST_LOCAL_"}


def test_the_page_names_the_variables_whose_values_are_removed():
    assert all(f"`*{name}`" in PAGE for name in SECRET_NAMES if name != "_SECRET_ACCESS_KEY")


def test_every_variable_and_file_that_the_page_names_exists():
    code = "".join(path.read_text() for path in ROOT.rglob("*.py") if ".venv" not in path.parts)
    assert [name for name in set(re.findall(r"DICAST_[A-Z]+\b", PAGE)) if name not in code] == []
    links = re.findall(r"\]\(([^)#]+)\)", PAGE)
    assert links
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []


def test_an_address_of_a_judge_file_that_the_user_trusts_is_named():
    assert METADATA_ADDRESSES
    assert admitted("openai/m@http://192.0.2.7/v1", "x.judge.json", trust=True).startswith("texts go to 192.0.2.7")
