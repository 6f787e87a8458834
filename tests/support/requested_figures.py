"""Figures that an experiment requests, drawn from invented runs."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fairc import dsl
from fairc.compiler import compile
from fairc.compiler.plan import Plan
from fairc.runtime.report.figures import (
    FIGURES,
    Drawing,
    Subject,
)
from fairc.runtime.report.render import Rendered, render
from fairc.runtime.report.run import Run
from fairc.runtime.report.sheet import Sheet
from fairc.runtime.report.summary import Results, choose

Maker = Callable[..., Path]


SWEEP = {"loss": ("0%", "1%"), "n": ("1", "2", "5")}


def planned(report: str, sweep: Mapping[str, tuple[str, ...]] = SWEEP, repeat: int = 6) -> Plan:
    """Return the plan of an experiment with these figures."""
    axes = "  ".join(f"{name} = [{', '.join(values)}]" for name, values in sweep.items())
    loss = "loss: loss" if "loss" in sweep else "loss: 0%"
    count = "count = n" if "n" in sweep else ""
    text = f"""fexp 1
    experiment e {{
      sweep {{ {axes} }}
      topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, {loss})
      flow cubic {{ cca = cubic  {count}  workload = bulk }}
      flow bbr   {{ cca = bbr  workload = bulk }}
      duration = 20s
      repeat = {repeat}
      measure = [fairness, goodput, rtt, utilization]
      report {{ {report} }}
    }}
    """
    experiment, diagnostics = dsl.load(dsl.Source("e.fexp", text))
    assert not list(diagnostics), dsl.render_full(diagnostics)
    assert experiment is not None
    return compile(experiment).plan


def run_of(
    make_run: Maker, report: str, sweep: dict[str, tuple[str, ...]] | None = None, **spec: Any
) -> Path:
    sweep = SWEEP if sweep is None else sweep
    spec = {"repeat": 6, "duration_s": 3.0, **spec}
    plan = planned(report, sweep, spec["repeat"])
    return make_run(sweep=sweep, axes=plan.axes, figures=plan.figures, **spec)


def subject_of(path: Path) -> Subject:
    """Return what the figures of a stored run are drawn from."""
    run = Run(path)
    results = Results(run)
    return Subject(run, results, *choose(run, results))


def _made(path: Path, index: int) -> tuple[Subject, Drawing | Sheet]:
    subject = subject_of(path)
    request = subject.run.plan.figures[index]
    return subject, next(k for k in FIGURES if k.name == request.kind).make(subject, request)


def requested(path: Path, index: int = 0) -> tuple[Subject, Drawing]:
    """Return a requested figure of a stored run, with what it is drawn from."""
    subject, drawing = _made(path, index)
    assert isinstance(drawing, Drawing)
    return subject, drawing


def requested_table(path: Path, index: int = 0) -> tuple[Subject, Sheet]:
    """Return the same of a figure that is a table."""
    subject, sheet = _made(path, index)
    assert isinstance(sheet, Sheet)
    return subject, sheet


def drawn(path: Path, index: int = 0) -> Rendered:
    return render(requested(path, index)[1])


def values_of(subject: Subject, metric: str, **keys: str) -> dict[str | None, list[float]]:
    """Return the values that count, by flow, of the configurations with these bindings."""
    return {
        measure.flow: [
            value
            for c in subject.run.configurations
            if all(dict(c.bindings)[k] == v for k, v in keys.items())
            for value in subject.results.group(measure, c).values
        ]
        for measure in subject.results.select(metric)
    }


def texts_of(svg: str) -> list[str]:
    found = ("".join(e.itertext()) for e in ET.fromstring(svg).iter() if e.tag.endswith("text"))
    return [" ".join(text.split()) for text in found]
