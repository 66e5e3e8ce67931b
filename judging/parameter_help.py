"""What each structural parameter of a judge does: one sentence, from the parameter itself or from its class.

The sentence of a parameter is `HParam.about`, else its entry under "Args:" in the docstring of the judge's class, or of
a class that this one extends.
"""

import inspect
import re

from .hparam import HParam
from .module_base import StagedModule

ARGUMENTS = re.compile(r"^Args:\n((?:[ ]{4}.*\n?|\n)*)", re.MULTILINE)
ARGUMENT = re.compile(r"^[ ]{4}(\w+): (.*(?:\n[ ]{5,}.*)*)", re.MULTILINE)


def arguments(documented: type) -> dict[str, str]:
    """The entries under "Args:" of a class and of the classes that it extends, by name, each on one line."""
    entries: dict[str, str] = {}
    for ancestor in reversed(documented.__mro__):
        block = ARGUMENTS.search(inspect.cleandoc(ancestor.__dict__.get("__doc__") or ""))
        if block:
            entries |= {entry[1]: " ".join(entry[2].split()) for entry in ARGUMENT.finditer(block[1] + "\n")}
    return entries


def parameter_help(module: StagedModule) -> dict[str, str]:
    """What each parameter of a judge or preparation does, by name; empty where neither it nor its class says so."""
    members = {path.removeprefix("self").lstrip("."): member for path, member in module.named_sub_modules(StagedModule)}
    sentences = {}
    for name, hparam in module.hparams().items():
        owner, _, last = name.rpartition(".")
        sentences[name] = hparam.about or arguments(type(members.get(owner, module))).get(last, "")
    return sentences


def values_of(hparam: HParam) -> str:
    """The values that a parameter may take, in words, as in "one, both" or "a number from 0 to 1"."""
    if hparam.is_text:
        return "any text"
    if hparam.choices is None:
        low = "" if hparam.least is None else f" from {hparam.least:g}"
        return f"a number{low}{'' if hparam.most is None else f' to {hparam.most:g}'}"
    if isinstance(hparam.choices, range):
        return f"{hparam.choices[0]} to {hparam.choices[-1]}"
    words, numbers = [v for v in hparam.choices if not _is_number(v)], [v for v in hparam.choices if _is_number(v)]
    if len(numbers) > 3:
        return ", ".join([*map(str, words), f"{numbers[0]} to {numbers[-1]}"])
    return ", ".join(map(str, hparam.choices))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
