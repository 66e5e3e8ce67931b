"""Marks that chat templates, tokenizers and DSPy's adapters read as structure, by family and with their sources.

Shapes stand for families without an end (`<|...|>`, `<unused7>`), names for marks that have no special shape and are as
short as a tag of HTML. `FAMILIES` lists tokens in public use; a test breaks every one of them. A source is the file in
which the tokens were read or, where it says "tokenizer of", the published tokenizer that has them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

LLAMA_CPP = "ggml-org/llama.cpp, src/llama-chat.cpp and models/templates"
LLAMA_FACTORY = "hiyouga/LLaMA-Factory, src/llamafactory/data/template.py"
MISTRAL = "mistralai/mistral-common, src/mistral_common/tokens/tokenizers/base.py"


@dataclass(frozen=True)
class Family:
    """Special tokens of models that share a tokenizer or a chat template."""

    name: str
    tokens: tuple[str, ...]
    source: str


def _family(name: str, tokens: str, source: str) -> Family:
    return Family(name, tuple(tokens.split()), source)


FAMILIES = (
    _family("ChatML, Qwen", "<|im_start|> <|im_end|> <|im_sep|> <|endoftext|> <tool_call> </tool_call>", LLAMA_FACTORY),
    _family("Qwen vision", "<|vision_start|> <|vision_end|> <|image_pad|> <|video_pad|> <|box_start|>", LLAMA_FACTORY),
    _family("reasoning", "<think> </think> <tool_response> </tool_response>", LLAMA_FACTORY),
    _family("Llama 2", "<s> </s> <unk> <<SYS>> <</SYS>> [INST] [/INST]", LLAMA_CPP),
    _family(
        "Llama 3",
        "<|begin_of_text|> <|start_header_id|> <|end_header_id|> <|eot_id|> <|eom_id|> <|end_of_text|>",
        LLAMA_FACTORY,
    ),
    _family("Llama 4", "<|header_start|> <|header_end|> <|eot|> <|eom|>", LLAMA_FACTORY),
    _family(
        "Mistral",
        "[INST] [/INST] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_RESULTS] [/TOOL_RESULTS] [TOOL_CALLS] [IMG] <pad> "
        "[IMG_BREAK] [IMG_END] [PREFIX] [MIDDLE] [SUFFIX] [SYSTEM_PROMPT] [/SYSTEM_PROMPT] [TOOL_CONTENT] [ARGS] "
        "[CALL_ID] [AUDIO] [BEGIN_AUDIO] [TRANSCRIBE] [THINK] [/THINK] [STREAMING_PAD] [STREAMING_WORD] "
        "[NEXT_AUDIO_TEXT] [REPEAT_AUDIO_TEXT] [MODEL_SETTINGS] [/MODEL_SETTINGS]",
        MISTRAL,
    ),
    _family(
        "Gemma 2 and 3",
        "<bos> <eos> <mask> <start_of_turn> <end_of_turn> <start_of_image> <end_of_image> <unused0> <unused99> "
        "<begin_of_tool_response> <end_of_tool_response> [multimodal] [@BOS@] <2mass>",
        "google-deepmind/gemma, gemma/gm/text/_tokenizer.py",
    ),
    _family("Gemma 3n", "<image_soft_token> <audio_soft_token>", LLAMA_FACTORY),
    _family(
        "Gemma 4",
        "<|turn> <turn|> <|channel> <channel|> <|think|> <|tool> <tool|> <|image> <image|> <|audio> <audio|> <|image|>",
        "google-deepmind/gemma, gemma/gm/text/_tokenizer.py; " + LLAMA_FACTORY,
    ),
    _family("Phi", "<|user|> <|assistant|> <|system|> <|end|> <|tool|> <|/tool|>", LLAMA_FACTORY),
    _family(
        "gpt-oss",
        "<|start|> <|message|> <|channel|> <|constrain|> <|return|> <|call|> <|startoftext|> <|endofprompt|>",
        "openai/harmony, README.md and src",
    ),
    _family(
        "DeepSeek",
        "<｜begin▁of▁sentence｜> <｜end▁of▁sentence｜> <｜User｜> <｜Assistant｜> <｜tool▁calls▁begin｜> <|EOT|>",
        LLAMA_CPP,
    ),
    _family(
        "Command R",
        "<|START_OF_TURN_TOKEN|> <|END_OF_TURN_TOKEN|> <|USER_TOKEN|> <|CHATBOT_TOKEN|> <|SYSTEM_TOKEN|> <BOS_TOKEN>",
        LLAMA_CPP,
    ),
    _family("EXAONE", "[|system|] [|user|] [|assistant|] [|tool|] [|endofturn|] [BOS]", LLAMA_CPP),
    _family("BlueLM", "[|Human|] [|AI|]", LLAMA_FACTORY),
    _family(
        "Nemotron",
        "<SPECIAL_10> <SPECIAL_11> <SPECIAL_12> <extra_id_0> <extra_id_1> <TOOLCALL> </TOOLCALL> <TOOL_RESPONSE> "
        "<AVAILABLE_TOOLS>",
        LLAMA_CPP + "; NVIDIA-NeMo, nemo/collections/common/prompts",
    ),
    _family("Baichuan", "<reserved_102> <reserved_103> <reserved_106> <reserved_107>", LLAMA_FACTORY),
    _family("InternLM", "[UNUSED_TOKEN_145] [UNUSED_TOKEN_146]", "InternLM-XComposer, tokenizer of"),
    _family("Pangu", "[unused9] [unused10]", LLAMA_CPP),
    _family("GLM", "[gMASK] <sop> <eop> <|observation|> [sMASK]", LLAMA_CPP + "; [sMASK], <eop>: tokenizer of GLM-4"),
    _family(
        "Seed",
        "<seed:bos> <seed:eos> <seed:think> </seed:think> <seed:tool_call> <[begin▁of▁sentence]> <[end▁of▁sentence]>",
        LLAMA_FACTORY + "; <[...]>: tokenizer of Seed-Coder",
    ),
    _family("MiniMax 2", "]~!b[ ]~b] [e~[ <minimax:tool_call> </minimax:tool_call>", LLAMA_CPP),
    _family("MiniCPM", "<用户> <AI> <image_id> </image_id> <slice> </slice>", LLAMA_CPP + "; " + LLAMA_FACTORY),
    _family("Kimi", "<|im_user|> <|im_system|> <|im_assistant|> <|im_middle|> <|media_pad|>", LLAMA_FACTORY),
    _family(
        "Hunyuan", "<｜hy_User｜> <｜hy_Assistant｜> <｜hy_place▁holder▁no▁2｜> <|extra_0|> <|extra_4|>", LLAMA_FACTORY
    ),
    _family("Granite", "<|start_of_role|> <|end_of_role|>", LLAMA_FACTORY),
    _family("Megrez, Ling", "<|role_start|> <|role_end|> <|turn_end|>", LLAMA_CPP),
    _family("ERNIE", "<global_setting> </global_setting> <|begin_of_sentence|> <|end_of_sentence|>", LLAMA_FACTORY),
    _family("Yuan", "<eod> <sep>", LLAMA_FACTORY),
    _family("MiniMax 1", "<beginning_of_sentence> <end_of_sentence>", LLAMA_FACTORY),
    _family("TeleChat", "<_user> <_bot> <_system>", LLAMA_FACTORY),
    _family(
        "StarCoder, SmolLM",
        "<fim_prefix> <fim_middle> <fim_suffix> <file_sep> <repo_name> <reponame> <gh_stars> <issue_start> "
        "<issue_comment> <issue_closed> <jupyter_start> <jupyter_text> <jupyter_code> <jupyter_output> "
        "<jupyter_script> <empty_output>",
        "tokenizer of SmolLM2, in its GGUF file",
    ),
    _family(
        "Falcon",
        ">>TITLE<< >>ABSTRACT<< >>QUESTION<< >>ANSWER<< >>PREFIX<< >>UNUSED_1<<",
        "tokenizer of Falcon",
    ),
    _family("BERT", "[CLS] [SEP] [PAD] [UNK] [MASK] [EOS] [unused1]", "huggingface/transformers, tokenizer of BERT"),
    _family("LLaVA", "<image> <im_patch> <im_start> <im_end>", "haotian-liu/LLaVA, llava/constants.py"),
    _family("media", "<__media__>", "ggml-org/llama.cpp, tools/mtmd"),
    _family("DSPy", "<<CUSTOM-TYPE-START-IDENTIFIER>> <<CUSTOM-TYPE-END-IDENTIFIER>>", "stanfordnlp/dspy, adapters"),
)

TAGS = (  # between < or </ and >
    "s bos eos pad unk sep mask eod sop eop think tool_call tool_response function_call tool_calls toolcall "
    "available_tools image image_id slice im_start im_end im_patch image_soft_token audio_soft_token global_setting "
    "_user _bot _system 用户 2mass fim_prefix fim_middle fim_suffix fim_pad file_sep repo_name reponame gh_stars "
    "issue_start issue_comment issue_closed jupyter_start jupyter_text jupyter_code jupyter_output jupyter_script "
    "empty_output"
)
TAGS_AS_WRITTEN = "AI"
WORDS = "INST SYS SYSTEM_PROMPT AVAILABLE_TOOLS TOOL_CALLS TOOL_RESULTS gMASK sMASK @BOS@"  # between [ or [/ and ]
WORDS_AS_WRITTEN = (  # in lower case they are ordinary: usage: program [args] [prefix]
    "IMG IMG_BREAK IMG_END PREFIX MIDDLE SUFFIX TOOL_CONTENT ARGS CALL_ID AUDIO BEGIN_AUDIO TRANSCRIBE THINK "
    "STREAMING_PAD STREAMING_WORD NEXT_AUDIO_TEXT REPEAT_AUDIO_TEXT MODEL_SETTINGS CLS SEP PAD UNK MASK BOS EOS "
    "multimodal"
)


def _any_of(words: Iterable[str]) -> str:
    return "|".join(map(re.escape, words))


AFTER_ANGLE = (  # what follows <
    r"[|｜][^\s<>]{1,64}+>",  # <|im_start|>, <|turn>, <｜User｜>
    r"/?[^\s<>|｜]{1,64}+[|｜]>",  # <turn|>
    r"\[[^\s\[\]<>]{1,64}+\]>",  # <[begin▁of▁sentence]>
    r"__\w{1,32}__>",  # <__media__>
    r"/?(?:reserved|unused|special|extra|extra_id|placeholder|sentinel)_?\d{1,6}>",
    r"/?(?:begin|beginning|start|end)_of_\w{1,32}+>",
    r"/?[A-Z]+(?:_[A-Z]+)*_TOKEN>",
    r"/?(?:seed|minimax):\w{1,32}+>",
    r"<CUSTOM-TYPE",
    r"</?SYS>>",
    rf"/?(?:{_any_of(TAGS.split())}|(?-i:{_any_of(TAGS_AS_WRITTEN.split())}))>",
)
AFTER_BRACKET = (  # what follows [
    r"\|[^\s\[\]]{1,64}\|\]",  # [|user|]
    r"(?:reserved|unused|unused_token|control|extra)_?\d{1,6}\]",
    r"\[\s*##",  # [[ ## field ## ]]
    r"e~\[",
    rf"/?(?:{_any_of(WORDS.split())}|(?-i:{_any_of(WORDS_AS_WRITTEN.split())}))\]",
)
CONTROL = re.compile(  # each way begins with one character, so that ordinary text is passed over at once
    rf"<(?i:(?={'|'.join(AFTER_ANGLE)}))|\[(?i:(?={'|'.join(AFTER_BRACKET)}))"
    r"|\](?=~!?b[\[\]])"  # ]~b], ]~!b[
    r"|>(?=>[A-Z]{2,24}(?:_\d{1,4})?<<)"  # >>TITLE<<, and not cin >>x<< ...
)
SHORTEST_TOKEN = 3  # a vocabulary's shorter control tokens are characters of ordinary text


def without_marks(text: str) -> str:
    """The text with a space after the first character of every mark.

    Example:
        >>> without_marks("fine<|im_end|>")
        'fine< |im_end|>'
    """
    return CONTROL.sub(lambda mark: mark.group() + " ", text)


def without_tokens(text: str, tokens: frozenset[str]) -> str:
    """The text with a space after the first character of each of these tokens.

    Example:
        >>> without_tokens("rm <filename>", frozenset({"<filename>"}))
        'rm < filename>'
    """
    pattern = _starts_of(tokens) if tokens else None
    return pattern.sub(lambda start: start.group() + " ", text) if pattern else text


@lru_cache(maxsize=32)  # a set for each model in use
def _starts_of(tokens: frozenset[str]) -> re.Pattern[str] | None:
    """Where one of the tokens begins."""
    known = sorted(token for token in tokens if len(token) >= SHORTEST_TOKEN and not token.isspace())
    return re.compile(rf"(?=(?:{_any_of(known)})).", re.DOTALL) if known else None
