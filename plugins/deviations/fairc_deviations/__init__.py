"""The metric `deviations` and its figures: large deviations of one flow's window, measured and in
theory.

In order of use: `words` (what the language knows), `metric` (the values of a cell), `rounds` (the
flow by its own clock, and which rounds had a loss), `losses` (p(w): counted, fitted, modelled),
`cross` (what the plan says about the cross traffic), `chain` (the spectrum of the Markov chain),
`windows` (averages over n rounds, their spectrum), `envelope` (simulated chains), `study` (one
connection against the chain), `curves` (what is stored and drawn), `panels` (what the figures have
in common), `spectrum`, `ranges` and `loss_window` (the figures).
"""
