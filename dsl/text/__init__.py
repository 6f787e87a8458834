"""From text to syntax tree and back: reading, parsing, slips, the canonical layout."""
