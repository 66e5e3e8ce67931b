"""A person's profile as one text."""

from collections.abc import Mapping

from .case import Comparison, EarlierConversation, Persona, Preference, Profile, Review


def profile_text(profile: Profile | None) -> str:
    """The profile in words; empty when there is none. A question has it in a fence (judging.judge.shown_profile)."""
    match profile:
        case None:
            return ""
        case Preference(text=text):
            return text
        case EarlierConversation(turns=turns):
            return "\n".join(f"{turn.role.capitalize()}: {turn.text}" for turn in turns)
        case Persona(features=features, text=text):
            unsaid = [f"{name.replace('_', ' ')}: {value}" for name, value in features.items() if value not in text]
            return "\n".join([*unsaid, *([text] if text else [])])
        case reviewer:
            return "\n\n".join([*map(_review_text, reviewer.reviews), *map(_choice_text, reviewer.comparisons)])


def _review_text(review: Review) -> str:
    lines = {"Query": review.query, "Text": review.text, "Review": review.comment or None, "Aspect": review.aspect}
    return _lines(lines | {"Score": f"{review.score:g}"})


def _choice_text(choice: Comparison) -> str:
    lines = {"Query": choice.query, "A": choice.response_a, "B": choice.response_b, "Aspect": choice.aspect}
    return _lines(lines | {"Preferred": choice.label.upper()})


def _lines(fields: Mapping[str, str | None]) -> str:
    """The fields that have a value, one a line."""
    return "\n".join(f"{name}: {value}" for name, value in fields.items() if value is not None)
