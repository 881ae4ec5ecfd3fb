"""The player: a whole run as JSON, drawn and played in the browser without the server.

player.html, player.css, views.js and player.js are one Streamlit component and, inlined, the offline hand-out;
with loop.html instead they are Home's picture of the loop, with silent.html the map of Silent groups. All three
layouts begin with controls.html.
"""

import json
from collections.abc import Callable
from html import escape
from pathlib import Path

import numpy as np
import streamlit as st
import torch

from grpo_core import Bands, TrainingHistory, silent_probability
from grpo_core.messages import N_
from ui.labels import labels
from ui.numbers import MINUS

MAX_FRAMES = 101
MAP_COLUMNS = 40
MIN_FRAMES = 41
MAX_PAIRS = 4000
"""Of a large task fewer frames are sent, so that frames x prompts x actions stay below this."""
MAX_CELLS = 8
"""Up to this group size the table has a cell per sample, above it one per distinct action."""

TEXTS = {
    "player": N_("Training player"),
    "play": N_("Play"),
    "pause": N_("Pause"),
    "first": N_("First epoch"),
    "back": N_("Step back"),
    "forward": N_("Step forward"),
    "last": N_("Last epoch"),
    "speed": N_("Speed"),
    "epoch": N_("Epoch"),
    "heatmap": N_("Policy: probability of each answer"),
    "table": N_("Rewards of this epoch's groups"),
    "advantages": N_("Advantages: above the group's mean is pushed up"),
    "kl": N_("KL: how far from the reference (nats)"),
    "reward": N_("Reward: of the samples, and of the likeliest answer"),
    "probability": N_("Target probability: every prompt climbs to its own"),
    "entropy": N_("Entropy: the policy makes up its mind (nats)"),
    "this_seed": N_("this seed"),
    "sampled": N_("mean reward of the samples"),
    "greedy": N_("greedy reward"),
    "prompt": N_("Prompt"),
    "mean": N_("mean"),
    "std": N_("std"),
    "target": N_("target"),
    "silent": N_("silent group: every advantage is 0"),
    "map": N_("P(silent): blue is silent; the dots are this run's prompts"),
    "silent_groups": N_("Silent groups in each epoch"),
    "silent_chance": N_("P(silent)"),
    "silent_counted": N_("counted"),
    "silent_expected": N_("expected"),
    "band": N_("Bands: the same settings with {seeds} seeds, 5–95 %."),
    "policy": N_("1 Policy"),
    "policy_says": N_("How probable is each answer?"),
    "group": N_("2 Group"),
    "group_says": N_("Sample {count} answers to this one prompt."),
    "rewards": N_("3 Rewards"),
    "rewards_says": N_("The rule checks each answer: 1 if right, else 0."),
    "graded_says": N_("The rules score each answer."),
    "compared": N_("4 Advantages"),
    "compared_says": N_("Compare each reward with the group's mean."),
    "moved": N_("5 New policy"),
    "moved_says": N_("Push up what beat the group, push down the rest."),
}

_HERE = Path(__file__).parent
_PLAYER, _LOOP, _SILENT, _CONTROLS, _CSS, _VIEWS, _PLAY = (
    (_HERE / name).read_text(encoding="utf-8")
    for name in ("player.html", "loop.html", "silent.html", "controls.html", "player.css", "views.js", "player.js")
)
_JS = _VIEWS + _PLAY


def _layout(below: str) -> str:
    return f'<section class="player" tabindex="-1">\n{_CONTROLS}{below}</section>\n'


_player = st.components.v2.component("grpo_player", html=_layout(_PLAYER), css=_CSS, js=_JS)
_loop = st.components.v2.component("grpo_loop", html=_layout(_LOOP), css=_CSS, js=_JS)
_silent = st.components.v2.component("grpo_silent", html=_layout(_SILENT), css=_CSS, js=_JS)


def player_texts(_) -> dict[str, str]:
    """The player's words in the visitor's language."""
    return {key: _(text) for key, text in TEXTS.items()}


def player(
    history: TrainingHistory, texts: dict[str, str], band: Bands, prompt: int, on_prompt: Callable[[int], None]
) -> None:
    """Show the run of the first seed; a click on a prompt calls `on_prompt` with its index."""
    _player(
        key="player", data=player_data(history, texts, band, prompt), on_prompt_change=_clicked("player", on_prompt)
    )


def silent_player(
    history: TrainingHistory, texts: dict[str, str], band: Bands, prompt: int, on_prompt: Callable[[int], None]
) -> None:
    """The same run on the map of silent groups."""
    data = player_data(history, texts, band, prompt) | {"id": "silent_groups"}
    add_silence(data, history, texts, band)
    _silent(key="silent", data=data, on_prompt_change=_clicked("silent", on_prompt))


def _clicked(key: str, on_prompt: Callable[[int], None]) -> Callable[[], None]:
    def clicked() -> None:
        chosen = st.session_state[key].get("prompt")
        if chosen is not None:
            on_prompt(int(chosen))

    return clicked


def loop(history: TrainingHistory, texts: dict[str, str], prompt: int, links: dict[str, str]) -> None:
    """The same run as the five stages of one prompt; `links` leads from each stage to its page."""
    _loop(key="loop", data=player_data(history, texts, None, prompt) | {"id": "loop", "links": links})


def player_data(history: TrainingHistory, texts: dict[str, str], band: Bands | None, prompt: int) -> dict:
    """The run as JSON: frame f is the policy that sampled epoch `epochs[f]`, and what its groups gave."""
    task, epochs = history.task, history.config.epochs
    count = min(MAX_FRAMES, epochs, max(MIN_FRAMES, MAX_PAIRS // task.rewards.numel()))
    frames = torch.linspace(0, epochs - 1, count).round().long()
    per_sample = history.config.group_size <= MAX_CELLS
    actions, advantages = history.actions[0, frames], history.advantages[0, frames]
    few = band if len(task.prompts) <= 4 else None  # more bands would only cover each other
    shape = (count, *task.rewards.shape)
    counts = torch.zeros(shape, dtype=torch.long).scatter_add_(-1, actions, torch.ones_like(actions))
    by_action = torch.zeros(shape, dtype=torch.float64).scatter_(-1, actions, advantages)
    return {
        "id": "training_run",
        "texts": texts
        | {
            "band": texts["band"].format(seeds=band.seeds if band else 0),
            "group_says": texts["group_says"].format(count=history.config.group_size),
            "rewards_says": texts["rewards_says"]
            if set(task.rewards.unique().tolist()) <= {0, 1}
            else texts["graded_says"],
        },
        "prompts": labels(task.prompts, 60),
        "actions": labels(task.actions, 40),
        "targets": task.is_target.tolist(),
        "rewards": _rounded(task.rewards, 4),
        "prompt": prompt,
        "epochs": (frames + 1).tolist(),
        "probabilities": _rounded(history.probabilities[0, frames], 3),
        "after": _rounded(history.probabilities[0, frames + 1], 3),
        "samples": actions.tolist() if per_sample else None,
        "counts": counts.tolist(),
        "advantages": _rounded(by_action, 3),
        "mean": _rounded(history.group_mean[0, frames], 3),
        "std": _rounded(history.group_std[0, frames], 3),
        "epsilon": f"{history.config.epsilon:g}".replace("-", MINUS),  # a line may break after a hyphen
        "curves": {
            "kl": [_line(texts["this_seed"], history.mean_kl[0], frames, band and band.mean_kl)],
            "reward": [
                _line(texts["sampled"], history.mean_reward[0], frames, band and band.mean_reward),
                _line(texts["greedy"], history.greedy_reward[0], frames, band and band.greedy_reward),
            ],
            "probability": [
                _line(text, history.target_probabilities[0, :, p], frames, few and band.target_probabilities[..., p])
                for p, text in enumerate(labels(task.prompts, 60))
            ],
            "entropy": [_line(texts["this_seed"], history.entropy[0], frames, band and band.entropy)],
        },
    }


def add_silence(data: dict, history: TrainingHistory, texts: dict[str, str], band: Bands) -> None:
    """The map P(silent) over p and G, each prompt's place on it, and the silent groups that were counted."""
    group_size, prompts = history.config.group_size, len(history.task.prompts)
    sizes = sorted({1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, group_size})
    p = (np.arange(MAP_COLUMNS) + 0.5) / MAP_COLUMNS
    frames = torch.tensor(data["epochs"]) - 1
    chance = history.silent_probability[0, frames]
    counted = _line(texts["silent_counted"], history.silent_share[0] * prompts, frames, band.silent_share * prompts)
    expected = {"name": texts["silent_expected"], "values": _rounded(chance.sum(-1), 4)}
    data["map"] = {
        "sizes": sizes,
        "row": sizes.index(group_size),
        "table": silent_probability(p, np.array(sizes)[:, None]).round(2).tolist(),
        "chance": _rounded(chance, 3),
    }
    data["curves"]["silent"] = [counted, expected]


def handout(history: TrainingHistory, texts: dict[str, str], band: Bands, title: str, lang: str) -> str:
    """One HTML file that plays the run offline."""
    data = json.dumps(player_data(history, texts, band, 0), ensure_ascii=False, separators=(",", ":"))
    script = _JS.replace("export default function", "function")
    return _PAGE.format(
        title=escape(title),
        lang=escape(lang),
        html=_layout(_PLAYER),
        css=_CSS,
        script=script,
        data=data.replace("<", "\\u003c"),
    )


_PAGE = """<!doctype html>
<html lang="{lang}"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>{title} · GRPO</title>
<style>
:root {{ color-scheme: light dark; --st-font: system-ui, sans-serif; --st-background-color: #FFFFFF;
  --st-secondary-background-color: #F3F6F9; --st-text-color: #1B2430; --st-border-color: #D5DDE5; --st-primary-color: #0072B2; }}
@media (prefers-color-scheme: dark) {{ :root {{ --st-background-color: #10151C; --st-secondary-background-color: #1A222C;
  --st-text-color: #E8EDF2; --st-border-color: #36424F; --st-primary-color: #3E9BD6; }} }}
body {{ margin: 0 auto; max-width: 70rem; padding: 1rem; background: var(--st-background-color); }}
{css}
.controls {{ top: 0; }}
</style>
<h1 style="font-family:var(--st-font);color:var(--st-text-color)">{title}</h1>
<main>{html}</main>
<script type="module">
{script}
const draw = () => player({{ data: {data}, parentElement: document.querySelector("main"), setTriggerValue() {{}} }});
draw();
matchMedia("(prefers-color-scheme: dark)").onchange = draw;
</script></html>
"""


def _rounded(table: torch.Tensor, digits: int) -> list:
    return (table.double() + 0.0).round(decimals=digits).tolist()


def _line(name: str, values: torch.Tensor, frames: torch.Tensor, band: torch.Tensor | None = None) -> dict:
    line = {"name": name, "values": _rounded(values[frames], 4)}
    if band is not None:
        line["low"], _, line["high"] = _rounded(band[:, frames], 4)
    return line
