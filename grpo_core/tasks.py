"""Tasks made of rules: prompts, candidate answers, and weighted rules whose verdicts are the rewards.

A task is data: texts and numbers only, so that it can be typed into a table, saved as JSON or CSV, and
travel in a link. Everything that reads one raises a FieldError that says what is wrong and where.
"""

import base64
import binascii
import csv
import io
import json
import re
import time
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch

from grpo_core.messages import N_, FieldError
from grpo_core.spreadsheet import protect, unprotect
from grpo_core.task import BanditTask
from grpo_core.verifiers import RULES, Rule, Verdict, weighted
from grpo_core.verifiers.json_text import checked_json, parse_json
from grpo_core.verifiers.verdict import cut, shown

MAX_PROMPTS = MAX_ANSWERS = 12
MAX_PARTS = 4
"""Rules of one prompt."""
MAX_TEXT = 500
"""Characters of a prompt or an answer."""
MAX_TARGET = 1000
"""Characters of a target or of options."""
MAX_TASK = 32_000
"""Bytes of a task as JSON without white space."""
MAX_FILE = 64_000
"""Bytes of a file that is read."""
MAX_SECONDS = 2.0
"""Processor time for all verdicts of a task; a task of a class needs a few milliseconds."""
COLUMNS = ("prompt", "rule", "target", "weight", "options", "truth")
"""Of a row of the table: one rule. An empty prompt means another rule for the prompt above."""
_JSON_TARGETS = ("json_valid", "code_passes", "tool_call")


class RulePart(NamedTuple):
    """One rule of a prompt, as texts: the target and the options of the rules that take JSON are JSON texts."""

    rule: str
    target: str = ""
    weight: float = 1.0
    options: str = ""

    def made(self) -> Rule:
        target = self.target if self.target or self.rule != "json_valid" else None
        return Rule(self.rule, target, json.loads(self.options or "{}"))


def rule_part(rule, target="", weight=1.0, options=None) -> RulePart:
    """A rule from what a file, a table or a programmer says, checked and in one form."""
    if not isinstance(rule, str) or rule not in RULES:
        raise FieldError(
            "rule", N_("{field} must be one of {allowed}, not {value}"), allowed=", ".join(RULES), value=shown(rule)
        )
    if target is None or (isinstance(target, str) and not target.strip()):
        target = ""
    elif rule in _JSON_TARGETS or (isinstance(target, int | float) and not isinstance(target, bool)):
        target = _written(checked_json("target", target))
    options = checked_json("options", options or {})
    part = RulePart(
        rule, _text("target", target, MAX_TARGET), _weight(weight), _text("options", _written(options), MAX_TARGET)
    )
    if part.options == "{}":
        part = part._replace(options="")
    part.made()
    return part


@dataclass(frozen=True)
class RuleTask:
    """P prompts, A candidate answers that they share, and for each prompt a weighted sum of rules.

    truth   per prompt the answers that are really right, where the rules may be wrong about it;
            empty (or left out altogether) for a prompt whose best-rewarded answers are the right ones
    """

    prompts: tuple[str, ...]
    answers: tuple[str, ...]
    rules: tuple[tuple[RulePart, ...], ...]
    truth: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self):
        _distinct("prompt", self.prompts, 1, MAX_PROMPTS)
        _distinct("answer", self.answers, 2, MAX_ANSWERS)
        for parts in self.rules:
            if not 1 <= len(parts) <= MAX_PARTS:
                raise FieldError(
                    "rule", N_("{field}: a prompt has 1 to {maximum} of them, not {value}"),
                    maximum=MAX_PARTS, value=len(parts),
                )  # fmt: skip
        for text in (text for right in self.truth for text in right):
            if text not in self.answers:
                raise FieldError("truth", N_("{field} must be among the answers, {value} is not"), value=shown(text))
        size = len(_written(self._data()).encode())
        if size > MAX_TASK:
            raise FieldError(
                "task", N_("{field} may have {maximum} bytes at most, not {value}"), maximum=MAX_TASK, value=size
            )
        _ = self.verdicts  # a task whose rules take too long is none

    @cached_property
    def verdicts(self) -> tuple[tuple[Verdict, ...], ...]:
        """[P][A] what the rules of each prompt say about each answer."""
        started, table = time.thread_time(), []
        for parts in self.rules:
            made = [(part.weight, part.made()) for part in parts]
            row = []
            for answer in self.answers:
                if time.thread_time() - started > MAX_SECONDS:
                    raise FieldError(
                        "task", N_("{field}: the rules need more than {maximum:g} seconds"), maximum=MAX_SECONDS
                    )
                single = len(made) == 1 and made[0][0] == 1
                row.append(made[0][1].check(answer) if single else weighted(answer, made))
            table.append(tuple(row))
        return tuple(table)

    def bandit(self) -> BanditTask:
        """The task that is trained: the answers are the actions, the verdicts' rewards are the rewards."""
        return BanditTask(self.prompts, self.answers, [[verdict.reward for verdict in row] for row in self.verdicts])

    @property
    def is_right(self) -> torch.Tensor:
        """[P, A] True for the answers that are really right."""
        table = self.bandit().is_target
        for row, right in zip(table, self.truth, strict=False):
            if right:
                row[:] = torch.tensor([answer in right for answer in self.answers])
        return table

    def rows(self) -> list[dict]:
        """The table that `from_rows` reads."""
        rows = []
        for p, (prompt, parts) in enumerate(zip(self.prompts, self.rules, strict=True)):
            for i, part in enumerate(parts):
                right = self.truth[p] if self.truth and i == 0 else ()
                row = {"prompt": "" if i else prompt, **part._asdict(), "truth": _written(right) if right else ""}
                rows.append(row)
        return rows

    def to_json(self) -> str:
        """With line breaks, unless these make a file that could not be brought back."""
        wide = json.dumps(self._data(), ensure_ascii=False, indent=2)
        return wide if len(wide.encode()) <= MAX_FILE else _written(self._data())

    def to_csv(self) -> str:
        """A row a rule, and in the last column an answer a row; no cell is a formula to a spreadsheet."""
        rows = self.rows()
        out = io.StringIO()
        writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
        writer.writerow((*COLUMNS, "answer"))
        for i in range(max(len(rows), len(self.answers))):
            row = rows[i] if i < len(rows) else dict.fromkeys(COLUMNS, "")
            answer = self.answers[i] if i < len(self.answers) else ""
            cells = (*(row[name] for name in COLUMNS), answer)
            writer.writerow([protect(cell) if isinstance(cell, str) else cell for cell in cells])
        return out.getvalue()

    def packed(self) -> str:
        """The task as letters for a link; `unpacked` reads it."""
        data = zlib.compress(_written(self._data()).encode(), 9)
        return "1-" + base64.urlsafe_b64encode(data).decode().rstrip("=")

    def _data(self) -> dict:
        prompts = []
        for i, (prompt, parts) in enumerate(zip(self.prompts, self.rules, strict=True)):
            entry = {"prompt": prompt, "rules": [_part_data(part) for part in parts]}
            if self.truth and self.truth[i]:
                entry["truth"] = self.truth[i]
            prompts.append(entry)
        return {"answers": self.answers, "prompts": prompts}


def from_rows(rows, answers, first: int = 1) -> RuleTask:
    """A task from a table: rows with COLUMNS, one a rule, and a list of answers; `first` is the number of row 1."""
    prompts, rules, truth = [], [], []
    for number, row in enumerate(rows, first):
        row = {name: "" if _is_empty(row.get(name)) else row[name] for name in COLUMNS}
        if all(value == "" for value in row.values()):
            continue
        try:
            part = rule_part(row["rule"], row["target"], 1.0 if row["weight"] == "" else row["weight"], row["options"])
            right = _right(row["truth"])
            prompt = _text("prompt", row["prompt"], MAX_TEXT).strip()
            if not prompt and not prompts:
                raise FieldError("prompt", N_("{field} must not be empty"))
        except FieldError as error:
            raise FieldError(error.field, N_("row {row}: {problem}"), row=number, problem=error.message) from error
        if prompt:
            prompts.append(prompt)
            rules.append([])
            truth.append(())
        rules[-1].append(part)
        truth[-1] += right
    answers = [_text("answer", answer, MAX_TEXT).strip() for answer in answers if not _is_empty(answer)]
    return RuleTask(
        tuple(prompts),
        tuple(answer for answer in answers if answer),
        tuple(map(tuple, rules)),
        tuple(truth) if any(truth) else (),
    )


def from_json(data: bytes | str) -> RuleTask:
    text = _decoded(data)
    try:
        value = parse_json(text, MAX_FILE)
    except ValueError as error:
        raise FieldError("file", N_("{field} must be JSON ({problem})"), problem=cut(str(error))) from error
    top = _fields("file", value, ("answers", "prompts"))
    rows = []
    for entry in _list("prompts", top["prompts"]):
        entry = _fields("prompts", entry, ("prompt", "rules"), ("truth",))
        for i, part in enumerate(_list("rules", entry["rules"]) or [{"rule": ""}]):
            part = _fields("rules", part, ("rule",), ("target", "weight", "options"))
            rows.append({**part, "prompt": "" if i else entry["prompt"], "truth": "" if i else entry.get("truth", "")})
    return from_rows(rows, _list("answers", top["answers"]))


def from_csv(data: bytes | str) -> RuleTask:
    text = _decoded(data)
    header = text.split("\n", 1)[0]
    separator = max(",;\t", key=header.count)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as error:
        raise FieldError("file", N_("{field} must be CSV ({problem})"), problem=cut(str(error))) from error
    names = [name.strip().lower() for name in lines[0]] if lines else []
    known = (*COLUMNS, "answer")
    for name in names:
        if name not in known or names.count(name) > 1:
            raise FieldError(
                "file", N_("{field} must have the columns {allowed}, not {value}"),
                allowed=", ".join(known), value=shown(name),
            )  # fmt: skip
    for name in ("prompt", "rule", "answer"):
        if name not in names:
            raise FieldError("file", N_("{field} has no column {value}"), value=name)
    rows = []
    for number, line in enumerate(lines[1:], 2):
        if len(line) > len(names):
            problem = {"row": number, "value": len(line), "maximum": len(names)}
            raise FieldError("file", N_("{field}: row {row} has {value} cells, the header has {maximum}"), **problem)
        rows.append({name: unprotect(cell) for name, cell in zip(names, line, strict=False)})
    return from_rows(rows, [row.get("answer") for row in rows], first=2)


def from_file(data: bytes) -> RuleTask:
    """JSON if it begins like JSON, else CSV."""
    first = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if not first:
        raise FieldError("file", N_("{field} is empty"))
    return from_json(data) if first in b"{[" else from_csv(data)


def unpacked(text: str) -> RuleTask:
    """The task that `packed` wrote; no more is decompressed than a task may have."""
    problem = FieldError("task", N_("{field} in the link cannot be read, or is not whole"))
    if not re.fullmatch(r"1-[A-Za-z0-9_-]+", text) or len(text) > MAX_FILE:
        raise problem
    reader = zlib.decompressobj()
    try:
        data = reader.decompress(base64.urlsafe_b64decode(text[2:] + "=" * (-len(text[2:]) % 4)), MAX_TASK + 1)
    except (zlib.error, binascii.Error) as error:
        raise problem from error
    if not reader.eof or len(data) > MAX_TASK:
        raise problem
    return from_json(data)


def _part_data(part: RulePart) -> dict:
    data = {"rule": part.rule}
    if part.target:
        data["target"] = json.loads(part.target) if part.rule in _JSON_TARGETS else part.target
    if part.weight != 1:
        data["weight"] = part.weight
    if part.options:
        data["options"] = json.loads(part.options)
    return data


def _written(value) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _is_empty(value) -> bool:
    """Nothing, NaN (an empty number in a table), or white space."""
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def _text(name: str, value, maximum: int) -> str:
    if not isinstance(value, str):
        raise FieldError(name, N_("{field} must be a text, not {value}"), value=shown(value))
    if len(value) > maximum:
        raise FieldError(
            name, N_("{field} must have at most {maximum} characters, not {value}"), maximum=maximum, value=len(value)
        )
    if re.search("[\ud800-\udfff\0]", value):
        raise FieldError(name, N_("{field} must be a text that can be written, not {value}"), value=shown(value))
    return value


def _weight(value) -> float:
    try:
        number = float(value) if not isinstance(value, bool) and len(str(value)) < 40 else None
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or not abs(number) <= 1000:
        raise FieldError(
            "weight", N_("{field} must be a number from {minimum} to {maximum}, not {value}"),
            minimum=-1000, maximum=1000, value=shown(value),
        )  # fmt: skip
    return number + 0.0


def _right(value) -> tuple[str, ...]:
    """The answers that are really right: a list, or a JSON list of texts."""
    right = checked_json("truth", value) if value != "" else []
    if not isinstance(right, list) or not all(isinstance(text, str) for text in right):
        raise FieldError("truth", N_('{field} must be a list such as ["4", "four"], not {value}'), value=shown(right))
    return tuple(text.strip() for text in right)


def _distinct(name: str, texts, minimum: int, maximum: int) -> None:
    if not minimum <= len(texts) <= maximum:
        raise FieldError(
            name, N_("{field}: there must be {minimum} to {maximum} of them, not {value}"),
            minimum=minimum, maximum=maximum, value=len(texts),
        )  # fmt: skip
    for i, text in enumerate(texts):
        if text in texts[:i]:
            raise FieldError(name, N_("{field}: {value} is there twice"), value=shown(text))


def _decoded(data: bytes | str) -> str:
    if len(data) > MAX_FILE:
        raise FieldError(
            "file", N_("{field} may have {maximum} bytes at most, not {value}"), maximum=MAX_FILE, value=len(data)
        )
    try:
        return data if isinstance(data, str) else data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FieldError("file", N_("{field} must be a UTF-8 text")) from error


def _list(name: str, value) -> list:
    if not isinstance(value, list):
        raise FieldError(name, N_("{field} must be a list, not {value}"), value=shown(value))
    return value


def _fields(name: str, value, required: tuple, optional: tuple = ()) -> dict:
    if not isinstance(value, dict) or not set(required) <= value.keys() <= {*required, *optional}:
        raise FieldError(
            name, N_("{field} must have {required}, may have {optional}, and nothing else, not {value}"),
            required=", ".join(required), optional=", ".join(optional) or "-", value=shown(value),
        )  # fmt: skip
    return value
