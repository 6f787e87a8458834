"""The emulated machine behind the `vm` engine, and what `uml` shares with it: image, guest,
exchange.

In order of control flow: `recipe` (the contents of the image), `image` (builds and finds it),
`verified` (so that large files are not read for every run), `initramfs` (the guest's first root),
`foreign` (endpoints and `cell/` from a pack), `qemu` (the machine's arguments and its monitor),
`portable` and `shipped` (both as one file, and as the one that a package brings), `exchange` (how a
job enters and results leave), `snapshot` (boot once, restore per cell). `guest/` holds the programs
that run inside: `agent.py`, and the engines' differences in `init-*` and `machine_*.py`
(`initramfs.guest_files` chooses).
"""
