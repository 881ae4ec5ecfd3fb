"""How much faster than the plain loop the core is: `python -m bench.core [--json]`.

Both run in this process, on one thread, in turn; ratios of medians are printed. Not about seconds,
which belong to the machine.
"""

import statistics
import time
from dataclasses import replace

import torch

from bench import report
from grpo_core import TrainConfig, chapter_task, train

SEEDS = 256
REPEATS = 7
CHECKED_SEEDS = 32


def plain_loop(task, config: TrainConfig) -> float:
    """What a reader of the chapter would write; returns the mean target probability at the end."""
    torch.manual_seed(config.seed)
    logits = task.reference_policy.log().clone().requires_grad_()
    references = [torch.distributions.Categorical(probs=row) for row in task.reference_policy]
    optimizer = torch.optim.Adam([logits], lr=config.learning_rate)
    for _ in range(config.epochs):
        losses = []
        for prompt in range(len(task.prompts)):
            policy = torch.distributions.Categorical(logits=logits[prompt])
            actions = policy.sample((config.group_size,))
            rewards = task.rewards[prompt][actions]
            advantages = (rewards - rewards.mean()) / (rewards.std(correction=0) + config.epsilon)
            kl = torch.distributions.kl_divergence(policy, references[prompt])
            losses.append(-(policy.log_prob(actions) * advantages).mean() + config.kl_coef * kl)
        optimizer.zero_grad()
        torch.stack(losses).mean().backward()
        optimizer.step()
    return (logits.detach().softmax(-1) * task.is_target).sum(-1).mean().item()


def check_same_learning(task, config: TrainConfig) -> None:
    """The comparison means something only if both learn the same thing."""
    plain = statistics.median(plain_loop(task, replace(config, seed=seed)) for seed in range(CHECKED_SEEDS))
    ours = train(task, config, seeds=range(CHECKED_SEEDS)).target_probability[:, -1].median().item()
    if abs(plain - ours) > 0.03:
        raise SystemExit(f"the loops learn different things: median target probability {plain:.3f} and {ours:.3f}")


def seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure() -> dict[str, float]:
    torch.set_num_threads(1)
    task, config = chapter_task(), TrainConfig()
    check_same_learning(task, config)
    jobs = {
        "plain": lambda: plain_loop(task, config),
        "one": lambda: train(task, config),
        "many": lambda: train(task, config, seeds=range(SEEDS)),
    }
    for work in jobs.values():  # warm-up
        work()
    times = {name: [] for name in jobs}
    for _ in range(REPEATS):
        for name, work in jobs.items():
            times[name].append(seconds(work))
    plain, one, many = (statistics.median(times[name]) for name in jobs)
    return {
        "torch_threads": torch.get_num_threads(),
        "plain_seconds": plain,
        "one_seed_seconds": one,
        "many_seeds_seconds_per_run": many / SEEDS,
        "one_seed_times_faster": plain / one,
        "many_seeds_times_faster_per_run": plain / (many / SEEDS),
    }


def sentences(figures: dict[str, float]) -> list[str]:
    return [
        f"default run, {figures['torch_threads']} torch thread, medians of {REPEATS}",
        f"plain loop: {1000 * figures['plain_seconds']:.1f} ms",
        f"train(), one seed: {1000 * figures['one_seed_seconds']:.2f} ms",
        f"train(), {SEEDS} seeds: {1000 * figures['many_seeds_seconds_per_run']:.3f} ms per run",
        f"one seed: {figures['one_seed_times_faster']:.1f} times faster than the plain loop (wanted: 4)",
        f"{SEEDS} seeds: {figures['many_seeds_times_faster_per_run']:.0f} times faster per run (wanted: 500)",
    ]


if __name__ == "__main__":
    report(__doc__, measure, sentences)
