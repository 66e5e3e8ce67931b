"""MT-Bench (Zheng et al. 2023, arXiv 2306.05685): pairs that people judged, and answers to its 80 questions.

Fennec (arXiv 2405.12163) measures pairwise judgments on the pairs of the first turn, and corrects the first answers of
two models.
"""

from ...data.table_rows import parquet_rows
from ...errors import DataError
from ..public_set import PublicSet, SourceFile, pinned_files, register
from ..rows import Paths, Rows, jsonl, pairwise_row, text_row

LETTERS = {"model_a": "a", "model_b": "b", "tie": "tie"}
FASTCHAT = "0e6d3e4beaab66f4d3f93db72541a4abab8af28d"
HUB = "https://huggingface.co"
CITATION = "Zheng et al. 2023, Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena (NeurIPS), arXiv 2306.05685"


def read_human_pairs(paths: Paths) -> Rows:
    """Judgments of the first turn, each a row; those of the second turn are left out."""
    for number, item, problem in parquet_rows(paths[0]):
        if problem:
            raise DataError(f"{paths[0]} row {number}: {problem} Copy the file again.")
        if item["turn"] != 1:
            continue
        first, second = item["conversation_a"], item["conversation_b"]
        if first[0]["content"] != second[0]["content"]:
            raise ValueError(f"row {number}: the two conversations begin with different questions")
        meta = {name: item[name] for name in ("question_id", "judge")}
        meta |= {"system_a": item["model_a"], "system_b": item["model_b"]}
        pair = (first[1]["content"], second[1]["content"])
        label = LETTERS[item["winner"]]
        yield pairwise_row(f"mt-bench-human/{number}", first[0]["content"], pair, label, meta=meta)


def read_answers(paths: Paths) -> Rows:
    """The first answer of one model to each question; without labels."""
    questions = {item["question_id"]: item for item in jsonl(paths[0])}
    for item in jsonl(paths[1]):
        question, model = questions[item["question_id"]], item["model_id"]
        meta = {"question_id": item["question_id"], "category": question["category"]}
        row_id = f"mt-bench/{model}/{item['question_id']}"
        yield text_row(row_id, question["turns"][0], item["choices"][0]["turns"][0], system=model, meta=meta)


def _answers(name: str, model: str, file: str) -> PublicSet:
    questions = pinned_files(
        "lm-sys/FastChat",
        FASTCHAT,
        "119565adbab82227089cefdb44c8d7e2cf04dc0a0ec233634c82e7d4e2a944f7  question.jsonl",
        "fastchat/llm_judge/data/mt_bench/",
    )
    path = f"data/mt_bench/model_answer/{file}"
    answers = SourceFile("spaces/lmsys/mt-bench", path, "main", url=f"{HUB}/spaces/lmsys/mt-bench/resolve/main/{path}")
    return PublicSet(
        name=name,
        title=f"MT-Bench, first answers of {model}",
        kind="text",
        size=80,
        labels="None: texts for `fennec-correct`, and for judges that score them.",
        licence="Questions Apache-2.0; the answers state none.",
        files=(*questions, answers),
        citation=CITATION,
        read_original=read_answers,
        cautions=("Not pinned by digest: any file of answers of this form is read.",),
    )


register(
    PublicSet(
        name="mt-bench-human",
        title="MT-Bench human judgments of the first turn",
        kind="pairwise",
        size=None,
        labels="Human: one judgment a row, of 3,355 of both turns; pairs that several people judged are several rows.",
        licence="CC-BY-4.0",
        files=(
            SourceFile(
                "datasets/lmsys/mt_bench_human_judgments",
                "data/human-00000-of-00001-25f4910818759289.parquet",
                "main",
                url=f"{HUB}/datasets/lmsys/mt_bench_human_judgments/resolve/main/data/"
                "human-00000-of-00001-25f4910818759289.parquet",
            ),
        ),
        citation=CITATION,
        read_original=read_human_pairs,
        cautions=(
            "Not pinned by digest: any file of this form is read. It needs the extra `data` (Parquet).",
            "80 questions only, and rows of one pair repeat: split by group, never by row.",
        ),
    ),
    _answers("mt-bench-alpaca-13b", "Alpaca-13B", "alpaca-13b.jsonl"),
    _answers("mt-bench-llama-2-7b-chat", "LLaMA2-7B-chat", "Llama-2-7b-chat.jsonl"),
)
