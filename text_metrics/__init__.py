"""Measures of texts: generated compared with written text, and perplexity; they load models themselves."""
