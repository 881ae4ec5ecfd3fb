"""The visitor's language: gettext catalogues for what the interface says, Markdown for prose."""

import gettext
import io
import re
from pathlib import Path

import streamlit as st
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from grpo_core.messages import Message

LANGUAGES = {"en": "English", "zh": "中文"}
_HERE = Path(__file__).parent


def translator(lang: str):
    """The gettext function of a language; English is the language of the templates."""
    return _catalogue(lang).gettext


@st.cache_resource
def _catalogue(lang: str) -> gettext.NullTranslations:
    """Compiled from the .po in memory, so that no stale .mo can lie about."""
    if lang == "en":
        return gettext.NullTranslations()
    with (_HERE / "locale" / lang / "LC_MESSAGES" / "app.po").open("rb") as source:
        compiled = io.BytesIO()
        write_mo(compiled, read_po(source, locale=lang))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)


def say(_, message: Message) -> str:
    """A message of the core in the visitor's language, safe to show as Markdown."""
    return escape(said(_, message), limit=1000)


def say_and(_, message: Message, more: str) -> str:
    """A message, which has no full stop, as a sentence before another."""
    return _("{problem}. {more}").format(problem=say(_, message), more=more)


def said(_, message: Message) -> str:
    values = {
        key: said(_, value) if isinstance(value, Message) else _(value) if key == "why" else _cut(key, value)
        for key, value in message.values.items()
    }
    return _(message.template).format(**values)


def _cut(key: str, value):
    """What a visitor wrote may be a whole address; its beginning tells which it is."""
    return value[:100] + "…" if key == "value" and isinstance(value, str) and len(value) > 100 else value


def escape(text: str, limit: int = 300) -> str:
    """Text as it is, never as Markdown, LaTeX or HTML."""
    short = text if len(text) <= limit else text[:limit] + "…"
    # Streamlit looks for icons, emoji and addresses once more after the escapes are gone.
    short = re.sub(r"(?<=[:@])(?=[\w/+-])|(?<=www)(?=\.)", "\N{WORD JOINER}", short)
    return re.sub(r"([\\`*_{}\[\]<>()#+\-.!|$:~&])", r"\\\1", short.replace("\n", " "))


@st.cache_data
def prose(lang: str, page: str) -> dict[str, str]:
    """The sections of a page's Markdown file, by the name after `# `."""
    text = (_HERE / "text" / lang / f"{page}.md").read_text(encoding="utf-8")
    parts = re.split(r"^# (\w+)\n", text, flags=re.MULTILINE)[1:]
    # A line break is a space between words, and Chinese has none.
    body = [re.sub(r"(?<=[^\x00-\x7f])\n(?=[^\x00-\x7f])", "", part.strip()) for part in parts[1::2]]
    return dict(zip(parts[::2], body, strict=True))
