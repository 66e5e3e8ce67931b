"""The form in which a trained model's written answers are asked for, kept in its folder.

torch enforces no JSON schema, so that its models are asked in DSPy's chat form. A student whose training rows ask for
JSON, as those of a teacher behind a schema do, has learnt to answer those prompts: it is asked in the same words.
"""

import shutil
from pathlib import Path

from ...parsing import read_object
from ..jsonl import write_whole

FORM = "dicast.json"  # in the folder of a student
JSON = "json"
ASKS = "Answer with JSON: "  # begins the last line of `CompactAdapter`'s prompts


def note_json(folder: Path) -> None:
    """Say in a student's folder that it is asked for JSON."""
    write_whole(folder / FORM, f'{{"answers": "{JSON}"}}\n')


def answers_json(folder: Path) -> bool:
    """Whether the model of this folder is asked for JSON.

    Raises:
        DataError: a file that is damaged.
    """
    path = folder / FORM
    return path.is_file() and read_object(path).get("answers") == JSON


def copy_form(student: Path, folder: Path) -> None:
    """Take the form over into the folder of the same student's merged weights."""
    if (student / FORM).is_file():
        shutil.copyfile(student / FORM, folder / FORM)
