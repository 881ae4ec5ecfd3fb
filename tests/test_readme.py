"""The README's map of files: every file is there, about as long as it says."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
MAPPED = ("app.py", "pages/*.py", "grpo_core/*.py", "ui/*.py", "ui/player/*.*", "bench/*.py")


def test_the_map_of_files_is_complete_and_true():
    rows = dict(
        re.findall(r"^\| `([^`]+)` \| (\d+) \|", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    )
    files = {str(path.relative_to(ROOT)) for pattern in MAPPED for path in ROOT.glob(pattern)}
    assert set(rows) == {file for file in files if not file.endswith("__init__.py") or "player" in file}
    for file, lines in rows.items():
        actual = len((ROOT / file).read_text(encoding="utf-8").splitlines())
        assert abs(actual - int(lines)) <= 10, f"{file} has {actual} lines"
