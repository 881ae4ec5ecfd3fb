"""What to look at after a run, in four computed lines: start, end, and whether that is as it should be."""

from dataclasses import dataclass

from grpo_core.history import TrainingHistory
from grpo_core.losses import chapter_gradient
from grpo_core.messages import N_, Message

MASTERED = 0.9
"""A mean target probability from which on a task counts as learned."""

HELD = N_("kl_coef is large and holds the policy at the reference")

NOTICEABLE = 0.02
"""A change of a probability or of an expected share that is worth a word."""


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
    """Rewards, relative advantages, target probability and KL of one seed's run, in this order.

    The seed must be one whose samples were kept.
    Rewards and advantages are samples, which chance moves: what is said of them is checked against
    the policy's own expectation before the first and before the last epoch.
    """
    run = _Run(history, seed_index)
    return [_rewards(run), _advantages(run), _target(run), _kl(run)]


class _Run:
    """One seed's run as plain numbers: what was sampled, and what was to be expected."""

    def __init__(self, history: TrainingHistory, seed_index: int):
        policies, task = history.probabilities[seed_index], history.task
        self.epochs = history.config.epochs
        self.best = task.rewards.amax(-1).mean().item()
        self.rewards = history.mean_reward[seed_index].tolist()
        self.signal = (1 - history.silent_share[seed_index]).tolist()
        self.target = history.target_probability[seed_index].tolist()
        self.kl = history.mean_kl[seed_index].tolist()
        self.moved = self.kl[-1] > 1e-12
        sampling = policies[[0, self.epochs - 1]]
        self.expected_rewards = (sampling * task.rewards).sum(-1).mean(-1).tolist()
        silent = history.silent_probability[seed_index, [0, self.epochs - 1]]
        self.expected_signal = (1 - silent).mean(-1).tolist()
        self.why = _why_not(history, seed_index, self)


def _why_not(history: TrainingHistory, seed_index: int, run: _Run) -> str:
    """The reason why a policy did not learn, most certain first."""
    config = history.config
    if config.group_size == 1:
        return N_("a group of one has no peers, so every advantage is 0")
    if not any(run.signal):
        return N_("every group was silent, so every advantage was 0")
    if config.learning_rate == 0:
        return N_("the learning rate is 0")
    if _leash_holds(history, seed_index):
        return HELD
    if run.moved and run.target[-1] < run.target[0]:
        return N_("the best answer is sampled too rarely, and other answers take its place")
    if max(run.target) - run.target[0] < 0.1:
        return N_("too few or too small steps: try more epochs or a larger learning rate")
    return N_("the samples of one epoch are few, and chance moves them: look at more seeds")


def _leash_holds(history: TrainingHistory, seed_index: int) -> bool:
    """Whether the KL term took back half of what the advantages pushed, over the second half of the run."""
    second_half = slice(history.config.epochs // 2, history.config.epochs)
    gradient = chapter_gradient(
        history.probabilities[seed_index, second_half].log(),
        history.actions[seed_index, second_half],
        history.advantages[seed_index, second_half],
        history.task.reference_policy,
        history.config.kl_coef,
    )
    return bool(gradient.kl.mean(0).norm() > gradient.policy.mean(0).norm() / 2)


def _rewards(run: _Run) -> Finding:
    start, end = run.rewards[0], run.rewards[-1]
    rise = run.expected_rewards[1] - run.expected_rewards[0]
    values = {"expected_start": run.expected_rewards[0], "expected_end": run.expected_rewards[1]}
    if start == end == run.best:
        text = N_("rewards: mean {start:.3f} -> {end:.3f}, as high as it can be")
        return _finding("rewards", start, end, True, text)
    if run.epochs == 1:
        return _finding("rewards", start, end, False, N_("rewards: mean {start:.3f}, one epoch shows no change yet"))
    if not run.moved:
        text = N_("rewards: mean {start:.3f} -> {end:.3f}, only chance, the policy did not move: {why}")
        return _finding("rewards", start, end, False, text, why=run.why)
    if end > start and rise > 0:
        return _finding("rewards", start, end, True, N_("rewards: mean {start:.3f} -> {end:.3f}, rose as it should"))
    if end > start:
        text = N_(
            "rewards: mean {start:.3f} -> {end:.3f}, rose by chance, the policy expects {expected_start:.3f} -> {expected_end:.3f}: {why}"
        )
        return _finding("rewards", start, end, False, text, why=run.why, **values)
    if rise > 0:
        text = N_(
            "rewards: mean {start:.3f} -> {end:.3f}, held back by chance, the policy expects {expected_start:.3f} -> {expected_end:.3f}"
        )
        return _finding("rewards", start, end, False, text, **values)
    return _finding(
        "rewards", start, end, False, N_("rewards: mean {start:.3f} -> {end:.3f}, did not rise: {why}"), why=run.why
    )


def _advantages(run: _Run) -> Finding:
    start, end = run.signal[0], run.signal[-1]
    before, expected = run.expected_signal
    if not any(run.signal):
        text = N_("advantages: {start:.0%} -> {end:.0%} of the groups with a signal, nothing to learn from: {why}")
        return _finding("advantages", start, end, False, text, why=run.why)
    if not run.moved:
        text = N_("advantages: {start:.0%} -> {end:.0%} of the groups with a signal, but nothing came of it: {why}")
        return _finding("advantages", start, end, False, text, why=run.why)
    if end == 0 and run.rewards[-1] == run.best:
        text = N_(
            "advantages: {start:.0%} -> {end:.0%} of the groups with a signal, spent as it should be: all answers are right"
        )
        return _finding("advantages", start, end, True, text)
    if (end < start or end == 0) and expected < before - NOTICEABLE:
        if run.target[-1] > run.target[0]:
            text = N_(
                "advantages: {start:.0%} -> {end:.0%} of the groups with a signal, fading as the policy grows certain"
            )
            return _finding("advantages", start, end, True, text)
        text = N_(
            "advantages: {start:.0%} -> {end:.0%} of the groups with a signal, fading as the policy grows certain of wrong answers: {why}"
        )
        return _finding("advantages", start, end, False, text, why=run.why)
    if end < start or end == 0:
        text = N_(
            "advantages: {start:.0%} -> {end:.0%} of the groups with a signal, by chance: {expected:.0%} are expected at the end"
        )
        return _finding("advantages", start, end, True, text, expected=expected)
    return _finding(
        "advantages", start, end, True,
        N_("advantages: {start:.0%} -> {end:.0%} of the groups with a signal, still teaching"),
    )  # fmt: skip


def _target(run: _Run) -> Finding:
    start, end = run.target[0], run.target[-1]
    if end > start and end >= MASTERED:
        text = N_("target probability: {start:.3f} -> {end:.3f}, rose as it should")
    elif start >= MASTERED and end >= MASTERED:
        text = N_("target probability: {start:.3f} -> {end:.3f}, high from the start")
    elif end > start + NOTICEABLE and run.why == HELD:
        text = N_("target probability: {start:.3f} -> {end:.3f}, rose, but goes no further: {why}")
        return _finding("target probability", start, end, False, text, why=run.why)
    elif end > start + NOTICEABLE:
        text = N_("target probability: {start:.3f} -> {end:.3f}, rising as it should, not there yet")
    else:
        text = (
            N_("target probability: {start:.3f} -> {end:.3f}, rose only a little: {why}")
            if run.moved and end > start
            else N_("target probability: {start:.3f} -> {end:.3f}, did not rise: {why}")
        )
        return _finding("target probability", start, end, False, text, why=run.why)
    return _finding("target probability", start, end, True, text)


def _kl(run: _Run) -> Finding:
    start, end = run.kl[0], run.kl[-1]
    if run.moved and run.target[-1] > run.target[0]:
        text = N_("KL: {start:.4f} -> {end:.4f}, grew with what was learned, as it should")
        return _finding("KL", start, end, True, text)
    text = (
        N_("KL: {start:.4f} -> {end:.4f}, the policy moved, but not towards the target: {why}")
        if run.moved
        else N_("KL: {start:.4f} -> {end:.4f}, the policy did not move: {why}")
    )
    return _finding("KL", start, end, False, text, why=run.why)


def _finding(quantity: str, start: float, end: float, sensible: bool, template: str, **values) -> Finding:
    shown = {"start": _no_negative_zero(start), "end": _no_negative_zero(end)}
    return Finding(quantity, start, end, sensible, Message(template, shown | values))


def _no_negative_zero(value: float) -> float:
    return 0.0 if -0.0005 < value < 0 else value
