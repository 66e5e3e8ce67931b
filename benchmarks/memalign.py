"""MLflow's MemAlign on the dealing that `quality.py --write-split FOLDER` wrote, for its `--external`.

    python -m venv mlflow-env && mlflow-env/bin/pip install mlflow dspy
    OPENAI_API_BASE=http://127.0.0.1:8080/v1 OPENAI_API_KEY=none mlflow-env/bin/python benchmarks/memalign.py \
      FOLDER --model local --labels 40 --out memalign.jsonl

MemAlign distils guidelines from labelled pairs and shows the nearest ones in the prompt. The server must answer chats
and embeddings by the OpenAI protocol (llama.cpp's `llama-server --embedding` does both). Judged pairs are shown in one
order, as MLflow's judges do; the file continues where it stopped. This script does not import dicast.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any, Literal

INSTRUCTIONS = (
    "Which response answers the request better? The request is in {{ inputs }}, the responses a and b are in "
    "{{ outputs }}. Answer a, b, or tie if both are equally good."
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="holds learn.jsonl and judge.jsonl")
    parser.add_argument("--model", default="local", help="name of the model at the server")
    parser.add_argument("--labels", type=int, default=40, help="labelled pairs to align with")
    parser.add_argument("--limit", type=int, help="judge only so many pairs")
    parser.add_argument("--width", type=int, default=1536, help="numbers of an embedding")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    done = _read(arguments.out) if arguments.out.exists() else []
    judge = _aligned(_read(arguments.folder / "learn.jsonl")[: arguments.labels], arguments)
    seen = {line["id"] for line in done}
    with arguments.out.open("a", encoding="utf-8") as file:
        for case in _read(arguments.folder / "judge.jsonl")[: arguments.limit]:
            if case["id"] in seen:
                continue
            try:
                winner = str(judge(inputs=_inputs(case), outputs=_outputs(case)).value)
            except Exception as error:  # whatever MLflow raises of one pair, the others are judged
                print(f"{case['id']}: {type(error).__name__}: {error}")
                winner = "tie"  # no answer says that neither is better
            line = {"id": case["id"], "winner": winner if winner in ("a", "b") else "tie"}
            file.write(json.dumps(line) + "\n")
            file.flush()


def _aligned(cases: list[dict[str, Any]], arguments: argparse.Namespace) -> Any:
    """The judge, aligned with the labels of these cases."""
    import mlflow
    from mlflow.entities import AssessmentSource
    from mlflow.genai.judges import make_judge
    from mlflow.genai.judges.optimizers import MemAlignOptimizer

    mlflow.set_tracking_uri(f"sqlite:///{tempfile.mkdtemp()}/mlflow.db")
    mlflow.set_experiment("memalign")
    model = f"openai:/{arguments.model}"
    judge = make_judge(
        name="better", instructions=INSTRUCTIONS, model=model, feedback_value_type=Literal["a", "b", "tie"]
    )
    traces = []
    for case in cases:
        with mlflow.start_span("pair") as span:
            span.set_inputs(_inputs(case))
            span.set_outputs(_outputs(case))
        mlflow.log_feedback(
            trace_id=span.trace_id,
            name="better",
            value=str(case["label"]["value"]),
            source=AssessmentSource(source_type="HUMAN", source_id="people"),
        )
        traces.append(mlflow.get_trace(span.trace_id))
    optimizer = MemAlignOptimizer(
        reflection_lm=model, embedding_model=model, embedding_dim=arguments.width, retrieval_k=3
    )
    return judge.align(traces, optimizer)


def _inputs(case: dict[str, Any]) -> dict[str, str]:
    return {"request": case["query"]}


def _outputs(case: dict[str, Any]) -> dict[str, str]:
    return {"a": case["candidates"][0]["text"], "b": case["candidates"][1]["text"]}


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_ENABLE_ASYNC_TRACE_LOGGING", "false")  # a trace is read as soon as it is written
    main()
