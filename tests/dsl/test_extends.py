"""`template` and `extends`: what an experiment inherits; several experiments in one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairc.cli.check import diagnose
from fairc.dsl import Source, load, load_all, render_full
from fairc.dsl.experiment import Experiment
from fairc.dsl.loading import EXPERIMENT_LIMIT

BASE = """fexp 1

template base {
  source = "a study"
  let size = 1MB
  service film { cca = reno  workload = file(size) }
  sweep { (rate, rtt) = [(1Mbit/s, 20ms)]  n = [1, 2]  loss = [0%, 1%] }
  exclude n == 2 and loss == 1%
  topology = bottleneck(rate: rate, rtt: rtt, loss: loss, queue: fifo(2bdp))
  hosts { sack = off  initial_window = 4pkt }
  flow a { cca = cubic  count = n  workload = file(size) }
  flow b = film
  repeat  = 8
  measure = [goodput]
  report { line(goodput(a), x: n) }
  claim "no faster than the link" { holds = median(goodput(a)) <= rate }
  deviates = "first"
}
"""


def experiments(more: str, name: str | None = None) -> tuple[Experiment, ...]:
    found = load_all(Source("file.fexp", BASE + more), name=name)
    assert not found[1].errors, [d.message for d in found[1]]
    return found[0]


def extended(own: str) -> Experiment:
    (found,) = experiments(f"experiment e extends base {{ {own} }}")
    return found


def codes(text: str, name: str | None = None) -> list[tuple[str, str]]:
    found = load_all(Source("file.fexp", text), name=name)
    assert not found[0]
    return [(d.code, d.span.text if d.span else "") for d in found[1].errors]


def flows(experiment: Experiment) -> list[tuple[object, ...]]:
    first = next(experiment.configurations())
    return [(f.name, f.cca, f.connections, f.options.sack) for f in first.scenario.flows]


def test_everything_is_inherited() -> None:
    found = extended("")
    assert (found.name, found.citation, found.deviates) == ("e", "a study", ("first",))
    assert [axis.name for axis in found.axes] == ["rate", "rtt", "n", "loss"]
    assert found.count().configurations == 3 and found.repeat == 8
    assert flows(found) == [("a", "cubic", 1, False), ("b", "reno", 1, False)]
    assert len(found.claims) == len(found.figures) == 1


def test_keys_replace_and_blocks_merge_key_by_key() -> None:
    found = extended(
        "repeat = 9  flow a { cca = bbr }  flow b { count = 3 }  flow c { cca = htcp  workload ="
        " file(size) }  hosts { sack = on }  let size = 2MB  service film { cca = vegas }"
    )
    assert found.repeat == 9
    assert flows(found) == [
        ("a", "bbr", 1, True),
        ("b", "vegas", 3, True),
        ("c", "htcp", 1, True),
    ]
    first = next(found.configurations())
    assert {f.workload.part.total_bytes(1) for f in first.scenario.flows} == {2_000_000}
    assert {f.options.initial_window_packets for f in first.scenario.flows} == {4}


def test_claims_figures_and_differences_add_up() -> None:
    more = 'claim "another" { holds = median(goodput(b)) <= rate }'
    found = extended(f'{more}  report {{ line(goodput(b), x: n) }}  deviates = "second"')
    assert [claim.text for claim in found.claims] == ["no faster than the link", "another"]
    assert len(found.figures) == 2 and found.deviates == ("first", "second")
    again = extended('claim "no faster than the link" { holds = median(goodput(a)) < rate }')
    assert len(again.claims) == 1


@pytest.mark.parametrize(
    ("sweep", "axes", "configurations"),
    [
        ("n = [3]", ["rate", "rtt", "n", "loss"], 2),
        ("rtt = [1ms, 2ms]  rate = [1Mbit/s]", ["rtt", "rate", "n", "loss"], 6),
        ("(n, loss) = [(1, 0%), (2, 0%)]", ["rate", "rtt", "n", "loss"], 2),
        ("depth = [1, 2]", ["rate", "rtt", "n", "loss", "depth"], 6),
    ],
)
def test_bindings_replace_those_of_the_same_names(
    sweep: str, axes: list[str], configurations: int
) -> None:
    found = extended(f"sweep {{ {sweep} }}  flow a {{ start = 1ms }}")
    assert [axis.name for axis in found.axes] == axes
    assert found.count().configurations == configurations


def test_a_topology_replaces_the_other_form() -> None:
    inline = "topology { node server, client  link server -- client { rate = rate  delay = rtt } }"
    found = extended(inline + "  sweep { loss = [0%] }")
    assert len(next(found.configurations()).scenario.network.nodes) == 2
    # and back
    (_, last) = experiments(
        f"experiment e extends base {{ {inline} }}\n"
        "experiment f extends e { topology = bottleneck(rate: rate, rtt: rtt) }"
    )
    assert len(next(last.configurations()).scenario.network.nodes) == 4


def test_several_experiments_and_one_of_them() -> None:
    more = "experiment e extends base {}\nexperiment f extends e { repeat = 10 }\n"
    found = experiments(more)
    assert [(each.name, each.repeat) for each in found] == [("e", 8), ("f", 10)]
    assert [each.beside for each in found] == [("e", "f")] * 2
    (only,) = experiments(more, "f")
    assert only.name == "f"
    assert load(Source("file.fexp", BASE + more))[1].errors[0].code == "several-experiments"
    made, _ = load(Source("file.fexp", BASE + more), {}, "e")
    assert made is not None and made.name == "e"


def test_what_is_set_need_not_be_in_every_experiment() -> None:
    more = (
        "experiment e extends base {}\nexperiment f extends base { let x = 1  sweep { y = [x] } }"
    )
    source = Source("file.fexp", BASE + more)
    found, diagnostics = load_all(source, {"x": "2", "repeat": "7"})
    assert not diagnostics.errors
    assert [[s.name for s in each.settings] for each in found] == [["repeat"], ["repeat", "x"]]
    assert [d.code for d in load_all(source, {"z": "2"})[1].errors] == ["unknown-setting"]
    assert [d.code for d in load_all(source, {"x": "2"}, "e")[1].errors] == ["unknown-setting"]


def test_what_is_wrong() -> None:
    itself = BASE + "experiment e extends e {}"
    assert codes(itself) == [("extends-loop", "e")]
    assert codes(BASE) == [("no-experiment", BASE[BASE.index("template") :].rstrip())]
    one = BASE + "experiment e extends base {}"
    assert codes(one, "f") == [("unknown-experiment", "")]
    half = BASE + "experiment e extends base { sweep { rate = [2Mbit/s] } }"
    assert codes(half) == [("tuple-name", "rate")]
    many = "".join(f"experiment e{n} extends base {{}}\n" for n in range(101))
    assert [code for code, _ in codes(BASE + many)] == ["too-many"]


def test_a_mistake_in_a_template_is_said_once() -> None:
    wrong = BASE.replace("cca = cubic", "cca = cubik")
    more = "experiment e extends base {}\nexperiment f extends base {}"
    assert codes(wrong + more) == [("unknown-cca", "cubik")]


INHERITED = """fexp 1

template base {
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, queue: fifo(%s))
  flow a { cca = cubic  workload = file(1MB) }
  repeat  = 2
  measure = [goodput]
  claim "few" { holds = median(goodput) > 1kbit/s }
}
experiment one extends base { title = "one" }
experiment two extends base { flow a { cca = reno } }
experiment own {
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, queue: fifo(1pkt))
  flow a { cca = cubic  workload = file(1MB) }
  measure = [goodput]
}
"""


def test_what_is_wrong_with_what_is_inherited_names_its_experiments_once(tmp_path: Path) -> None:
    path = tmp_path / "file.fexp"
    path.write_text(INHERITED % "1pkt")
    found = [(d.code, d.span.line if d.span else 0, d.experiments) for d in diagnose(path)]
    assert found == [
        ("small-queue", 4, ("one", "two")),
        ("few-repetitions", 8, ("one", "two")),
        ("small-queue", 13, ()),
    ]
    path.write_text(INHERITED % "1MB + 1ms + rate")
    wrong = [d for d in diagnose(path) if d.span and d.span.line == 4]
    assert wrong and all(d.experiments == ("one", "two") for d in wrong)
    assert "in `one`, `two`, which inherit this" in render_full(wrong)


def test_a_file_has_at_most_a_hundred_experiments() -> None:
    one = "experiment e%d { topology = bottleneck(rate: 1Mbit/s, rtt: 50ms)\n"
    one += "  flow a { cca = cubic  workload = file(100kB) }\n  measure = [goodput] }\n"
    text = "fexp 1\n" + "".join(one % number for number in range(EXPERIMENT_LIMIT))
    experiments, found = load_all(Source("f.fexp", text))
    assert len(experiments) == EXPERIMENT_LIMIT == 100 and not found.errors
    experiments, found = load_all(Source("f.fexp", text + one % EXPERIMENT_LIMIT))
    assert experiments == () and [d.code for d in found] == ["too-many"]


def test_what_one_experiment_has_use_for_is_not_in_vain_in_another() -> None:
    """An `exclude`, or a flow with a condition, of a base: a warning only if all say so."""
    base = BASE.replace(
        "flow b = film",
        "flow b = film  flow c when n > 2 { cca = bbr  workload = bulk  stop = 9s }",
    )
    none = "sweep { n = [1]  loss = [0%] }"
    some = "sweep { n = [2, 3] }"
    for more, codes in (
        ("experiment x extends base { }", ["absent-flow"]),
        (f"experiment x extends base {{ {some} }}", []),
        (f"experiment x extends base {{ {none} }}", ["absent-flow", "no-effect"]),
        (f"experiment x extends base {{ {none} }} experiment y extends base {{ {some} }}", []),
    ):
        _, found = load_all(Source("file.fexp", base + more))
        assert not found.errors, render_full(found)
        assert sorted({d.code for d in found} & {"absent-flow", "no-effect"}) == codes


def test_a_measure_of_a_template_applies_where_it_can(tmp_path: Path) -> None:
    """`fairness` needs two flows: a warning only where no experiment that inherits it has them."""
    path = tmp_path / "file.fexp"
    alone = INHERITED.replace("[goodput]", "[goodput, fairness]", 1) % "1MB"
    path.write_text(alone)
    found = [(d.code, d.experiments) for d in diagnose(path)]
    assert ("nothing-to-measure", ("one", "two")) in found
    path.write_text(
        alone.replace("{ flow a { cca = reno } }", "{ flow b { cca = reno  workload = bulk } }")
    )
    assert "nothing-to-measure" not in [d.code for d in diagnose(path)]


def test_harm_asks_for_no_value_that_its_victim_cannot_have(tmp_path: Path) -> None:
    """`harm(b)` compares whatever b has; that b moves no file is no reason to warn of `fct(a)`."""
    path = tmp_path / "file.fexp"
    path.write_text(
        "fexp 1\nexperiment e {\n  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms)\n"
        "  flow a { cca = cubic  workload = file(100kB) }\n  flow b { cca = cubic  workload = bulk }\n"
        "  duration = 30s  repeat = 2\n  measure = [fct(a), harm(b)]\n}\n"
    )
    assert "nothing-to-measure" not in [d.code for d in diagnose(path)]
    path.write_text(path.read_text().replace("fct(a)", "fct(b)"))
    assert "nothing-to-measure" in [d.code for d in diagnose(path)]
