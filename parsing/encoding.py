"""Which encoding a text file has that is not UTF-8: a proposal with a word that shows whether it is right."""

import codecs
import gzip
import re
import zlib
from pathlib import Path

from ..errors import DataError, DeclarationError, install_hint
from .text import BYTE_ORDER_MARKS

PART = 1 << 20
EASTERN = {"Polish", "Czech", "Slovak", "Hungarian", "Romanian", "Croatian", "Slovene", "Slovenian"}
INSIDE = re.compile("[a-z][¹³¿¾¼£¥ª][a-z]")  # what letters of cp1250 are in cp1252
LETTERS = frozenset("ěřůčťďňőűăşţđľŕęąłśźż")
ENCODINGS = ["cp1252", "cp1250", "cp1251", "cp1253", "shift_jis", "gb18030", "big5", "euc_kr"]


def find_encoding(path: Path) -> tuple[str, str]:
    """The encoding of a text file, "" for UTF-8, and the first word in it that only this encoding spells so.

    Western European text is cp1252 unless its language is among those of cp1250: most letters are equal in both.

    Raises:
        DataError: the file cannot be read, or is no text.
        DeclarationError: charset-normalizer is not installed.
    """
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            first = file.read(PART)
            mark = next((name for mark, name in BYTE_ORDER_MARKS.items() if first.startswith(mark)), "")
            if mark:
                return mark.lower(), ""
            decoder, part = codecs.getincrementaldecoder("utf-8-sig")(), first
            while part:
                if b"\0" in part:
                    raise DataError(f"{path}: holds a NUL byte, so it is no text. Save it as CSV in UTF-8.")
                decoder.decode(part)
                part = file.read(PART)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError as problem:
        return _other(path, problem.object if part else first)
    except (EOFError, zlib.error) as error:
        raise DataError(f"{path}: not a whole gzip file ({error}). Copy it again.") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}). Give another file.") from None
    return "", ""


def _other(path: Path, raw: bytes) -> tuple[str, str]:
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        needs = "finding its encoding needs charset-normalizer"
        raise DeclarationError(f"{path}: is not UTF-8; {needs}. {install_hint('data')}") from None
    lines = b"\n".join(line for line in raw.split(b"\n") if not line.isascii())[: 1 << 16]
    best = from_bytes(lines, cp_isolation=ENCODINGS).best()
    name = "cp1252" if best is None else best.encoding
    if name in ("cp1250", "cp1252"):
        is_eastern = best is not None and best.language in EASTERN
        letters = LETTERS & set(lines.decode("cp1250", "replace").lower()) if is_eastern else ()
        name = "cp1250" if len(letters) > 2 or INSIDE.search(lines.decode("cp1252", "replace")) else "cp1252"
    text = lines.decode(name, "replace")
    if "\ufffd" in text:
        raise DataError(f"{path}: is neither UTF-8 nor another encoding that was recognised. Save it as CSV in UTF-8.")
    return name, next((word for word in re.findall(r"\w+", text) if not word.isascii()), "")
