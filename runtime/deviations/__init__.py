"""Large deviations of one flow's window: from the sender's samples to spectra, measured and in
theory.

In order of use: `rounds` (the flow by its own clock, and which rounds had a loss), `losses` (p(w):
counted, fitted, modelled), `cross` (what the plan says about the cross traffic), `chain` (the
spectrum of the Markov chain), `windows` (averages over n rounds, their spectrum), `envelope`
(simulated chains), `study` (one connection against the chain), `curves` (what is stored and drawn).
"""
