"""Personas in sentences, as the runs of dong-river/Personalized-Judge hold them, parsed into named features.

Each of its sets has other sentences: PRISM in utils.py, PR (Public Reddit) in ap.py, EC (empathic conversations)
in ec.py, OpinionQA in opinionqa.py. "The person is" opens many of them, so the order of the patterns matters.
"""

import re
from collections.abc import Iterable

from ..data.case import Persona
from ..data.row_fields import Row

MARITAL = (
    r"single|engaged|married|divorced|separated|widowed|in a relationship|never been married|living with a partner"
)
SENTENCES = tuple(
    re.compile(pattern)
    for pattern in (
        r"The person is born in (?P<birth_country>.+) and currently lives in (?P<residence_country>.+)",
        r"The person is born in (?P<birth_place>.+)",
        r"The person is living at (?P<residence>.+)",
        r"The person lives in the (?P<region>.+) region",
        r"The person is (?P<age>\d.+) years old",
        r"The person is in the (?P<age>\d.+) age group",
        r"The person is (?P<gender>(?:fe)?male|non-binary.*)",
        r"The person is (?P<citizenship>(?:not )?a citizen of .+)",
        rf"The person is (?P<marital_status>{MARITAL})",
        r"The person is (?P<employment>.+)",
        r"The person's highest (?:education level|level of education) is (?P<education>.+)",
        r"The person's occupation is (?P<occupation>.+)",
        r"The person's income is (?P<income>.+)",
        r"The person earns (?P<income>.+) per year",
        r"The person's marital status is (?P<marital_status>.+)",
        r"Racially, [Tt]he person is (?P<ethnicity>.+)",
        r"The person has an? (?P<education>.+)",
        r"The person follows the (?P<religion>.+) religion and attends religious services (?P<religious_services>.+)",
        r"(?:Religiously, The person is|The person has) (?P<religion>.+)",
        r"Politically, the person aligns with the (?P<party>.+) party and considers themselves (?P<ideology>.+)",
        r"According to the Big Five personality test, on a scale of 10, the person has scored (?P<personality>.+)",
    )
)


def persona(sets: dict[str, str]) -> Persona:
    """The persona behind feature-set texts: the full text (else what the parts say) and every named feature.

    Example:
        >>> persona({"least_imp_feature": "The person is 35-44 years old."}).features
        {'age': '35-44'}
    """
    text = sets.get("all_features") or " ".join(dict.fromkeys(sets.values()))
    said = (part for part in (text, *sets.values()) for part in part.rstrip(".").split(". "))
    named = {name: value for sentence in said for name, value in _features(sentence).items()}
    return Persona(features=named, text=text)


def demographics(sets: dict[str, str]) -> str:
    """Education, ethnicity and countries: in both all_features and key_features, so one person has one text."""
    features = persona(sets).features
    names = ("education", "ethnicity", "birth_country", "residence_country")
    return "|".join(features.get(name, "") for name in names) if names[-1] in features else ""


def people_by_question(rows: Iterable[Row]) -> dict[str, str]:
    """Question -> demographics of who asked it: the group of rows that name only the least important feature."""
    questions = ((row.get("question"), row.get("persona")) for row in rows)
    known = ((question, demographics(sets)) for question, sets in questions if question and isinstance(sets, dict))
    return {question: person for question, person in known if person}


def _features(sentence: str) -> dict[str, str]:
    """What a sentence names; nothing for one of another form."""
    match = next(filter(None, (pattern.fullmatch(sentence) for pattern in SENTENCES)), None)
    return match.groupdict() if match else {}
