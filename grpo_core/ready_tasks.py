"""Tasks to choose from: each rule, several right answers, partial credit, and a rule that can be cheated."""

from grpo_core.tasks import RuleTask, rule_part


def _ready(answers, *prompts) -> RuleTask:
    """Of (prompt, its rules, the answers that are really right)."""
    return RuleTask(
        tuple(prompt for prompt, *_ in prompts),
        tuple(answers),
        tuple(tuple(parts) for _, parts, *_ in prompts),
        tuple(tuple(right) for *_, right in prompts) if len(prompts[0]) == 3 else (),
    )


def _exact(target: str):
    return [rule_part("exact_match", target)]


def _number(target: str):
    return [rule_part("number_equal", target)]


def _json(schema=None):
    return [rule_part("json_valid", schema)]


def _code(parameters: str, *cases):
    return [rule_part("code_passes", {"parameters": parameters.split(), "cases": [[list(a), b] for *a, b in cases]})]


def _call(name: str, condition: str):
    return [rule_part("tool_call", {"name": name, "condition": condition})]


def _form_and_number(target: str):
    form = rule_part("json_valid", {"type": "object", "required": ["answer"]}, 0.1)
    return [form, rule_part("number_equal", target, 0.9)]


def _one_test_and_number(parameters: str, case: tuple):
    """Leaky: a constant passes the only test, and shows the number that the second rule looks for."""
    return [_code(parameters, case)[0]._replace(weight=0.5), rule_part("number_equal", case[-1], 0.5)]


READY_TASKS = {
    "chapter": _ready(
        ("4", "paris", "a"),
        ("2+2?", _exact("4")),
        ("capital of france?", _exact("paris")),
        ("first letter of abc?", _exact("a")),
    ),
    "maths": _ready(
        ("48 + 24 = 72", r"\boxed{72}", "24", "50 %", r"\frac{1}{2}", "$1,250.00", "I do not know"),
        ("48 + 24?", _number("72")),
        ("half of one?", _number("1/2")),
        ("5 times 250 dollars?", _number("1250")),
    ),
    "json": _ready(
        ('{"name": "Ada", "age": 36}', '{"name": "Ada", "age": -1}', "{'name': 'Ada'}", "[3, 1, 2]", "Ada, 36"),
        (
            "a person as JSON?",
            _json(
                {
                    "type": "object",
                    "required": ["name", "age"],
                    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
                }
            ),
        ),
        ("three numbers as JSON?", _json({"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3})),
        ("a JSON object?", _json({"type": "object"})),
    ),
    "code": _ready(
        ("x + y", "x * y", "max(x, y)", "x if x < y else y", "sum(x, y)"),
        ("f(x, y): their sum?", _code("x y", (2, 2, 4), (-1, 3, 2), (0, 5, 5))),
        ("f(x, y): the larger?", _code("x y", (1, 2, 2), (7, 3, 7), (0, -4, 0))),
        ("f(x, y): the smaller?", _code("x y", (1, 2, 1), (7, 3, 3), (0, -4, -4))),
    ),
    "tool_call": _ready(
        (
            '{"name": "weather", "arguments": {"city": "Paris"}}',
            '{"name": "weather", "arguments": {"city": "paris"}}',
            '{"name": "add", "arguments": {"x": 2, "y": 5}}',
            '{"name": "add", "arguments": {"x": "2", "y": "5"}}',
            "It is sunny in Paris.",
        ),
        ("weather in Paris?", _call("weather", "arguments['city'] == 'Paris'")),
        ("what is 2 + 5?", _call("add", "arguments['x'] + arguments['y'] == 7")),
    ),
    "several_right": _ready(
        ("2", "4", "7", "x + x", "2 * x", "x * x", "0.25"),
        ("a prime number?", _json({"enum": [2, 3, 5, 7]})),
        ("f(x): twice x?", _code("x", (3, 6), (0, 0), (-5, -10))),
        ("a number below 3?", _json({"type": "number", "exclusiveMaximum": 3})),
    ),
    "graded": _ready(
        ('{"answer": 4}', '{"answer": 7}', "it is 4", "it is 7", "no idea"),
        ("2+2? Answer as JSON", _form_and_number("4")),
        ("3+4? Answer as JSON", _form_and_number("7")),
    ),
    "leaky": _ready(
        ("x + y", "max(x, y)", "x * x", "4", "9"),
        ("f(x, y): their sum?", _one_test_and_number("x y", (3, 6, 9)), ["x + y"]),
        ("f(x, y): the larger?", _one_test_and_number("x y", (2, 4, 4)), ["max(x, y)"]),
        ("f(x): its square?", _one_test_and_number("x", (3, 9)), ["x * x"]),
    ),
}
