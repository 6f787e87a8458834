"""The emulated machine behind the `vm` engine, and what `uml` shares with it: image, guest, exchange.

In order of control flow: `recipe` (what the image is made of), `image` (builds and finds it),
`initramfs` (what the guest starts from), `qemu` (the machine's arguments and its monitor),
`exchange` (how a job enters and results leave), `snapshot` (boot once, restore per cell).
`guest/` holds the programs that run inside: `agent.py`, and what differs between the engines in `init-*` and
`machine_*.py` (`guest_files` picks).
"""
