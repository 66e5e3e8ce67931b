"""How the process ends: with its code and its output, and without destructors where llama.cpp runs in it."""

import subprocess
import sys

import pytest

CODE = """
import atexit, sys
atexit.register(lambda: print("a plain exit", file=sys.stderr))
from dicast import cli
{server}
cli.main(["list", "--nonsense"] if {fails} else ["--version"])
"""
SERVER = "from dicast.engines.providers import local; local._servers['weights', False] = object()"


@pytest.mark.parametrize(("server", "is_plain"), [("", True), (SERVER, False)])
@pytest.mark.parametrize(("fails", "code"), [(False, 0), (True, 3)])
def test_a_process_with_llama_cpp_ends_at_once_with_its_output_and_code(server, is_plain, fails, code):
    script = CODE.format(server=server, fails=fails)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == code
    assert ("a plain exit" in ended.stderr) is is_plain
    if not fails:
        assert ended.stdout.startswith("dicast, version ")
    else:
        assert "--nonsense" in ended.stderr
