"""The other sets of the personalised judge: PR, EC and OpinionQA (Dong et al. 2024, arXiv 2406.11657).

They are read from the runs that the authors released, as the texts there are what their judges saw. The question of
`persona` that fits: PR wrote-answer, EC wrote, OpinionQA would-answer.
"""

from typing import Any

from ...errors import DataError
from ..public_set import PublicSet, SourceFile, pinned_files, register
from ..rows import Paths, Rows, jsonl, sha256_hex

REPOSITORY, COMMIT = "dong-river/Personalized-Judge", "4d93fde111cbdaba7c3f8a439435dadee1acbd50"
PAIRS = "pairs: Dong et al. 2024, arXiv 2406.11657"
PR = """
bb605819b71ebb531dc9b16ffffaa88ad15bbac5f5120d64795949760ad81b25  ap_all_features_all_features_command-r-plus_jun5.jsonl
"""
# All runs without ties judge the same 510 pairs, and all with ties the same 521; 420 are in both.
EC = """
a0b66b6a7dbd2dec9d3f98d2465d1dd3ee0b38448e99c2b00078b2c3b311bf6f  ec_all_features_command-r-plus.jsonl
63535314375bd183308cae72d5112ba87722de03612f5a06ef786a225d41a349  ec_all_features_with_tie_all_features_command-r-plus.jsonl
"""  # noqa: E501
OPINIONQA = "outputs/opinionqa_all_features_all_features_gpt-4o_jun_11.jsonl"
LABELS = {"A": "a", "B": "b", "C": "tie"}


def read_pr(paths: Paths) -> Rows:
    """Two question-answer pairs each, of which the person wrote the answer of one."""
    for run in _runs(paths):
        person, rest = _between(run["prompt"], "[User Profile]\n", "\n\n[Question-Answer Pair A]\n")
        first, rest = _between(rest, "", "\n\n[Question-Answer Pair B]\n")
        second, _ = _between(rest, "", "\n\n[Answer]\n")
        yield _row("pr", person, "", (first.strip(), second.strip()), run["ground_truth"])


def read_ec(paths: Paths) -> Rows:
    """Two essays on a news article each, of which the person wrote one; ties in the runs that allow them.

    A tie is by the source's rule a pair of essays whose writers stated an empathy or a distress less than 3 points
    apart; the person wrote one of these two as well. Pairs without a tie differ by 3 or more in both.
    """
    met = set()
    for run in _runs(paths):
        pair = (run["asst_A"], run["asst_B"])
        row = _row("ec", run["user_info"], run["article"], pair, run["ground_truth"])
        if row["id"] not in met:
            met.add(row["id"])
            yield row


def read_opinionqa(paths: Paths) -> Rows:
    """A question of a survey with two answers each, of which the person gave one."""
    for run in _runs(paths):
        _, rest = _between(run["prompt"], "", "[Question]\n")
        question, rest = _between(rest, "", "\n(A) ")
        first, rest = _between(rest, "", "\n(B) ")
        second, _ = _between(rest, "", "\n\n[Answer]\n")
        yield _row(
            "opinionqa", run["user_info"], question.strip(), (first.strip(), second.strip()), run["ground_truth"]
        )


def _runs(paths: Paths) -> Rows:
    for path in paths:
        yield from jsonl(path)


def _between(text: str, start: str, end: str) -> tuple[str, str]:
    """The text between two marks, and what follows the second."""
    _, opened, rest = text.partition(start) if start else ("", "-", text)
    inner, closed, rest = rest.partition(end)
    if not opened or not closed:
        raise DataError(f"a prompt without {(end if opened else start).strip()!r}. Take the file of the repository.")
    return inner, rest


def _row(name: str, person: str, question: str, pair: tuple[str, str], gold: str) -> dict[str, Any]:
    content = "\x1f".join((person, question, *sorted(pair)))
    return {
        "id": f"personalized/{name}/" + sha256_hex(content)[:12],
        "kind": "persona_pairwise",
        "persona": {"all_features": person},
        "group": person,
        "question": question,
        "response_a": pair[0],
        "response_b": pair[1],
        "label": LABELS.get(gold, gold),
        "meta": {},
    }


register(
    PublicSet(
        name="personalized-pr",
        title="Personalized Judge, posts of made-up people (PR)",
        kind="persona_pairwise",
        size=525,
        labels="Not human: one answer was written by a model in the person's name, the other in another's.",
        licence="not stated in the copy",
        files=pinned_files(REPOSITORY, COMMIT, PR, "outputs/"),
        citation=f"Staab et al. 2024, Beyond Memorization (ICLR); {PAIRS}",
        read_original=read_pr,
        cautions=(
            "All pairs have one and the same wrong answer, of a chef in Rome: the source's search for the most similar "
            "person never ran. A judge that knows this answer is always right, so that nothing is shown of persons.",
            "The question is --set question=wrote-answer.",
            "The longer response wins .057.",
            "40 people, so 40 groups.",
        ),
    ),
    PublicSet(
        name="personalized-ec",
        title="Personalized Judge, essays on news (EC)",
        kind="persona_pairwise",
        size=611,
        labels="Human: who wrote the essay; 101 ties by rule: the writers' empathy or distress is similar.",
        licence="not stated in the copy",
        files=pinned_files(REPOSITORY, COMMIT, EC, "outputs/"),
        citation=f"Omitaomu et al. 2022, Empathic Conversations; {PAIRS}",
        read_original=read_ec,
        cautions=(
            "The longer response wins .522.",
            "The question is --set question=wrote; of the source's runs with ties it is prefers.",
            "The source's runs without the option of a tie have its 510 untied pairs, those with it 420 of them.",
            "A gold tie is a pair of which the person wrote one essay too; the source does not say which.",
        ),
    ),
    PublicSet(
        name="personalized-opinionqa",
        title="Personalized Judge, answers to surveys (OpinionQA)",
        kind="persona_pairwise",
        size=3015,
        labels="Human: the answer that the person gave.",
        licence="not stated in the copy",
        files=(SourceFile(REPOSITORY, OPINIONQA, COMMIT),),
        citation=f"Santurkar et al. 2023, Whose Opinions Do Language Models Reflect?; {PAIRS}",
        read_original=read_opinionqa,
        cautions=(
            "The question is --set question=would-answer.",
            "Not pinned by digest, and never read whole by the authors of this package: the file has 4 MiB or more.",
            "One question of each of 15 surveys, 201 people each; answers other than the first two are left out.",
        ),
    ),
)
