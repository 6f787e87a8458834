"""Raw artefacts of one cell to arrays in SI units: what metrics and validity checks read.

In order of control flow: `artefacts` opens the files, `pcap`, `checksums` and `headers` read
captures, `endpoints` and `qdisc` what programs and `tc` wrote (`samples` of connections,
`applications` as users see them, `frames` of media, `transits` of datagrams, `images` where a third
party's does not report), `changes` and `processing` what was done to links and hosts; `paths` knows
the routes, `matching`, `replay` and `queues` follow packets through a bottleneck (`frame_times`:
how long they are sent; `media`: what transmits in a shaper's place), `round_trips` to their
acknowledgements, `qlog` checks what a QUIC server traced, `selection` says which packets are whose,
`slots` apportions bytes to time, `demand` says what a flow wants, `loads` what is known of a page
load, `slow_start` how long it takes in theory, and `arrivals` when its data came, the `record.py`
of a workload reads what only its ends write, and so does that of a device (`devices` has what is
asked of it), `tunnels` reads what their ends say; `record` holds all of it, put together by
`loading`; `results` and `curves` are what metrics say of it; `series` and `pages` are kept, in
tables (`schema`).
"""

from typing import TYPE_CHECKING

from fairc.dsl.core.on_demand import on_demand

if TYPE_CHECKING:
    from .artefacts import ArtefactError as ArtefactError
    from .loading import load as load
    from .record import SLOT_S as SLOT_S
    from .record import FlowRecord as FlowRecord
    from .record import Measurement as Measurement
    from .record import Passage as Passage
    from .selection import middle_of as middle_of
    from .selection import packets_of as packets_of

__getattr__ = on_demand(
    __name__,
    {
        ".artefacts": "ArtefactError",
        ".loading": "load",
        ".record": "SLOT_S FlowRecord Measurement Passage",
        ".selection": "middle_of packets_of",
    },
)
"""Tables of results need nothing that reads files."""
