"""Generated text compared with written text; the only measures that load language models."""
