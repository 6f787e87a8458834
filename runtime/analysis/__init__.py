"""The analysis of one cell.

cells       from raw artefacts to everything that is stored
values      of every metric that is requested, or why there is none; formulas: of the file's own
conditions  how transports differ apart from their congestion control
har         page loads as HTTP archives
"""
