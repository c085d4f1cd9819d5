"""Carry out a plan: one process for each measurement, one after the other, with a progress bar."""

from __future__ import annotations

import compileall
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tools.bench import scaling
from tools.bench.kernel import Kernel
from tools.bench.kernels import family
from tools.bench.machine import machine, versions
from tools.bench.peers.peer import Peer, find

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Plan:
    """What to measure and how long to take over it.

    Attributes:
        kernels: the programs.
        peers: names of the peers that are wanted.
        size: which of each kernel's sizes.
        rounds: how often all contestants take their turn.
        budget: seconds for one contestant, about.
        timeout: seconds after which a process is given up.
        threads: processors to run on.
        pin: keep to the same processors.
        thorough: measure first calls and memory too.
        scaling: measure how cost grows with the steps of an integrator.
    """

    kernels: list[Kernel]
    peers: list[str]
    size: str
    rounds: int
    budget: float
    timeout: float
    threads: int
    pin: bool
    thorough: bool
    scaling: bool


def run(plan: Plan, console: Console, known: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    """Yield the figures so far, as JSON can hold them, after each measurement; `known` are those to begin with."""
    peers = [find(name) for name in plan.peers]
    present = [peer for peer in peers if peer.installed()]
    for peer in peers:
        if peer not in present:
            console.print(f"[yellow]skipped:[/yellow] {peer.name} is not installed "
                          '(`pip install "s2sad\\[bench]"` brings it)')
    for package in ("s2sad", "tools/bench"):  # as an installation does, so that first calls do not
        compileall.compile_dir(ROOT / package, quiet=2)
    results = known or {"kernels": [], "scaling": []}
    results |= {"machine": machine(plan.threads), "versions": versions(present), "rounds": plan.rounds,
                "size": plan.size}
    by_name = {kernel["name"]: kernel for kernel in results["kernels"]}
    sizes = scaling.STEPS if plan.scaling else ()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
               TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=len(plan.kernels) + len(sizes))
        for kernel in plan.kernels:
            progress.update(task, description=kernel.name)
            by_name[kernel.name] = _measure(plan, kernel, present)
            results["kernels"] = list(by_name.values())
            progress.advance(task)
            yield results
        if sizes:
            results["scaling"] = []
        for steps in sizes:
            progress.update(task, description=f"{steps} steps")
            answer = _ask(plan, {"task": "scaling", "steps": steps})
            if "seconds" in answer:
                answer["seconds"] = _summary(answer["seconds"])
            results["scaling"].append(answer)
            progress.advance(task)
            yield results


def _measure(plan: Plan, kernel: Kernel, peers: list[Peer]) -> dict[str, Any]:
    """Return all figures of one kernel; `error` says why there are none."""
    asked = {"kernel": kernel.name, "size": plan.size}
    figures: dict[str, Any] = {"name": kernel.name, "derivative": kernel.derivative, "problem": kernel.peers}
    with tempfile.TemporaryDirectory() as cache:
        if plan.thorough:
            figures["first"] = {label: answer["seconds"] for label, answer in _first_calls(plan, kernel, peers, cache)
                                if "seconds" in answer}
            figures["memory"] = _ask(plan, {**asked, "task": "memory"}, cache)
        answer = _ask(plan, {**asked, "task": "times", "peers": [peer.name for peer in peers]}, cache)
    if "error" in answer:
        return figures | answer
    seconds = {name: np.array(column) for name, column in answer["seconds"].items()}
    limit = np.minimum(seconds["hand"], seconds["tuned"])
    ours = seconds["s2sad"]
    ratios = {"gradient / primal": ours / seconds["primal"], "gradient / hand": ours / limit}
    ratios |= {f"{name} / gradient": column / ours for name, column in seconds.items()
               if name not in ("primal", "hand", "tuned", "s2sad")}
    return figures | {"seconds": _summary(seconds), "ratios": _summary(ratios),
                      "errors": answer["errors"], "failed": answer["failed"], "lines": answer["lines"]}


def _first_calls(plan: Plan, kernel: Kernel, peers: list[Peer], cache: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield seconds to a first derivative: ours cold and then warm, by hand, and JAX's."""
    request = {"task": "first", "kernel": kernel.name, "family": family(kernel)}
    yield "s2sad, cold", _ask(plan, {**request, "by": "s2sad"}, cache)
    yield "s2sad, warm", _ask(plan, {**request, "by": "s2sad"}, cache)
    yield "hand", _ask(plan, {**request, "by": "hand"}, cache)
    if any(peer.name == "JAX" for peer in peers):
        yield "JAX", _ask(plan, {**request, "by": "JAX"}, cache)


def _ask(plan: Plan, request: dict[str, Any], cache: str | None = None) -> dict[str, Any]:
    """Return a worker's answer, or an `error` that says how it failed."""
    request = {"rounds": plan.rounds, "budget": plan.budget, "threads": plan.threads, "pin": plan.pin, **request}
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), environment.get("PYTHONPATH"))))
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        environment[variable] = str(plan.threads)  # libraries read these when they are first imported
    environment["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    if cache is not None:
        environment["S2SAD_CACHE_DIR"] = cache
    command = [sys.executable, "-m", "tools.bench.worker", json.dumps(request)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=plan.timeout)
    except subprocess.TimeoutExpired:
        return {"error": f"given up after {plan.timeout:.0f} s"}
    if done.returncode != 0:
        return {"error": (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1][:300]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def _summary(columns: dict[str, Any]) -> dict[str, list[float]]:
    """Return the median and the quartiles of each column, to four figures."""
    return {name: [float(f"{value:.4g}") for value in np.quantile(column, (0.5, 0.25, 0.75))]
            for name, column in columns.items()}
