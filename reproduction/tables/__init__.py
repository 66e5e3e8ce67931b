"""The published tables, a module for each source; every module registers its tables."""
