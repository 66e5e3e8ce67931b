"""Evidence besides a judge's own answers: named sources that give numbers for each candidate of a case."""
