"""What the lengths of parameters are taken to be, in words: a derivative may hold for related lengths only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from s2sad.ir.nodes import Param
from s2sad.ir.types import Array, Dim, Scalar, Sym, is_given

_LETTERS = "nmklpqrs"


def lengths_said(params: Sequence[Param]) -> str:
    """Return what parameters must hold: "`u.shape == (m, m)` and `k.shape == (m - 2,)`"; empty where nothing is said.

    A length of its own, and one that is 1, are no more than what the derivative of any call is made for.
    """
    places = [dim.name for _, dim in _dims(params) if isinstance(dim, Sym)]
    told = {dim.name for _, dim in _dims(params) if isinstance(dim, Sym) and (dim.minus or places.count(dim.name) > 1)}
    names: dict[str, tuple[str, int]] = {}  # of a length: what is so long, and by how much it is less
    counts: list[Param] = []  # whole numbers that give a length its name
    for param, dim in _dims(params):
        if isinstance(param.type, Scalar) and isinstance(dim, Sym) and dim.name not in names:
            names[dim.name] = param.name, dim.minus
            counts.append(param)
    said = [p for p in params if p not in counts and any(_is_told(dim, told) for _, dim in _dims((p,)))]
    taken = {param.name for param in params}
    letters = iter([c for c in _LETTERS if c not in taken] + [f"n{i}" for i in range(1, len(places) + 1)])
    for _, dim in _dims(said):
        if isinstance(dim, Sym) and dim.name not in names:
            names[dim.name] = next(letters), 0
    return _listed([_condition(param, names) for param in said])


def _dims(params: Sequence[Param]) -> Iterator[tuple[Param, Dim]]:
    for param in params:
        if isinstance(param.type, Array):
            yield from ((param, dim) for dim in param.type.dims)
        elif isinstance(param.type, Scalar) and isinstance(param.type.value, Sym) and not is_given(param.type.value):
            yield param, param.type.value


def _is_told(dim: Dim, told: set[str]) -> bool:
    return dim.name in told if isinstance(dim, Sym) else dim > 1


def _condition(param: Param, names: dict[str, tuple[str, int]]) -> str:
    texts = [_length(dim, names) for _, dim in _dims((param,))]
    if isinstance(param.type, Scalar):
        return f"`{param.name} == {texts[0]}`"
    return f"`{param.name}.shape == ({', '.join(texts)}{',' * (len(texts) == 1)})`"


def _length(dim: Dim, names: dict[str, tuple[str, int]]) -> str:
    if not isinstance(dim, Sym):
        return str(dim)
    name, less = names[dim.name]
    more = less - dim.minus
    return f"{name} {'+' if more > 0 else '-'} {abs(more)}" if more else name


def _listed(texts: list[str]) -> str:
    *most, last = texts or [""]
    return f"{', '.join(most)} and {last}" if most else last
