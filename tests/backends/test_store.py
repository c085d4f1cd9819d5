"""The cache on disk: private, whole, never stale, safe among processes and threads."""

from __future__ import annotations

import os
import stat
import warnings

import numpy as np
import pytest

from s2sad.backends import load, store
from s2sad.errors import CacheError
from tests.backends.cases import PROGRAM, TEXT, finish, forget, module, start


def test_second_process_starts_warm(cache):
    assert finish(start(cache)) == ["32.0", "0 1 1 1"]
    assert finish(start(cache)) == ["32.0", "1 0 0 0"]


def test_concurrent_processes_agree(cache):
    running = [start(cache) for _ in range(4)]
    assert {finish(process)[0] for process in running} == {"32.0"}
    assert store.verify() == ()
    assert store.info().sources == 1
    assert not list(cache.glob(".*"))
    assert finish(start(cache))[1] == "1 0 0 0"


def test_two_signatures_compiled_at_once_do_not_mix(cache):
    single = PROGRAM.replace("np.arange(4.0)", "np.arange(4, dtype=np.float32)")
    for _ in range(2):
        running = [start(cache), start(cache, single)]
        assert [finish(process)[0] for process in running] == ["32.0", "32.0"]
    assert finish(start(cache))[1] == "1 0 0 0"
    assert finish(start(cache, single))[1] == "1 0 0 0"


def test_content_of_directory_is_private(cache):
    load(module(), "python")
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in cache.iterdir()} == {0o600}


def test_file_is_the_text_and_is_never_rewritten(cache):
    first = load(module(), "python")
    before = first.path.stat()
    assert first.path.read_text().startswith(TEXT)
    assert first.path.name.startswith("outer_grad_")
    forget()
    assert load(module(), "python").path.stat().st_ino == before.st_ino


def test_directory_that_others_can_write_is_refused(cache):
    cache.mkdir()
    cache.chmod(0o777)
    with pytest.raises(CacheError) as caught:
        load(module(), "python")
    assert str(caught.value) == (
        f"the cache directory {cache} can be written by others (mode 777)\n"
        "Machine code is loaded from it, so it must be yours alone. "
        f"Run `chmod 700 {cache}`, or set S2SAD_CACHE_DIR."
    )


def test_directory_of_another_user_is_refused(cache, monkeypatch):
    cache.mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: cache.stat().st_uid + 1)
    with pytest.raises(CacheError, match="belongs to another user"):
        load(module(), "python")


def test_directory_that_cannot_be_made_gives_way_to_a_temporary_one(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("S2SAD_CACHE_DIR", str(tmp_path / "file" / "cache"))
    forget()
    with pytest.warns(RuntimeWarning, match="temporary cache") as caught:
        path = load(module(), "python").path
    assert len(caught) == 1
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.directory() == path.parent


@pytest.mark.parametrize("damage", ["", "raise SystemExit\n", "\udcff"])
def test_damaged_source_is_written_again(cache, damage):
    path = load(module(), "python").path
    path.write_text(damage, errors="surrogateescape")
    assert store.verify() == (path,)
    forget()
    assert load(module(), "python").entry(np.arange(4.0)) == 32.0
    assert store.verify() == ()


def test_truncated_source_is_noticed(cache):
    path = load(module(), "python").path
    path.write_text(path.read_text().replace("1.0", "3.0"))
    assert store.verify() == (path,)


@pytest.mark.parametrize("keep", [0, 10, 40, 500])
def test_damaged_machine_code_is_compiled_again(cache, keep):
    finish(start(cache))
    compiled = list(cache.glob("*.machine"))
    assert len(compiled) >= 3
    for path in compiled:
        path.write_bytes(path.read_bytes()[:keep])
    assert len(store.verify()) == len(compiled)
    assert finish(start(cache)) == ["32.0", "0 1 1 1"]
    assert store.verify() == ()
    assert finish(start(cache)) == ["32.0", "1 0 0 0"]


def test_edited_text_is_never_stale(cache):
    x = np.arange(4.0)
    assert load(module(), "cpu").entry(x) == 32.0
    assert load(module(TEXT.replace("1.0", "3.0")), "cpu").entry(x) == 40.0
    assert load(module(), "cpu").entry(x) == 32.0


def scaled(k):
    return lambda x: k * x


def test_changed_external_and_helper_are_never_stale(cache):
    text = "def f(x):\n    return g(x) + c\n"

    def value(target, g, c):
        given = module(text, functions=("f",), entry="f", runtime={}, externals={"g": g, "c": c})
        return load(given, target).entry(3.0)

    for target in ("python", "cpu"):
        assert value(target, lambda x: 2.0 * x, 1.0) == 7.0
        assert value(target, lambda x: 5.0 * x, 1.0) == 16.0
        assert value(target, lambda x: 5.0 * x, 2.0) == 17.0
        first, second = scaled(2.0), scaled(3.0)
        assert (value(target, first, 0.0), value(target, second, 0.0)) == (6.0, 9.0)


def test_users_module_named_like_a_standard_one_is_still_compiled_and_hashed(cache):
    text = "def f(x):\n    return g(x)\n"
    for factor in ("2.0", "3.0"):
        scope = {"__name__": "code"}
        exec(f"def g(x):\n    return {factor} * x\n", scope)
        given = module(text, functions=("f",), entry="f", runtime={}, externals={"g": scope["g"]})
        assert load(given, "cpu").entry(1.0) == float(factor)


def test_options_and_key_are_hashed():
    stems = {
        store.stem(module(**changes))
        for changes in (
            {},
            {"key": "rules"},
            {"fastmath": True},
            {"fastmath": frozenset({"nnan"})},
            {"parallel": frozenset({"double"})},
            {"error_model": "python"},
            {"externals": {"a": np.zeros(3)}},
            {"externals": {"a": np.ones(3)}},
        )
    }
    assert len(stems) == 8
    assert store.stem(module()) == store.stem(module())


def test_failing_module_is_not_registered(cache):
    import sys

    broken = module("import numpy as np\nraise RuntimeError\n")
    with pytest.raises(RuntimeError):
        load(broken, "python")
    assert not any(name.startswith(store.stem(broken)) for name in sys.modules)


def test_info_and_clear(cache):
    load(module(), "cpu").entry(np.arange(4.0))
    (cache / "mine.txt").write_text("not s2sad's")
    found = store.info()
    assert (found.path, found.sources, found.compiled) == (cache, 1, 4)
    assert found.size > 1000
    assert store.clear() == 5
    assert [file.name for file in cache.iterdir()] == ["mine.txt"]
