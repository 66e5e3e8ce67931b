"""The built-in engines, one module each; a module in this folder registers its engine with `@register`."""
