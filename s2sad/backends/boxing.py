"""Arrays handed back to Python: the class of the result, without a call of Python for each array.

Numba unpickles `numpy.ndarray` anew for every array that a function returns: a Python call of a tenth
of a microsecond or more. Ours lies among the constants of the function, beside the dtype.
"""

from __future__ import annotations

import importlib
from typing import Any

_cgutils: Any = importlib.import_module("numba.core.cgutils")
_types: Any = importlib.import_module("numba.core.types")
_ir: Any = importlib.import_module("llvmlite.ir")
_PythonAPI: Any = importlib.import_module("numba.core.pythonapi").PythonAPI

_from_native_value = _PythonAPI.from_native_value
_adapt = _PythonAPI.nrt_adapt_ndarray_to_python


def from_native_value(self: Any, typ: Any, val: Any, env_manager: Any = None) -> Any:
    """Box a value, the constants of the function being at hand meanwhile."""
    before = getattr(self, "s2sad_constants", None)
    self.s2sad_constants = env_manager
    try:
        return _from_native_value(self, typ, val, env_manager)
    finally:
        self.s2sad_constants = before


def adapt(self: Any, kind: Any, array: Any, dtype: Any) -> Any:
    """Make a NumPy array of a native one; its class is a constant of the function."""
    constants = getattr(self, "s2sad_constants", None)
    if constants is None:
        return _adapt(self, kind, array, dtype)
    cls = constants.read_const(constants.add_const(kind.box_type))
    number = _ir.IntType(32)
    returned = _ir.FunctionType(self.pyobj, [self.voidptr, self.pyobj, number, number, self.pyobj])
    make = self._get_function(returned, name="NRT_adapt_ndarray_to_python_acqref")
    rank = self.context.get_constant(_types.int32, kind.ndim)
    writable = self.context.get_constant(_types.int32, int(kind.mutable))
    place = self.builder.bitcast(_cgutils.alloca_once_value(self.builder, array), self.voidptr)
    return self.builder.call(make, [place, cls, rank, writable, dtype])


REPLACED = [
    (_PythonAPI, "from_native_value", from_native_value),
    (_PythonAPI, "nrt_adapt_ndarray_to_python", adapt),
]
