"""Models beside a judge file: written relative to it, so that a folder that is moved as a whole still judges.

A judge file names a model in this process whose weights lie in the file's own folder as `transformers/./PLACE`. When it
is read, the place is looked for beside the file, wherever that is now, and the weights must have the digest that the
file holds. Models that lie elsewhere keep their whole path.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from ..engines.model_string import IN_PROCESS
from ..engines.models import resolved_identity
from ..engines.quick_digest import quick_digest
from ..engines.torch_models.weights import own_digest
from ..errors import DeclarationError, ModelError
from .judge_record import JudgeRecord

BESIDE = "./"  # begins a place relative to the judge file


def relative_models(record: JudgeRecord, folder: Path) -> JudgeRecord:
    """The record with models in the folder named relative to it.

    Args:
        folder: of the judge file.
    """
    return _renamed(record, lambda model: place_beside(model, folder))


def place_beside(model: str, folder: Path) -> str:
    """The model string `provider/./PLACE` of weights in the folder; any other one as it is."""
    provider, _, name = model.partition("/")
    if provider not in IN_PROCESS or not (path := Path(name)).is_absolute() or not path.exists():
        return model
    root, place = folder.resolve(), path.resolve()
    return f"{provider}/{BESIDE}{place.relative_to(root).as_posix()}" if place.is_relative_to(root) else model


def digest_beside(model: str, folder: Path) -> str:
    """The digest of the weights that `place_beside` names; empty for any other model.

    Raises:
        DeclarationError: they cannot be read.
    """
    _, _, name = model.partition("/")
    return digest_of_weights(folder / name) if is_beside(model) else ""


def whole_place(model: str, folder: Path, digest: str, who: str, advice: str) -> str:
    """The model string with the whole path of what `place_beside` named; any other one as it is.

    Args:
        folder: where the folder is now.
        digest: of the weights when they were named; empty if it is not known.
        who, advice: begin and end the message of the error.

    Raises:
        DeclarationError: other weights are there.
    """
    if not is_beside(model):
        return model
    provider, _, name = model.partition("/")
    path = folder.resolve() / name
    if digest and path.exists() and digest_of_weights(path) != digest:
        raise DeclarationError(
            f"{who}: the weights in {name} are not those that it was written with. Bring them back, or {advice}"
        )
    return f"{provider}/{path.resolve()}"


def is_beside(model: str) -> bool:
    """Whether a model string is one of `place_beside`."""
    provider, _, name = model.partition("/")
    return provider in IN_PROCESS and name.startswith(BESIDE)


def by_weights(model: str) -> str:
    """The model string of weights on this machine by their name and digest; any other one as it is.

    It stays the same wherever the file or folder is moved.
    """
    provider, _, name = model.partition("/")
    is_path = provider in IN_PROCESS and Path(name).is_absolute() and Path(name).exists()
    return resolved_identity(model) if is_path else model


def models_by_weights(record: JudgeRecord) -> JudgeRecord:
    """The record with each model named `by_weights`."""
    return _renamed(record, by_weights)


def whole_models(record: JudgeRecord, folder: Path, digests: Mapping[str, str], who: str) -> JudgeRecord:
    """The record of a judge file with the whole paths of the models beside it.

    A place that is not there stays as it is: another model may be bound in its place.

    Args:
        digests: of the weights, by the model string in the file.
        who: begins the messages of errors.

    Raises:
        DeclarationError: other weights than the file was saved with.
    """
    advice = "save the judge again."

    def whole(model: str) -> str:
        is_there = is_beside(model) and (folder / model.partition("/")[2]).exists()
        return whole_place(model, folder, digests.get(model, ""), who, advice) if is_there else model

    return _renamed(record, whole)


def digests_beside(record: JudgeRecord, folder: Path) -> dict[str, str]:
    """The digests of the weights of models that a record names relative to the folder."""
    names = dict.fromkeys(name for name in _models(record) if is_beside(name))
    return {name: digest_beside(name, folder) for name in names}


def digest_of_weights(path: Path) -> str:
    """SHA-256 in hex of a file's name, size and ends, of a folder's files that answers depend on, or of adapters.

    Raises:
        DeclarationError: they cannot be read.
    """
    try:
        return quick_digest(path) if path.is_file() else own_digest(path)
    except (OSError, ModelError) as error:
        raise DeclarationError(f"{path}: its weights cannot be read ({error}).") from None


def _models(record: JudgeRecord) -> list[str]:
    return [*record.lm.values(), *(name for member in record.members for name in _models(member))]


def _renamed(record: JudgeRecord, rename: Callable[[str], str]) -> JudgeRecord:
    changes = {
        "lm": {role: rename(model) for role, model in record.lm.items()},
        "members": tuple(_renamed(member, rename) for member in record.members),
    }
    return record.model_copy(update=changes)
