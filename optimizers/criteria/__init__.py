"""Criteria learnt from labels: questions that an LM proposes and people's labels choose."""
