"""The family's members by name: each preset is one entry, from a framework's own settings where it has them."""

from dataclasses import dataclass, field, replace

from grpo_core.config import DEFAULTS
from grpo_core.frameworks.advantages import Estimator
from grpo_core.frameworks.algorithm import Algorithm
from grpo_core.frameworks.kl import TokenKl
from grpo_core.frameworks.openrlhf import from_openrlhf
from grpo_core.frameworks.surrogates import Clip
from grpo_core.frameworks.trl import from_trl
from grpo_core.frameworks.verl import from_verl
from grpo_core.messages import N_

BUILD = {"trl": from_trl, "verl": from_verl, "openrlhf": from_openrlhf}
VERSIONS = {"trl": "TRL 1.16.0", "verl": "verl 0.9.1", "openrlhf": "OpenRLHF 0.11.2"}


@dataclass(frozen=True)
class Preset:
    """An algorithm with its name and where it comes from.

    name, source  what it is called; framework and version, or paper and arXiv id
    algorithm     the slots
    build         whose settings they are ("trl", "verl", "openrlhf"); None: a paper's, or the chapter's
    settings      that framework's, those left out at its defaults
    max_draws     a silent group is drawn again, up to so many draws in all (dynamic sampling)
    note          what the source leaves open, or what is not in the slots
    """

    name: str
    source: str
    algorithm: Algorithm
    build: str | None = None
    settings: dict = field(default_factory=dict)
    max_draws: int = 1
    note: str = ""


def of_framework(build: str, name: str, settings: dict, paper: str = "", **more) -> Preset:
    """A preset in a framework's settings."""
    source = f"{paper}, {VERSIONS[build]}" if paper else VERSIONS[build]
    return Preset(name, source, BUILD[build](settings), build, settings, **more)


PRESETS: dict[str, Preset] = {
    "chapter": Preset(N_("the chapter"), "GRPO Explainer", Algorithm(kl_coef=DEFAULTS["kl_coef"])),
    "deepseekmath": Preset(
        "DeepSeekMath", "arXiv 2402.03300",
        Algorithm(framework="DeepSeekMath", surrogate=Clip(0.2, 0.2), token_kl=TokenKl("k3"), kl_coef=0.04),
        note=N_("The paper gives no clip width and no epsilon; 0.2 and 1e-6 are used."),
    ),
    "trl": of_framework("trl", N_("TRL default"), {}),
    "verl": of_framework("verl", "verl grpo", {"adv_estimator": "grpo"}),
    "openrlhf": of_framework(
        "openrlhf", "OpenRLHF group_norm", {"advantage_estimator": "group_norm", "reward_clip_range": (-10.0, 10.0)}
    ),
    "dr_grpo": of_framework(
        "trl", "Dr. GRPO", {"loss_type": "dr_grpo", "scale_rewards": "none", "max_completion_length": 3000},
        "arXiv 2503.20783",
    ),
    "dapo": of_framework(
        "verl", "DAPO", {"adv_estimator": "grpo", "clip_ratio_high": 0.28, "clip_ratio_c": 10.0}, "arXiv 2503.14476",
        max_draws=8, note=N_("A silent group is drawn again, up to 8 times in all (dynamic sampling)."),
    ),
    "gspo": of_framework(
        "trl", "GSPO",
        {"importance_sampling_level": "sequence", "loss_type": "grpo", "epsilon": 3e-4, "epsilon_high": 4e-4},
        "arXiv 2507.18071",
    ),
    "cispo": of_framework(
        "trl", "CISPO", {"loss_type": "cispo", "epsilon_high": 5.0}, "arXiv 2506.13585",
        note=N_("The paper gives no upper bound; 5 is ScaleRL's (arXiv 2510.13786), as TRL's documentation has it."),
    ),
    "rloo": of_framework(
        "verl", "RLOO", {"adv_estimator": "rloo", "use_kl_in_reward": True, "kl_ctrl": {"kl_coef": 0.001}},
        "arXiv 2402.14740", note=N_("The settings are those of verl's own example of RLOO; the paper has no clip."),
    ),
    "reinforce_pp": of_framework(
        "openrlhf", "REINFORCE++-baseline",
        {"advantage_estimator": "reinforce_baseline", "use_kl_loss": True, "kl_estimator": "k2", "kl_coef": 1e-5},
        "arXiv 2501.03262", note=N_("The settings are those of OpenRLHF's own example."),
    ),
    "maxrl": Preset(
        "MaxRL", "arXiv 2602.02710", Algorithm(framework="MaxRL", estimator=Estimator(scale="group mean")),
        note=N_("The paper's estimator; it is on-policy, without a clip."),
    ),
    "pass_at_k": Preset(
        "Pass@k", "arXiv 2508.10751",
        Algorithm(framework="Pass@k", estimator=Estimator("best of k", k=2)),
        note=N_("The paper's formula for rewards of 0 and 1, continued to others: the reward of k answers is their best."),
    ),
}  # fmt: skip
"""Adding one is one entry; the key is what a link holds."""


def chapter_of(config) -> Algorithm:
    """The chapter's algorithm with a run's own kl_coef, ddof and epsilon."""
    chapter = PRESETS["chapter"].algorithm
    return replace(
        chapter, kl_coef=config.kl_coef, estimator=replace(chapter.estimator, ddof=config.ddof, epsilon=config.epsilon)
    )
