"""A tool call that must have the right name, arguments that fit a schema, and meet a condition."""

from grpo_core.messages import N_, FieldError
from grpo_core.verifiers.expression import evaluate, parse_expression
from grpo_core.verifiers.json_text import checked_fields, parse_json, schema_judge
from grpo_core.verifiers.verdict import Verdict, cut, named, shown, verdict


def tool_judge(spec):
    """The judge for `tool_call`; FieldError if the specification is not one."""
    spec = checked_fields(spec, required=("name",), optional=("schema", "condition"))
    name, condition = spec["name"], spec.get("condition")
    if not isinstance(name, str) or not name.strip():
        raise FieldError("name", N_("{field} must be a text that is not empty, not {value}"), value=shown(name))
    misfit = schema_judge("schema", spec["schema"]) if "schema" in spec else lambda arguments: None
    if "condition" in spec:
        if not isinstance(condition, str):
            raise FieldError("condition", N_("{field} must be a text, not {value}"), value=shown(condition))
        tree = parse_expression("condition", condition, ("arguments",))

    def judge(answer: str) -> Verdict:
        try:
            call = parse_json(answer)
        except ValueError as error:
            return verdict(False, N_("not JSON: {problem}"), problem=cut(str(error)))
        if not isinstance(call, dict) or call.keys() != {"name", "arguments"}:
            return verdict(False, N_("not an object with exactly a name and arguments"))
        if call["name"] != name:
            return verdict(
                False, N_("read {read}, expected {expected}"), read=shown(call["name"]), expected=shown(name)
            )
        if not isinstance(call["arguments"], dict):
            return verdict(False, N_("the arguments are not an object"))
        wrong = misfit(call["arguments"])
        if wrong or condition is None:
            return wrong or verdict(True, N_("calls {name}"), name=shown(name))
        try:
            value = evaluate(tree, {"arguments": call["arguments"]})
        except Exception as error:  # whatever the condition does with these arguments, it is not met
            return verdict(False, N_("{condition} failed ({problem})"), condition=cut(condition), problem=named(error))
        if value is True:
            return verdict(True, N_("calls {name}, and {condition}"), name=shown(name), condition=cut(condition))
        return verdict(False, N_("{condition} gave {value}"), condition=cut(condition), value=shown(value))

    return judge
