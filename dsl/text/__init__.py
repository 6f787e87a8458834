"""Text of experiments: reading, parsing, syntax errors, the canonical layout.

In order of control flow:

reading        bytes to text, and all that can be wrong with it before its first word
parser         text to a tree; tables: the grammar as Lark compiles it; syntax: the nodes
syntax_errors  where the parser goes on behind an error; borders: of statements, by brackets and
               lines; mistakes: what is said of one; expectations: in which words
recovery       a file without the statements that have errors
layout         the layout of `fairc fmt`; pieces: a text as tokens and comments
"""
