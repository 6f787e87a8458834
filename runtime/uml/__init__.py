"""User-Mode Linux behind the `uml` engine: the real kernel as an ordinary program, in virtual time.

In order of control flow: `source` (the kernel's version and changes), `kernel` (builds and finds
it), `custom_kernel` (those of users), `source_offer` (what its licences ask for), `syscalls` and
`policy` (what its process may do on the host), `bubblewrap`, `namespaces` with `launcher`, and
`confinement` (whether and how the host enforces that), `machine` (one run: its command line, its
clock, its limits), `memory` (the size of a machine's memory), `bytecode` (what every machine runs,
compiled once; `kept` in the cache), `trial` (whether this host can run it), `modules` (kernel
modules of users, compiled), `own_programs` (may programs of users run?), `image_files`,
`image_roots` and `package_images` (file systems for them). The root file system, the guest's agent
and the exchange are those of the emulated machine (`runtime/vm`).
"""
