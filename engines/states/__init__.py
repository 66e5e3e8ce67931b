"""Hidden states of texts: what a model knows of a text before it says a word."""
