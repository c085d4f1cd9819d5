"""The loops that stand for whole-array arithmetic on the compiled target, run as Python.

What the compiled target gets is the same text as NumPy's but for these loops, so that running it in CPython checks
the loops for the whole corpus at little cost, out-of-range indices included.
"""

from __future__ import annotations

import pytest

from s2sad.analysis.facts import Facts
from s2sad.emit.loops import looped
from tests.corpus.programs import REGISTER, programs
from tests.corpus.test_corpus import KNOWN_LIMITS
from tests.ladder import compare

programs()
NAMES = [name for name in REGISTER if ("python", name) not in KNOWN_LIMITS]
written = 0


@pytest.mark.parametrize("name", NAMES)
def test_loops_give_what_whole_arrays_give(name, monkeypatch):
    import s2sad
    from s2sad.api import derive
    from s2sad.errors import AliasError

    def with_loops(derived, *others):
        facts = Facts(derived.functions)
        made = {key: looped(fn, facts) for key, fn in derived.functions.items()}
        global written
        written += made != derived.functions
        return made, {}

    program = REGISTER[name]
    wrt = program.wrt if len(program.wrt) > 1 else program.wrt[0]
    plain = s2sad.differentiate(target="python", argnums=wrt)(program.fun)
    other = s2sad.differentiate(target="python", argnums=wrt, cache=False)(program.fun)  # derived anew
    with monkeypatch.context() as patched:
        patched.setattr(derive, "_compiled_form", with_loops)
        try:
            compare(program, other, plain)
        except AliasError:
            if "may_alias" not in program.marks:
                raise


def test_loops_were_written():
    """Most programs of one worker hold whole-array arithmetic; were none rewritten, nothing was tested."""
    if written == 0:
        test_loops_give_what_whole_arrays_give("reductions.softmax_rows", pytest.MonkeyPatch())
    assert written > 0
