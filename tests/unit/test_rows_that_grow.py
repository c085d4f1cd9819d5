"""Lists of lists that grow in their places, and dicts of them: one list of items, in which each points to its next."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.3, 0.83, 1.1, 1.7, 0.6])


def cell_lists(x):
    cells = defaultdict(list)
    for i in range(len(x)):
        cells[int(x[i] // 0.5)].append(i)
    e = 0.0
    for i in range(len(x)):
        c = int(x[i] // 0.5)
        for d in (-1, 0, 1):
            for j in cells.get(c + d, []):
                if j > i:
                    e += (x[i] - x[j]) ** 2
    return e


def kept_by_key(x):
    cells = {}
    for i in range(len(x)):
        key = int(x[i] // 0.5)
        if key not in cells:
            cells[key] = []
        cells[key].append(x[i])
    return sum(sum(v) ** 2 for v in cells.values())


def by_pairs(x):
    cells = {}
    for i in range(len(x)):
        cells.setdefault((int(x[i] // 0.5), i % 2), []).append(x[i])
    t = 0.0
    for key, items in cells.items():
        t += (1 + key[0]) * sum(items) ** 2
    return t


def means_of_groups(x):
    groups = defaultdict(list)
    for v in x:
        groups[int(v > 0.7)].append(v)
    out = {k: np.mean(v) for k, v in groups.items()}
    return out[0] * out[1]


def groups_with_a_first_item(x):
    groups = {}
    for i, v in enumerate(x):
        k = i % 3
        if k in groups:
            groups[k].append(v)
        else:
            groups[k] = [v]
    t = 0.0
    for k in groups:
        m = sum(groups[k]) / len(groups[k])
        for v in groups[k]:
            t += (v - m) ** 2 * (k + 1)
    return t


def bins(x):
    n = 3 * len(x)
    bins = [[] for _ in range(n)]
    for v in x:
        bins[min(n - 1, int(v * n / 2))].append(v * v)
    t = 0.0
    for k in range(n):
        if bins[k]:
            t += max(bins[k]) * k + len(bins[k])
        elif not bins[k] and k > 2:
            t += x[0]
    return t


def ranks(x):
    n = 8 * len(x)
    g = [[] for _ in range(n)]
    for i in range(n):
        g[i].append(((i + 1) % n, 0.5))
        if i % 3 == 0:
            g[i].append(((i * 5) % n, 0.25))
    rank = [1.0 / n] * n
    for it in range(4):
        new = [0.1 * x[i % len(x)] for i in range(n)]
        for i in range(n):
            for j, w in g[i]:
                new[j] += w * rank[i] / len(g[i])
        rank = new
    return sum(r * r * (i + 1) for i, r in enumerate(rank))


def a_tree(x):
    n = 7 * len(x)
    adj = [[] for i in range(n)]
    for i in range(1, n):
        p = (i - 1) // 2
        adj[p].append(i)

    def depth_sum(u, s):
        t = s * x[u % len(x)]
        for c in adj[u]:
            t += depth_sum(c, s * 0.9)
        return t

    return depth_sum(0, 1.0)


def rows_that_grow(x):
    n = 40
    T = [[x[0] * i] for i in range(n)]
    for i in range(1, n):
        for j in range(min(i, 3)):
            T[i].append(T[i][j] * 0.5 + T[i - 1][min(j, len(T[i - 1]) - 1)] * x[1])
    return sum(T[n - 1]) + T[3][2] + T[-1][-1]


def new_rows(x):
    levels = []
    for i in range(len(x)):
        levels.append([])
        for j in range(i + 1):
            levels[i].append(x[j] * i)
    t = 0.0
    for i, row in enumerate(levels):
        for j, v in enumerate(row):
            t += v * v * (j + 1) / (1 + len(levels[i]))
    return t


def records_by_key(x):
    by = defaultdict(list)
    for i in range(len(x)):
        by[(i % 2, int(x[i] > 1))].append((x[i], i))
    t = 0.0
    for key in sorted(by):
        for v, i in by[key]:
            t += v * v * (i + 1) * (1 + key[0])
    return t


def a_named_row(x):
    n = 36
    stacks = [[] for _ in range(n)]
    for i in range(len(x)):
        stacks[5 * i].append(x[i])
        stacks[5 * i].append(2 * x[i])
    row = stacks[5]
    total = sum(row) * row[1]
    for a in stacks[10]:
        for b in stacks[15]:
            if b > 3:
                continue
            total += a * b
        else:
            total += 1.0
    for a in stacks[10]:
        if a > 2:
            break
        total *= a
    return total


def rows_anew(x):
    n = 40
    b = [[] for _ in range(n)]
    for i in range(len(x)):
        b[i] += [x[i]]
        b[i] = [x[i] * 2, x[0]]
        b[i].append(x[1])
    return sum(sum(r) for r in b) + sum(b[k][0] for k in range(len(x)))


def goes_on_growing(x):
    n = 40
    b = [[] for _ in range(n)]
    b[0].append(x[0])
    for v in b[0]:
        if len(b[0]) < 4:
            b[0].append(v * x[1])
    return sum(b[0])


def grown_elsewhere(x):
    n = 40
    b = [[] for _ in range(n)]

    def add(k, v):
        b[k].append(v)
        return v

    for t in range(3):
        for i in range(len(x)):
            add(i + t, x[i] * t)
        b[0].append(add(0, x[1]) * 2)
    return sum(sum(r) ** 2 * (k + 1) for k, r in enumerate(b))


def in_turns(x):
    t = 0.0
    for s in range(3):
        bins = [[] for _ in range(36)]
        for i in range(len(x)):
            bins[(i * 7 + s) % 36].append(x[i] ** s)
            bins[(i * 7 + s) % 5].append(x[i])
        for b in bins:
            if b:
                t += b[-1] * b[0]
        for a in bins[0]:
            for c in bins[0]:
                t += a * c
    return t


def from_the_end(x):
    b = [[] for _ in range(40)]
    for i in range(len(x)):
        b[-1 - i].append(x[i])
        b[-1].append(x[i] ** 2)
    return sum(b[39]) * sum(b[-2])


def the_best_group(x):
    d = {}
    for i in range(len(x)):
        d.setdefault(int(x[i] * 3), []).append(x[i])
    best = 0.0
    for k in sorted(d):
        best = max(best, sum(d[k]) / len(d[k]))
    for k in d.keys():
        for a in d[k]:
            for c in d[k]:
                best += a * c * k
    return best + len(d)


def a_search(x):
    g = defaultdict(list)
    for a, c in [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]:
        g[a].append(c)
        g[c].append(a)
    seen = [False] * 5
    stack = [0]
    t = 0.0
    k = 1
    while stack:
        u = stack.pop()
        if seen[u]:
            continue
        seen[u] = True
        t += x[u] * k
        k += 1
        for v in g[u]:
            if not seen[v]:
                stack.append(v)
    return t * t


def events(x):
    n = 40
    waiting = [[] for _ in range(n)]
    for i in range(len(x)):
        waiting[i].append((x[i], i + 1))
    t = 0.0
    for step in range(n):
        for v, k in waiting[step]:
            t += v * k
            if step + k < n:
                waiting[step + k].append((v * 0.5, k))
    return t


def total(rows):
    return sum(sum(r) ** 2 for r in rows)


def emptied_while_it_is_asked(x):
    b = [[] for _ in range(40)]
    for i in range(len(x)):
        b[i].append(x[i])
        b[i] = [b[i][0] * 2, b[i][0] * 3]
    return sum(b[0]) * b[1][1]


def asked_while_it_grows(x):
    b = [[] for _ in range(40)]
    for i in range(len(x)):
        b[i].append(x[i])
        b[i] += [b[i][-1] * 2, b[i][-1] * 3]
    return sum(b[0]) * b[1][1]


def a_named_generator(x):
    b = [[] for _ in range(40)]
    b[0].append(x[0])
    g = (v * v for v in b[0])
    b[0].append(x[1])
    return sum(g)


def a_named_zip(x):
    b = [[] for _ in range(40)]
    b[0].append(x[0])
    z = zip(b[0], b[0])
    b[0].append(x[1])
    return sum(u * v for u, v in z)


def asked_by_a_function(x):
    b = [[] for _ in range(40)]

    def last(i):
        return b[i][-1]

    for i in range(len(x)):
        b[i].append(x[i])
        b[i] = [last(i) * 2]
    return sum(b[0]) * b[1][0]


def one_after_another(x):
    b = [[] for _ in range(40)]
    for i in range(len(x)):
        b[i].append(x[i])
        b[i].append(b[i][-1] * 2)
        b[i] += [b[i][-1] * 3]
    return (
        sum(b[0]) * b[1][2]
        + sum(u * v for u, v in zip(b[0], b[1]))
        + max(v * v for v in b[2])
        + sum(i * v for i, v in enumerate(b[3]))
    )


def named_before(x):
    n = 40
    b = [[] for _ in range(n)]
    r = b[3]
    b[3].append(x[0])
    return sum(r)


def sorted_in_place(x):
    n = 40
    b = [[] for _ in range(n)]
    for i in range(len(x)):
        b[i].append(x[i])
        b[0].append(x[i])
    b[0].sort()
    return b[0][1] * b[0][-1]


def emptied(x):
    n = 40
    b = [[] for _ in range(n)]
    for i in range(len(x)):
        b[i].append(x[i])
        b[0].append(x[i])
    while b[0]:
        b[0].pop()
    return len(b[0]) + b[1][0] ** 2


def handed_on(x):
    b = [[] for _ in range(40)]
    for i in range(len(x)):
        b[2 * i].append(x[i])
    return total(b)


def grown_by_name(x):
    b = [[] for _ in range(40)]
    for i in range(len(x)):
        row = b[i % 2]
        row.append(x[i])
    return sum(b[0]) * sum(b[1])


def two_names(x):
    b = [[] for _ in range(40)]
    c = b
    for i in range(len(x)):
        c[i % 2].append(x[i])
    return sum(b[0]) * sum(b[1])


def cut(x):
    b = [[] for _ in range(40)]
    for i in range(len(x)):
        b[i].append(x[i])
        b[i].append(2.0)
    t = 0.0
    for u, w in b[:5]:
        t += u**w
    return t


PROGRAMS = [
    one_after_another,
    cell_lists,
    kept_by_key,
    by_pairs,
    means_of_groups,
    groups_with_a_first_item,
    bins,
    ranks,
    a_tree,
    rows_that_grow,
    new_rows,
    records_by_key,
    a_named_row,
    rows_anew,
    goes_on_growing,
    grown_elsewhere,
    in_turns,
    from_the_end,
    the_best_group,
    a_search,
    events,
]


@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_rows_that_grow(f, target):
    assert_derivatives(f, X, target)


@pytest.mark.parametrize(
    "f",
    [
        emptied_while_it_is_asked,
        asked_while_it_grows,
        a_named_generator,
        a_named_zip,
        asked_by_a_function,
        named_before,
        sorted_in_place,
        emptied,
        handed_on,
        grown_by_name,
        two_names,
        cut,
    ],
)
def test_what_is_not_followed_is_refused(f):
    with pytest.raises(s2sad.S2SADError, match="is used in a way that is not followed") as info:
        s2sad.grad(f)(X)
    assert "[[] for _ in range" in str(info.value)
    assert "rows[k].append(v)" in str(info.value)


def test_many_rows():
    n = 3000

    def spread(x):
        near = [[] for _ in range(n)]
        for i in range(n):
            near[i].append((i + 1) % n)
            near[i].append((7 * i) % n)
        total = 0.0
        for i in range(n):
            for j in near[i]:
                total += x[i] * x[j]
        return total

    x = np.cos(np.arange(float(n)))
    bar = np.zeros(n)
    for i in range(n):
        for j in ((i + 1) % n, (7 * i) % n):
            bar[i] += x[j]
            bar[j] += x[i]
    np.testing.assert_allclose(s2sad.grad(spread)(x), bar, rtol=1e-12, atol=1e-12)
