"""Effects of links on packets, besides delay and loss, by netem: a folder each.

effect      what the declaration of one says
registry    all of these
"""
