"""The keys of the blocks of the language: a file for each block, a constant for each key."""
