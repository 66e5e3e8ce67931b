"""The built-in objectives; each module registers its own."""
