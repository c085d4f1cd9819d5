"""Texts beside numbers in lists that grow: tags of events, and logs that nothing reads."""

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives


def tagged_in_branches(x):
    events = []
    for v in x:
        if v > 0.5:
            events.append(("up", v))
        else:
            events.append(("down", v * v))
    total = 0.0
    for tag, v in events:
        total += v**3 if tag == "up" else 5.0 * v
    return total


def one_tag(x):
    log = []
    for i, v in enumerate(x):
        log.append({"kind": "step", "at": i, "v": v * v})
    return log[-1]["v"] * log[0]["v"] if log[1]["kind"] == "step" else 0.0


def in_a_comprehension(x):
    pairs = [(name, v) for name in ("a", "b") for v in x if v > 0.5]
    total = 0.0
    for name, v in pairs:
        total += v * v if name == "a" else v
    return total


def note(events, what, v):
    events.append((what, v))


def by_a_helper(x):
    events = []
    for v in x:
        note(events, "in", v)
        note(events, "out", v * v)
    total = 0.0
    while events:
        what, v = events.pop()
        total += v * v if what == "in" else v
    return total


class Event:
    def __init__(self, kind, v):
        self.kind, self.v = kind, v


def objects(x):
    events = []
    for v in x:
        events.append(Event("in" if v > 0.5 else "out", v * v))
    return sum(e.v**2 if e.kind == "in" else 3 * e.v for e in events)


def replaced_and_joined(x):
    first = []
    for v in x:
        first.append(("a", v))
    first[0] = ("b", 3.0 * x[1])
    both = first + [("c", x[0] * x[1])] + first[1:]
    return sum(i * v * v if tag != "a" else v**3 for i, (tag, v) in enumerate(both))


def nothing_reads(x):
    log = []
    total = 0.0
    for i, v in enumerate(x):
        if v > 1:
            total += v**3
            log.append(f"step {i} big {v}")
        else:
            total += v
            log.append(f"step {i} small {v:g}")
    return total


def its_length_is_read(x):
    log = []
    total = 0.0
    for v in x:
        log.append(f"{v}")
        total += v * v
    return total * len(log)


PROGRAMS = [tagged_in_branches, one_tag, in_a_comprehension, by_a_helper, objects, replaced_and_joined, nothing_reads,
            its_length_is_read]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_of_texts(program, target):
    assert_derivatives(program, np.array([0.3, 1.2, 2.0]), target)


def test_nothing_is_kept_of_a_log_that_is_never_read():
    derived = s2sad.differentiate(nothing_reads, target="python")
    derived.grad(np.ones(3))
    lines = [line for line in derived.source("grad").splitlines() if not line.lstrip().startswith("#")]
    assert not any("log" in line.partition("#")[0] for line in lines)


def test_texts_and_numbers_in_one_field_are_refused():
    def f(x):
        events = []
        for v in x:
            events.append(("a", v))
        events.append((1.0, x[0]))
        return events[0][1]

    with pytest.raises(s2sad.errors.UnsupportedSyntaxError, match="differ in kind"):
        s2sad.grad(f)(np.ones(2))


def columns_of_texts(x):
    events = []
    for v in x:
        events.append(("step", v))
    names, values = zip(*events, strict=True)
    return sum(v * v for name, v in zip(names, values, strict=True) if name == "step")


def nothing_but_texts(x):
    events = []
    for v in x:
        if v > 0.5:
            events.append(("step", None))
    return len(events) * x[0]


@pytest.mark.parametrize(("f", "says"), [
    (columns_of_texts, "the same in all of them"), (nothing_but_texts, "no number that could be counted"),
])  # fmt: skip
def test_what_has_no_list_is_refused(f, says):
    with pytest.raises(s2sad.UnsupportedSyntaxError, match=says):
        s2sad.grad(f)(np.array([0.3, 1.2]))
