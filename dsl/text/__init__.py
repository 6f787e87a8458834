"""Text of experiments: reading, parsing, syntax errors, the canonical layout."""
