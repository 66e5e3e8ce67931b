"""`.env` of a working folder, which may be somebody else's: it gives keys, and sends nothing elsewhere."""

import json
import os
import subprocess
import sys

import pytest

from dicast.cli import run
from dicast.cli.dotenv_file import load_environment
from dicast.redaction import redact
from dicast.testing import MockServer


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", os.environ.copy())  # what `.env` sets goes with the test
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    return tmp_path


def test_keys_and_harmless_settings_are_taken_and_everything_else_is_named(folder, capsys):
    names = ["OPENAI_API_BASE", "HTTPS_PROXY", "PYTHONPATH", "DICAST_HOME2", "LITELLM_MODE2", "SSL_CERT_FILE2", "X"]
    lines = [f"{name}=http://evil" for name in names]
    (folder / ".env").write_text("\n".join(["MISTRAL_API_KEY=mk-0123456789", "DICAST_LOCAL_THREADS=3", *lines]))
    for name in (*names, "DICAST_LOCAL_THREADS"):
        os.environ.pop(name, None)
    load_environment()
    assert os.environ["MISTRAL_API_KEY"] == "mk-0123456789"
    assert os.environ["DICAST_LOCAL_THREADS"] == "3"
    assert not set(names) & set(os.environ)
    shown = ", ".join(names[:5])
    assert capsys.readouterr().err == f"`.env`: {shown} and 2 more are ignored: set them in the environment yourself.\n"
    assert redact("it says mk-0123456789") == "it says [key removed]"


def test_the_environment_comes_first_and_nothing_is_interpolated(folder, capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:1/v1")
    (folder / ".env").write_text("OPENAI_API_KEY=other\nOPENAI_API_BASE=http://evil\nX_API_KEY='${OPENAI_API_KEY}'\n")
    load_environment()
    assert os.environ["OPENAI_API_KEY"] == "sk-of-the-environment"
    assert os.environ["X_API_KEY"] == "${OPENAI_API_KEY}"
    assert capsys.readouterr().err == ""  # the address is set already; that of the file plays no part


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("KEY_API_KEY=naïve".encode("latin-1"), "dicast: `.env`: byte 14 (0xef, 'ï' in Latin-1) is not UTF-8."),
        ("A_API_KEY=x".encode("utf-16"), "dicast: `.env`: is UTF-16, not UTF-8."),
        (b"A_API_KEY=x\n" * 10_000, "dicast: `.env`: has more than 64 KiB."),
        (b"A_API_KEY='a\0b'\n", "`.env`: A_API_KEY is ignored:"),
        (b"\xef\xbb\xbfB_API_KEY=x\r\n", ""),
        (b"", ""),
    ],
    ids=["latin-1", "utf-16", "huge", "NUL", "byte order mark", "empty"],
)
def test_an_odd_file_is_one_line_and_the_command_goes_on(folder, capsys, content, line):
    (folder / ".env").write_bytes(content)
    row = {"query": "q", "response_a": "longer", "response_b": "x", "label": "a"}
    (folder / "pairs.jsonl").write_text(json.dumps(row) + "\n")
    assert run(["judge", "--judge", "longer", "--cases", "pairs.jsonl", "--out", "out"]) == 0
    error = capsys.readouterr().err
    assert error.startswith(line)
    assert len(error.splitlines()) == bool(line)


@pytest.mark.parametrize("kind", ["folder", "pipe", "unreadable", "dangling link"])
def test_what_is_no_readable_file_is_left_out(folder, capsys, kind):
    path = folder / ".env"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "dangling link":
        path.symlink_to("missing")
    else:
        path.write_text("X_API_KEY=1\n")
        path.chmod(0)
        if os.access(path, os.R_OK):
            pytest.skip("the superuser reads everything")
    load_environment()
    assert ("cannot be read" in capsys.readouterr().err) == (kind == "unreadable")


def dicast(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dicast", *arguments],
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def test_an_address_in_a_foreign_folder_gets_no_key_and_no_text(folder):
    """The key of the environment went to the address of `.env`, of all requests."""
    row = {"query": "q", "response_a": "x", "response_b": "y", "label": "a"}
    (folder / "pairs.jsonl").write_text(json.dumps(row) + "\n")
    with MockServer() as evil, MockServer() as real:
        (folder / ".env").write_text(f"OPENAI_API_BASE={evil.url}\nOPENAI_BASE_URL={evil.url}\n")
        done = dicast(
            "judge", "--cases", "pairs.jsonl", "--lm", f"openai/m@{real.url}", OPENAI_API_KEY="sk-REAL-DUMMY-123"
        )
        assert done.returncode == 0, done.stderr
        assert "`.env`: OPENAI_API_BASE, OPENAI_BASE_URL are ignored" in done.stderr
        assert evil.request_counts.total() == 0
        assert set(real.authorizations) == {"Bearer sk-REAL-DUMMY-123"}


def test_code_in_a_foreign_folder_is_not_run(folder):
    (folder / ".env").write_text("PYTHONPATH=./lib\nPYTHONSTARTUP=./lib/sitecustomize.py\n")
    (folder / "lib").mkdir()
    (folder / "lib" / "sitecustomize.py").write_text("open('OWNED', 'w').close()\n")
    code = (
        "import subprocess, sys\nfrom dicast.cli.dotenv_file import load_environment\nload_environment()\n"
        "subprocess.run([sys.executable, '-c', ''], check=True)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True)
    assert not (folder / "OWNED").exists()


@pytest.mark.slow
def test_libraries_below_do_not_load_the_file_either(folder):
    """LiteLLM does in its default mode, where it is installed below the folder of the file."""
    (folder / ".env").write_text("STOLEN_BASE_URL=http://evil\n")
    code = (
        "import os\n"
        "import dicast.engines.models\n"
        "import dotenv.main\n"
        f"dotenv.main.find_dotenv = lambda *a, **k: {str(folder / '.env')!r}\n"
        "import litellm\n"
        "print(os.environ.get('STOLEN_BASE_URL'))\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "LITELLM_MODE"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "None\n"), done.stderr
    loaded = subprocess.run(
        [sys.executable, "-c", code.replace("import dicast.engines.models\n", "")],
        env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert loaded.stdout == "http://evil\n"  # else this test shows nothing
