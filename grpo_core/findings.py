"""What to look at after a run, in four computed lines: start, end, and whether that is as it should be."""

from dataclasses import dataclass

from grpo_core.history import TrainingHistory
from grpo_core.messages import N_, Message

MASTERED = 0.9
"""A mean target probability from which on a task counts as learned."""


@dataclass(frozen=True)
class Finding:
    """One of the four lines. `quantity` is its key, `message` the sentence with its numbers."""

    quantity: str
    start: float
    end: float
    sensible: bool
    message: Message

    def __str__(self) -> str:
        return str(self.message)


def findings(history: TrainingHistory, seed_index: int = 0) -> list[Finding]:
    """Rewards, relative advantages, target probability and KL of one seed's run, in this order."""
    rewards = history.mean_reward[seed_index].tolist()
    signal = (1 - history.silent_share[seed_index]).tolist()
    target = history.target_probability[seed_index].tolist()
    kl = history.mean_kl[seed_index].tolist()
    why = _why_not(history, signal, target)
    return [
        _rewards(rewards[0], rewards[-1], why),
        _advantages(signal[0], signal[-1], target[-1], why),
        _target(target[0], target[-1], why),
        _kl(kl[0], kl[-1], target[0], target[-1], why),
    ]


def _why_not(history: TrainingHistory, signal: list[float], target: list[float]) -> str:
    """The reason why a policy did not learn, most certain first."""
    config = history.config
    if config.group_size == 1:
        return N_("a group of one has no peers, so every advantage is 0")
    if not any(signal):
        return N_("every group was silent, so every advantage was 0")
    if config.learning_rate == 0:
        return N_("the learning rate is 0")
    if config.kl_coef >= 0.5:
        return N_("kl_coef is large and holds the policy at the reference")
    if max(target) - target[0] < 0.1:
        return N_("too few or too small steps: try more epochs or a larger learning rate")
    return N_("the samples of one epoch are few, and chance moves them: look at more seeds")


def _rewards(start: float, end: float, why: str) -> Finding:
    if end > start:
        return _finding("rewards", start, end, N_("rewards: mean {start:.3f} -> {end:.3f}, rose as it should"))
    if start == end == 1:
        return _finding("rewards", start, end, N_("rewards: mean {start:.3f} -> {end:.3f}, as high as it can be"))
    return _finding("rewards", start, end, N_("rewards: mean {start:.3f} -> {end:.3f}, did not rise: {why}"), why)


def _advantages(start: float, end: float, target: float, why: str) -> Finding:
    if end == 0 and target >= MASTERED:
        text = N_(
            "advantages: {start:.0%} -> {end:.0%} of the groups with a signal, spent as it should be: all answers are right"
        )
    elif end == 0:
        text = N_("advantages: {start:.0%} -> {end:.0%} of the groups with a signal, no signal is left: {why}")
        return _finding("advantages", start, end, text, why)
    elif end < start:
        text = N_(
            "advantages: {start:.0%} -> {end:.0%} of the groups with a signal, fading as the policy grows certain"
        )
    else:
        text = N_("advantages: {start:.0%} -> {end:.0%} of the groups with a signal, still teaching")
    return _finding("advantages", start, end, text)


def _target(start: float, end: float, why: str) -> Finding:
    if end > start and end >= MASTERED:
        text = N_("target probability: {start:.3f} -> {end:.3f}, rose as it should")
    elif end > start + 0.02:
        text = N_("target probability: {start:.3f} -> {end:.3f}, rising as it should, not there yet")
    else:
        text = N_("target probability: {start:.3f} -> {end:.3f}, did not rise: {why}")
        return _finding("target probability", start, end, text, why)
    return _finding("target probability", start, end, text)


def _kl(start: float, end: float, target_start: float, target_end: float, why: str) -> Finding:
    if end > start and target_end > target_start:
        return _finding("KL", start, end, N_("KL: {start:.4f} -> {end:.4f}, grew with what was learned, as it should"))
    if end > start:
        text = N_("KL: {start:.4f} -> {end:.4f}, the policy moved, but not towards the target: {why}")
    else:
        text = N_("KL: {start:.4f} -> {end:.4f}, the policy did not move: {why}")
    return _finding("KL", start, end, text, why)


def _finding(quantity: str, start: float, end: float, template: str, why: str | None = None) -> Finding:
    values = {"start": start, "end": end} | ({} if why is None else {"why": why})
    return Finding(quantity, start, end, why is None, Message(template, values))
