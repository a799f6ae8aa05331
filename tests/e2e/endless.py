"""Models that run for ever, or as good as: loops of every form, and single operations of many hours."""

from __future__ import annotations

HEAD = "ecir 1\n"


def loop(body: str, result: str, *, trips: str = "", size: str = "2", more: str = "", stacked: str = "") -> str:
    """A loop that carries f32[size]; `body` computes %r from %a.

    What is stacked is collected without a known end: the body goes on while its number is not negative.
    """
    if stacked:
        body += "\n      %least = const i64[] splat(-1) %go = less(%least, %i)"
    outputs = f"{result}{', s = ' + stacked if stacked else ''}"
    results = "%y, %s" if stacked else "%y"
    given = ", s = %s" if stacked else ""
    return f"""{HEAD}graph @g(%x: f32[{size}]) -> (y = %y{given}) {{
  %n = const i64[] splat({trips or (1 << 62)})
  %yes = const bool[] splat(1)
{more}  {results} = loop(%n, %yes, %x) {{num_carried=1}} loc("endless" : "Loop")
    body graph @body(%i: i64[], %c: bool[], %a: f32[{size}]) -> (c = {'%go' if stacked else '%c'}, r = {outputs}) {{
{body}
    }}
}}
"""


def nested(depth: int) -> str:
    text = "%r = neg(%a)"
    for level in range(depth):
        text = f"""%n = const i64[] splat({1 << 40}) %yes = const bool[] splat(1)
      %r = loop(%n, %yes, %a) {{num_carried=1}} loc("inner{level}" : "Loop")
        body graph @b{level}(%i: i64[], %c: bool[], %a: f32[2]) -> (c = %c, r = %r) {{
          {text}
        }}"""
    return loop("      " + text, "%r")


def heavy(kind: str, size: int) -> str:
    """One operation that takes many seconds at least."""
    if kind == "matmul":
        return f"""{HEAD}graph @g(%x: f32[{size},{size}]) -> (y = %y) {{
  %y = matmul(%x, %x) loc("endless" : "MatMul")
}}
"""
    if kind == "conv":
        return f"""{HEAD}graph @g(%x: f32[1,64,{size},{size}], %w: f32[256,64,15,15]) -> (y = %y) {{
  %y = conv(%x, %w) {{pads=[7,7,7,7]}} loc("endless" : "Conv")
}}
"""
    return f"""{HEAD}graph @g(%x: f32[1,4,{size},{size}]) -> (y = %y) {{
  %y = max_pool(%x) {{kernel=[{size - 1},{size - 1}], pads=[{size // 2 - 1},{size // 2 - 1},{size // 2 - 1},{size // 2 - 1}]}} loc("endless" : "MaxPool")
}}
"""


def chain(op: str, length: int) -> str:
    lines = [f"      %t{i + 1} = {op}(%t{i})" for i in range(length)]
    return loop("\n".join(lines).replace("%t0", "%a", 1), f"%t{length}", size="64,64")


def models(count: int) -> list[tuple[str, str]]:
    """At most 50, the most different ones first."""
    found = [
        ("forever", loop("      %r = neg(%a)", "%r")),
        ("empty body", loop("", "%a")),
        ("stacked", loop("      %r = neg(%a)", "%r", stacked="%r", size="1000")),
        ("nested", nested(2)),
        ("matmul", heavy("matmul", 6000)),
        ("large values", loop("      %r = tanh(%a)", "%r", size="4000000")),
        ("product inside", loop("      %r = matmul(%a, %a)", "%r", size="1500,1500")),
        ("conv", heavy("conv", 300)),
        ("pool", heavy("pool", 700)),
    ]
    found += [(f"trips {10 ** n}", loop("      %r = abs(%a)", "%r", trips=str(10 ** n))) for n in range(9, 19)]
    found += [(f"nested {n}", nested(n)) for n in (1, 3, 4, 6, 8)]
    found += [(f"{op} x{n}", chain(op, n)) for op in ("exp", "tanh", "erf", "sigmoid", "softmax") for n in (1, 10, 100)]
    found += [(f"matmul {n}", heavy("matmul", n)) for n in (7000, 8000)]
    found += [(f"size {n}", loop("      %r = sin(%a)", "%r", size=str(n))) for n in (1, 1000, 100000, 1000000, 8000000)]
    found += [(f"stack {n}", loop("      %r = neg(%a)", "%r", stacked="%r", size=str(n))) for n in (1, 10, 100, 10000)]
    return found[:count]
