"""`fairc methods`: the paragraph of a paper's section on methods, and BibTeX."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fairc.compiler.plan import Claim, ClaimUnit, Statistic
from fairc.runtime.report.key_figures import leading
from fairc.runtime.report.methods import _source, methods
from fairc.runtime.report.run import Run
from fairc.runtime.report.summary import Results
from fairc.runtime.store.folder import read_plan

Maker = Callable[..., Path]


def test_a_paragraph_and_entries(make_run: Maker) -> None:
    path = make_run(
        repeat=6,
        duration_s=1.0,
        title="What RFC 8312 gains (Ha et al., 2008)",
        citation="after Thomas et al., QUIC & SATCOM, 2018",
        bad={(0, 2): ("ok", "invalid", ["a queue dropped"])},
    )
    paragraph, *entries = methods(Run(path)).split("\n\n")
    text = " ".join(paragraph.split())
    assert "The experiment emulates 2 flows over a 1 Mbit/s bottleneck" in text
    assert "fairc 0.1.0" in text
    assert "engine vm" in text
    assert "(Linux 6.12.43+deb12-cloud-amd64)" in text
    assert "drawn from seed 1" in text
    assert "the start of each flow: uniform in 0 to 50 ms" in text
    assert "Repetitions differ in: the start of each flow" in text
    assert "of 6 cells, 5 were valid, 0 flagged, 1 invalid and 0 failed" in text
    assert "The metrics are " in text
    assert "Medians of 5 repetitions" in text
    kinds = [entry.splitlines()[0] for entry in entries]
    assert kinds == [
        "@software{fairc,",
        "@misc{thomas2018,",
        "@misc{ha2008,",
        "@techreport{rfc8312,",
    ]
    assert r"QUIC \& SATCOM" in entries[1]
    assert "author = {Thomas and others}" in entries[1]


def test_sources_as_people_write_them() -> None:
    key, kind, fields = _source("Loiseau and Goncalves, Performance Evaluation 67, 2010")
    assert (key, kind) == ("loiseau2010", "misc")
    assert (fields["author"], fields["year"]) == ("Loiseau and Goncalves", "2010")
    found = _source("https://doi.org/10.1145/1851182.1851192, Data Center TCP")[2]
    assert found["doi"] == "10.1145/1851182.1851192"
    assert _source("???")[0] == "source"
    hostile = _source(r"https://a.org/x}\input{/etc/passwd} 10.1145/1}\input{b}")[2]
    assert (hostile["url"], hostile["doi"]) == ("https://a.org/x", "10.1145/1")


def test_claims_are_named_and_the_first_one_leads_without_measure(make_run: Maker) -> None:
    path = make_run(repeat=1, duration_s=1.0)
    term = Statistic(statistic="median", metric="rtt.mean", flow="bbr", cells=())
    claim = Claim(
        text="BBR waits briefly",
        over="each",
        condition="",
        holds="median(rtt(bbr)) < 100ms",
        relation="<",
        unit="s",
        shared=(),
        units=(ClaimUnit(expression=term, low=None, high=0.1),),
    )
    plan = read_plan(path).model_copy(update={"claims": (claim,), "measure": ()})
    (path / "plan.json").write_text(plan.model_dump_json(), encoding="utf-8")
    run = Run(path)
    assert 'The experiment claims "BBR waits briefly".' in " ".join(methods(run).split())
    first = leading(Results(run))
    assert first is not None and first.metric == "rtt.mean"
