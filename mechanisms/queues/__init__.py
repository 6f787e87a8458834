"""Queue disciplines: a folder each.

discipline  what a queue declares, and the queue of a link that it is lowered from
registry    all of them, by their names in the language
"""
