"""`python -m tools.bench`: measure, print the table, and write JSON, charts or the documentation's page."""

from __future__ import annotations

import json
import sys
from pathlib import Path

if __package__ in (None, ""):  # run as `python tools/bench`
    sys.path[0] = str(Path(__file__).resolve().parents[2])

import click
from rich.console import Console

from tools.bench.peers.peer import PEERS

NAMES = [peer.name for peer in PEERS]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("target", default="cpu", type=click.Choice(["cpu", "cuda"]))
@click.option("--kernels", default="", help="Parts of names, with commas between; all if left out.")
@click.option("--peers", default=",".join(NAMES), help='Peers, with commas between; "" for none.', show_default=True)
@click.option("--quick", is_flag=True, help="Few rounds; no first calls, memory or scaling.")
@click.option("--rounds", default=11, help="How often all take their turn.", show_default=True)
@click.option("--budget", default=0.6, help="Seconds for each function, about.", show_default=True)
@click.option("--timeout", default=300.0, help="Seconds after which one measurement is given up.", show_default=True)
@click.option("--threads", default=1, help="Processors to run on, and threads of the libraries.", show_default=True)
@click.option("--pin/--no-pin", default=True, help="Stay on the same processors, the last ones.", show_default=True)
@click.option("--size", default="full", type=click.Choice(["full", "tiny"]), help="Size of the problems.")
@click.option("--scaling/--no-scaling", default=None, help="Cost by number of ODE steps; on if all is measured.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the figures here.")
@click.option("--from", "source", type=click.Path(path_type=Path, exists=True),
              help="Figures to begin with; measures only what --kernels names.")
@click.option("--plot", type=click.Path(path_type=Path, file_okay=False), help="Write the charts into this folder.")
@click.option("--docs", type=click.Path(path_type=Path, file_okay=False), help="Write performance.md and charts there.")
@click.option("--list", "listing", is_flag=True, help="Name the kernels and leave.")
def bench(target: str, kernels: str, peers: str, quick: bool, rounds: int, budget: float, timeout: float, threads: int,
          pin: bool, size: str, scaling: bool | None, json_path: Path | None, source: Path | None, plot: Path | None,
          docs: Path | None, listing: bool) -> None:
    """Measure s2sad's derivatives against their primals, adjoints by hand, and other tools.

    TARGET cuda: instructions and registers of the examples' kernels beside those by hand; times where there is a GPU.
    """
    if target == "cuda":
        from tools.bench.cuda.command import run as run_cuda

        run_cuda(Console(), size, 3 if quick else rounds, json_path)
        return
    from tools.bench.charts import write_charts
    from tools.bench.kernels import KERNELS
    from tools.bench.report import page, print_table
    from tools.bench.session import Plan, run

    console = Console()
    chosen = [kernel for kernel in KERNELS
              if not kernels or any(part.strip().lower() in kernel.name.lower() for part in kernels.split(","))]
    if listing:
        for kernel in chosen:
            console.print(f"{kernel.name}  [dim]{kernel.derivative}[/dim]")
        return
    if not chosen:
        raise click.UsageError(f"no kernel's name has {kernels!r} in it; --list names them")
    results = json.loads(source.read_text()) if source is not None else None
    if results is None or kernels or scaling:
        wanted = [name.strip() for name in peers.split(",") if name.strip()]
        for name in wanted:
            if name not in NAMES:
                raise click.UsageError(f"no peer is called {name!r}; there are {', '.join(NAMES)}")
        if scaling is None:
            scaling = not quick and not kernels
        plan = Plan(chosen if results is None or kernels else [], wanted, size, 3 if quick else rounds,
                    0.1 if quick else budget, timeout, threads, pin=pin, thorough=not quick, scaling=scaling)
        for results in run(plan, console, results):
            if json_path is not None:  # after each kernel, so that what was measured is kept whatever follows
                json_path.write_text(json.dumps(results, indent=1) + "\n")
    assert results is not None
    print_table(results, console)
    if plot is not None:
        write_charts(results, plot)
    if docs is not None:
        (docs / "performance.md").write_text(page(results))
        write_charts(results, docs)


if __name__ == "__main__":
    bench()
