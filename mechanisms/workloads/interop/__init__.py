"""`interop`: a file that an image moves by the contract of quic-interop-runner; no word of the
language: `file` becomes it with `over = quic(image: "x.tar")`. Its part of the plan is in
`program/cell.py`.
"""
