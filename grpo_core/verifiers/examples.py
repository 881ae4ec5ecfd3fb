"""What each rule says, by example: name of the rule -> (target, answer, whether it passes)."""

_ADD = {"parameters": ["x", "y"], "cases": [[[1, 2], 3], [[-1, 1], 0], [[0.5, 2], 2.5]]}
_LARGER = {"parameters": ["x", "y"], "cases": [[[1, 2], True], [[2, 1], False]]}
_FIRST = {"parameters": ["text"], "cases": [[["abc"], "a"], [["grpo"], "g"]]}
_PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name"],
    "additionalProperties": False,
}
_WEATHER = {
    "name": "weather",
    "schema": {"type": "object", "required": ["city"]},
    "condition": "arguments['city'] == 'Paris'",
}

WORKED_EXAMPLES = {
    "exact_match": (
        ("paris", "paris", True),
        ("paris", "  paris\n", True),
        ("paris", "Paris", False),
        ("paris", "paris.", False),
        ("4", "2+2=4", False),
    ),
    "number_equal": (
        ("1/4", "0.25", True),
        ("0.5", "50 %", True),
        ("72", "so the answer is 72.", True),
        ("72", "48 / 2 = 24, and 48 + 24 = 72\n#### 72", True),
        ("72", "#### 72\nNot 73.", True),
        ("1/2", r"thus \boxed{\frac{1}{2}} in 3 steps", True),
        ("1234567", "$1,234,567", True),
        ("12", "1,2", False),
        ("31", "0x1F", False),
        ("72", "72 or 73", False),
    ),
    "json_valid": (
        (None, '{"a": [1, 2, null]}', True),
        (None, "{'a': 1}", False),
        (None, '{"a": 1} done', False),
        (None, "NaN", False),
        (None, '{"a": 1, "a": 2}', False),
        (_PERSON, '{"name": "Ada", "age": 36}', True),
        (_PERSON, '{"name": "Ada", "age": -1}', False),
        (_PERSON, '{"age": 36}', False),
        (_PERSON, '{"name": "Ada", "born": 1815}', False),
    ),
    "code_passes": (
        (_ADD, "x + y", True),
        (_ADD, "sum", False),
        (_ADD, "x * y", False),
        (_ADD, "x.__class__", False),
        (_LARGER, "y > x", True),
        (_LARGER, "1 if y > x else 0", False),
        (_FIRST, "text[0]", True),
        (_FIRST, "'a'", False),
    ),
    "tool_call": (
        (_WEATHER, '{"name": "weather", "arguments": {"city": "Paris"}}', True),
        (_WEATHER, '{"name": "weather", "arguments": {"city": "Rome"}}', False),
        (_WEATHER, '{"name": "weather", "arguments": {}}', False),
        (_WEATHER, '{"name": "time", "arguments": {"city": "Paris"}}', False),
        (_WEATHER, "weather(city='Paris')", False),
    ),
}
