"""Measurements, run on demand: ratios within one process, printed as sentences or as JSON."""

import argparse
import json
from collections.abc import Callable


def report(description: str, measure: Callable[[], dict], sentences: Callable[[dict], list[str]]) -> None:
    """Measure, then print sentences, or with `--json` the figures behind them."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    as_json = parser.parse_args().json
    figures = measure()
    print(json.dumps(figures) if as_json else "\n".join(sentences(figures)))
