"""Devices: a folder each.

device      what a device in front of a queue declares
registry    all of these
"""
