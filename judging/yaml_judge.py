"""A judge declared in YAML, without Python: instructions, criteria, a scale.

Each criterion is a separate question; all are asked concurrently and merged by weight.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeGuard

import dspy
from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator

from ..data import Case, Verdict
from ..data.case import MOST_SCORE, NonEmpty, Record, Text
from ..data.rows import parse_scale
from ..engines.decoding_values import NAMES as DECODING
from ..engines.decoding_values import checked
from ..engines.parallel import concurrently
from ..errors import DeclarationError
from ..parsing import explain, read_yaml
from .answer_types import MOST_LEVELS
from .decoding import ALL_ROLES, role_and_name
from .delimiters import constant
from .rubric_judge import RubricDeclaration, RubricJudge
from .signature_judge import PAIR, ROLE, SCORES, SINGLE, SignatureJudge

MOST_CRITERIA = 1_000
MOST_SCORES = 101  # 0..100; every score is listed in the schema of the answer
NEEDS = (
    "It needs `judges`, `instructions` and `criteria`; `scale` or `levels` for texts (docs/your-own-judge.md); of "
    "categories `criteria` alone, each with `ask` (docs/labels.md)."
)


class WeightedCriterion(Record):
    """One quality to judge by; a YAML file may also give just its name."""

    name: NonEmpty = Field(description="the quality, in a few words")
    description: Text = Field(default="", description="what it means")
    weight: float = Field(default=1.0, gt=0, le=MOST_SCORE, description="relative to the other criteria")

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @property
    def text(self) -> str:
        return f"{self.name}: {self.description}" if self.description else self.name


class JudgeDeclaration(Record):
    """The content of a YAML file that declares a judge."""

    name: NonEmpty = Field(description="the judge's name in verdicts and messages")
    judges: Literal["pairs", "texts"] = Field(
        description="what it judges; texts are scored one at a time; `categories` make a rubric"
    )
    instructions: NonEmpty = Field(description="the task, in words")
    criteria: tuple[WeightedCriterion, ...] = Field(
        min_length=1, max_length=MOST_CRITERIA, description="each is a separate question"
    )
    scale: tuple[int, int] | None = Field(default=None, description="the lowest and the highest score")
    levels: Annotated[tuple[NonEmpty, ...], Field(min_length=2, max_length=MOST_LEVELS)] | None = Field(
        default=None, description="names of the scores 1, 2, ..., in place of `scale`"
    )
    tie: bool = Field(default=False, description="whether letters include C, equally good")
    profile: bool = Field(default=False, description="whether the person's profile is shown")
    explain: bool = Field(default=False, description="whether a written verdict follows an explanation")
    readout: Literal["generate", "probability", "auto", "sampled", "stated"] = Field(
        default="generate", description="how the answer is read"
    )
    order: Literal["one", "both"] = Field(default="both", description="the orders in which a pair is shown")
    tie_threshold: float = Field(
        default=0.0, ge=0, le=MOST_SCORE, description="margins up to this are ties, in points or log-odds"
    )

    temperature: float | None = Field(default=None, description="of written answers, 0..2; 0 is greedy")
    top_p: float | None = Field(default=None, description="of written answers that are drawn, above 0 and at most 1")
    max_tokens: int | None = Field(default=None, description="of a written answer at most")
    seed: int | None = Field(default=None, description="of written answers that are drawn, where the server takes it")
    reasoning: str | None = Field(default=None, description="how long a model that thinks may think before it writes")

    @model_validator(mode="before")
    @classmethod
    def _of_roles(cls, content: Any) -> Any:
        """Decoding by role, as `--set` takes it: `judgment.temperature` is `temperature`, as there is one role."""
        if not isinstance(content, Mapping):
            return content
        fields = dict(content)
        for name in content:
            role, value = role_and_name(name) if isinstance(name, str) and "." in name else None, content[name]
            if role is None:
                continue
            if role[0] not in (ROLE, ALL_ROLES):
                raise ValueError(f"{name}: there is no role {role[0]!r}. Its roles: {ALL_ROLES}, {ROLE}")
            del fields[name]
            if fields.setdefault(role[1], value) != value:
                raise ValueError(f"{role[1]} is there twice, of all roles and of its only one; keep one of them")
        return fields

    @field_validator("reasoning", mode="before")
    @classmethod
    def _word(cls, value: Any) -> Any:
        return value if value is None else checked("reasoning", value)

    @field_validator(*DECODING)
    @classmethod
    def _decodable(cls, value: Any, info: ValidationInfo) -> Any:
        return value if value is None else checked(str(info.field_name), value)

    @field_validator("scale", mode="before")
    @classmethod
    def _integers(cls, value: Any) -> tuple[int, int] | None:
        if value is None:
            return None
        lo, hi = parse_scale(str(value))
        if lo != int(lo) or hi != int(hi) or hi - lo >= MOST_SCORES:
            raise ValueError(f"give whole numbers, at most {MOST_SCORES} of them, as in 1..5")
        return int(lo), int(hi)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.scale and self.levels:
            raise ValueError("`scale` and `levels` exclude one another; keep one of them")
        if self.judges == "texts" and not self.ends:
            raise ValueError("texts are scored; give `scale`, as in 1..5, or `levels`")
        if self.tie and (self.judges == "texts" or self.ends):
            raise ValueError("`tie` is for pairs judged by letters; equal scores tie anyway. Leave it out")
        if self.explain and self.readout != "generate":
            raise ValueError("`explain` needs readout: generate; nothing is written when probabilities are read")
        if self.ends and self.readout != "generate" and (count := self.ends[1] - self.ends[0] + 1) > MOST_LEVELS:
            raise ValueError(
                f"readout: probability reads at most {MOST_LEVELS} levels, but `scale` has {count}; "
                "use readout: generate, or a shorter scale"
            )
        names = [criterion.name.casefold() for criterion in self.criteria]
        twice = next((name for name, count in Counter(names).items() if count > 1), None)
        if twice:
            raise ValueError(f"criterion {twice!r} is there twice; keep one of them")
        return self

    @property
    def ends(self) -> tuple[int, int] | None:
        """The lowest and the highest score; None for letters."""
        return (1, len(self.levels)) if self.levels else self.scale


class YamlJudge(SignatureJudge):
    """Judges by each criterion of a declaration. Calls: those of `SignatureJudge`, for each criterion."""

    fills = (*SignatureJudge.fills, "criterion")

    def __init__(self, declaration: JudgeDeclaration) -> None:
        super().__init__(
            signature_of(declaration),
            name=declaration.name,
            readout=declaration.readout,
            order=declaration.order,
            tie_threshold=declaration.tie_threshold,
            levels=declaration.levels or (),
        )
        self.set(**{name: getattr(declaration, name) for name in DECODING})
        self.declaration, self.criteria = declaration, declaration.criteria

    def assess(self, case: Case) -> Verdict:
        results = concurrently(
            lambda criterion: self.findings(case, criterion.name, criterion=constant(criterion.text)), self.criteria
        )
        weighted = [
            finding.model_copy(update={"weight": criterion.weight})
            for criterion, findings in zip(self.criteria, results, strict=True)
            for finding in findings
        ]
        return self.verdict(case, weighted)


DeclaredJudge = YamlJudge | RubricJudge


def declared_judge(content: Mapping[str, Any]) -> DeclaredJudge:
    """The judge of a declaration, which `judges` tells: categories make a rubric.

    Raises:
        pydantic.ValidationError: it declares no judge.
    """
    if content.get("judges") == "categories":
        return RubricJudge(RubricDeclaration.model_validate(content))
    return YamlJudge(JudgeDeclaration.model_validate(content))


def is_declared(judge: object) -> TypeGuard[DeclaredJudge]:
    """Whether a judge is one of a declaration, and not of a program that is registered."""
    return isinstance(judge, YamlJudge) or type(judge) is RubricJudge


def as_declared(judge: DeclaredJudge) -> dict[str, Any]:
    """What a YAML file of this judge would say; decoding that was taken back is not in it."""
    decoding = {name for stage in judge.stages() for name in stage.decoding.values}
    declared = judge.declaration.model_dump(mode="json", exclude_none=True)
    fields = {name: value for name, value in declared.items() if name not in DECODING or name in decoding}
    return fields | ({"scale": "{}..{}".format(*fields["scale"])} if fields.get("scale") else {})


def read_judge(path: str) -> DeclaredJudge:
    """The judge that a YAML file declares; without a `name` it is called as the file is.

    Raises:
        DeclarationError: the file cannot be read, is not YAML, or declares no judge.
    """
    content = read_yaml(
        Path(path), f"judge {path}", error=DeclarationError, advice="Give a YAML file, or fix this one."
    )
    if not isinstance(content, Mapping):
        raise DeclarationError(f"judge {path}: holds no fields. {NEEDS}")
    try:
        return declared_judge({"name": Path(path).stem, **content})
    except ValidationError as error:
        raise DeclarationError(f"judge {path}: {explain(error)} {NEEDS}") from None


def signature_of(declaration: JudgeDeclaration) -> type[dspy.Signature]:
    """The contract of one question, in wording that serves both readouts: an explanation, where it is wanted, comes
    before the verdict."""
    texts = PAIR if declaration.judges == "pairs" else SINGLE
    fields: dict[str, Any] = {"request": (str, dspy.InputField())}
    if declaration.profile:
        fields["profile"] = (str, dspy.InputField(desc="the person to judge for"))
    fields |= {name: (str, dspy.InputField()) for name in texts}
    fields["criterion"] = (str, dspy.InputField(desc="what to judge by"))
    if declaration.explain:
        fields["explanation"] = (str, dspy.OutputField(desc="one or two sentences that say why"))
    task, verdict = _scored(declaration) if declaration.ends else _lettered(declaration)
    signature: type[dspy.Signature] = dspy.Signature(
        fields | verdict, f"{declaration.instructions}\n{task}", signature_name="Declared"
    )
    return signature


def _scored(declaration: JudgeDeclaration) -> tuple[str, dict[str, Any]]:
    """The task in words and the outputs, for scores."""
    lo, hi = declaration.ends or (0, 0)
    is_pair = declaration.judges == "pairs"
    named = ", ".join(f"{level} {name}" for level, name in enumerate(declaration.levels or (), start=1))
    scale = f": {named}" if named else f", from {lo} (worst) to {hi} (best)"
    kind: Any = Literal[tuple(range(lo, hi + 1))]
    texts = dict(zip(SCORES, ("response A", "response B"), strict=True)) if is_pair else {"score": "the response"}
    outputs = {name: (kind, dspy.OutputField(desc=f"How good is {it} by the criterion?")) for name, it in texts.items()}
    return f"Score {'both responses' if is_pair else 'the response'} by the criterion alone{scale}.", outputs


def _lettered(declaration: JudgeDeclaration) -> tuple[str, dict[str, Any]]:
    """The task in words and the output, for letters."""
    tie = ", or C if both are equally good" if declaration.tie else ""
    kind: Any = Literal["A", "B", "C"] if declaration.tie else Literal["A", "B"]
    question = f"By the criterion, which response is better, A or B{tie}?"
    return "Judge by the criterion alone.", {"better": (kind, dspy.OutputField(desc=question))}
