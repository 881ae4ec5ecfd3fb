"""Both languages are complete: nothing missing, nothing left over, the same placeholders."""

import io
import re
from pathlib import Path

import pytest
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po

ROOT = Path(__file__).parent.parent
SOURCES = [("app.py", "python"), ("pages/**.py", "python"), ("ui/**.py", "python"), ("grpo_core/**.py", "python")]
TEXTS = ROOT / "ui" / "text"


def templates() -> set[str]:
    found = extract_from_dir(ROOT, SOURCES, keywords={"_": None, "N_": None, "gettext": None})
    return {message for _, _, message, _, _ in found}


def catalogue() -> dict[str, str]:
    source = (ROOT / "ui/locale/zh/LC_MESSAGES/app.po").read_bytes()
    return {message.id: message.string for message in read_po(io.BytesIO(source), locale="zh") if message.id}


def test_every_template_is_translated_and_none_is_left_over():
    used, translated = templates(), catalogue()
    assert len(used) > 80
    assert used - set(translated) == set()
    assert set(translated) - used == set()
    assert [key for key, text in translated.items() if not text] == []


def test_translations_keep_the_placeholders():
    for key, text in catalogue().items():
        assert sorted(re.findall(r"{[^}]*}", key)) == sorted(re.findall(r"{[^}]*}", text)), key


def test_prose_has_the_same_sections_in_both_languages():
    names = {path.name for path in (TEXTS / "en").iterdir()}
    assert names == {path.name for path in (TEXTS / "zh").iterdir()} and names
    for name in names:
        english, chinese = (re.findall(r"^# (\w+)$", (TEXTS / lang / name).read_text(), re.M) for lang in ("en", "zh"))
        assert english == chinese and english


@pytest.mark.parametrize("path", sorted((TEXTS / "zh").iterdir()), ids=lambda path: path.name)
def test_chinese_prose_is_chinese(path):
    for paragraph in re.split(r"\n\s*\n|^# \w+$", path.read_text(), flags=re.M):
        if paragraph.strip() and not paragraph.strip().startswith("$$"):
            assert re.search(r"[\u4e00-\u9fff]", paragraph), paragraph
