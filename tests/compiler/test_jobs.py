"""What the cluster targets emit: golden files, the API's own schema, sbatch's documented
options.
"""

from __future__ import annotations

import math
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import kubernetes_validate
import pytest
import yaml
from specs import compilation_of, experiment_of

from fairc.compiler import Plan, compile, emit
from fairc.compiler.estimate import Estimate
from fairc.compiler.targets import jobs, kubernetes, slurm
from fairc.dsl import CompileError
from fairc.runtime.vm import exchange, recipe

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests/golden"
FILES = {
    "kubernetes-job.yaml": "kubernetes/job.yaml",
    "kubernetes-volume.yaml": "kubernetes/volume.yaml",
    "slurm.sh": "slurm.sh",
}
# Of the manual of sbatch, version 22.05 (Debian 12): options that a script may hold, and the form
# of their values. tests/compiler checks syntax; docs/run/cluster.md says how to ask a real sbatch.
SBATCH = {
    "job-name": r"[\w-]+",
    "array": r"\d+-\d+%\d+",
    "ntasks": r"[1-9]\d*",
    "cpus-per-task": r"[1-9]\d*",
    "mem": r"[1-9]\d*[KMGT]",
    "time": r"\d{2,}:[0-5]\d:[0-5]\d",
    "output": r"[^\s]*%A_%a[^\s]*",
    "open-mode": r"append|truncate",
    "requeue": None,
}


@pytest.fixture(scope="module")
def emitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example `quickstart`, compiled for both targets."""
    file = ROOT / "examples/quickstart.fexp"
    loaded = experiment_of(file.read_text(), file.name)
    folder = tmp_path_factory.mktemp("emitted") / "out"
    emit(compile(loaded), folder, ["kubernetes", "slurm"])
    return folder


def documents(file: Path) -> dict[str, Any]:
    """Return the documents of a YAML file by their kind."""
    return {document["kind"]: document for document in yaml.safe_load_all(file.read_text())}


@pytest.mark.parametrize("name", FILES)
def test_golden(emitted: Path, name: str, update: bool) -> None:
    got = (emitted / FILES[name]).read_text()
    path = GOLDEN / f"quickstart.{name}"
    if update:
        path.write_text(got)
    assert got == path.read_text()


@pytest.mark.parametrize("version", ["1.33", "1.37"])
def test_kubernetes_takes_them(emitted: Path, version: str) -> None:
    """By the schema of its API: strict, so nothing unknown is there."""
    found = {**documents(emitted / "kubernetes/volume.yaml")}
    found |= documents(emitted / "kubernetes/job.yaml")
    assert set(found) == {"Job", "Pod", "PersistentVolumeClaim"}
    for document in found.values():
        kubernetes_validate.validate(document, version, strict=True)
    found["Job"]["spec"]["completion"] = 1  # the schema does see mistakes
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(found["Job"], version, strict=True)


def test_what_kubernetes_demands_beyond_its_schema(emitted: Path) -> None:
    """Of the API reference: what the server refuses in an Indexed Job."""
    job = documents(emitted / "kubernetes/job.yaml")["Job"]
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?", job["metadata"]["name"])
    assert spec["completionMode"] == "Indexed"
    assert spec["backoffLimitPerIndex"] >= 0 and "backoffLimit" not in spec
    assert pod["restartPolicy"] == "Never"  # podFailurePolicy and backoffLimitPerIndex need it
    names = {container["name"] for container in pod["containers"]}
    for rule in spec["podFailurePolicy"]["rules"]:
        assert ("onExitCodes" in rule) != ("onPodConditions" in rule)
        if "onExitCodes" in rule:
            assert rule["onExitCodes"]["containerName"] in names
    volumes = {volume["name"] for volume in pod["volumes"]}
    for container in pod["containers"]:
        assert {mount["name"] for mount in container["volumeMounts"]} == volumes


@pytest.mark.parametrize(("file", "kind"), [("job", "Job"), ("volume", "Pod")])
def test_pods_have_no_privileges(emitted: Path, file: str, kind: str) -> None:
    """The "restricted" Pod Security Standard of Kubernetes, and a root file system that is
    read-only.
    """
    document = documents(emitted / f"kubernetes/{file}.yaml")[kind]
    pod = document["spec"]["template"]["spec"] if kind == "Job" else document["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    for container in pod["containers"]:
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["readOnlyRootFilesystem"] is True
        assert context["capabilities"] == {"drop": ["ALL"]}
    for volume in pod["volumes"]:
        assert volume.keys() <= {"name", "persistentVolumeClaim", "emptyDir"}


def test_a_job_has_the_memory_of_the_guest() -> None:
    """And of the file that it hands over; 1 GiB is left for fairc. A browser's machine has more."""
    plan: Any = SimpleNamespace(cells=1, experiment="e")
    estimate = Estimate(jobs=1)
    plain = (recipe.PLAIN.memory_bytes + exchange.SIZE) >> 20
    assert jobs.deal(plan, estimate, 1).memory_mib >= plain + 1024
    estimate.largest_bytes = 1.5 * 2**30
    more = jobs.deal(plan, estimate, 1).memory_mib - jobs.deal(plan, Estimate(jobs=1), 1).memory_mib
    assert more == 3 * 1024
    estimate.largest_bytes = 0.0
    estimate.browsers = True
    browser = (recipe.BROWSER.memory_bytes + exchange.SIZE) >> 20
    code = recipe.BROWSER.translation_cache_mb
    assert jobs.deal(plan, estimate, 1).memory_mib >= browser + code + 1024


def test_jobs_with_a_browser_say_that_they_need_its_image(tmp_path: Path) -> None:
    plan: Any = SimpleNamespace(cells=1, experiment="e", file="e.fexp", engine="vm")
    for browsers in (False, True):
        folder = tmp_path / str(browsers)
        folder.mkdir()
        estimate = Estimate(jobs=1)
        estimate.browsers = browsers
        kubernetes.finish(folder, plan, estimate)
        slurm.finish(folder, plan, estimate)
        for name in ("slurm.sh", "kubernetes/job.yaml"):
            text = (folder / name).read_text()
            assert ("\n# Pages are loaded in Chromium" in text) is browsers
            assert f"{5120 if browsers else 3072}M" in text
        assert documents(folder / "kubernetes/job.yaml")["Job"]


@pytest.mark.parametrize("engine", ["mininet", "docker"])
def test_pods_cannot_run_engines_with_privileges(
    make: SimpleNamespace, tmp_path: Path, engine: str
) -> None:
    with pytest.raises(CompileError) as caught:
        emit(compile(make.experiment(make.quickstart()), engine), tmp_path / "out", ["kubernetes"])
    assert caught.value.diagnostics[0].code == "engine-needs-privileges"
    assert not (tmp_path / "out").exists()


def test_slurm_takes_its_script(emitted: Path) -> None:
    script = emitted / "slurm.sh"
    subprocess.run(["bash", "-n", str(script)], check=True)
    lines = script.read_text().splitlines()
    given = [line.removeprefix("#SBATCH --") for line in lines if line.startswith("#SBATCH")]
    for option in given:
        name, _, value = option.partition("=")
        form = SBATCH[name]  # KeyError: not an option of sbatch
        assert (form is None and not value) or (form and re.fullmatch(form, value)), option
    commands = [n for n, line in enumerate(lines) if line and not line.startswith("#")]
    assert max(n for n, line in enumerate(lines) if line.startswith("#SBATCH")) < commands[0]
    assert (emitted / "logs").is_dir()  # Slurm makes no folder for its output


@pytest.mark.parametrize(
    ("cells", "most", "count", "chunk"),
    [(1, 1000, 1, 1), (1000, 1000, 1000, 1), (1001, 1000, 501, 2), (100_000, 1000, 1000, 100)],
)
def test_cells_are_dealt_out_to_jobs(cells: int, most: int, count: int, chunk: int) -> None:
    estimate = Estimate(jobs=1)
    estimate.longest_s = 60.0
    plan = Plan.model_construct(cells=cells, experiment="e")
    dealt = jobs.deal(plan, estimate, most)
    assert (dealt.count, dealt.chunk) == (count, chunk)
    assert (count - 1) * chunk < cells <= count * chunk
    assert dealt.limit_s >= max(900, 60 * chunk) and dealt.limit_s % 60 == 0
    assert dealt.at_once == min(100, count)


@pytest.mark.parametrize(
    ("cells", "longest_s", "chunk"),
    [(100, 1.0, 1), (101, 1.0, 2), (992, 1.0, 10), (992, 60.0, 5), (992, 301.0, 1), (992, 0, 10)],
)
def test_short_cells_share_a_task(cells: int, longest_s: float, chunk: int) -> None:
    """Up to five minutes of them, but no more than it takes to have all in tasks at once."""
    estimate = Estimate(jobs=1)
    estimate.longest_s = longest_s
    plan = Plan.model_construct(cells=cells, experiment="e")
    dealt = jobs.deal(plan, estimate, slurm.MOST_TASKS, slurm.FILLED_S)
    assert dealt.chunk == chunk
    assert dealt.limit_s >= 5 * chunk * longest_s
    assert jobs.deal(plan, estimate, kubernetes.MOST_COMPLETIONS).chunk == 1


def test_no_more_jobs_than_a_cluster_takes(make: SimpleNamespace, tmp_path: Path) -> None:
    """Slurm's MaxArraySize is 1001 by default; Kubernetes has 100,000 completions."""
    plan = Plan.model_construct(cells=10**6, experiment="e")
    for most in (kubernetes.MOST_COMPLETIONS, slurm.MOST_TASKS):
        dealt = jobs.deal(plan, Estimate(jobs=1), most)
        assert dealt.count == math.ceil(10**6 / dealt.chunk) <= most


@pytest.mark.parametrize(
    ("experiment", "name"),
    [
        ("quickstart", "fairc-quickstart"),
        ("Quic_Fairness_2", "fairc-quic-fairness-2"),
        ("x" * 90, "fairc-" + "x" * 34),
        ("a" * 33 + "__b", "fairc-" + "a" * 33),
    ],
)
def test_names_are_dns_labels(experiment: str, name: str) -> None:
    assert jobs.job_name(Plan.model_construct(experiment=experiment)) == name


def test_a_strange_file_name_stays_in_its_comment(make: SimpleNamespace, tmp_path: Path) -> None:
    compilation = compile(make.experiment(make.quickstart()))
    evil = "x\nrm -rf ~\n---\nkind: Secret"
    plan = compilation.plan.model_copy(update={"file": evil, "experiment": evil})
    kubernetes.finish(tmp_path, plan, Estimate(jobs=1))
    slurm.finish(tmp_path, plan, Estimate(jobs=1))
    assert set(documents(tmp_path / "kubernetes/job.yaml")) == {"Job"}
    lines = (tmp_path / "slurm.sh").read_text().splitlines()
    assert [line for line in lines if line and not line.startswith("#")] == [
        "set -eu",
        'exec fairc cell . --index "$SLURM_ARRAY_TASK_ID" --chunk 1',
    ]


def test_code_is_allowed_where_cells_have_it(tmp_path: Path) -> None:
    """Whoever compiles the plan names its modules and programs, so the files that run it let them
    run.
    """
    file = ROOT / "examples/quickstart.fexp"
    compilation = compilation_of(file.read_text(), file.name)
    estimate = Estimate(engine="uml")
    for cell in compilation.cells():
        estimate.add(cell)
    for allowed in ([], ["--allow-module"], ["--allow-module", "--allow-program"]):
        folder = tmp_path / str(len(allowed))
        folder.mkdir()
        estimate.modules, estimate.programs = len(allowed) > 0, len(allowed) > 1
        slurm.finish(folder, compilation.plan, estimate)
        kubernetes.finish(folder, compilation.plan, estimate)
        script = (folder / "slurm.sh").read_text().splitlines()[-1]
        assert [word for word in script.split() if word.startswith("--allow")] == allowed
        job = documents(folder / "kubernetes/job.yaml")["Job"]
        command = job["spec"]["template"]["spec"]["containers"][0]["command"]
        assert [word for word in command if word.startswith("--allow")] == allowed
