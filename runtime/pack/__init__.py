"""A run as one file to share: all its sources, all its results, and how to check them.

contents   what goes into a pack; rebuilding: the run in it
readme     README.md: the question, the answer, the commands
crate      ro-crate-metadata.json: the same for machines (RO-Crate 1.2, Process Run Crate 0.5)
zipped     the zip file: equal bytes for equal content; reading trusts nothing
checking   is a pack what it says: hashes, the plan compiled again, cells run again; checks: the
           rows of the answer; comparing: a file with what follows from its cells
claims     verdicts in a pack, and claims decided again
"""
