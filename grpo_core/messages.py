"""Texts of the core that the app shows in the visitor's language.

A text is an English template plus its values: the command line prints `str(message)`, the app
looks the template up in its catalogue first. Not about: choosing a language (that is `ui.i18n`).
"""

from dataclasses import dataclass, field


def N_(template: str) -> str:
    """Mark a template for the catalogues; it is returned unchanged."""
    return template


@dataclass(frozen=True)
class Message:
    """A template with the values that belong in it."""

    template: str
    values: dict = field(default_factory=dict)

    def __str__(self) -> str:
        return self.template.format(**self.values)


class FieldError(ValueError):
    """A value that is not allowed: `field` names it, `message` says what is allowed."""

    def __init__(self, field_name: str, template: str, **values):
        self.field = field_name
        self.message = Message(template, {"field": field_name, **values})
        super().__init__(str(self.message))
