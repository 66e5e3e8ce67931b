"""Programs compiled against people's labels; each step can be called by itself."""

from .certificates.certify import certify, certify_cascade
from .compile import Compiled, Compiler, TooFewLabels
from .evidence import Interrupted, Telling
from .head.fit import fit
from .prompts.methods import PromptOptions
from .prompts.optimise import optimise_prompts
from .recipe import Recipe, read_recipe
from .structure.search import search

__all__ = [
    "Compiled",
    "Compiler",
    "Interrupted",
    "PromptOptions",
    "Recipe",
    "Telling",
    "TooFewLabels",
    "certify",
    "certify_cascade",
    "fit",
    "optimise_prompts",
    "read_recipe",
    "search",
]
