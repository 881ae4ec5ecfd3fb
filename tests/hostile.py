"""Fifty inputs that try to be more than text. A text sets `window.pwned` if a browser runs it."""

_DEEP = '{"a":' * 50_000 + "1" + "}" * 50_000

TEXTS = (
    "<script>window.pwned=1</script>",
    "</script><script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "<svg onload=window.pwned=1>",
    '"><iframe srcdoc="<script>parent.pwned=1</script>">',
    "<b>bold</b>",
    "<a href='javascript:window.pwned=1'>link</a>",
    "&lt;b&gt; &amp; &#60;",
    "javascript:window.pwned=1",
    "[click](javascript:window.pwned=1)",
    "![x](x' onerror='window.pwned=1)",
    "**bold** _it_ `code` ~~no~~",
    "# heading",
    "| a | b |",
    ":red[text] :material/home: :smile:",
    "$x$ $$y$$ \\(z\\)",
    "\\href{javascript:window.pwned=1}{x}",
    "\\text{} } \\def\\x{\\x\\x}\\x",
    "%{x} %{customdata[0]} %{y:.9f}",
    "<extra>no</extra><br>",
    "{field} {0.__class__} {value!r}",
    "%s %(x)s {{}}",
    "=HYPERLINK(\"http://x.test\",\"x\")",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(1)",
    "\t=1+1 x",
    "a;=1+1;b",
    "'=1+1",
    "＝1+1",
    "\u202e reversed \u200b",
    "👩‍👩‍👧 中文 é é",
    "__proto__",
    "constructor",
    "null",
    "4",
    "1e999",
    "NaN",
)  # fmt: skip
"""Short enough to be a prompt or an answer."""

FOR_RULES = (
    ("code_passes", {"parameters": ["x"], "cases": [[[1], 1]]}, "x.__class__.__mro__[1].__subclasses__()"),
    ("code_passes", {"parameters": ["x"], "cases": [[[1], 1]]}, "__import__('os').system('true')"),
    ("code_passes", {"parameters": ["x"], "cases": [[[1], 1]]}, "9**9**9"),
    ("code_passes", {"parameters": ["x"], "cases": [[[1], 1]]}, "'a' * 9999999999"),
    ("code_passes", {"parameters": ["x"], "cases": [[[1], 1]]}, "(" * 5000),
    ("json_valid", None, _DEEP),
    ("json_valid", None, "[" * 10_000_000),
    ("number_equal", "1", "9" * 10_000_000),
)
"""(rule, target, answer): the answer does not pass, and the verdict comes soon."""

BAD_TARGETS = (
    ("json_valid", {"pattern": "^(a+)+$"}),
    ("json_valid", {"$ref": "http://x.test/schema"}),
    ("tool_call", {"name": "t", "condition": "().__class__.__base__"}),
)
"""(rule, target): no rule can be made of it, and a message says why."""
assert len(TEXTS) + len(FOR_RULES) + len(BAD_TARGETS) == 50
