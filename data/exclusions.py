"""Words that ask to leave something out, found in the factors of a guideline (PREF, arXiv 2508.10028).

The paper counts added factors that express an exclusion by the keywords "dislike" and "avoid". Models write the same in
many ways ("no seafood", "gluten-free", "does not need a car"), so `asks_to_leave_out` has a wider list, of ours, and
`names_an_aversion` has the paper's two words alone, in any form.
"""

import re

AVERSION = re.compile(r"\b(?:dislik\w*|avoid\w*)\b", re.IGNORECASE)
EXCLUSION = re.compile(
    r"""\b(?: dislik\w* | avoid\w* | avers\w+ | hat(?:e|es|ed|ing) | ignor\w+ | disregard\w* | skip(?:s|ped|ping)?
          | without | no | not(?!\ (?:only|just|merely)\b) | never | none | nothing | neither | nor | cannot
          | \w+n['’]t | exclud\w* | exclusions? | omit\w* | refrain\w* | free\ (?:of|from) | \w+-free | non-\w+ )\b""",
    re.IGNORECASE | re.VERBOSE,
)


def asks_to_leave_out(text: str) -> bool:
    """Whether the text has a word that asks to leave something out.

    Example:
        >>> asks_to_leave_out("Dislikes: fish"), asks_to_leave_out("Notable detail")
        (True, False)
    """
    return EXCLUSION.search(text) is not None


def names_an_aversion(text: str) -> bool:
    """Whether the text has a form of "dislike" or "avoid", the paper's keywords.

    Example:
        >>> names_an_aversion("Avoiding seafood"), names_an_aversion("No seafood")
        (True, False)
    """
    return AVERSION.search(text) is not None
