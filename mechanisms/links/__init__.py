"""Mechanisms of links besides rate, delay and losses: a folder each.

link        what such a mechanism declares
registry    all of these
"""
