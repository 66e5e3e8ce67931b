"""Which model answers where --lm is not given: DICAST_LM of the environment, else `lm` of the project's dicast.toml.

A project may be somebody else's. An address in its dicast.toml is used only if the user has typed it on this machine:
in `dicast init --lm`, or in --lm of any command.
"""

import os
from urllib.parse import urlsplit

from . import output

VARIABLE = "DICAST_LM"


def find_lm(lm: str | None, judge: str = "") -> str | None:
    """The model string of --lm, the environment or the project; None for a judge file, which names its models itself.

    Args:
        lm: of the command line.
        judge: a judge's name, or a file.

    Raises:
        ModelError: the project names an address that the user has not.
    """
    from ..judging.registry import JUDGE_SUFFIX
    from ..workflows.project import NAME, read_project

    if lm or judge.endswith(JUDGE_SUFFIX):
        return lm
    if of_environment := os.environ.get(VARIABLE, "").strip():
        output.error(f"{VARIABLE}: --lm {of_environment}")
        return of_environment
    project = read_project()
    if project is None or not project.lm:
        return None
    _check_addresses(project.lm, NAME)
    output.error(f"{NAME}: --lm {project.lm}")
    return project.lm


def remember_typed(lm: str) -> None:
    """Note the addresses of a model string that the user has typed, so that a project may name them."""
    from ..engines.models import Roles
    from ..judging.trust import remember_address

    for model in Roles.parse(lm).values():
        remember_address(model)


def _check_addresses(lm: str, file: str) -> None:
    from ..engines.model_string import ModelString
    from ..engines.models import Roles
    from ..errors import ModelError
    from ..judging.trust import destination_of, is_typed

    for model in Roles.parse(lm).values():
        if destination_of(model) in ("address", "metadata") or not is_typed(model):
            place = urlsplit(ModelString.parse(model).endpoint or "").netloc
            raise ModelError(
                f"{file}: texts and your key would go to {place}, which only this file names. If you know that server, "
                f"name it once yourself: --lm {model}"
            )
