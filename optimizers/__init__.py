"""Compile judges against people's labels: heads, prompts, structure, certificates."""
