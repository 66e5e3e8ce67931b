"""FairEval, also called Vicuna-80 (Wang et al. 2024, arXiv 2305.17926)."""

from ...parsing import read_text
from ..public_set import PublicSet, pinned_files, register
from ..rows import Paths, Rows, jsonl, pairwise_row

FAIREVAL = """
32b519315704d3da88accb0cab4fd44622ff530fe49e450c1553030ce3e0f962  question.jsonl
c6545739b0738eba5f9348e77f680031aec076a72ecba71b3014e7b1b0dfe099  answer/answer_gpt35.jsonl
d1a4b3a5d2e3ca90d2d55084ee25d4d90e63e65ac647bf50359da8633e16d0b8  answer/answer_vicuna-13b.jsonl
929f14e6582a7d14b1a3d189d29bc1319200588298e4b5429f7ac56bf847d224  review/review_gpt35_vicuna-13b_human.txt
"""


def read_faireval(paths: Paths) -> Rows:
    """Four files in step: questions, ChatGPT's answers (a), Vicuna's answers (b), one verdict a line."""
    letters = {"CHATGPT": "a", "VICUNA13B": "b", "TIE": "tie"}
    questions, first, second = (list(jsonl(path)) for path in paths[:3])
    verdicts = read_text(paths[3], advice="Copy the file again.").split()
    meta = {"system_a": "gpt-3.5-turbo", "system_b": "vicuna-13b"}
    for question, a, b, verdict in zip(questions, first, second, verdicts, strict=True):
        name = f"faireval/{question['question_id']}"
        yield pairwise_row(
            name, question["text"], (a["text"], b["text"]), letters[verdict], question["category"], meta=meta
        )


register(
    PublicSet(
        name="faireval",
        title="FairEval (Vicuna-80)",
        kind="pairwise",
        size=80,
        labels="Human: the consensus of three annotators; only the final label is released.",
        licence="not stated",
        files=pinned_files("i-Eval/FairEval", "453c117a69159fd7b7de2f4e0519bac57bee21f4", FAIREVAL),
        citation="Wang et al. 2024, Large Language Models are not Fair Evaluators (ACL), arXiv 2305.17926",
        read_original=read_faireval,
        converted="faireval/test.jsonl",
        cautions=("The longer response wins .591.", "a is always ChatGPT, b always Vicuna-13B: ask both orders."),
    )
)
