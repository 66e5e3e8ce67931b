"""The built-in metrics, a module per section; each function registers itself."""
