"""Files beside a training set with which other programs train on it: axolotl and LLaMA-Factory.

trl reads the rows as they are (a column `messages`). The others learn the words of the answer; soft targets are learnt
by `distillation.train` alone.
"""

import json

TRAIN, VALIDATION = "train.jsonl", "validation.jsonl"
LLAMA_FACTORY, AXOLOTL = "dataset_info.json", "axolotl.yaml"


def llama_factory() -> str:
    """`dataset_info.json`: the sets `dicast_train` and `dicast_validation`, as in LLaMA-Factory's data/README.md."""
    roles = {"user": "user", "assistant": "assistant", "system": "system"}
    tags = {"role_tag": "role", "content_tag": "content", **{f"{name}_tag": role for name, role in roles.items()}}
    files = {"dicast_train": TRAIN, "dicast_validation": VALIDATION}
    info = {
        name: {"file_name": file, "formatting": "sharegpt", "columns": {"messages": "messages"}, "tags": tags}
        for name, file in files.items()
    }
    return json.dumps(info, indent=2) + "\n"


def axolotl() -> str:
    """The part of an axolotl configuration that reads the set; paths are relative to the set's folder."""
    dataset = """  - path: {file}
    ds_type: json
    type: chat_template
    field_messages: messages
    message_property_mappings:
      role: role
      content: content
    roles_to_train: [assistant]
    train_on_eos: turn
"""
    train, validation = dataset.format(file=TRAIN), dataset.format(file=VALIDATION)
    return f"datasets:\n{train}test_datasets:\n{validation}train_on_inputs: false\n"
