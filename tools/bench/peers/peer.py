"""What a peer is: a name, whether it is installed, and its derivatives of a kernel."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tools.bench.kernel import Kernel

Run = Callable[[], Any]


@dataclass(frozen=True)
class Peer:
    """Another way to get the same derivative.

    Attributes:
        name: what the tables call it.
        package: the module to import.
        distribution: the package whose version is reported.
        module: where `derivatives(kernel, args)` is, which returns named functions of no arguments.
    """

    name: str
    package: str
    distribution: str
    module: str

    def installed(self) -> bool:
        """Say whether the package can be found, without importing it."""
        return importlib.util.find_spec(self.package) is not None

    def version(self) -> str:
        """Return the installed version."""
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return "unknown"

    def derivatives(self, kernel: Kernel, args: tuple[Any, ...]) -> dict[str, Run]:
        """Return the peer's derivatives of `kernel` at `args` by the form they are written in."""
        return importlib.import_module(self.module).derivatives(kernel, args)


PEERS = (
    Peer("JAX", "jax", "jax", "tools.bench.peers.jax_peer"),
    Peer("PyTorch", "torch", "torch", "tools.bench.peers.torch_peer"),
    Peer("autograd", "autograd", "autograd", "tools.bench.peers.autograd_peer"),
    Peer("tangent-ad", "tangent", "tangent-ad", "tools.bench.peers.tangent_peer"),
    Peer("differences", "numpy", "numpy", "tools.bench.peers.differences"),
)


def find(name: str) -> Peer:
    """Return the peer of that name."""
    return next(peer for peer in PEERS if peer.name == name)
