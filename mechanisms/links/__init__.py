"""Media, which transmit in place of a link's shaper, and repairs of a link's losses: a folder each.

link        what the declaration of one says
registry    all of these
"""
