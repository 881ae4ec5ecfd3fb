"""The puzzles: what people ask about GRPO, in the order of the page."""

from grpo_core.messages import N_
from grpo_core.puzzles.group_scenes import batch_std, float_noise, group_of_one, none_reward, zero_or_minus_one
from grpo_core.puzzles.kl_scenes import k3_as_a_loss, kl_explodes, kl_in_the_reward, kl_not_logged, silent_but_moving
from grpo_core.puzzles.length_scenes import dr_grpo, token_or_sequence_mean
from grpo_core.puzzles.loss_scenes import (
    clip_within_an_epoch,
    loss_is_cosmetic,
    loss_rises,
    minus_detached,
    never_clipped,
)
from grpo_core.puzzles.puzzle import Control, Puzzle, Thread

TRL, VERL, OPENRLHF = "TRL 1.16.0", "verl 0.9.1", "OpenRLHF 0.11.2"
ACTOR = "actor_rollout_ref.actor"
KL = {
    TRL: ("beta",),
    VERL: (f"{ACTOR}.use_kl_loss", f"{ACTOR}.kl_loss_coef"),
    OPENRLHF: ("--algo.kl.use_loss", "--algo.kl.init_coef"),
}
KL_COEF = Control("kl_coef", N_("KL coefficient"), (0.0, 0.04, 0.2), start=1)
LENGTH = Control("length", N_("Tokens of the long answer"), (2, 8, 32), start=1)

EVERY = (
    Puzzle(
        "loss_rises",
        N_("Loss starts at 0, then rises. Is it broken?"),
        (
            N_("No. With one update per rollout every ratio is 1 and a group's advantages add up to 0, so the value is kl_coef × KL alone: {first:.4f} in the first epoch, {kl_coef:g} × {kl:.4f} = {last:.4f} in the last."),
            N_("The gradient is not 0: while the loss is {first:.4f}, its norm is {gradient:.3f}, and the mean reward goes from {reward_first:.3f} to {reward_last:.3f}."),
        ),
        loss_rises,
        "one_update",
        KL,
        (
            Thread("trl", 2703, "GRPO: Why does loss start at 0 for first K steps and then increase over time?"),
            Thread("open-r1", 239, "Why does the loss start at 0 when I train GRPO, and then possibly increase?"),
        ),
        control=KL_COEF,
    ),
    Puzzle(
        "loss_is_cosmetic",
        N_("The loss is 0 and the reward moves all the same?"),
        (
            N_("The value is cosmetic: without KL it is {largest:.4f} in all {epochs} epochs, whatever is learned. Here the mean reward goes from {reward_first:.3f} to {reward_last:.3f}."),
            N_("Written as −mean(log π · A), the very same gradient comes with values from {lowest:.3f} to {highest:.3f}. Watch the reward, not the loss."),
        ),
        loss_is_cosmetic,
        "training_run",
        KL,
        (Thread("trl", 3452, "GRPO reward=0 and loss=0"),),
        {"kl_coef": 0.0},
        Control("learning_rate", N_("Learning rate"), (0.0, 0.01, 0.1), start=2),
    ),
    Puzzle(
        "never_clipped",
        N_("clip_ratio is always 0. Does the clip work?"),
        (
            N_("With one update per rollout the policy being trained is the one that sampled: every ratio is 1, inside 1 ± {clip:g}, and the clipped share is {one:.3f} in all {epochs} epochs."),
            N_("With {updates} updates on the same rollout it is {many:.3f} on average and {most:.3f} at most; the first of them is never clipped."),
        ),
        never_clipped,
        "ppo_dpo_grpo",
        {TRL: ("num_iterations", "steps_per_generation", "epsilon"), VERL: (f"{ACTOR}.ppo_epochs", f"{ACTOR}.ppo_mini_batch_size")},
        (Thread("trl", 3120, "why GRPO Train loss clip_ratio always zero?"),),
        {"methods": "all"},
        Control("updates", N_("Updates per rollout"), (4, 8, 16)),
    ),
    Puzzle(
        "minus_detached",
        N_("What does `x - x.detach()` do?"),
        (
            N_("Its value is {difference:g}, so the ratio exp(x − x.detach()) is {ratio:g} and the loss −A = {loss:g}. Its derivative is {slope:g}: the gradient of log π gets through."),
            N_("For one of three equally likely answers with A = {advantage:g} the gradient on its logit is {chosen:+.3f}, on the others {other:+.3f}."),
        ),
        minus_detached,
        "one_update",
        {TRL: ("num_iterations",)},
        (Thread("trl", 2681, "About the Implementation of GRPO"),),
        control=Control("advantage", N_("Advantage"), (-1.0, 1.0, 2.0), start=1),
    ),
    Puzzle(
        "batch_std",
        N_("The reward std is not 0, but the loss is?"),
        (
            N_("TRL's `reward_std` is over the whole batch, here {batch_std:.3f}. The stds within the groups are {first_std:.3f} and {second_std:.3f}, and only they matter: the largest advantage is {largest:.3f}."),
            N_("Read `frac_reward_zero_std`: {silent_share:.0%} of the completions are in a silent group. With `scale_rewards=\"batch\"` it says {silent_share_batch:.0%}, and a silent group is silent all the same."),
        ),
        batch_std,
        "silent_groups",
        {TRL: ("num_generations", "scale_rewards"), VERL: ("actor_rollout_ref.rollout.n",), OPENRLHF: ("--rollout.n_samples_per_prompt", "--algo.dynamic_filtering_enable")},
        (Thread("trl", 3857, "GRPO Trainer loss error? … why 'rewards/if_rewrite_reward/std': 5.080004692077637 (is not 0), but loss = 0.0"),),
        control=Control("groups", N_("The second group"), ("silent", "mixed"), (N_("all wrong"), N_("one right"))),
    ),
    Puzzle(
        "group_of_one",
        N_("Why must the batch divide by the group size? Why not G = 1?"),
        (
            N_("An advantage compares the answers to one prompt, so groups stay whole, and a batch of {batch} completions with G = {size} holds {batch} / {size} = {prompts} of them."),
            N_("Alone, an answer has no peer and no baseline: at p = 0.5 the expected push is {push_one:g} for G = 1 and {push:.3f} for G = {size}. TRL 1.16.0 refuses G = 1; verl 0.9.1 takes the reward itself, {verl:.3f}."),
        ),
        group_of_one,
        "silent_groups",
        {TRL: ("num_generations", "generation_batch_size"), VERL: ("actor_rollout_ref.rollout.n",), OPENRLHF: ("--rollout.n_samples_per_prompt",)},
        (
            Thread("trl", 2858, "GRPO config: what's the reason that the global batch size must be divisible by the number of generations?"),
            Thread("trl", 3199, "Improve GRPO trainer error message for invalid num_generations", "pull"),
        ),
        control=Control("group_size", N_("Group size"), (2, 4, 8), start=1),
    ),
    Puzzle(
        "kl_not_logged",
        N_("KL is nan or not logged?"),
        (
            N_("TRL 1.16.0 has beta = {default:g} by default: then no reference model is loaded, no KL computed, none logged. With beta = {beta:g} the metric kl reads: {logged}."),
            N_("The policy moves away either way: here the exact KL is {drift:.3f} nats after {epochs} epochs."),
        ),
        kl_not_logged,
        "kl_leash",
        KL,
        (Thread("trl", 4040, "why kl = nan when grpo train?"),),
        control=Control("kl_coef", N_("KL coefficient"), (0.0, 0.04, 0.2)),
    ),
    Puzzle(
        "kl_explodes",
        N_("KL is inf or explodes?"),
        (
            N_("k3 holds exp(log π_ref − log π), and TRL 1.16.0 does not clamp it: at a log ratio of {gap:g} one token's KL is {trl:.6g}. verl 0.9.1 clamps the value to ±10: {verl:.6g}."),
            N_("The derivative is {trl_gradient:.4g} in TRL (use_bias_correction_kl, the default), {plain_gradient:.6g} without that and {verl_gradient:.6g} in verl: a clamped token is no longer pulled back."),
        ),
        kl_explodes,
        "kl_leash",
        {TRL: ("beta", "use_bias_correction_kl"), VERL: (f"{ACTOR}.kl_loss_type",), OPENRLHF: ("--algo.kl.estimator",)},
        (Thread("trl", 3015), Thread("verl", 751, "在某一个step模型的输出突然全变为!，kl变为Nan")),
        control=Control("gap", N_("Log ratio of the reference to the policy"), (1.0, 5.0, 11.7, 100.0), start=2),
    ),
    Puzzle(
        "k3_as_a_loss",
        N_("Is k3 really the KL? And its gradient?"),
        (
            N_("Its expectation is: E[k3] = {k3:.4f}, the exact KL is {exact:.4f}. A single sample can be off."),
            N_("As a loss it has another gradient, that of KL(π_ref ‖ π): {plain:+.4f} on the first logit in place of {right:+.4f}. Times the ratio, TRL 1.16.0's default, it is {corrected:+.4f}."),
        ),
        k3_as_a_loss,
        "kl_leash",
        {TRL: ("use_bias_correction_kl",), VERL: (f"{ACTOR}.kl_loss_type",), OPENRLHF: ("--algo.kl.estimator", "--algo.kl.unbiased_gradient")},
        (
            Thread("trl", 2854, "Compute the KL divergence"),
            Thread("trl", 4967, 'Support Unbiased "K1-in-Reward" KL Estimator for GRPO'),
        ),
    ),
    Puzzle(
        "silent_but_moving",
        N_("Why do silent groups still move the policy?"),
        (
            N_("Their advantages are 0, and so is that gradient: {policy:g}. The KL term does not ask for rewards: with kl_coef = {kl_coef:g} its pull back towards the reference has the norm {kl:.4f}."),
            N_("TRL's maintainers call it expected: the leash holds for every token. With kl_coef = 0 nothing is left."),
        ),
        silent_but_moving,
        "silent_groups",
        KL,
        (Thread("trl", 5588, "[Bug] Zero-std reward groups produce spurious KL gradients when `beta > 0` in GRPO/RLOO"),),
        control=KL_COEF,
    ),
    Puzzle(
        "zero_or_minus_one",
        N_("Rewards {0, 1} or {-1, 1}?"),
        (
            N_("Divided by the group std they are the same, up to epsilon: ±{zero_group:.4f} and ±{minus_group:.4f}."),
            N_("Without the std the spread counts: ±{zero_none:g} and ±{minus_none:g}, {ratio:g} times the gradient."),
        ),
        zero_or_minus_one,
        "one_group",
        {TRL: ("scale_rewards",), VERL: ("algorithm.norm_adv_by_std_in_grpo",), OPENRLHF: ("--algo.advantage.estimator",)},
        (Thread("trl", 2832, "Are there any tips and tricks about GRPO reward function design ?"),),
        {"rewards": "-1, 1, 1, -1"},
        Control("scale", "scale_rewards", ("group", "none")),
    ),
    Puzzle(
        "none_reward",
        N_("A reward function returned None. What now?"),
        (
            N_("If no function scored an answer, TRL 1.16.0 leaves it out: mean and std are of the {scored} scored rewards (mean {mean:.3f}), and its advantage is {missing:g}. A right answer has {right:+.3f}."),
            N_("As a reward of 0 it would count as wrong: {missing_as_zero:+.3f}, and a right answer would have {right_as_zero:+.3f}. A lone scored answer has no peer and gets 0."),
        ),
        none_reward,
        "one_group",
        {TRL: ("reward_weights",)},
        (Thread("trl", 5902, "Exclude None reward completions from GRPO/RLOO advantage baseline", "pull"),),
        {"rewards": "1, 0, 1"},
        Control("scored", N_("Scored answers"), ("three", "one"), (N_("three of four"), N_("one of four"))),
    ),
    Puzzle(
        "token_or_sequence_mean",
        N_("token-mean or seq-mean: which is GRPO?"),
        (
            N_("The paper's GRPO is seq-mean-token-mean: every answer has the same weight, so a token counts {short:.4f} in the answer of {short_length} tokens and {long:.4f} in that of {length}: {times:g} to 1."),
            N_("token-mean is DAPO's, and the default of verl 0.9.1 and, as `loss_type=\"dapo\"`, of TRL 1.16.0: every token counts {token:.4f}, and the answer of {length} tokens has {share:.0%} of the weight."),
        ),
        token_or_sequence_mean,
        "grpo_family",
        {TRL: ("loss_type",), VERL: (f"{ACTOR}.loss_agg_mode",)},
        (Thread("verl", 957, "loss_agg_mode in the recipe of DAPO"), Thread("verl", 593, "about grpo loss computation")),
        {"preset": "dapo"},
        LENGTH,
    ),
    Puzzle(
        "kl_in_the_reward",
        N_("use_kl_loss or KL in the reward?"),
        (
            N_("use_kl_loss adds a term beside the advantages: two right answers have {right:+.3f} each. use_kl_in_reward compares r − {kl_coef:g} · KL: the one with KL {most:g} gets {far:+.3f}, the one with {least:g} gets {near:+.3f}."),
            N_("In a silent group the KL is all that differs, and the std blows it up: {silent_far:+.3f} and {silent_near:+.3f} in place of {silent:g}. The GRPO paper has the KL in the loss."),
        ),
        kl_in_the_reward,
        "kl_leash",
        {VERL: (f"{ACTOR}.use_kl_loss", "algorithm.use_kl_in_reward", "algorithm.kl_ctrl.kl_coef"), OPENRLHF: ("--algo.kl.use_loss",)},
        (Thread("verl", 3276, "use_kl_loss vs use_kl_in_reward"),),
        control=Control("coefficient", N_("KL coefficient in the reward"), (0.001, 0.1, 1.0), start=1),
    ),
    Puzzle(
        "clip_within_an_epoch",
        N_("Is the clip useless with one epoch?"),
        (
            N_("Not if the rollout is split into minibatches: each moves the policy that the next one sees. Minibatch 1 has the ratio {first_ratio:g} and {first:.1%} clipped, minibatch {count} ratios up to {last_ratio:.2f} and {last:.1%} clipped."),
            N_("Here it holds something back in {working} of {count}: never in the first, whose ratios are 1, and in later ones once the steps have led far enough. DAPO's run has 16."),
        ),
        clip_within_an_epoch,
        "ppo_dpo_grpo",
        {VERL: ("data.train_batch_size", f"{ACTOR}.ppo_mini_batch_size", f"{ACTOR}.ppo_epochs"), TRL: ("steps_per_generation", "gradient_accumulation_steps")},
        (Thread("verl", 791, "[Question] About clip_ratio_high in DAPO"),),
        {"methods": "all", "group_size": 64, "learning_rate": 0.03},
        Control("minibatches", N_("Minibatches"), (1, 4, 16), start=2),
    ),
    Puzzle(
        "dr_grpo",
        N_("Std flag off = Dr. GRPO?"),
        (
            N_("Half of it: the advantages go from ±{with_std:.3f} to ±{without_std:.3f}, but with seq-mean-token-mean a token of the right answer of {short_length} tokens is still pushed {times:g} times as hard as one of the wrong answer of {length}."),
            N_("Dr. GRPO also sums the tokens and divides by a constant, here {constant}: every token gets ±{sum:.4f} at any length. token-mean is even too, ±{mean:.4f}, but divides by this batch's {tokens} tokens."),
        ),
        dr_grpo,
        "grpo_family",
        {VERL: ("algorithm.norm_adv_by_std_in_grpo", f"{ACTOR}.loss_agg_mode", f"{ACTOR}.loss_scale_factor"), TRL: ("scale_rewards", "loss_type", "max_completion_length")},
        (Thread("verl", 990, "Add scale_grpo_adv option", "pull"),),
        {"preset": "dr_grpo"},
        LENGTH,
    ),
    Puzzle(
        "float_noise",
        N_("All rewards are equal, yet the advantages are not 0?"),
        (
            N_("In float32 the mean of seven times {reward:g} can be off by a rounding, and that is divided by a small epsilon: TRL {trl:+.4f}, verl {verl:+.4f}, OpenRLHF {openrlhf:+.4f}."),
            N_("This project measures from the group's lowest reward, which is exact: {own:g}. A reward such as 0.5, which float32 holds exactly, makes no noise anywhere."),
        ),
        float_noise,
        "silent_groups",
        {VERL: ("algorithm.norm_adv_by_std_in_grpo",), OPENRLHF: ("--algo.advantage.estimator",), TRL: ("scale_rewards",)},
        control=Control("reward", N_("Reward of every answer"), (0.3, 3.3, 0.5)),
    ),
)  # fmt: skip
