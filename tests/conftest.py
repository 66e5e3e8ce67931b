"""What tests share: a scripted LM, an isolated store, and the public sets and models when they are there."""

import os
import sys
from pathlib import Path

import pytest

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
# DSPy builds its cache once a process; a fresh folder keeps answers of earlier runs out of the tests.
os.environ.setdefault("DSPY_CACHEDIR", str(Path(os.environ.get("TMPDIR", "/tmp")) / f"dicast-tests-{os.getpid()}"))
sys.path.insert(0, str(Path(__file__).parent / "support"))


@pytest.fixture
def public_sets() -> Path:
    """The folder of public sets; a user's clone has none."""
    folder = os.environ.get("DICAST_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("set DICAST_DATA to the folder of public sets")
    return Path(folder)


@pytest.fixture(scope="session")
def small_model() -> str:
    """SmolLM2-135M, fetched once (98 MB); judges at chance, runs the plumbing."""
    from dicast.engines.weights import get_weights
    from dicast.errors import ModelError

    try:
        get_weights("smollm2-135m")
    except ModelError as error:
        pytest.skip(f"the small model cannot be had: {error}")
    return "local/smollm2-135m"
