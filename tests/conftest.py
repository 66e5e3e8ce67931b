"""What tests share: a scripted LM, an isolated store, and the public sets and models when they are there."""

import importlib
import itertools
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ.pop("COLUMNS", None)  # the width of what is piped, and so of what tests read
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
if "PYTEST_XDIST_WORKER" in os.environ:  # a worker a core: with several threads each, numpy is far slower
    for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(_variable, "1")
# A fresh folder keeps answers of earlier runs out of the tests; one for each worker those of the other workers, whose
# servers may have had the same port.
for _variable in ("DSPY_CACHEDIR", "DICAST_ANSWERS", "DICAST_HISTORY"):
    _folder = Path(os.environ.get("TMPDIR", "/tmp")) / f"dicast-tests-{os.getpid()}" / _variable.lower()
    if "dicast-tests-" in os.environ.get(_variable, "dicast-tests-"):
        os.environ[_variable] = str(_folder)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job ignores Ctrl-C, which tests send
    signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, str(Path(__file__).parent / "support"))


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Bytes are named by their parameter: a gzip file holds the time, and the workers must collect the same names."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails is asked again after a millisecond, not after a second."""
    monkeypatch.setattr("dicast.engines.retries.FIRST_PAUSE", 0.001)


@pytest.fixture(scope="session")
def new_history(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str]:
    """Names folders that nobody has used; pytest's own numbering would list all earlier ones for each."""
    base, number = tmp_path_factory.mktemp("histories"), itertools.count()
    return lambda: str(base / str(next(number)))


@pytest.fixture(scope="module", autouse=True)
def empty_history_of_module(new_history: Callable[[], str]) -> Iterator[None]:
    """What the tests of a module share starts on a new machine, whatever modules ran before in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DICAST_HISTORY", new_history())
        yield


@pytest.fixture(autouse=True)
def empty_history(new_history: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test starts on a machine on which nothing was tested or checked before."""
    monkeypatch.setenv("DICAST_HISTORY", new_history())


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


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Installs packages for one test, as pip lays them out: install(name, code or folder of modules, entry_points)."""
    from dicast.registry import reset_plugins

    site, installed = tmp_path / "site-packages", []

    def add(name: str, code: str | Path, entry_points: str) -> None:
        info = site / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        if isinstance(code, Path):
            shutil.copytree(code, site / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            (site / f"{name}.py").write_text(code)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entry_points)
        installed.append(name)
        importlib.invalidate_caches()
        reset_plugins()

    monkeypatch.syspath_prepend(site)
    yield add
    for module in list(sys.modules):
        if module.partition(".")[0] in installed:
            del sys.modules[module]
    monkeypatch.undo()
    reset_plugins()
