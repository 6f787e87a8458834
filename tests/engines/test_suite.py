"""A suite of the user's own on `uml`: criteria that a controller meets, and one that it cannot."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from fairc.__main__ import main
from fairc.cli import interruption

SPEC = """fexp 1
let cca = cubic
template base {
  topology = bottleneck(rate: 2Mbit/s, rtt: 20ms, queue: fifo(2bdp))
  flow f { over = quic  cca = cca  workload = file(50kB) }
  repeat  = 6
  measure = [fct(f)]
}
experiment plain extends base {
  claim "no faster than the link" { holds = median(fct.mean(f)) > 50kB / 2Mbit/s }
}
experiment lossy extends base {
  topology = bottleneck(rate: 2Mbit/s, rtt: 20ms, loss: 2%, queue: fifo(2bdp))
  claim "faster than light" { holds = median(fct.mean(f)) < 1ms }
}
"""
TOML = """title = "Two"
source = "none"
cost = "seconds"
[parameters.cca]
default = "cubic"
about = "the controller"
[member.plain]
spec = "a.fexp"
[member.lossy]
spec = "a.fexp"
[criterion.1]
title = "Slow"
members = ["plain"]
[criterion.2]
title = "Fast"
members = ["lossy"]
"""


def test_a_suite_runs_on_the_fast_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(interruption, "begin", lambda: None)
    Path("mine").mkdir()
    Path("mine/a.fexp").write_text(SPEC, encoding="utf-8")
    Path("mine/suite.toml").write_text(TOML, encoding="utf-8")
    words = "fairc suite run mine --set cca=bbr3 --engine uml --jobs 2"
    monkeypatch.setattr(sys, "argv", words.split())
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    (cases,) = ET.parse("results/suites/mine/junit.xml").getroot()
    assert [[child.tag for child in case] for case in cases] == [[], ["failure"]]
    assert Path("results/suites/mine/cca=bbr3/a/lossy/report.html").is_file()
