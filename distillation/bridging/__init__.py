"""Bridging: sets that hold only judgments become rows of the whole chain (Fennec, arXiv 2405.12163, section 3).

`judgment` is the one form of a published judgment and the registry of sets, with a file for each set's rows; `bridge`
fills in criterion and guideline and checks them forward; `reverse_rows` teaches a student to fill them in.
"""
