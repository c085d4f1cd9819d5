"""A kernel run thread by thread, with every access to memory written down.

Threads run one after the other from barrier to barrier, in an order drawn at random. What two
threads do to one element is compared afterwards: within a block, between the same two barriers;
between blocks, over the whole launch. So a race is found whatever order would have brought it out.
Also found: barriers that not all threads of a block reach, indices outside an array (negative ones
too), and, because fresh memory holds NaN, values read before anything was written.

With `late=True` what a thread writes is seen by the others at the next barrier, and what a block writes by other
blocks after the launch: of two additions to one element that are not atomic, one is lost. That is another model of
the same machine, without the log: a fault that the log overlooked comes out in the numbers.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


class DeviceFault(AssertionError):
    """Something that a GPU would do silently, or crash of."""


class Race(DeviceFault):
    """Two threads meet in one element, and one of them writes."""


class Divergence(DeviceFault):
    """Some threads of a block wait at a barrier that others do not reach."""


class OutOfBounds(DeviceFault):
    """An index that is not in the array."""


class Memory:
    """Who did what to the elements of one array."""

    def __init__(self, name: str, launch: Launch, shared: bool = False) -> None:
        self.name, self.launch, self.shared = name, launch, shared
        self.phase: dict[int, dict[str, set[Any]]] = {}  # element -> kind -> threads, since the last barrier
        self.whole: dict[int, dict[str, set[Any]]] = {}  # element -> kind -> blocks, over the launch
        self.of_thread: dict[Any, dict[int, Any]] = {}  # thread -> element -> what it wrote since the last barrier
        self.of_block: dict[Any, dict[int, Any]] = {}  # block -> element -> what it wrote, not yet seen by others

    def seen(self, element: int, value: Any) -> Any:
        """Return what the running thread finds in an element that holds `value` for the other blocks."""
        launch = self.launch
        value = self.of_block.get(launch.block, {}).get(element, value)
        return self.of_thread.get(launch.thread, {}).get(element, value)

    def settle(self, flat: Any) -> None:
        """Show a block what its threads wrote; shared memory has one block."""
        for number in self.launch.rng.permutation(len(self.of_thread)):
            self.of_block.setdefault(self.launch.block, {}).update(list(self.of_thread.values())[number])
        self.of_thread = {}
        if self.shared:
            self.publish(flat)

    def publish(self, flat: Any) -> None:
        """Show every block what the others wrote, in no defined order."""
        for number in self.launch.rng.permutation(len(self.of_block)):
            for element, value in list(self.of_block.values())[number].items():
                flat[element] = value
        self.of_block = {}

    def note(self, ids: Any, kind: str) -> None:
        for element in np.ravel(ids).tolist():
            self.phase.setdefault(element, {}).setdefault(kind, set()).add(self.launch.thread)
            self.whole.setdefault(element, {}).setdefault(kind, set()).add(self.launch.block)

    def end_phase(self) -> None:
        if self.launch.late:
            return
        _check(self.phase, f"threads of block {self.launch.block}", self)
        self.phase = {}

    def end_launch(self) -> None:
        if not self.shared and not self.launch.late:
            _check(self.whole, "blocks", self)


def _check(log: dict[int, dict[str, set[Any]]], who: str, memory: Memory) -> None:
    for element, kinds in log.items():
        writers, others = kinds.get("write", set()), kinds.get("read", set())
        adders = kinds.get("atomic", set())
        clash = len(writers | others | adders) > 1 and writers
        if clash or (adders and len(adders | others) > 1 and others):
            raise Race(f"{who} meet in element {element} of `{memory.name}`: " + ", ".join(
                f"{kind} by {sorted(map(str, found))[:3]}" for kind, found in kinds.items()))


class Tracked:
    """An array as a thread sees it."""

    def __init__(self, values: Any, ids: Any, memory: Memory) -> None:
        self.values, self.ids, self.memory = values, ids, memory

    shape = property(lambda self: self.values.shape)
    size = property(lambda self: self.values.size)
    ndim = property(lambda self: self.values.ndim)
    dtype = property(lambda self: self.values.dtype)

    def __len__(self) -> int:
        return len(self.values)

    def _checked(self, index: Any) -> Any:
        items = index if isinstance(index, tuple) else (index,)
        for axis, item in enumerate(items):
            if not isinstance(item, slice) and not 0 <= item < self.values.shape[axis]:
                raise OutOfBounds(f"index {item} of axis {axis} of `{self.memory.name}`, of shape {self.shape}, "
                                  f"by thread {self.memory.launch.thread}")
        return index

    def __getitem__(self, index: Any) -> Any:
        found = self.values[self._checked(index)]
        if isinstance(found, np.ndarray):
            return Tracked(found, self.ids[index], self.memory)
        self.memory.note(self.ids[index], "read")
        return self.memory.seen(int(self.ids[index]), found) if self.memory.launch.late else found

    def __setitem__(self, index: Any, value: Any) -> None:
        place, memory = self.ids[self._checked(index)], self.memory
        memory.note(place, "write")
        if memory.launch.late:
            memory.of_thread.setdefault(memory.launch.thread, {})[int(place)] = self.values.dtype.type(value)
        else:
            self.values[index] = value

    def atomic(self, index: Any, combine: Callable[[Any, Any], Any], value: Any) -> None:
        place, memory = int(self.ids[self._checked(index)]), self.memory
        memory.note(place, "atomic")
        for own in (memory.of_thread.get(memory.launch.thread, {}), memory.of_block.get(memory.launch.block, {})):
            if place in own:
                own[place] = combine(own[place], value)
                return
        self.values[index] = combine(self.values[index], value)


class Dim3:
    def __init__(self, *xyz: int) -> None:
        self.x, self.y, self.z = xyz


class Launch:
    """One launch; also what its threads call `cuda`."""

    def __init__(self, grid: Any, block: Any, seed: int, late: bool = False) -> None:
        self.late = late
        self.whole: list[tuple[Memory, Any]] = []  # with their elements in a row
        self.gridDim, self.blockDim = Dim3(*_three(grid)), Dim3(*_three(block))
        self.rng = np.random.default_rng(seed)
        self.memories: list[Memory] = []
        self.block: Any = None
        self.thread: Any = None
        self.threadIdx = self.blockIdx = Dim3(0, 0, 0)
        self.of_block: dict[Any, Tracked] = {}
        self.answers: dict[Any, int] = {}
        self.atomic = types.SimpleNamespace(
            add=lambda a, i, v: a.atomic(i, lambda x, y: x + y, v), max=lambda a, i, v: a.atomic(i, max, v))
        self.shared = types.SimpleNamespace(array=self._shared)
        self.local = types.SimpleNamespace(array=self._fresh)

    def tracked(self, name: str, array: Any, shared: bool = False) -> Tracked:
        memory = Memory(name, self, shared)
        self.memories.append(memory)
        self.whole.append((memory, array.reshape(-1)))
        return Tracked(array, np.arange(array.size).reshape(array.shape), memory)

    def _fresh(self, shape: Any, dtype: Any) -> Any:
        dtype = np.dtype(dtype if isinstance(dtype, type | np.dtype) else str(dtype))
        return np.full(shape, np.nan if dtype.kind == "f" else 123456789, dtype)

    def _shared(self, shape: Any, dtype: Any) -> Any:
        frame = inspect.currentframe().f_back
        place = frame.f_code, frame.f_lasti  # two arrays may be made in one line
        if place not in self.of_block:
            name = f"shared, line {frame.f_lineno}"
            self.of_block[place] = self.tracked(name, self._fresh(shape, dtype), shared=True)
        return self.of_block[place]

    def grid(self, ndim: int) -> Any:
        found = tuple(getattr(self.blockIdx, a) * getattr(self.blockDim, a) + getattr(self.threadIdx, a)
                      for a in "xyz"[:ndim])
        return found[0] if ndim == 1 else found

    def gridsize(self, ndim: int) -> Any:
        found = tuple(getattr(self.gridDim, a) * getattr(self.blockDim, a) for a in "xyz"[:ndim])
        return found[0] if ndim == 1 else found

    def run(self, body: Callable[..., Iterator[int]], args: list[Any]) -> None:
        blocks = list(itertools.product(*(range(n) for n in _three((self.gridDim.x, self.gridDim.y, self.gridDim.z)))))
        size = (self.blockDim.x, self.blockDim.y, self.blockDim.z)
        for number in self.rng.permutation(len(blocks)):
            self.block, self.of_block, self.answers = blocks[number], {}, {}
            places = list(itertools.product(*(range(n) for n in size)))
            running = {(self.block, place): body(*args) for place in places}
            while running:
                running = self._phase(running)
            self.memories = [m for m in self.memories if not m.shared]
        for memory in self.memories:
            memory.end_launch()
        for memory, flat in self.whole:
            memory.publish(flat)

    def _phase(self, running: dict[Any, Iterator[int]]) -> dict[Any, Iterator[int]]:
        """Run every thread to its next barrier."""
        waiting: dict[Any, int] = {}
        votes: list[Any] = []
        threads = list(running)
        for number in self.rng.permutation(len(threads)):
            thread = threads[number]
            self.thread, self.blockIdx, self.threadIdx = thread, Dim3(*thread[0]), Dim3(*thread[1])
            try:
                site, said = running[thread].send(self.answers.get(thread))
            except StopIteration:
                continue
            waiting[thread] = site
            votes.append(said)
        self.answers = dict.fromkeys(waiting, int(any(votes)))
        for memory in self.memories:
            memory.end_phase()
        for memory, flat in self.whole:
            memory.settle(flat)
        if waiting and (len(waiting) < len(running) or len(set(waiting.values())) > 1):
            raise Divergence(f"{len(waiting)} of {len(running)} threads of block {self.block} wait, "
                             f"in lines {sorted(set(waiting.values()))}")
        return {thread: running[thread] for thread in waiting}


def _three(dims: Any) -> tuple[int, ...]:
    dims = tuple(dims) if isinstance(dims, tuple | list) else (dims,)
    return (*dims, *(1,) * (3 - len(dims)))


class _Barriers(ast.NodeTransformer):
    """A barrier becomes a `yield` of its line and of what the thread says there."""

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        name = ast.unparse(node.func)
        if name not in ("cuda.syncthreads", "cuda.syncthreads_or"):
            return node
        said = node.args[0] if node.args else ast.Constant(0)
        return ast.copy_location(ast.Yield(ast.Tuple([ast.Constant(node.lineno), said], ast.Load())), node)


def threads_of(function: Callable[..., Any], launch: Launch, text: str | None = None) -> Callable[..., Iterator[int]]:
    """Return the body of one thread as a generator that stops at each barrier.

    `text`: the module that holds the function, where it is not the function's own file.
    """
    source = textwrap.dedent(text if text is not None else inspect.getsource(function))
    tree = ast.parse(source)
    tree.body = [n for n in tree.body if not isinstance(n, ast.Import | ast.ImportFrom)]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []
            if node.name == function.__name__:
                _Barriers().visit(node)
                node.body.append(ast.parse("if False:\n    yield").body[0])
    scope = {**function.__globals__, "cuda": launch}
    scope |= {k: getattr(v, "fn", getattr(v, "py_func", v)) for k, v in scope.items() if _is_device(v)}
    scope |= {k: types.FunctionType(v.__code__, scope, k) for k, v in scope.items()
              if isinstance(v, types.FunctionType) and v.__globals__ is function.__globals__}
    exec(compile(ast.fix_missing_locations(tree), "<emulated>", "exec"), scope)
    return scope[function.__name__]


def _is_device(value: Any) -> bool:
    return type(value).__name__ in ("FakeCUDAKernel", "CUDADispatcher")


def emulate(function: Callable[..., Any], grid: Any, block: Any, *args: Any, seed: int = 0,
            text: str | None = None, late: bool = False) -> None:
    """Run a kernel on the host, its arrays being changed in place; raises a `DeviceFault`."""
    launch = Launch(grid, block, seed, late)
    names = list(inspect.signature(function).parameters)
    given = [launch.tracked(n, a) if isinstance(a, np.ndarray) else a for n, a in zip(names, args, strict=True)]
    launch.run(threads_of(function, launch, text), given)
