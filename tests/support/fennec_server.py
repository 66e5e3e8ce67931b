"""A server that answers every stage of Fennec and of the reverse program; a shoe is a poor answer everywhere."""

from typing import Any

from dicast.testing import MockServer

THINGS = (
    "breakfast in the mountains", "a ship on a long voyage", "three hungry children", "the market of Lisbon",
    "an old painting in oil", "winter in the far north", "a cake without any sugar", "soldiers in a desert camp",
)  # fmt: skip
LEVELS = {f"score_{level}": f"level {level}" for level in range(1, 6)} | {"comparison": "how much is right"}


def fields_of(body: dict[str, Any]) -> set[str]:
    """The fields that a request asks for."""
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    return set(schema.get("properties", {}))


def fennec_answer(body: dict[str, Any]) -> dict[str, Any] | None:
    """The answer to a stage, by the fields that it asks for; None for any other request."""
    fields, prompt = fields_of(body), body["messages"][-1]["content"]
    if fields == {"criteria"}:
        return {"criteria": ["relevance: it names a fruit"]}
    if fields == {"criterion"}:
        return {"criterion": "relevance: it names a fruit"}
    if "score_a" in fields:
        good = prompt.rindex("apple") < prompt.rindex("shoe")
        scores = {"score_a": 5 if good else 1, "score_b": 1 if good else 5}
        words = {
            "explanation_a": "It names a fruit." if good else "It names a shoe.",
            "explanation_b": "It names a shoe." if good else "It names a fruit.",
        }
        return {**scores, **words, "comparison": f"{'A' if good else 'B'} is better."}
    if "score_1" in fields:
        return LEVELS
    if fields == {"explanation", "score"}:
        return {"explanation": "It names a thing.", "score": 1 if "shoe" in prompt else 5}
    return {"corrected": "An apple."} if fields == {"corrected"} else None


def fennec_server(**options: Any) -> MockServer:
    """Not yet listening: use it by `with`."""
    return MockServer(answer=fennec_answer, **options)


def thing_of(number: int) -> str:
    """Words by which texts of different numbers are no near duplicates."""
    return f"{THINGS[number % len(THINGS)]} {'again ' * (number // len(THINGS))}".strip()


def fruit_pairs(count: int = 6, *, wrong: int = 1) -> list[dict[str, str]]:
    """Rows of pairs, an apple and a shoe in turns; of the last `wrong` ones people preferred the shoe."""
    rows = []
    for number in range(count):
        thing = thing_of(number)
        texts = [f"An apple would do for {thing}.", f"A shoe is what fits {thing}."]
        first = number % 2
        better = "ab"[first] if number < count - wrong else "ba"[first]
        rows.append(
            {
                "id": f"p{number}",
                "query": f"Name a fruit for {thing}, please.",
                "response_a": texts[first],
                "response_b": texts[1 - first],
                "label": better,
            }
        )
    return rows


def judgelm_rows(count: int = 4, *, wrong: int = 1) -> list[dict[str, Any]]:
    """Rows as JudgeLM-100K is published; the last `wrong` ones score the shoe higher."""
    rows = []
    for number in range(count):
        scores = [2.0, 9.0] if number < count - wrong else [9.0, 2.0]
        rows.append(
            {
                "question_id": number,
                "question_body": f"{thing_of(number)}: which fruit do you recommend to them?",
                "answer1_body": "A shoe.",
                "answer2_body": "An apple.",
                "score": scores,
                "text": f"{scores[0]:g} {scores[1]:g}\nAssistant 2 names a fruit.",
            }
        )
    return rows
