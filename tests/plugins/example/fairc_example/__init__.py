"""An example of a package that adds words to fairc: a queue, a metric, a figure, a target, an
engine.
"""
