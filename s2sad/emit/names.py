"""How the emitted text names an object: by an import, as a builtin, or as a captured external."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import numpy as np

# Modules whose functions are public under the module's own name, whether or not the user
# imported them, and the alias that everybody gives them.
ALIASES = {"numpy": "np", "math": "math", "cmath": "cmath", "scipy.special": "special", "numba": "numba"}

# A ufunc knows one of its names only; these are the ones that people write.
SPELLINGS = {"absolute": "abs", "conjugate": "conj", "remainder": "mod", "bool": "bool_"}


class Names:
    """The names of one emitted module: its imports, the runtime's helpers, captured objects.

    Attributes:
        runtime: helpers of `s2sad.runtime` that the text calls, by name; `imports` covers them.
        externals: every other object that the text refers to, by name; the module must bind them.

    """

    def __init__(self, module_aliases: dict[str, str]) -> None:
        """Start from the user's import aliases, `{"numpy": "np"}`."""
        self.runtime: dict[str, Any] = {}
        self.externals: dict[str, Any] = {}
        self.device = module_aliases.get("device", "numba.cuda")
        self._wanted = {**ALIASES, self.device: "cuda", **module_aliases}
        self._aliases: dict[str, str] = {}  # module -> alias, of the modules used
        self._taken: set[str] = set()
        self._known: dict[int, str] = {}

    def reserve(self, names: Iterable[str]) -> None:
        """Keep names of parameters, locals and functions away from imports and externals."""
        self._taken.update(names)

    def of(self, obj: Any) -> str:
        """Return the dotted name of a callable, class or other object, recording what it needs."""
        known = self._known.get(id(obj))
        if known is not None:
            return known
        path = self._helper(obj) or self._builtin(obj) or self._member(obj) or self._method(obj)
        return path or self._record(obj, self.externals)

    def attribute(self, module: str, path: str) -> str:
        """Return `alias.path` for a member of a module, recording the import."""
        if module not in self._aliases:
            self._aliases[module] = self._unique(self._wanted.get(module, module))
        return f"{self._aliases[module]}.{path}"

    def imports(self) -> list[str]:
        """Return the import lines as isort sorts them, an empty line between the sections."""
        standard: list[str] = []
        other: list[str] = []
        for module, alias in sorted(self._aliases.items()):
            line = _import_of(module, alias)
            (standard if _is_standard(module) else other).append(line)
        sources: dict[str, list[str]] = {}
        for name, helper in sorted(self.runtime.items()):
            own = _name_of(helper)
            spelled = name if own == name else f"{own} as {name}"
            sources.setdefault(_exporter(helper), []).append(spelled)
        for module, members in sorted(sources.items()):
            other += _import_from(module, members)
        return [*standard, *([""] if standard and other else []), *other]

    def _helper(self, obj: Any) -> str | None:
        """Name a function of `s2sad.runtime`, or the runtime's twin of one of `ir.ops`."""
        module = getattr(obj, "__module__", None) or ""
        if module == "s2sad.ir.ops":
            import s2sad.runtime as runtime

            twin = getattr(runtime, obj.__name__, obj)
            name = self._record(twin, self.runtime)
            self._known[id(obj)] = name
            return name
        if module == "s2sad.runtime" or module.startswith("s2sad.runtime."):
            return self._record(obj, self.runtime)
        return None

    def _builtin(self, obj: Any) -> str | None:
        name = getattr(obj, "__name__", None)
        if not isinstance(name, str) or getattr(builtins, name, None) is not obj:
            return None
        # A local of the user's that is called `max` hides the builtin.
        return self.attribute("builtins", name) if name in self._taken else name

    def _member(self, obj: Any) -> str | None:
        """Find `obj` in a module that the user imported, in `math`, `cmath` or in NumPy."""
        own = getattr(obj, "__name__", None)
        if not isinstance(own, str):
            return None
        home = getattr(obj, "__module__", None) or ""
        for name in (SPELLINGS.get(own, own), own):
            for module in self._wanted:
                if getattr(sys.modules.get(module), name, None) is obj:
                    return self.attribute(module, name)
            parent, _, inner = home.partition(".")
            if parent in self._wanted and _lookup(home, name) is obj and "._" not in home:
                return self.attribute(parent, f"{inner}.{name}")
        return None

    def _method(self, obj: Any) -> str | None:
        """Name a method bound to a ufunc, `np.add.at`."""
        owner = getattr(obj, "__self__", None)
        if owner is not None and getattr(getattr(np.random, obj.__name__, None), "__self__", None) is owner:
            return self.attribute("numpy", f"random.{obj.__name__}")
        return f"{self.of(owner)}.{obj.__name__}" if isinstance(owner, np.ufunc) else None

    def _record(self, obj: Any, table: dict[str, Any]) -> str:
        """Bind `obj` to a free name in `table`; the table keeps it, and so its id, alive."""
        if id(obj) not in self._known:
            name = self._unique(_name_of(obj))
            table[name] = obj
            self._known[id(obj)] = name
        return self._known[id(obj)]

    def _unique(self, name: str) -> str:
        used = {*self._taken, *self.runtime, *self.externals, *self._aliases.values()}
        free, number = name, 2
        while free in used:
            free, number = f"{name}_{number}", number + 1
        return free


def _name_of(obj: Any) -> str:
    """Return an identifier that says what `obj` is."""
    name = getattr(obj, "__name__", None) or type(obj).__name__.lower()
    return name if name.isidentifier() else "function"


def _exporter(helper: Any) -> str:
    """Return the package of the runtime if it exports `helper`, else the module that defines it."""
    import s2sad.runtime as runtime

    exported = getattr(runtime, _name_of(helper), None) is helper
    return runtime.__name__ if exported else helper.__module__


def _import_of(module: str, alias: str) -> str:
    """Write an import as people do: `import math`, `import numpy as np`, `from numba import cuda`."""
    parent, _, name = module.rpartition(".")
    if parent and name == alias:
        return f"from {parent} import {name}"
    return f"import {module}" if module == alias else f"import {module} as {alias}"


def _is_standard(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names


def _lookup(module: str, name: str) -> Any:
    """Return `module.name` where the module is reachable as an attribute of its parent."""
    root, _, rest = module.partition(".")
    found: Any = sys.modules.get(root)
    for part in (*rest.split("."), name) if rest else (name,):
        found = getattr(found, part, None)
    return None if isinstance(found, ModuleType) else found


def _import_from(module: str, members: list[str]) -> list[str]:
    """Write one `from` import, one member a line where it is too long for one."""
    line = f"from {module} import {', '.join(members)}"
    if len(line) <= 88:
        return [line]
    return [f"from {module} import (", *(f"    {member}," for member in members), ")"]
