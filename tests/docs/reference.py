"""The page docs/api.md, made from the docstrings of the public names."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from typing import Any

import s2sad

GROUPS = {
    "Derivatives": ["grad", "value_and_grad", "jvp", "vjp", "linearize", "jacfwd", "jacrev", "jacobian", "hessian",
                    "hvp", "vmap", "stop_gradient"],
    "The decorator": ["differentiate", "Differentiable"],
    "Checking": ["check_grads"],
    "Rules": ["custom_vjp", "custom_jvp", "defvjp", "defjvp", "rule", "rules"],
}  # fmt: skip
_SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises|Example|Examples|Source):[ ]*\n?", re.MULTILINE)


def page() -> str:
    """Return the page."""
    parts = ["# Every public name\n", "This page is made from the docstrings. Names and argument orders are JAX's"]
    parts[-1] += " wherever JAX has the\nconcept.\n"
    listed = {name for names in GROUPS.values() for name in names}
    errors = [name for name in s2sad.__all__ if name.endswith("Error")]
    others = [name for name in s2sad.__all__ if name not in listed and name not in errors]
    groups = {**GROUPS, **({"More": others} if others else {}), "Errors": errors}
    for title, names in groups.items():
        parts.append(f"## {title}\n")
        parts += [entry(name, _value(name)) for name in names]
    return "\n".join(parts)


def _value(name: str) -> Any:
    """Return what a name means; `s2sad.rules` is also a package."""
    return getattr(importlib.import_module(s2sad._HOMES[name]), name)


def entry(name: str, value: Any) -> str:
    """Return the part of the page on one name, its methods included."""
    lines = [f"### {name}\n", f"```text\n{signature(name, value)}\n```\n", body(inspect.getdoc(value) or "")]
    if inspect.isclass(value) and not issubclass(value, Exception):
        for key, member in vars(value).items():
            doc = inspect.getdoc(member)
            shown = callable(member) or isinstance(member, property) or hasattr(member, "func")
            if not key.startswith(("_", "s2sad_")) and shown and doc:
                lines.append(f"**`.{key}`** {doc.split(chr(10) * 2)[0]}\n")
    return "\n".join(lines)


def signature(name: str, value: Any) -> str:
    """Write a name with its parameters, the types left out."""
    if inspect.isclass(value) and issubclass(value, Exception):
        bases = ", ".join(base.__name__ for base in value.__bases__)
        return f"class {name}({bases})"
    if inspect.isclass(value):
        return f"class {name}"
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return name
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    text = f"{name}{inspect.Signature(plain)}"
    return text if len(text) <= 100 else text.replace(", ", ",\n    ").replace("(", "(\n    ", 1)


def body(doc: str) -> str:
    """Write a docstring in Markdown."""
    pieces = _SECTION.split(doc)
    parts = [pieces[0].strip() + "\n"]
    for title, text in zip(pieces[1::2], pieces[2::2], strict=True):
        text = textwrap.dedent(text).strip("\n")
        if title.startswith("Example"):
            parts.append(f"```pycon\n{text}\n```\n")
            continue
        rows = re.split(r"\n(?=\S)", text)
        if title in ("Args", "Attributes", "Raises"):
            items = [re.sub(r"^([\w*, .]+): ", r"`\1`: ", re.sub(r"\s*\n\s*", " ", row)) for row in rows]
            parts.append(f"{title}:\n\n" + "\n".join(f"- {item}" for item in items) + "\n")
        else:
            parts.append(f"{title}: {text}\n")
    return "\n".join(parts)
