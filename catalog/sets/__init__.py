"""Small authored sets that travel with the package."""
