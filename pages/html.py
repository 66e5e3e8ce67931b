"""HTML pages from templates: one self-contained file that loads nothing.

Styles, script and drawings are inline, and a content security policy allows nothing else. Texts are untrusted; the
templates escape all of them.
"""

import base64
import hashlib
from importlib.resources import files
from typing import Any

from .._version import __version__
from .formatting import format_p_value, format_value, readable
from .plots.chart import import_extra


def render(template: str, *, script: str = "", **values: Any) -> str:
    """The page of a template.

    Args:
        script: the file of the only script that may run; empty: none may.

    Raises:
        DeclarationError: jinja2 is not installed.
    """
    jinja2 = import_extra("jinja2")
    templates = files(__package__).joinpath("templates")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: templates.joinpath(name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    trusted = jinja2.utils.markupsafe.Markup
    environment.filters.update(value=format_value, readable=readable, p_value=format_p_value, drawing=trusted)
    code = templates.joinpath(script).read_text(encoding="utf-8") if script else ""
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    style = templates.joinpath("page.css").read_text(encoding="utf-8")
    inline = {"digest": digest, "script": trusted(code), "style": trusted(style), "version": __version__}
    text: str = environment.get_template(template).render(**inline, **values)
    return text
