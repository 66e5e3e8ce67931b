"""A template of this room filled in: one file that loads nothing.

Styles, script and drawings stand inside, and a content security policy lets nothing else run. Texts are untrusted; the
templates escape every one of them.
"""

import base64
import hashlib
from importlib.resources import files
from typing import Any

from .._version import __version__
from .drawing import needed
from .formatting import named, p_value, told


def rendered(template: str, *, script: str = "", **values: Any) -> str:
    """The page of a template.

    Args:
        script: the file of the one script that may run; empty: none may.

    Raises:
        DeclarationError: jinja2 is not installed.
    """
    jinja2 = needed("jinja2")
    here = files(__package__)
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: here.joinpath(name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    trusted = jinja2.utils.markupsafe.Markup
    environment.filters.update(told=told, named=named, p_value=p_value, drawing=trusted)
    code = here.joinpath(script).read_text(encoding="utf-8") if script else ""
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    style = here.joinpath("page.css").read_text(encoding="utf-8")
    own = {"digest": digest, "script": trusted(code), "style": trusted(style), "version": __version__}
    text: str = environment.get_template(template).render(**own, **values)
    return text
