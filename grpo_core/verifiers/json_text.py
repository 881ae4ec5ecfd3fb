"""Strict JSON, and JSON Schema with a bound on the work, without regular expressions or fetching."""

import json
import math
from contextvars import ContextVar

import jsonschema
import referencing
import referencing.jsonschema

from grpo_core.messages import N_, FieldError
from grpo_core.verifiers.verdict import Verdict, cut, named, shown, verdict

MAX_JSON = 10_000
"""Characters of the longest JSON: a schema, a specification or an answer."""
MAX_PARTS = 1000
"""Values in a schema, at every depth together."""
MAX_WORK = 100_000
"""Units of work allowed for one answer: a unit is a microsecond or two."""
_REFUSED = ("pattern", "patternProperties", "$id", "$schema", "$dynamicRef")


def parse_json(text: str, maximum: int = MAX_JSON):
    """The value of a JSON text; ValueError if it is longer than `maximum`, too deep, or not strict.

    Strict: nothing behind it, no NaN or Infinity, no number that overflows to infinity, no name twice in an object.
    """
    if len(text) > maximum:
        raise ValueError(f"longer than {maximum} characters")
    try:
        return json.loads(
            text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_without_duplicates
        )  # fmt: skip
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def checked_json(name: str, value):
    """A private copy of a JSON value, or of what a JSON text says; FieldError if it is not JSON."""
    try:
        return parse_json(
            value if isinstance(value, str) else json.dumps(value, allow_nan=False, separators=(",", ":"))
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise FieldError(name, N_("{field} must be JSON ({problem})"), problem=cut(str(error))) from error


def checked_fields(spec, required: tuple, optional: tuple = ()) -> dict:
    """A specification as a private copy; FieldError if a field is missing or is not a field of it."""
    spec = checked_json("target", spec)
    if not isinstance(spec, dict) or not set(required) <= spec.keys() <= {*required, *optional}:
        raise FieldError(
            "target", N_("{field} must have {required}, may have {optional}, and nothing else, not {value}"),
            required=", ".join(required), optional=", ".join(optional) or "-", value=shown(spec),
        )  # fmt: skip
    return spec


def json_judge(schema=None):
    """The judge for `json_valid`; FieldError if the schema is not one that can be checked safely."""
    misfit = None if schema is None else schema_judge("schema", checked_json("schema", schema))

    def judge(answer: str) -> Verdict:
        try:
            value = parse_json(answer)
        except ValueError as error:
            return verdict(False, N_("not JSON: {problem}"), problem=cut(str(error)))
        if misfit is None:
            return verdict(True, N_("valid JSON"))
        return misfit(value) or verdict(True, N_("valid JSON that fits the schema"))

    return judge


def schema_judge(name: str, schema):
    """A function: JSON value -> None if it fits the schema (read as draft 2020-12), else the Verdict.

    Refused with a FieldError: `pattern` and `patternProperties` anywhere, also as the name of a property, and
    `format: regex` (Python's `re` can hang); a `$ref` that is not to an existing `#...` of this schema;
    `$dynamicRef`; `$id` and `$schema` below the top (at the top they are ignored). Other formats are not checked.
    """
    if isinstance(schema, dict):
        schema = {key: value for key, value in schema.items() if key not in ("$id", "$schema")}
    _check_keywords(name, schema)
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except (jsonschema.SchemaError, RecursionError) as error:
        problem = cut(getattr(error, "message", "nested too deeply"))
        raise FieldError(name, N_("{field} must be a JSON Schema ({problem})"), problem=problem) from error

    def judge(value) -> Verdict | None:
        try:
            _work.set(_Work(schema, value))
            error = next(_BoundedValidator(schema, registry=referencing.Registry()).iter_errors(value), None)
        except RecursionError:
            return verdict(
                False, N_("the schema could not be checked: it is too deep, or refers to itself without end")
            )
        except Exception as error:  # out of work, arithmetic: whatever it is, it did not fit
            return verdict(False, N_("the schema could not be checked ({problem})"), problem=named(error))
        if error is None:
            return None
        return verdict(
            False, N_("at {place}: {problem}"), place=cut(error.json_path), problem=cut(error.message)
        )  # fmt: skip

    return judge


class _Work:
    """What is left of MAX_WORK for one answer, and how large each part of the schema and the answer is."""

    def __init__(self, schema, answer):
        self.left = MAX_WORK
        self.sizes = {}
        self._measure(schema)
        self._measure(answer)

    def size(self, part) -> int:
        return self.sizes.get(id(part)) or 1 + (len(part) // 50 if isinstance(part, str) else 0)

    def charge(self, units: int):
        self.left -= units
        if self.left < 0:
            raise TimeoutError("too much work")

    def _measure(self, part) -> int:
        if isinstance(part, dict | list):
            inside = part.values() if isinstance(part, dict) else part
            self.sizes[id(part)] = 1 + sum(map(self._measure, inside))
        return self.size(part)


_work = ContextVar("_work")


def _charged(keyword):
    """A keyword's check that pays first, also for the answer that jsonschema quotes in every error."""

    def check(validator, value, instance, schema):
        work = _work.get()
        size = work.size(instance)
        schemas = value.values() if isinstance(value, dict) else value if isinstance(value, list) else (value,)
        impossible = sum(part is False for part in schemas)  # each makes an error for every part of the answer
        work.charge(10 + work.size(value) + size * (1 + 10 * impossible))
        if keyword is _KEYWORDS["uniqueItems"] and isinstance(instance, list):
            work.charge(size * len(instance))
        return keyword(validator, value, instance, schema)

    return check


def _charged_keywords(schema: dict):
    """The keywords of a schema; each place where it is applied is paid for, even if it has none."""
    _work.get().charge(5)
    return schema.items()


_KEYWORDS = jsonschema.Draft202012Validator.VALIDATORS
_BoundedValidator = jsonschema.validators.create(
    jsonschema.Draft202012Validator.META_SCHEMA,
    {name: _charged(keyword) for name, keyword in _KEYWORDS.items()},
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER,
    id_of=jsonschema.Draft202012Validator.ID_OF,
    applicable_validators=_charged_keywords,
)


def _check_keywords(name: str, schema):
    root = referencing.jsonschema.DRAFT202012.create_resource(schema)
    resolver = referencing.Registry().with_resource("", root).resolver()
    parts, count = [schema], 0
    while parts:
        part = parts.pop()
        count += 1
        if count > MAX_PARTS:
            raise FieldError(name, N_("{field} must have at most {maximum} parts"), maximum=MAX_PARTS)
        parts += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        for key, value in part.items() if isinstance(part, dict) else ():
            if key in _REFUSED or (key == "format" and value == "regex"):
                raise FieldError(
                    name, N_("{field} must not use {value}; not allowed are {refused}"),
                    value=shown(key), refused=", ".join((*_REFUSED, "format: regex")),
                )  # fmt: skip
            if key == "$ref" and not _is_local(resolver, value):
                raise FieldError(
                    name, N_("{field} must have only $ref to a part of itself (#/...), not {value}"), value=shown(value)
                )


def _is_local(resolver, reference) -> bool:
    try:
        return reference.startswith("#") and isinstance(resolver.lookup(reference).contents, dict | bool)
    except (AttributeError, LookupError, TypeError, ValueError, referencing.exceptions.Unresolvable):
        return False


def _no_constant(text: str):
    raise ValueError(f"{text} is not a JSON number")


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{cut(text)} is too large a number")
    return number


def _without_duplicates(pairs: list) -> dict:
    names = dict(pairs)
    if len(names) < len(pairs):
        raise ValueError("a name is there twice in one object")
    return names
