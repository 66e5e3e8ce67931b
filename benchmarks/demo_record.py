"""Make the record of the demo anew: every answer and state that its compilation asks of the local model.

    python benchmarks/demo_record.py --folder record   # about 40 minutes of one core; the same command continues

A change of a prompt, of the packaged pairs, or of what a compilation reads makes the record stale
(tests/cli/test_demo_record.py).
"""

import argparse
from pathlib import Path

from dicast.cli import demo
from dicast.engines.model_string import DEFAULT_MODEL
from dicast.workflows.recorded_evidence import answers_in, record_of, write_record


def main() -> None:
    """Ask the model, and write the record into the package."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("record"), help="answers so far, and the compilation")
    folder = parser.parse_args().folder
    with answers_in(folder / "answers"):
        run = demo.compilation_of(DEFAULT_MODEL, folder / "compiled")
    if run.compiled is None:
        raise SystemExit(run.message or run.status)
    write_record(folder / "answers", record_of(demo.SET))
    print(run.compiled.result.summary)


if __name__ == "__main__":
    main()
