"""Flows as written: their transports and CCAs, and what they share.

services    settings that flows have in common
flows       from a block to a flow with every name resolved; transports: its transport and CCA
sharing     what flows of one cell have to share; arrivals: that several share
"""
