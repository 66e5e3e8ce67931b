"""A small HTML table for notebooks; every text in it is escaped."""

from collections.abc import Iterable, Sequence
from html import escape


def html_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a caption; no row of headings where `header` is empty."""
    head = f"<thead><tr>{_cells(header, 'th')}</tr></thead>" if header else ""
    body = "".join(f"<tr>{_cells(row, 'td')}</tr>" for row in rows)
    style = "text-align:left;white-space:pre-wrap"
    return f'<table style="{style}"><caption>{escape(caption)}</caption>{head}<tbody>{body}</tbody></table>'


def _cells(values: Iterable[object], tag: str) -> str:
    return "".join(f'<{tag} style="text-align:left">{escape(str(value))}</{tag}>' for value in values)
