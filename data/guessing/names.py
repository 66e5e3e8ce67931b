"""What the name of a column says: its words, the role that they name, and the side of a pair."""

import re
import unicodedata

SIDES = (
    ("a", "b"), ("1", "2"), ("0", "1"), ("x", "y"), ("left", "right"), ("first", "second"), ("one", "two"),
    ("old", "new"), ("baseline", "candidate"), ("control", "treatment"), ("before", "after"), ("chosen", "rejected"),
)  # fmt: skip

# Words of a role; those behind the bar name it only where nothing else does.
ROLES = {
    "query": "query question prompt instruction request user_message customer customer_message user_input ask premise "
    "frage pregunta | input message messages conversation task problem ticket inquiry article story source title",
    "response": "response answer output completion reply generation generated generated_text model_output bot "
    "assistant chatbot agent_reply bot_reply summary translation antwort respuesta reponse | "
    "text content prediction result body comment_text sentence document review tweet message",
    "reference": "reference references expected expected_output expected_response ground_truth gold_answer ideal "
    "reference_answer correct_answer reference_output gold_response target reference_answers expectation | gold",
    "context": "context contexts retrieved retrieved_context passage documents knowledge source_document chunks | "
    "document source article evidence",
    "label": "label labels preferred preference winner choice verdict judgement judgment human_label annotation rating "
    "score grade human_score human_rating human_preference better best gold_label final_label majority consensus "
    "overall_preference feedback correctness correct is_correct passed pass pass_fail decision outcome stars vote "
    "bewertung urteil evaluation assessment quality helpful thumbs thumbs_up | gold human final result target class "
    "category sentiment selected ok",
    "votes": "votes annotations ratings all_labels annotator_labels labels_all crowd_labels",
    "annotator": "annotator annotator_id worker worker_id workerid rater rater_id labeler labeller evaluator "
    "completed_by coder annotated_by labeled_by labelled_by judge_id annotator_name reviewer_id user_id | "
    "user reviewer created_by author email judge",
    "id": "id uid uuid case_id item item_id example_id sample_id row_id task_id pair_id ticket_id trace_id request_id "
    "hit_id hitid record_id question_id conversation_id idx | index nr no number ticket case key",
    "group": "group group_id prompt_id question_id conversation_id thread_id session_id customer_id dialogue_id | "
    "session thread userid sessionid",
    "aspect": "aspect criterion dimension criteria | metric attribute",
    "reason": "reason explanation rationale comment comments justification why feedback_text remarks | note notes "
    "review feedback",
    "system": "system model model_name generator | source",
}  # fmt: skip
ASPECTS = frozenset(
    "helpfulness correctness coherence complexity verbosity fluency relevance consistency tone safety accuracy clarity "  # noqa: SIM905
    "quality overall style harmlessness honesty faithfulness groundedness toxicity politeness completeness conciseness "
    "creativity usefulness truthfulness readability grammar empathy factuality informativeness depth bias".split()
)
MACHINES = frozenset(
    "llm gpt gpt4 gpt3 gpt4o chatgpt claude gemini llama auto automatic ai predicted prediction pred suggestion api "  # noqa: SIM905
    "eval code bot_score machine classifier rouge bleu bertscore".split()
)
BOOKKEEPING = frozenset(
    "created updated timestamp date time created_at updated_at lead_time duration status annotation_id version "  # noqa: SIM905
    "index".split()
)
STRONG, WEAK = 2, 1
_BY_ROLE = {
    role: {
        word: strength
        for part, strength in zip(words.split("|"), (STRONG, WEAK), strict=False)
        for word in part.split()
    }
    for role, words in ROLES.items()
}


def words_of(name: str) -> tuple[str, ...]:
    """The words of a column's name, in lower case and without accents; a digit is one.

    Example:
        >>> words_of("answerA"), words_of("inputs.user_question"), words_of("Response 2"), words_of("GPT4 score")
        (('answer', 'a'), ('inputs', 'user', 'question'), ('response', '2'), ('gpt', '4', 'score'))
        >>> words_of("Réponse"), words_of("质问")
        (('reponse',), ('质问',))
    """
    name = "".join(letter for letter in unicodedata.normalize("NFKD", name) if not unicodedata.combining(letter))
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+", name)
    return tuple(part.lower() for part in parts)


def strength(name: str, role: str) -> int:
    """How surely a column's name says a role: 2, 1 where weakly, 0 not at all.

    Example:
        >>> strength("inputs.question", "query"), strength("human_label", "label"), strength("channel", "label")
        (2, 2, 0)
    """
    words, known = words_of(name), _BY_ROLE[role]
    whole = known.get("_".join(words), 0)
    if whole or not words:
        return whole
    tails = ["_".join(words[start:]) for start in range(1, len(words))]
    heads = (
        ["_".join(words[:end]) for end in range(len(words) - 1, 0, -1)]
        if role in ("label", "response", "reference")
        else []
    )
    return next((known[part] for part in (*tails, *heads) if part in known), 0)


def is_exactly(name: str, role: str) -> bool:
    """Whether the whole name is a known word of the role."""
    return "_".join(words_of(name)) in _BY_ROLE[role]


def is_machine(name: str) -> bool:
    """Whether a column's name says that a model labelled."""
    return bool(MACHINES & {*words_of(name), "".join(words_of(name))})


def is_bookkeeping(name: str) -> bool:
    """Whether a column is a time, a state or a number of the tool's."""
    words = words_of(name)
    return "_".join(words) in BOOKKEEPING or bool({"date", "time", "timestamp", "created", "updated"} & set(words))


def side_pair(first: str, second: str) -> tuple[str, str] | None:
    """The words by which two names differ, where these are the two sides of a pair.

    Example:
        >>> side_pair("answer_A", "answer_B"), side_pair("output1", "output2"), side_pair("query", "label")
        (('a', 'b'), ('1', '2'), None)
    """
    ours, theirs = words_of(first), words_of(second)
    if len(ours) != len(theirs):
        return None
    different = [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]
    return different[0] if len(different) == 1 and different[0] in SIDES else None
