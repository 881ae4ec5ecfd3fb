"""The README's map of files: every file and package is there, about as long as it says."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
MAPPED = ("app.py", "pages/*.py", "grpo_core/*.py", "ui/*.py", "ui/player/*.*", "bench/*.py")
PACKAGES = "grpo_core/*/__init__.py"


def test_the_map_of_files_is_complete_and_true():
    rows = dict(
        re.findall(r"^\| `([^`]+)` \| (\d+) \|", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    )
    files = {str(path.relative_to(ROOT)) for pattern in MAPPED for path in ROOT.glob(pattern)}
    files = {file for file in files if not file.endswith("__init__.py") or "player" in file}
    packages = {f"{path.parent.relative_to(ROOT)}/" for path in ROOT.glob(PACKAGES)}
    assert set(rows) == files | packages
    for file, lines in rows.items():
        parts = (ROOT / file).glob("*.py") if file in packages else [ROOT / file]
        actual = sum(len(part.read_text(encoding="utf-8").splitlines()) for part in parts)
        assert abs(actual - int(lines)) <= (30 if file in packages else 10), f"{file} has {actual} lines"
