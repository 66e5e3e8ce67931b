"""Every file is parsed by `dicast.parsing`: no other module decodes JSON, YAML or CSV."""

import ast
from pathlib import Path

from import_graph import ImportGraph

ROOT = Path(__file__).parents[2]
PARSERS = {
    ("json", "load"), ("json", "loads"), ("orjson", "loads"), ("yaml", "load"), ("yaml", "safe_load"),
    ("csv", "reader"), ("csv", "DictReader"),
}  # fmt: skip
# Module: what it parses instead of a file of a user's.
EXCEPTIONS = {
    "data/csv_rows.py": "CSV, the one place",
    "judging/judge_record.py": "what it has just written",
    "optimizers/structure/space.py": "keys that it has just written",
    "testing/faults.py": "a test server's own replies",
    "testing/mock_server.py": "requests to a test server",
    "engines/states/cut_gguf.py": "what it has just written",
    "engines/states/embedding_server.py": "replies of a server",
    "engines/states/llama_cpp.py": "replies of the server in this process",
    "engines/states/store.py": "options of states that it stored",
    "engines/last_lines.py": "only the ids of lines, which are parsed later",
    "engines/run_identity.py": "what it has just written",
    "engines/stored_reply.py": "replies that it stored, each with its checksum",
    "judging/delimiters.py": "whether a text is quoted",
}


def parses(path: Path) -> bool:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        owner = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
        if (owner, node.func.attr) in PARSERS or node.func.attr == "model_validate_json":
            return True
    return False


def test_files_are_parsed_in_one_place():
    modules = {str(path.relative_to(ROOT)): path for path in ImportGraph(ROOT).modules.values()}
    outside = {name for name, path in modules.items() if not name.startswith("parsing/") and parses(path)}
    assert outside == set(EXCEPTIONS)
