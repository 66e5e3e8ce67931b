"""A GGUF file of a language model with a few numbers a tensor: to cut, not to run."""

import numpy as np


def write_tiny_gguf(path, *, blocks=4, seed=0, architecture="llama", output=True):
    """Tensors are drawn by the seed; there is one list of a value a block."""
    from gguf import GGUFWriter

    random = np.random.default_rng(seed)
    writer = GGUFWriter(path, architecture)
    writer.add_block_count(blocks)
    writer.add_embedding_length(8)
    writer.add_context_length(64)
    writer.add_head_count([2] * blocks)
    writer.add_token_list(["<s>", "a", "b"])
    names = ["token_embd.weight", "output_norm.weight", *(["output.weight"] if output else [])]
    names += [f"blk.{block}.attn_q.weight" for block in range(blocks)]
    for name in names:
        writer.add_tensor(name, random.standard_normal((3, 8)).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
