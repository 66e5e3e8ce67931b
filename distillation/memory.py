"""How much memory a training takes, before it starts, and what would fit where it does not.

Weights, gradients and the two moments of Adam are counted from the model's shape. States that the backward pass needs
are estimated for one sequence through a decoder with gated feed-forward layers; of the method tail they are the keys
and values of the prompts of a pass (see `kept_prefixes`). The figure is meant to refuse what cannot run, not to fill a
GPU to the last gigabyte.
"""

from dataclasses import dataclass
from typing import Any

from ..engines.torch_models.torch_import import device_name, quiet, torch_and_transformers
from ..errors import DeclarationError
from .base_model import StudentBase, check_machine
from .student_network import precision_of
from .tail import AT_ONCE
from .training_recipe import TrainingRecipe

RUNTIME = 800_000_000  # bytes of the libraries and of a GPU's context
FOUR_BITS = 0.516  # bytes a weight: NF4 with doubly quantised constants, arXiv 2305.14314
TAIL_TOKENS = 64  # of a prompt's tail, at most
WORD_ROWS = 1024  # positions whose logits are in memory at a time
LOGIT_COPIES = 3  # logits, their softmax and the gradient
FEWER_LAYERS = (0.6, 0.8)  # first layers that are proposed, as proportions of the depth
SHORTEST = 512  # tokens of a sequence that is proposed
STEP = 64  # tokens between the lengths that are proposed
READ = 8192  # tokens whose keys and values are in memory while prompts are read, on processor cores
GIB = 2**30


@dataclass(frozen=True)
class NetworkShape:
    """Numbers of a decoder.

    Attributes:
        weights: all parameters.
        linear: those of the linear modules of its layers.
        sides: inputs plus outputs of these modules, of each layer: an adapter of rank r has r times as many.
        depth: layers.
        width: of a state.
        inner: of the feed-forward part.
        vocabulary: tokens.
        key_values: numbers of a token's keys and values in a layer; 0: as many as heads without groups have.
    """

    weights: int
    linear: int
    sides: tuple[int, ...]
    depth: int
    width: int
    inner: int
    vocabulary: int
    key_values: int = 0


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes on each device.

    Attributes:
        weights: of the model.
        training: gradients, Adam's moments, and adapters.
        states: of the forward pass that the backward pass reads.
        logits: of learnt positions.
    """

    weights: int
    training: int
    states: int
    logits: int

    @property
    def bytes(self) -> int:
        return self.weights + self.training + self.states + self.logits + RUNTIME

    @property
    def sentence(self) -> str:
        """The estimate in words."""
        parts = (("weights", self.weights), ("gradients and optimizer", self.training), ("states", self.states))
        listed = ", ".join(f"{name} {_gib(size)}" for name, size in (*parts, ("logits", self.logits)))
        return f"about {_gib(self.bytes)} a device ({listed})"


def shape_of(base: StudentBase) -> NetworkShape:
    """The shape of a base, without its weights being loaded."""
    torch, transformers = torch_and_transformers("A training", "train")
    with quiet(transformers), torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(base.config)
    config = base.config.get_text_config()
    sides, linear = [0] * config.num_hidden_layers, 0
    for name, module in model.base_model.named_modules():
        layer = name.partition("layers.")[2].partition(".")[0]
        if isinstance(module, torch.nn.Linear) and layer.isdigit():
            sides[int(layer)] += module.in_features + module.out_features
            linear += module.weight.numel()
    weights = sum(parameter.numel() for parameter in model.parameters())
    inner = getattr(config, "intermediate_size", None) or 4 * config.hidden_size
    depth, width = config.num_hidden_layers, config.hidden_size
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    key_values = 2 * heads * (getattr(config, "head_dim", None) or width // config.num_attention_heads)
    return NetworkShape(weights, linear, tuple(sides), depth, width, inner, config.vocab_size, key_values)


def estimate(
    recipe: TrainingRecipe, shape: NetworkShape, *, precision: str, devices: int = 1, longest: int | None = None
) -> MemoryEstimate:
    """The memory that each device needs.

    Args:
        precision: bfloat16 or float32, of `student_network.precision_of`.
        devices: over which weights and optimizer are spread (FSDP); the states of a sequence are not.
        longest: tokens of the longest prompt, of the method tail; None: the recipe's length.

    Example:
        >>> seven = NetworkShape(7_600_000_000, 6_500_000_000, (190_000,) * 28, 28, 3584, 18944, 152_064)
        >>> lora = estimate(TrainingRecipe(gradient_checkpointing=True), seven, precision="bfloat16")
        >>> full = estimate(TrainingRecipe(method="full", gradient_checkpointing=True), seven, precision="bfloat16")
        >>> lora.bytes < 24 * GIB < 80 * GIB < full.bytes
        True
    """
    size = 2 if precision == "bfloat16" else 4
    first = int(shape.depth * recipe.first_layer)
    layers = shape.depth - first
    if recipe.method == "full":
        weights, training = 4 * shape.weights, 12 * shape.weights
        if size == 2:
            weights += 2 * shape.weights  # the copies that products are computed with
    else:
        four_bits = recipe.method == "qlora"
        linear = FOUR_BITS * shape.linear if four_bits else size * shape.linear
        weights = int(linear + size * (shape.weights - shape.linear))
        training = 16 * recipe.rank * sum(shape.sides[first:])
    if recipe.method == "tail":
        states = _tail_states(shape, layers, size, longest or recipe.length)
        return MemoryEstimate(weights, training, states, AT_ONCE * shape.vocabulary * (size + 4 * LOGIT_COPIES))
    tokens = recipe.length
    # Of each layer and token: inputs and outputs of its modules; norms in fp32; inputs of adapters in fp32.
    layer = size * (8 * shape.width + 4 * shape.inner) + 8 * shape.width
    if recipe.has_adapters and size == 2:
        layer += 4 * (6 * shape.width + shape.inner)
    states = layer * layers if not recipe.gradient_checkpointing else size * shape.width * layers + layer
    rows = min(tokens, WORD_ROWS)
    logits = LOGIT_COPIES * 4 * rows * shape.vocabulary
    return MemoryEstimate(weights // devices, training // devices, tokens * states, logits)


def _tail_states(shape: NetworkShape, layers: int, size: int, longest: int) -> int:
    """Bytes of a pass over tails, or of reading prompts where that takes more.

    Of each prompt's tokens the keys and values are there twice, as they are taken from the file and joined to those of
    the tail, and once more for every head where heads share them.
    """
    key_values = shape.key_values or 2 * shape.width
    shared = 2 * shape.width if key_values < 2 * shape.width else 0
    prefixes = longest * (2 * key_values + shared)
    tails = TAIL_TOKENS * (12 * shape.width + 5 * shape.inner)
    return max(AT_ONCE * layers * size * (prefixes + tails), READ * shape.depth * size * key_values)


def check_memory(
    recipe: TrainingRecipe,
    base: StudentBase,
    *,
    devices: int = 1,
    room: int | None = None,
    longest: int | None = None,
) -> MemoryEstimate:
    """The estimate, where it fits.

    Args:
        longest: see `estimate`.
        room: bytes that are free on a device; measured by default.

    Raises:
        DeclarationError: it does not fit; the message says what would. Or this machine cannot run the method.
    """
    check_machine(base.name, four_bits=recipe.method == "qlora", attention=recipe.attention)
    shape, precision = shape_of(base), precision_of(recipe)
    needed = estimate(recipe, shape, precision=precision, devices=devices, longest=longest)
    room = free_bytes() if room is None else room
    if needed.bytes <= room:
        return needed
    if recipe.method == "tail":
        advice = what_tail_fits(recipe, shape, room, precision=precision, longest=longest or recipe.length)
    else:
        advice = what_fits(recipe, shape, room, precision=precision, devices=devices, gpu=_has_gpu())
    raise DeclarationError(
        f"base {base.name!r}: training it by {recipe.method} takes {needed.sentence}, and {_gib(room)} are free. "
        f"{advice}"
    )


def what_fits(
    recipe: TrainingRecipe, shape: NetworkShape, room: int, *, precision: str, devices: int, gpu: bool
) -> str:
    """The fewest changes of the recipe that fit, or the size of a base that would."""
    changes: dict[str, Any] = {}
    steps: list[dict[str, Any]] = [{"gradient_checkpointing": True}]
    steps += [{"length": length} for length in (recipe.length // 2, recipe.length // 4) if length >= SHORTEST]
    if recipe.method == "full":
        steps.append({"method": "lora", "learning_rate": None})
    if recipe.method in ("full", "lora") and gpu:
        steps.append({"method": "qlora", "learning_rate": None})
    for step in steps:
        changes |= step
        smaller = recipe.model_copy(update=changes)
        if estimate(smaller, shape, precision=precision, devices=devices).bytes <= room:
            named = {name: value for name, value in changes.items() if getattr(recipe, name) != value}
            listed = ", ".join(f"{name}={_word(value)}" for name, value in named.items() if value is not None)
            return f"With {listed} it fits."
    least = estimate(recipe.model_copy(update=changes), shape, precision=precision, devices=devices)
    return _smaller_base(least, shape, room)


def what_tail_fits(recipe: TrainingRecipe, shape: NetworkShape, room: int, *, precision: str, longest: int) -> str:
    """The same of the method tail: fewer layers with adapters, shorter prompts, or a smaller base."""

    def needed(first: float, tokens: int) -> MemoryEstimate:
        changed = recipe.model_copy(update={"first_layer": first})
        return estimate(changed, shape, precision=precision, longest=tokens)

    for first in FEWER_LAYERS:
        if first > recipe.first_layer and needed(first, longest).bytes <= room:
            return f"With first_layer={first:g} it fits."
    last = max(recipe.first_layer, FEWER_LAYERS[-1])
    for first in dict.fromkeys((recipe.first_layer, last)):
        tokens = next((n for n in range(longest - STEP, SHORTEST - 1, -STEP) if needed(first, n).bytes <= room), 0)
        if tokens:
            also = "" if first == recipe.first_layer else f"set first_layer={first:g}, and "
            return f"To fit, {also}leave out cases whose prompts have more than {tokens:,} tokens."
    return _smaller_base(needed(last, SHORTEST), shape, room)


def _smaller_base(least: MemoryEstimate, shape: NetworkShape, room: int) -> str:
    rest = room - RUNTIME - least.logits
    billions = max(rest, 0) / max(least.bytes - RUNTIME - least.logits, 1) * shape.weights / 1e9
    if billions < 0.05:
        return "No language model fits; free some memory."
    return f"Take a base of at most about {billions:.1f} billion parameters, or more devices with accelerate and FSDP."


def free_bytes() -> int:
    """Memory that a training could take: of the GPU, else of the machine or the container."""
    torch, _ = torch_and_transformers("A training", "train")
    if _has_gpu():
        return int(torch.cuda.mem_get_info()[0])
    import psutil

    free = int(psutil.virtual_memory().available)
    limit = _container_room()
    return free if limit is None else min(free, limit)


def _container_room() -> int | None:
    """What a container may still take, where Linux limits it (cgroup 2)."""
    from pathlib import Path

    folder = Path("/sys/fs/cgroup")
    try:
        most, used = ((folder / name).read_text().strip() for name in ("memory.max", "memory.current"))
    except OSError:
        return None
    return int(most) - int(used) if most.isdigit() and used.isdigit() else None


def _has_gpu() -> bool:
    torch, _ = torch_and_transformers("A training", "train")
    return device_name(torch) == "cuda"


def _gib(size: int) -> str:
    return f"{size / GIB:.1f} GiB"


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
