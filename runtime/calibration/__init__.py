"""Calibration of an engine: a fixed suite of cells, compared with theory.

suite/*.fexp   what is run: ordinary experiments
cases          CASES: each experiment of the suite, and what is read from its cells
network        readings of the network: rate, delay, loss, buffer
queueing       readings of a link against the theory of queues
transport      readings of Reno against its theory: windows, fairness, slow start; transfers: of
               short transfers
reading        one reading: measured, expected, and the accepted range
suite          runs the suite on an engine
table          a calibration as text, Markdown and JSON
"""
