"""The language server: what an editor knows of `.fexp` files.

    cursor      where in a text the cursor is: its block, key and call
    offers      completion: keys, values, units and names that fit there
    places      declarations of a file: definitions, outline
    highlighting   colours, for Pygments and for editors
    server      the protocol, through pygls; hover: the manual's page of a word

Nothing is run and nothing is written; a file is read as `fairc check` reads it.
"""
