"""A chat template with marks around what the assistant says, for trainers that mask by them (trl, axolotl).

Our own training needs none: `learnt_tokens.py` knows where an answer begins. trl ships marked templates of some thirty
families; for those written as ChatML, such as SmolLM2's, one is made here. What is returned renders the same texts as
the tokenizer's own template.
"""

import contextlib
from typing import Any

from ..errors import DeclarationError

CHATML = (
    "{{% for message in messages %}}"
    "{{% if loop.first and message['role'] != 'system' %}}{{{{ {default!r} }}}}{{% endif %}}"
    "{{{{ '<|im_start|>' + message['role'] + '\\n' }}}}"
    "{{% if message['role'] == 'assistant' %}}"
    "{{% generation %}}{{{{ message['content'] + '<|im_end|>' }}}}{{% endgeneration %}}"
    "{{% else %}}{{{{ message['content'] + '<|im_end|>' }}}}{{% endif %}}{{{{ '\\n' }}}}"
    "{{% endfor %}}{{% if add_generation_prompt %}}{{{{ '<|im_start|>assistant\\n' }}}}{{% endif %}}"
)
SYSTEM, USER, ANSWER = ({"role": role, "content": f"What the {role} says."} for role in ("system", "user", "assistant"))
PROBES = ([USER], [SYSTEM, USER], [USER, ANSWER], [SYSTEM, USER, ANSWER], [SYSTEM, USER, ANSWER, USER, ANSWER])


def marked_template(tokenizer: Any) -> str:
    """The template with `{% generation %}` marks that renders as the tokenizer's own one.

    Raises:
        DeclarationError: neither trl nor dicast has one.
    """
    from trl.chat_template_utils import get_training_chat_template, has_generation_markers

    if has_generation_markers(tokenizer.chat_template):
        return str(tokenizer.chat_template)
    default = _rendered(tokenizer, [USER], None).partition("<|im_start|>user")[0]
    candidates = [CHATML.format(default=default)]
    with contextlib.suppress(ValueError):  # where trl has none
        candidates.insert(0, get_training_chat_template(tokenizer))
    for candidate in candidates:
        if candidate and all(_rendered(tokenizer, p, None) == _rendered(tokenizer, p, candidate) for p in PROBES):
            return candidate
    raise DeclarationError(
        "chat template: neither trl nor dicast has it with marks of what the assistant says. Write {% generation %} "
        "and {% endgeneration %} around it, and name the file as the recipe's template."
    )


def _rendered(tokenizer: Any, messages: list[dict[str, str]], template: str | None) -> str:
    """The text of a conversation, and of its prompt where the user speaks last."""
    is_open = messages[-1]["role"] == "user"
    options = {"tokenize": False, "add_generation_prompt": is_open, "chat_template": template}
    return str(tokenizer.apply_chat_template(messages, **options))
