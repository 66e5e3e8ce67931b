"""The tests on docs/extending.md are tests that pass."""

import subprocess
import sys

from extending import blocks


def test_the_tests_of_the_page_pass(tmp_path):
    (code,) = blocks("Tests of your own", "python")
    (tmp_path / "test_my_judge.py").write_text(code)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_judge.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "3 passed" in done.stdout, done.stdout
