"""Cases that any registered judge can judge, LMs that answer any question, and the settings of every judge."""

import random
import re
import string
from collections.abc import Callable, Iterator
from math import fsum
from typing import Any

import dspy
from dspy.lm15 import Request

from dicast.data import Case, Persona, Preference, Reviewer, Verdict, Winner
from dicast.data.case import Profile
from dicast.errors import DeclarationError
from dicast.judging import PROGRAMS, Judge, build
from dicast.judging.heads import PairHead
from dicast.judging.hparam import MOST_SEARCHED, HParam
from dicast.testing import Answer, ScriptedLM, prompt_text

PAIR = Case(id="p", query="Name a prime.", candidates=[{"text": "9"}, {"text": "7 is prime"}], label={"value": "b"})
SINGLE = Case(id="s", query="Name a prime.", candidates=[{"text": "7"}])
TOKENS = {"token_probabilities": {"A": 0.6, "B": 0.2, "1": 0.02, "2": 0.03, "3": 0.05, "4": 0.06, "5": 0.04}}
MARKS = (*"ABCDEFGH", *string.digits, "Yes", " No")
HEAD = PairHead(weights={"log_odds": 0.1, "score": 1 / 3}, intercept=-1.5, threshold={"spread": 0.25}, fitted="x", n=90)
LM = "openai/judge@http://127.0.0.1:9/v1"
YAML = """\
judges: pairs
instructions: You judge replies of a support desk.
scale: 0..4
criteria: [{name: polite, weight: 2}, brief]
explain: true
"""
Asked = Callable[[Request], Answer]

REVIEWER = Reviewer(
    id="r",
    reviews=[{"text": f"plot {n}", "comment": f"comment {n}", "score": n} for n in (2, 9, 5, 7)],
    comparisons=[{"response_a": "rain", "response_b": "sun", "label": "b"}],
)
PERSONA = Persona(features={"education": "school", "religion": "none", "age": "30"}, text="A cook.")
PREFERENCE = Preference(text="no meat")
NEED_A_MODEL = {
    "bertscore",
    "bartscore",
    "perplexity",
    "probe",
}  # see tests/text_metrics, and tests/judging/test_judge_evidence.py
# What a program takes, in the words of its `inputs`, and a profile of that kind.
PROFILES: dict[str, Profile] = {"a persona": PERSONA, "a profile": PREFERENCE, "a reviewer's": REVIEWER}


def by_place(request: Request) -> Answer:
    """An LM that prefers the first place, with noise drawn from the whole prompt."""
    noise = random.Random(prompt_text(request))
    if reads_distribution(request):
        masses = {mark: noise.random() + 2 * (mark in ("A", "Yes")) for mark in MARKS}
        return distributed(request, {mark: mass / fsum(masses.values()) for mark, mass in masses.items()})
    return made_up(schema_of(request), noise)


def by_text(request: Request) -> Answer:
    """An LM that answers from the quality that each text names, wherever the text is."""
    prompt = prompt_text(request)
    quality = {(letter or option or "one"): int(q) for letter, option, q in SHOWN.findall(prompt)}
    one = next(iter(quality.values()), 0)
    if reads_distribution(request):
        question = prompt[prompt.rfind(">>>") :]
        level = next((quality[side] for side in "AB" if f"response {side}?" in question), one)
        digits = {
            mark: 2.0 ** (int(mark) * (level - 4.5) / 4) for mark in re.findall(r"^(\d)\. ", question, re.MULTILINE)
        }
        letters = {mark: 2.0 ** (-q if "worse" in question else q) for mark, q in quality.items() if mark != "one"} or {
            "A": 1.0 + one,  # yes of a question about one text
            "B": 11.0 - one,
        }
        words = {"Yes": one + 1.0, "No": 11.0 - one}
        # Every kind of mark gets a share that can be read, whichever is asked for.
        kinds = [masses for masses in (digits, letters, words) if masses]
        shares = {mark: mass / fsum(masses.values()) for masses in kinds for mark, mass in masses.items()}
        return distributed(request, {mark: share / len(kinds) for mark, share in shares.items()})
    schema = schema_of(request)
    answer: dict[str, Any] = made_up(schema, random.Random(prompt))
    best, worst = (pick(quality, key=lambda mark: quality[mark], default="") for pick in (max, min))
    wanted = {"better": best, "preferred": best, "chosen": best, "worse": worst, "factual": "yes", "certainty": 70}
    for name in answer:
        values = values_of(schema["properties"][name])
        wanted_level = {"score_a": quality.get("A"), "score_b": quality.get("B"), "score": one, "stars": one}.get(name)
        if name == "answer":  # of a question about a pair, or about one text
            said = best if best in values else "yes" if one > 6 else "no"
            wanted["answer"], wanted_level = (said, None) if isinstance(values[0], str) else (None, one)
        if wanted.get(name) is not None:
            answer[name] = wanted[name]
        elif wanted_level is not None:
            answer[name] = values[wanted_level * (len(values) - 1) // 9]
    return answer


SHOWN = re.compile(r"^(?:(?:Response|Text|Answer)(?: ([AB]))?:\n|([A-T])\. )<+\n.*?quality (\d)", re.MULTILINE)


def reads_distribution(request: Request) -> bool:
    """Whether a question is read from token probabilities, from a sampled answer or from a stated distribution."""
    return request.config.logprobs is not None or request.config.response_format is None


def distributed(request: Request, probabilities: dict[str, float]) -> Answer:
    """The answer of a model with these probabilities: its tokens, or the likeliest option, or what it states."""
    if request.config.logprobs is not None:
        return {"token_probabilities": probabilities}
    question = prompt_text(request)
    question = question[question.rfind(">>>") :]
    keys = re.findall(r'"(\w+)"', question[question.find("with the keys") :]) if "with the keys" in question else []
    if keys:
        return {key: 100 * probabilities.get(key, 0.0) for key in keys}
    listed = re.findall(r"^(\w+)\. ", question, re.MULTILINE) or ["A", "B"]
    options = ["Yes", "No"] if "Answer with Yes or No." in question else listed
    return max(options, key=lambda mark: probabilities.get(mark, 0.0))


def schema_of(request: Request) -> dict[str, Any]:
    schema: dict[str, Any] = (request.config.response_format or {})["schema"]
    return schema


def values_of(field: dict[str, Any]) -> list[Any]:
    """The values that a field of a schema may have; none for texts."""
    ends = (field["minimum"], field["maximum"] + 1) if "maximum" in field else (0, 0)
    return field.get("enum") or list(range(*ends))


def made_up(schema: dict[str, Any], noise: random.Random, root: dict[str, Any] | None = None) -> Any:
    """A value that the schema allows, its first choice more often than others."""
    root = root or schema
    if "$ref" in schema:
        return made_up(root["$defs"][schema["$ref"].rpartition("/")[2]], noise, root)
    if values := values_of(schema):
        return noise.choice([values[0], *values])
    if schema["type"] == "array":
        return [made_up(schema["items"], noise, root) for _ in range(3)]
    if schema["type"] == "object":
        return {name: made_up(part, noise, root) for name, part in schema.get("properties", {}).items()}
    return noise.randint(1, 5) if schema["type"] == "integer" else f"word {noise.randrange(10**6)}: made up"


def run(
    name: str, case: Case, answer: Asked = by_place, cache: bool = False, **settings: Any
) -> tuple[Verdict, list[Request]]:
    return ask(build(name, **settings), case, answer, cache)


def ask(judge: Judge, case: Case, answer: Asked, cache: bool = False) -> tuple[Verdict, list[Request]]:
    lm = ScriptedLM(answer, cache=cache)
    if hasattr(judge, "fit"):
        judge.fit([case, RATED])
    with dspy.context(lm=lm):
        return judge(case), lm.requests


def profile_of(name: str) -> Profile | None:
    inputs = PROGRAMS.find(name).inputs
    return next((profile for words, profile in PROFILES.items() if words in inputs), None)


def fitting(name: str, qualities: tuple[int, ...] = (3, 7)) -> Case:
    """A case that the program can judge; each text names its quality."""
    votes = (Winner(value="a"), Winner(value="b", certainty=0.7), Winner(value="b")) if len(qualities) == 2 else ()
    texts = [{"text": f"text of quality {q}" + " more" * (q % 4)} for q in qualities]
    written = ("text of quality 7 more", "some more") if "references" in PROGRAMS.find(name).inputs else ()
    return Case(
        id="c", query="What to cook?", candidates=texts, references=written, profile=profile_of(name), votes=votes
    )


# Others' ratings: one text of the pair is known to them, so that matrix factorisation can tell the two apart.
KNOWN = [{"text": fitting("perse").candidates[1].text, "score": 9}, {"text": "plot 2", "score": 1}]
RATED = Case(
    id="o",
    query="",
    candidates=[{"text": "unread"}, {"text": "unread too"}],
    profile=Reviewer(id="other", reviews=KNOWN),
    label={"value": "a"},
)


def requests_of(judge: Judge, case: Case) -> list[tuple[str, Any]]:
    """Everything that is sent, in an order of its own: branches are asked at once."""
    return sorted((prompt_text(request), repr(request.config)) for request in ask(judge, case, by_place)[1])


def variants(name: str) -> Iterator[dict[str, Any]]:
    """Every readout of a program, and for each every other value of each parameter by itself."""
    judge = build(name)
    hparams = judge.hparams()
    readouts = hparams["readout"].choices if "readout" in hparams else [None]
    for readout in readouts or ():
        base = {} if readout is None else {"readout": readout}
        yield base
        for parameter, hparam in hparams.items():
            if parameter == "readout" or (parameter == "reading" and readout == "generate"):
                continue
            for value in others(judge, hparam):
                if value == "auto":  # reads tokens here, as without it
                    continue
                yield base | {parameter: value} | awake(judge, hparam)


def others(judge: Judge, hparam: HParam) -> list[Any]:
    """Some values that are not the present one."""
    if hparam.choices is None:
        if hparam.is_text:
            return []
        return [hparam.value + 1 if isinstance(hparam.value, int) else hparam.value / 2 or 0.01]
    few = hparam.choices if len(hparam.choices) <= MOST_SEARCHED else hparam.search_values(judge)
    return [value for value in few if value != hparam.value]


def awake(judge: Judge, hparam: HParam) -> dict[str, Any]:
    """Values of other parameters under which this one changes something."""
    hparams = judge.hparams()
    idle = {other: value for other, value in hparam.idle_when.items() if hparams[other].value == value}
    return {other: hparams[other].search_values(judge)[-1] for other in idle}


JUDGES = [name for name in PROGRAMS.names() if name not in NEED_A_MODEL]
VARIANTS = [(name, settings) for name in PROGRAMS.built_in() if name in JUDGES for settings in variants(name)]


def named(settings: Any) -> str:
    return settings if isinstance(settings, str) else ",".join(f"{name}={value}" for name, value in settings.items())


def with_state(name: str) -> Judge:
    """A judge with other settings than it comes with, a demo at each stage and, where it learns, something learned."""
    judge = build(name, **changed_settings(name))
    if hasattr(judge, "priorities"):
        judge.priorities.shares = {"word 1": 0.1, "accuracy": 0.9}
    for stage in judge.stages():
        stage.ask.demos = [dspy.Example(**dict.fromkeys(stage.ask.signature.fields, "earlier"))]
    return judge


def changed_settings(name: str) -> dict[str, Any]:
    """Other values of as many parameters as can be changed together, so that the judge still judges its case."""
    settings: dict[str, Any] = {}
    for parameter, hparam in build(name).hparams().items():
        for value in others(build(name), hparam)[:1]:
            judge = build(name, **settings | {parameter: value})
            try:
                ask(judge, fitting(name), by_place)
            except DeclarationError:
                continue
            settings[parameter] = value
    return settings
