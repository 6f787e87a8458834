"""The registries: every word of the language with its typed parameters, and the docs made of them."""
