"""Scenes about the loss value, the ratio and the clip, on the chapter's task."""

import torch

from grpo_core.config import TrainConfig
from grpo_core.frameworks import from_trl
from grpo_core.history import TrainingHistory
from grpo_core.messages import N_
from grpo_core.method_training import Rollout, roll_out, surrogate_update, train_method
from grpo_core.methods import METHODS, Method
from grpo_core.optimizers import PolicyState, step
from grpo_core.puzzles.puzzle import Chart, Scene, Series, Table, number, numbers, written
from grpo_core.random_numbers import uniforms
from grpo_core.task import BanditTask, chapter_task
from grpo_core.training import train

CLIP = 0.2
EPOCHS, VALUE = N_("epoch"), N_("loss")


def ratio_loss(task: BanditTask, config: TrainConfig) -> tuple[TrainingHistory, torch.Tensor]:
    """The run of `train` and the loss values [E] that a framework logs for it: -mean(ratio A) + kl_coef KL."""
    return train(task, config), train_method(task, config, METHODS["GRPO"]).loss[0]


def loss_rises(config: TrainConfig, _turned) -> Scene:
    history, loss = ratio_loss(chapter_task(), config)
    kl = history.mean_kl[0, :-1]
    epochs = tuple(range(1, config.epochs + 1))
    told = {
        "kl_coef": config.kl_coef, "epochs": config.epochs, "first": number(loss[0]), "last": number(loss[-1]),
        "kl": number(kl[-1]), "gradient": number(history.grad_norm[0, 0]),
        "reward_first": number(history.mean_reward[0, 0]), "reward_last": number(history.mean_reward[0, -1]),
    }  # fmt: skip
    value = Chart(
        N_("The loss value is the KL term, nothing else"), EPOCHS, VALUE, epochs,
        (
            Series(N_("loss, with ratios"), numbers(loss), "second"),
            Series("kl_coef × KL", numbers(config.kl_coef * kl), "kl"),
        ),
        N_("The loss goes from {first:.4f} to {last:.4f}, in every epoch as kl_coef times KL does."),
    )  # fmt: skip
    gradient = Chart(
        N_("The gradient is there from the first epoch on"), EPOCHS, N_("norm of the gradient"), epochs,
        (Series(N_("norm of the gradient"), numbers(history.grad_norm[0])),),
        N_("The norm of the gradient is {gradient:.3f} in the first epoch."),
    )  # fmt: skip
    formulas = (
        r"L = -\frac{1}{N} \sum_i \rho_i A_i + \text{kl\_coef} \cdot \text{KL}",
        r"\rho_i = 1, \quad \sum_i A_i = 0",
        rf"{told['first']:.4f} \;\to\; 0 + {config.kl_coef:g} \cdot {told['kl']:.4f} = {told['last']:.4f}",
    )
    return Scene(told, (value, gradient), formulas=formulas, config=config)


def loss_is_cosmetic(config: TrainConfig, _turned) -> Scene:
    history, loss = ratio_loss(chapter_task(), config)
    epochs = tuple(range(1, config.epochs + 1))
    reward = history.mean_reward[0]
    told = {
        "epochs": config.epochs, "largest": number(loss.abs().max()),
        "lowest": number(history.loss[0].min()), "highest": number(history.loss[0].max()),
        "reward_first": number(reward[0]), "reward_last": number(reward[-1]),
        "target": number(history.target_probability[0, -1]),
    }  # fmt: skip
    value = Chart(
        N_("One gradient, two loss values"), EPOCHS, VALUE, epochs,
        (
            Series("−mean(ρ · A)", numbers(loss)),
            Series("−mean(log π · A)", numbers(history.loss[0]), "second"),
        ),
        N_("With ratios the loss is at most {largest:.4f}; with log-probabilities from {lowest:.3f} to {highest:.3f}."),
    )  # fmt: skip
    learned = Chart(
        N_("The reward tells what is learned"), EPOCHS, N_("mean reward"), epochs,
        (Series(N_("mean reward"), numbers(reward), "positive"),),
        N_("The mean reward goes from {reward_first:.3f} to {reward_last:.3f}."),
    )  # fmt: skip
    formulas = (r"\nabla \rho\,A = \rho\,A\,\nabla\log\pi = A\,\nabla\log\pi \quad (\rho = 1)",)
    return Scene(told, (value, learned), formulas=formulas, config=config)


def never_clipped(config: TrainConfig, updates: int) -> Scene:
    one, many = (
        train_method(chapter_task(), config, Method("GRPO", "group", clip=CLIP, inner_epochs=count)).clip_fraction[0]
        for count in (1, updates)
    )
    told = {
        "epochs": config.epochs, "updates": updates, "clip": CLIP,
        "one": number(one.max()), "many": number(many.mean()), "most": number(many.max()),
    }  # fmt: skip
    chart = Chart(
        N_("Without a second update nothing can be clipped"), EPOCHS, N_("share of clipped samples"),
        tuple(range(1, config.epochs + 1)),
        (
            Series(N_("1 update per rollout"), numbers(one)),
            Series(N_("{updates} updates per rollout"), numbers(many), "second"),
        ),
        N_("One update: {one:.3f} in every epoch. {updates} updates: up to {most:.3f}."),
    )  # fmt: skip
    formulas = (
        r"\rho = \frac{\pi(a)}{\pi_\text{old}(a)} = e^{\log\pi(a) - \log\pi_\text{old}(a)}",
        rf"\pi = \pi_\text{{old}} \;\Rightarrow\; \rho = 1 \in [{1 - CLIP:g},\, {1 + CLIP:g}]",
    )
    return Scene(told, (chart,), formulas=formulas, config=config)


def minus_detached(_config: TrainConfig, advantage: float) -> Scene:
    logits = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    x = torch.tensor(1 / 3, dtype=torch.float64).log().requires_grad_()
    expressions = {
        "log π": x, "x − x.detach()": x - x.detach(), "exp(x − x.detach())": (x - x.detach()).exp(), "x − x": x - x,
    }  # fmt: skip
    rows = [
        (name, number(value.detach()), number(torch.autograd.grad(value, x, retain_graph=True)[0]))
        for name, value in expressions.items()
    ]
    log_prob = logits.log_softmax(-1)[:1, None]
    loss = from_trl({"loss_type": "grpo"}).loss(log_prob, None, None, None, [advantage]).value
    (on_logits,) = torch.autograd.grad(loss, logits)
    told = {
        "difference": rows[1][1], "slope": rows[1][2], "ratio": rows[2][1], "advantage": advantage,
        "loss": number(loss.detach()), "chosen": number(on_logits[0]), "other": number(on_logits[1]),
    }  # fmt: skip
    table = Table(
        (N_("expression"), N_("its value"), N_("derivative by log π")), tuple(rows),
        N_("x − x.detach() has the value {difference:g} and the derivative {slope:g}."), digits=4,
    )  # fmt: skip
    chart = Chart(
        N_("The gradient that comes out of it"), N_("logit"), N_("gradient of the loss"), ("1 ★", "2", "3"),
        (
            Series(
                N_("gradient of the loss"), numbers(on_logits), "sign",
                tuple(f"{written(-advantage, 'g')} · ({int(k == 0)} − 1/3) = {written(g, '+.3f')}" for k, g in enumerate(on_logits.tolist())),
            ),
        ),
        N_("On the sampled answer's logit {chosen:+.3f}, on the others {other:+.3f}."), "bars",
    )  # fmt: skip
    formulas = (
        rf"L = -A\,e^{{x - \text{{sg}}(x)}} = -({advantage:g}) \cdot {told['ratio']:g} = {told['loss']:g}",
        rf"\frac{{\partial L}}{{\partial x}} = -A = {0.0 - advantage:g}",
    )
    return Scene(told, (chart,), table, formulas)


def clip_within_an_epoch(config: TrainConfig, count: int) -> Scene:
    shares, ratios = minibatches(config, count)
    places = tuple(map(str, range(1, count + 1)))
    told = {
        "count": count, "first": shares[0], "last": shares[-1], "clip": CLIP,
        "first_ratio": ratios[0], "last_ratio": ratios[-1], "working": sum(share > 0 for share in shares),
    }  # fmt: skip
    clipped = Chart(
        N_("What the clip holds back"), N_("minibatch of the one epoch"),
        N_("share of clipped samples"), places, (Series(N_("share of clipped samples"), shares),),
        N_("Clipped: {first:.3f} of the first minibatch, {last:.3f} of the last."), "bars",
    )  # fmt: skip
    spread = Chart(
        N_("How far the policy has moved on"), N_("minibatch of the one epoch"), N_("largest ratio"), places,
        (Series(N_("largest ratio"), ratios, "second"),),
        N_("The largest ratio is {first_ratio:.2f} in the first minibatch and {last_ratio:.2f} in the last."), "bars",
    )  # fmt: skip
    return Scene(told, (clipped, spread), config=config)


def minibatches(config: TrainConfig, count: int) -> tuple[tuple, tuple]:
    """One rollout, one epoch over it in `count` minibatches: the clipped share and the largest ratio of each."""
    task, method = chapter_task(), METHODS["GRPO with clipping"]
    state = PolicyState.start(task.reference_policy.log()[None])
    uniform = uniforms((config.seed,), range(1), len(task.prompts), config.group_size)[:, 0]
    log_policy = state.logits.log_softmax(-1)
    rollout = roll_out(log_policy, uniform, torch.zeros(1, len(task.prompts)), task, config, method)
    shares, ratios = [], []
    for part in torch.arange(config.group_size).chunk(count):
        batch = Rollout(*(table[..., part] for table in rollout[:3]), rollout.mean_reward, rollout.draws)
        ratio = (log_policy.gather(-1, batch.actions) - batch.log_probabilities).exp()
        update = surrogate_update(log_policy, batch, task.reference_policy, config.kl_coef, method)
        shares.append(number(update.clip_fraction[0]))
        ratios.append(number(ratio.max()))
        state = step(state, update.gradient, config.learning_rate, config.optimizer)
        log_policy = state.logits.log_softmax(-1)
    return tuple(shares), tuple(ratios)
