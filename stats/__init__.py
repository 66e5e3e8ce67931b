"""Statistics of plain arrays: what agreement, certainty and differences are, each with its source."""
