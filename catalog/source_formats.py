"""The original files of the public sets, read into converted rows (see converters.py).

Each function takes the set's files in the order of its catalogue entry and knows the source's own names and codes.
Pickle files are never read: a set that its source ships as a pickle is read from another public copy.
"""

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from .converters import jsonl

Paths = Sequence[Path]
Rows = Iterator[dict[str, Any]]

FED_TOPS = {"overall": 4, "understandable": 1, "consistent": 1}  # the highest score; 2 for every other aspect
USR_SCALES = {"understandability": [0, 1], "groundedness": [0, 1], "overall": [1, 5]}  # 1..3 for every other aspect


def pandalm(paths: Paths) -> Rows:
    """0/1/2 -> tie/a/b by three annotators. Six responses are the JSON boolean true: they become "True"."""
    for item in _json(paths[0]):
        letters = [("tie", "a", "b")[item[f"annotator{n}"]] for n in (1, 2, 3)]
        meta = {name: item[name] for name in ("instruction", "input", "cmp_key")} | {"source_idx": item["idx"]}
        query = "\n\n".join(part for part in (item["instruction"], item["input"]) if part)
        pair = (str(item["response1"]), str(item["response2"]))
        label = Counter(letters).most_common(1)[0][0]
        yield _pairwise(f"pandalm/{item['idx']}", query, pair, label, item["motivation_app"], meta, letters)


def autoj(paths: Paths) -> Rows:
    """0/1/2 -> a/b/tie."""
    for index, item in enumerate(jsonl(paths[0])):
        pair = (item["response 1"], item["response 2"])
        label = ("a", "b", "tie")[item["label"]]
        yield _pairwise(f"autoj/{index}", item["prompt"], pair, label, item["scenario"])


def llmbar(paths: Paths, *, subset: str) -> Rows:
    """1/2 -> a/b."""
    for index, item in enumerate(_json(paths[0])):
        pair = (item["output_1"], item["output_2"])
        yield _pairwise(f"llmbar/{subset}/{index}", item["input"], pair, ("a", "b")[item["label"] - 1], subset)


def faireval(paths: Paths) -> Rows:
    """Four files in step: questions, ChatGPT's answers (a), Vicuna's answers (b), one verdict a line."""
    letters = {"CHATGPT": "a", "VICUNA13B": "b", "TIE": "tie"}
    questions, first, second = (list(jsonl(path)) for path in paths[:3])
    verdicts = paths[3].read_text(encoding="utf-8").split()
    meta = {"system_a": "gpt-3.5-turbo", "system_b": "vicuna-13b"}
    for question, a, b, verdict in zip(questions, first, second, verdicts, strict=True):
        name = f"faireval/{question['question_id']}"
        yield _pairwise(name, question["text"], (a["text"], b["text"]), letters[verdict], question["category"], meta)


def rank19(paths: Paths) -> Rows:
    """Triples of a source sentence with a correct and an incorrect summary; the order is drawn from the id."""
    for index, item in enumerate(_json(paths[0])):
        name = f"rank19/{index}"
        pair = (item["correct_sent"], item["incorrect_sent"])
        turned = _seed(name) % 2
        yield _pairwise(name, item["article_sent"], pair[::-1] if turned else pair, "ab"[turned], "factual-consistency")


def summeval(paths: Paths) -> Rows:
    """One file a system; the label is the mean of three experts, five crowd workers stay in meta."""
    for item in (item for path in paths for item in jsonl(path)):
        aspects = sorted(item["expert_annotations"][0])
        experts, crowd = (
            {aspect: [vote[aspect] for vote in item[f"{who}_annotations"]] for aspect in aspects}
            for who in ("expert", "turker")
        )
        doc_id = Path(item["filepath"]).stem
        name = f"summeval/{doc_id[:8]}/{item['model_id']}"
        means = {aspect: fmean(votes) for aspect, votes in experts.items()}
        scale = {aspect: [1, 5] for aspect in aspects}
        row = _pointwise(name, item["text"], item["decoded"], item["model_id"], means, scale, doc_id[:8])
        yield row | {"annotators": experts, "meta": {"doc_id": item["id"], "crowd_annotators": crowd}}


def openmeva(paths: Paths) -> Rows:
    """One row a prompt and system; only the mean of the five raters is released."""
    for item in _json(paths[0]):
        for system, story in item["gen"].items():
            name, doc_id = f"openmeva_roc/{item['doc_id']}/{system}", str(item["doc_id"])
            scores = {"overall": story["score"]["human"]}
            row = _pointwise(name, item["prompt"], story["text"], system, scores, {"overall": [1, 5]}, doc_id)
            yield row | {"meta": {"reference": item["reference"]}}


def fed(paths: Paths, *, level: str) -> Rows:
    """Entries with a response are turns, the others whole dialogs; a score is the mean of the numeric votes."""
    for index, item in enumerate(_json(paths[0])):
        if ("response" in item) != (level == "turn"):
            continue
        votes = {aspect.lower(): given for aspect, given in item["annotations"].items()}
        numbers = {aspect: [vote for vote in given if not isinstance(vote, str)] for aspect, given in votes.items()}
        scores = {aspect: round(fmean(given), 6) for aspect, given in numbers.items() if given}
        scale = {aspect: [0, FED_TOPS.get(aspect, 2)] for aspect in votes}
        context, text = (item["context"], item["response"]) if level == "turn" else ("", item["context"])
        row = _pointwise(f"fed/{level}/{index}", context, text, item["system"], scores, scale, None)
        yield row | {"annotators": votes, "meta": {"level": level, "source_index": index}}


def usr_topical_chat(paths: Paths) -> Rows:
    """Six responses to each of 60 dialog histories; the fact to talk about stays in meta."""
    for index, item in enumerate(_json(paths[0])):
        scale = {aspect: USR_SCALES.get(aspect, [1, 3]) for aspect in item["scores"]}
        group = _sha(item["source"])[:10]
        texts = (item["source"], item["system_output"], item["system_id"])
        row = _pointwise(f"topical_chat_usr/{index}", *texts, item["scores"], scale, group)
        yield row | {"meta": {"fact": item["context"]}}


def prefeval(paths: Paths, *, form: str) -> Rows:
    """One file a topic. The source's first option is the right one, so options are shuffled, seeded by the id."""
    for path in paths:
        for index, item in enumerate(_json(path)):
            name, mcq = f"prefeval/{form}/{path.stem}/{index}", form == "mcq"
            options = item["classification_task_options" if mcq else "options"]
            order = list(range(len(options)))
            random.Random(_seed(name)).shuffle(order)
            if mcq:
                extra = {"violation_probability": item.get("violation_probability")}
            else:
                extra = {"followup_question": item["question"]}
                extra |= {field: item[field] for field in ("conversation", "aligned_op")}
            yield {
                "id": name,
                "kind": "choice",
                "question": item["question" if mcq else "implicit_query"],
                "preference": item["preference"],
                "options": [options[place] for place in order],
                "label": order.index(0),
                "explanation": item.get("explanation"),
                "meta": {"topic": path.stem, **extra, "source_permutation": order},
            }


def perse_mpst(paths: Paths) -> Rows:
    """The last example is the text to score, those before it are the reviewer's history."""
    for line, item in enumerate(jsonl(paths[0])):
        *history, last = item["examples"]
        names = {"text": "summ_plot", "review": "clean_review", "score": "score", "title": "movie_title"}
        yield {
            "id": f"perse/mpst/{item['idx']}-{item['review_index']}-{line}",
            "kind": "profile",
            "reviewer": last["reviewer_name"],
            "reviews": [{ours: one[theirs] for ours, theirs in names.items()} for one in history],
            **{ours: last[names[ours]] for ours in ("text", "review", "score")},
            "scale": [1, 10],
            "meta": {"movie_id": last["movie_id"], "movie_title": last["movie_title"], "k": len(history)},
        }


PLOTS = re.compile(r"\[The Start of Plot A\]\n(.*?)\n\[The End of Plot A\]\s+"
                   r"\[The Start of Plot B\]\n(.*?)\n\[The End of Plot B\]", re.S)  # fmt: skip
CHOICE = re.compile(r'"Choice": "Plot ([AB])"')


def perse_doc(paths: Paths) -> Rows:
    """Plots and earlier choices are cut out of the prompt; the last pair is the one to judge."""
    for line, item in enumerate(jsonl(paths[0])):
        *earlier, last = PLOTS.findall(item["prompt"][0])
        choices = CHOICE.findall(item["prompt"][0])
        yield {
            "id": f"perse/doc_interestingness/{item['idx']}-{line}",
            "kind": "profile_pairwise",
            "reviewer": item["review_id"],
            "comparisons": [
                {"response_a": a, "response_b": b, "label": choice.lower()}
                for (a, b), choice in zip(earlier, choices, strict=True)
            ],
            "response_a": last[0],
            "response_b": last[1],
            "label": CHOICE.findall(item["completion"])[0].lower(),
            "aspect": "Interestingness",
            "meta": {"source_idx": item["idx"]},
        }


def prism(paths: Paths) -> Rows:
    """The union of the pairs met in all runs, each as the first run showed it.

    Records with gold C are left out: the source shows the previous question's responses there. So are pairs of two
    equal responses.
    """
    items: dict[str, dict[str, Any]] = {}
    for path in paths:
        features = next((name for name in ("key_features", "least_imp_feature") if name in path.name), "all_features")
        for run in jsonl(path):
            pair = (run["asst_A"], run["asst_B"])
            if run["ground_truth"] not in ("A", "B") or pair[0] == pair[1]:
                continue
            name = "personalized/prism/" + _sha("\x1f".join((run["question"], *sorted(pair))))[:12]
            row = items.setdefault(
                name,
                {
                    "id": name,
                    "kind": "persona_pairwise",
                    "persona": {},
                    "question": run["question"],
                    "response_a": pair[0],
                    "response_b": pair[1],
                    "label": run["ground_truth"].lower(),
                    "meta": {"conversation_type": run["conversation_type"]},
                },
            )
            row["persona"].setdefault(features, run["user_info"])
    yield from items.values()


def authored(paths: Paths) -> Rows:
    """Our own pairs: plain pairwise rows with a category and a reason."""
    for row in jsonl(paths[0]):
        pair = (row["response_a"], row["response_b"])
        yield _pairwise(row["id"], row["query"], pair, row["label"], row["category"], {"reason": row["reason"]})


ORIGINALS: dict[str, Callable[[Paths], Rows]] = {
    "authored": authored,
    "autoj": autoj,
    "faireval": faireval,
    "fed-dialog": partial(fed, level="dialog"),
    "fed-turn": partial(fed, level="turn"),
    **{
        f"llmbar-{name}": partial(llmbar, subset=name)
        for name in ("natural", "neighbor", "gptinst", "gptout", "manual")
    },
    "openmeva": openmeva,
    "pandalm": pandalm,
    "perse-doc": perse_doc,
    "perse-mpst": perse_mpst,
    "prefeval-implicit": partial(prefeval, form="implicit_choice"),
    "prefeval-mcq": partial(prefeval, form="mcq"),
    "prism": prism,
    "rank19": rank19,
    "summeval": summeval,
    "usr-topical-chat": usr_topical_chat,
}


def _pairwise(
    name: str,
    query: str,
    pair: tuple[str, str],
    label: str,
    category: str,
    meta: dict[str, Any] | None = None,
    annotators: Sequence[str] = (),
) -> dict[str, Any]:
    return {
        "id": name,
        "kind": "pairwise",
        "query": query,
        "response_a": pair[0],
        "response_b": pair[1],
        "label": label,
        "annotators": list(annotators),
        "category": category,
        "meta": meta or {},
    }


def _pointwise(
    name: str,
    context: str,
    text: str,
    system: str,
    scores: dict[str, float],
    scale: dict[str, list[int]],
    group: str | None,
) -> dict[str, Any]:
    return {
        "id": name,
        "kind": "pointwise",
        "group": group,
        "context": context,
        "text": text,
        "system": system,
        "scores": scores,
        "annotators": {},
        "scale": scale,
        "meta": {},
    }


def _json(path: Path) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return items


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _seed(name: str) -> int:
    return int(_sha(name)[:12], 16)
