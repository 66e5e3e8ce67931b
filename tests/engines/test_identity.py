"""What counts as the same model: another address, or other weights behind the same name, is another one."""

import os

import pytest

from dicast.engines.models import resolved_identity
from dicast.errors import ModelError


def test_another_file_behind_the_same_path_is_another_model(tmp_path):
    path = tmp_path / "x.gguf"
    identities = set()
    for content in (b"GGUF one", b"GGUF two", b"GGUF two, longer"):
        path.write_bytes(content)
        os.utime(path, ns=(1, 1))  # the time stamp is kept
        identities.add(resolved_identity(f"local/{path}"))
    assert len(identities) == 3
    path.write_bytes(b"GGUF one")
    os.utime(path, ns=(2, 2))
    assert resolved_identity(f"local/{path}") in identities  # the content counts, not the time


def test_another_address_behind_the_same_name_is_another_model(monkeypatch):
    for variable, model in (("OPENAI_API_BASE", "openai/m"), ("LM_STUDIO_API_BASE", "lm_studio/m")):
        monkeypatch.delenv(variable, raising=False)
        monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
        here = resolved_identity(model)
        monkeypatch.setenv(variable, "http://127.0.0.1:1234/v1/")
        assert here == model
        assert resolved_identity(model) == f"{model}@http://127.0.0.1:1234/v1"


def test_an_address_that_holds_a_key_is_refused_without_repeating_it(monkeypatch):
    monkeypatch.setenv("LM_STUDIO_API_BASE", "http://me:secret@127.0.0.1:1234/v1?key=secret")
    with pytest.raises(ModelError, match="Put the key in LM_STUDIO_API_KEY") as error:
        resolved_identity("lm_studio/m")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("path", ["~nobody-here/x.gguf", "x" * 5000 + ".gguf", "folder.gguf", "absent.gguf"])
def test_a_path_that_is_no_file_is_named_in_one_line(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.gguf").mkdir()
    with pytest.raises(ModelError, match="there is no such file. Give the path of a .gguf file"):
        resolved_identity(f"local/{path}")
