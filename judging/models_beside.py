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
    root = folder.resolve()

    def relative(model: str) -> str:
        provider, _, name = model.partition("/")
        if provider not in IN_PROCESS or not (path := Path(name)).is_absolute() or not path.exists():
            return model
        place = path.resolve()
        return f"{provider}/{BESIDE}{place.relative_to(root).as_posix()}" if place.is_relative_to(root) else model

    return _renamed(record, relative)


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
    root = folder.resolve()

    def whole(model: str) -> str:
        provider, _, name = model.partition("/")
        path = root / name
        if provider not in IN_PROCESS or not name.startswith(BESIDE) or not path.exists():
            return model
        if (known := digests.get(model)) and digest_of_weights(path) != known:
            raise DeclarationError(
                f"{who}: the weights in {name} are not those that the judge was saved with. Bring them back, or save "
                "the judge again."
            )
        return f"{provider}/{path.resolve()}"

    return _renamed(record, whole)


def digests_beside(record: JudgeRecord, folder: Path) -> dict[str, str]:
    """The digests of the weights of models that a record names relative to the folder."""
    names = [name for name in _models(record) if name.partition("/")[2].startswith(BESIDE)]
    return {name: digest_of_weights(folder / name.partition("/")[2]) for name in dict.fromkeys(names)}


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
