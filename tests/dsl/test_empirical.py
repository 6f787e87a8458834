"""Distributions from files: values, distribution functions, what is refused; draws against them."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from torture.faults.specs import at_most

from fairc import dsl
from fairc.compiler import compile
from fairc.compiler.plan import Cell, parse_cell
from fairc.compiler.plan.cells import cell_json
from fairc.dsl.model import Distribution, Input
from fairc.mechanisms.workloads.onoff.cell import OnOffWorkload
from fairc.mechanisms.workloads.requests.cell import RequestsWorkload
from fairc.words.distributions import draw, mean

VALUES = "size [kB]\n12.5\n3\n3\n\n40\n"
FUNCTION = "# of a data centre\nsize [B], cdf [%]\n1000, 20\n5000, 20\n50000, 100\n"


def loaded(folder: Path, load: str, table: str = VALUES, flow: str = "") -> list[Cell]:
    (folder / "t.csv").write_text(table)
    spec = f"""fexp 1
    experiment e {{
      topology = bottleneck(rate: 10Mbit/s, rtt: 20ms)
      flow a {{ cca = cubic  {flow}  workload = {load} }}
      duration = 10s
      measure = [goodput]
    }}
    """
    experiment, found = dsl.load(dsl.Source(str(folder / "file.fexp"), spec))
    if experiment is None:
        raise ValueError(dsl.render_full(found))
    compilation = compile(experiment)
    cells = list(compilation.cells())
    assert [file.path for file in compilation.plan.inputs] == ["t.csv"]
    assert experiment.files()["t.csv"] == table.encode()
    return cells


def test_a_list_of_values_is_a_step_at_each(tmp_path: Path) -> None:
    (cell,) = loaded(tmp_path, 'requests(size: empirical("t.csv"), every: 100ms)')
    workload = cell.flows[0].workload
    assert isinstance(workload, RequestsWorkload)
    assert workload.size.values == (3000, 3000, 12500, 12500, 40000, 40000)
    assert workload.size.shares == (0, 0.5, 0.5, 0.75, 0.75, 1)
    assert workload.size.mean == pytest.approx((3000 + 3000 + 12500 + 40000) / 4)
    assert parse_cell(cell_json(cell)) == cell
    assert workload.plain()["size"]["parameters"]["values"][0] == 3000


def test_a_distribution_function_is_straight_between_its_points(tmp_path: Path) -> None:
    (cell,) = loaded(tmp_path, 'requests(size: empirical("t.csv"), every: 100ms)', FUNCTION)
    workload = cell.flows[0].workload
    assert isinstance(workload, RequestsWorkload)
    assert workload.size.values == (1000, 5000, 50000)
    assert workload.size.shares == (0.2, 0.2, 1)
    assert workload.size.mean == pytest.approx(0.2 * 1000 + 0.8 * 27500)


def test_times_packets_starts_and_pauses_have_them_too(tmp_path: Path) -> None:
    times = "gap [ms]\n100\n300\n"
    (cell,) = loaded(tmp_path, 'onoff(rate: 1Mbit/s, on: empirical("t.csv"), off: 1s)', times)
    workload = cell.flows[0].workload
    assert isinstance(workload, OnOffWorkload)
    assert workload.on.values == (0.1, 0.1, 0.3, 0.3)
    (cell,) = loaded(tmp_path, "bulk", times, flow='start = empirical("t.csv")')
    assert cell.flows[0].starts_ns[0] in (100_000_000, 300_000_000)
    packets = "size [pkt]\n1\n2\n"
    (cell,) = loaded(tmp_path, 'requests(size: empirical("t.csv"), every: 1s)', packets)
    assert isinstance(found := cell.flows[0].workload, RequestsWorkload)
    assert found.size.values == (1448, 1448, 2896, 2896)


def test_a_file_that_changes_changes_the_cell(tmp_path: Path) -> None:
    load = 'requests(size: empirical("t.csv"), every: 100ms)'
    one, other = (loaded(tmp_path, load, table)[0].id for table in (VALUES, VALUES + "41\n"))
    assert one != other


@pytest.mark.parametrize("form", ["values", "function"])
def test_draws_are_distributed_as_the_file(form: str) -> None:
    """Kolmogorov and Smirnov: 2000 draws differ from the function by less than 1.95 / sqrt(2000)
    with probability 0.999. Compared with a plain reading of the file, not with its points.
    """
    if form == "values":
        given = sorted(random.Random(1).choices(range(1, 40), k=300))
        points, below = [], Fraction()
        for value in sorted(set(given)):
            upto = below + Fraction(given.count(value), 300)
            points += [(Fraction(value), below), (Fraction(value), upto)]
            below = upto

        def share(x: float) -> float:
            return sum(one <= x for one in given) / 300
    else:
        rows = [(1.0, 0.2), (5.0, 0.2), (10.0, 0.7), (30.0, 1.0)]
        points = [(Fraction(v), Fraction(c)) for v, c in rows]
        points[-1] = (Fraction(30), Fraction(1))

        def share(x: float) -> float:
            return float(np.interp(x, [v for v, _ in rows], [c for _, c in rows]))

    of = Distribution("empirical", {}, tuple(points), Input(path="t.csv", sha256="0" * 64))
    count = 2000
    found = sorted(float(draw(of, seed, "test")) for seed in range(count))
    assert float(np.mean(found)) == pytest.approx(float(mean(of)), rel=0.1)
    furthest = max(abs(sum(one <= x for one in found) / count - share(x)) for x in found)
    assert furthest < 1.95 / count**0.5


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("", "is empty"),
        ("size [kB]\n", "has no values"),
        ("size\n3\n", "no unit for `size`"),
        ("size [kb]\n3\n", "the unit `kb`"),
        ("size [kB]\nNaN\n", "`NaN`, which is no number"),
        ("size [kB]\n-3\n", "`-3`, which is no number"),
        ("size [kB]\ninf\n", "`inf`, which is no number"),
        ("size [kB]\n3, 4\n", "has 2 columns"),
        ("size [kB], cdf [%]\n3, 50\n2, 100\n", "goes back in its value"),
        ("size [kB], cdf [%]\n3, 50\n4, 40\n", "goes back in `cdf`"),
        ("size [kB], cdf [%]\n3, 50\n4, 90\n", "ends at 90 %"),
        ("size [kB], cdf [%]\n3, 50\n4, 120\n", "more than 100 %"),
        ("size [kB], other [kB]\n3, 50\n", "has the columns size, other"),
        ("size [ms]\n3\n", "has values that are"),
        ("size [kB]\n" + "".join(f"{n}\n" for n in range(2001)), "2,001 different values"),
        ("size [kB]\n" + "1\n" * 500_001, "500,001 rows"),
        ("size [kB]\n" + "1\n" * 10_000_000, "more than 16,000,000 bytes"),
        ("\x00\xff\n1\n", "no column name"),
    ],
)
def test_what_a_stranger_may_send(tmp_path: Path, table: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"t\.csv") as refused:
        loaded(tmp_path, 'requests(size: empirical("t.csv"), every: 100ms)', table)
    assert message in str(refused.value)


@pytest.mark.parametrize("header", ["a" + " " * 300_000 + "b, x", "a[" * 300_000, " " * 10**6])
def test_a_header_of_many_characters(tmp_path: Path, header: str) -> None:
    """A pattern that tries each of them takes hours."""
    with at_most(20), pytest.raises(ValueError, match=r"t\.csv"):
        loaded(tmp_path, 'requests(size: empirical("t.csv"), every: 1s)', f"{header}\n1, 2\n")


def test_a_file_elsewhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="folder"):
        loaded(tmp_path, 'requests(size: empirical("../t.csv"), every: 100ms)')
