"""What a helper may return as it was given it, or not: nobody writes into it afterwards, by any name."""

from __future__ import annotations

import pytest

import s2sad


def given_or_new(items, x):
    if x < 0.5:
        return [x, x]
    return items


def given_or_none(items, x):
    if x < 0.5:
        return None
    return items


def given_with_a_number_or_none(items, x):
    return None if x < 0.5 else (items, x)


def written_by_its_first_name(x):
    items = [x, x * 2]
    found = given_or_new(items, x)
    items[0] = 7.0 * x
    return found[0] * found[1]


def written_by_its_second_name(x):
    items = [x, x * 2]
    found = given_or_new(items, x)
    found[0] = 7.0 * x
    return items[0] * found[1]


def written_where_it_may_be_none(x):
    items = [x, x * 2]
    found = given_or_none(items, x)
    items[0] = 7.0 * x
    return x if found is None else found[0] * found[1]


def written_in_a_tuple(x):
    items = [x, x * 2]
    found = given_with_a_number_or_none(items, x)
    items[0] = 7.0 * x
    if found is None:
        return x
    return found[0][0] * 2


def a_dict_is_written(x):
    items = {"a": x, "b": 2 * x}
    found = given_or_none(items, x)
    items["a"] = 7.0 * x
    return x if found is None else found["a"] * found["b"]


@pytest.mark.parametrize(
    "fun",
    [
        written_by_its_first_name, written_by_its_second_name, written_where_it_may_be_none, written_in_a_tuple,
        a_dict_is_written,
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", ["grad", "jvp"])
def test_a_write_into_what_may_have_two_names_is_refused(fun, mode):
    with pytest.raises(s2sad.AliasError, match="may or may not be the one that another name means"):
        s2sad.differentiate(fun).source(mode, types=(0.7,))


def read_by_both_names(x):
    items = [x, x * 2]
    found = given_or_none(items, x)
    return x if found is None else found[0] * items[1]


@pytest.mark.parametrize(("x", "slope"), [(0.7, 2.8), (0.3, 1.0)])
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_reading_by_both_names(x, slope, target):
    value, gradient = s2sad.value_and_grad(read_by_both_names, target=target)(x)
    assert value == read_by_both_names(x)
    assert gradient == pytest.approx(slope, rel=1e-14)
