"""Text of experiments: reading, parsing, slips, the canonical layout."""
