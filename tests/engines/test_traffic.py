"""What flows ask of the kernel, in the real kernel: parameters of CCAs, initial window, ECN, SACK,
Fast Open.
"""

from __future__ import annotations

import json
from pathlib import Path

from left_behind import events

from fairc.compiler import Cell
from fairc.words.ccas import TCP_CCAS

ASKED: dict[str, dict[str, str]] = {
    "bic": {
        "beta": "700",
        "max_increment": "8",
        "low_window": "20",
        "smooth_part": "10",
        "fast_convergence": "off",
        "initial_ssthresh": "50",
    },
    "cdg": {
        "backoff_beta": "512",
        "backoff_factor": "30",
        "hystart_detect": "0",
        "use_ineff": "3",
        "use_shadow": "off",
        "use_tolerance": "on",
    },
    "cubic": {
        "hystart": "off",
        "hystart_detect": "1",
        "hystart_low_window": "20",
        "hystart_ack_delta_us": "1000",
        "fast_convergence": "off",
        "tcp_friendliness": "off",
        "initial_ssthresh": "60",
    },
    "dctcp": {"dctcp_shift_g": "3", "dctcp_alpha_on_init": "512"},
    "htcp": {"use_rtt_scaling": "off", "use_bandwidth_switch": "off"},
    "hybla": {"rtt0": "40ms"},
    "nv": {"nv_pad": "5", "nv_reset_period": "7", "nv_min_cwnd": "4"},
    "vegas": {"alpha": "3", "beta": "6", "gamma": "2"},
}
"""Every parameter of every CCA, none at its default."""


def spec() -> str:
    """One cell: a flow with every CCA that has parameters, and three pairs of hosts with
    options.
    """
    arguments = {
        name: ", ".join(f"{key}: {value}" for key, value in given.items())
        for name, given in ASKED.items()
    }
    flows = "\n".join(
        f"  flow {name} {{ from = s  to = c  cca = {name}({given})  workload = file(20kB) }}"
        for name, given in arguments.items()
    )
    return f"""fexp 1
experiment options {{
  topology {{
    node s, c, s1, c1, s2, c2
    router r
    link s -> r, s1 -> r, s2 -> r {{ rate = 100Mbit/s }}
    link s <- r, s1 <- r, s2 <- r {{ rate = 100Mbit/s }}
    link r -- c, r -- c1, r -- c2 {{ rate = 10Mbit/s  delay = 200ms  queue = fifo(100kB) }}
  }}
{flows}
  flow marked {{ from = s1  to = c1  cca = reno  ecn = on  initial_window = 4pkt  workload = file(100kB) }}
  flow beside {{ from = s1  to = c1  cca = reno  ecn = on  initial_window = 2pkt  workload = file(100kB) }}
  flow plain  {{ from = s2  to = c2  cca = reno  sack = off  fast_open = on  workload = file(100kB) }}
  flow quick  {{ over = quic  from = s1  to = c1  cca = cubic(connections: 2)  workload = file(100kB) }}
  flow noise  {{ over = udp  from = s2  to = c2  count = 2  rate = 100kbit/s  workload = file(20kB) }}
  measure = [goodput]
}}
"""


SPEC = spec()


def test_every_parameter_is_written_and_its_default_is_the_kernels(
    folder: Path, cell: Cell
) -> None:
    modules = json.loads((folder / "system.json").read_text())["modules"]
    planned = {f.cca: f.cca_parameters for f in cell.flows if f.cca in ASKED and f.name in ASKED}
    for cca, parameters in planned.items():
        assert cca is not None
        declared = TCP_CCAS[cca].fields
        assert parameters.keys() == declared.keys()
        for name, value in parameters.items():
            initial = declared[name].initial
            assert initial is not None
            assert modules[f"tcp_{cca}"][name] == {
                "before": text(initial),
                "in_force": text(value),
            }
    assert json.loads((folder / "cell.json").read_text())["notes"] == []


def text(value: float | bool | str) -> str:
    """Write a value as the kernel shows it."""
    return ("Y" if value else "N") if isinstance(value, bool) else str(value)


def test_options_are_in_force_where_they_are_asked_for(folder: Path) -> None:
    (marked,) = events(folder, "marked.server", "accepted")
    (plain,) = events(folder, "plain.server", "accepted")
    assert (marked["ecn"], marked["sack"], marked["fast_open"]) == (True, True, False)
    assert (plain["ecn"], plain["sack"], plain["fast_open"]) == (False, False, True)
    dctcp = events(folder, "dctcp.server", "accepted")[0]
    assert dctcp["ecn"] is True  # it asks by itself


def test_the_initial_window_is_that_of_the_flow_between_the_same_hosts_too(folder: Path) -> None:
    flows = {"marked": 4, "beside": 2, "plain": 10}
    first = {name: events(folder, f"{name}.server", "sample")[0]["cwnd"] for name in flows}
    assert first == flows


def test_all_transports_moved_their_files(folder: Path, cell: Cell) -> None:
    for flow in cell.flows:
        done = events(folder, f"{flow.name}.client", "done")
        assert len(done) == flow.connections, flow.name
