"""Settings of every test: the IR is verified after every pass, and a run of all compiles a part of the programs."""

import gc
import os
import zlib

import pytest

os.environ.setdefault("S2SAD_VERIFY", "1")
# What Numba has compiled stays: to look through it again and again takes a tenth of the time.
gc.set_threshold(50_000, 20, 100)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a run of all tests, compile one in twelve of the unit tests' programs: that takes nearly all of their time.

    Of random programs every third is run then.

    `S2SAD_TESTS=all` compiles all of them, as a run of single files or folders does.
    """
    folders = {item.nodeid.split("/")[1] for item in items if item.nodeid.count("/") > 1}
    if os.environ.get("S2SAD_TESTS") == "all" or not {"unit", "corpus", "property"} <= folders:
        return
    left_out = [item for item in items if zlib.crc32(item.nodeid.encode()) % _one_in(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]


def _one_in(item: pytest.Item) -> int:
    """Return of how many tests like one a run of all takes one."""
    if _is_compiled_program(item):
        return 12
    return 3 if item.nodeid.startswith("tests/property/") and getattr(item, "callspec", None) is not None else 1


def _is_compiled_program(item: pytest.Item) -> bool:
    """Say whether a test is one of several programs on the target `cpu`, each of which runs in CPython too."""
    if not item.nodeid.startswith("tests/unit/") or any(item.iter_markers("xfail")):
        return False
    call = getattr(item, "callspec", None)
    given = list(call.params.values()) if call is not None else []
    compiled = any(isinstance(value, str) and value == "cpu" for value in given) and len(given) > 1
    return compiled or item.get_closest_marker("compiled") is not None
