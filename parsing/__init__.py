"""Every file that dicast reads is decoded and parsed here: errors name file, line, field and value, in one line."""

from .encoding import find_encoding
from .json_array import json_elements
from .json_text import JsonError, json_kind, json_lines, load_json, parse_json, parse_object, read_object
from .record import explain, parse_record, parse_record_json, shown
from .text import decode, kind_of_special, not_utf8, read_bytes, read_text
from .toml_text import read_toml
from .yaml_text import parse_yaml, read_yaml

__all__ = [
    "JsonError",
    "decode",
    "explain",
    "find_encoding",
    "json_elements",
    "json_kind",
    "json_lines",
    "kind_of_special",
    "load_json",
    "not_utf8",
    "parse_json",
    "parse_object",
    "parse_record",
    "parse_record_json",
    "parse_yaml",
    "read_bytes",
    "read_object",
    "read_text",
    "read_toml",
    "read_yaml",
    "shown",
]
