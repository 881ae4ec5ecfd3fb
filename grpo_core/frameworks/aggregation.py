"""From a loss per token to one number: who gets which weight when lengths differ."""

from dataclasses import dataclass

import torch

from grpo_core.messages import N_, FieldError

AGGREGATIONS = ("token-mean", "token-sum", "seq-mean-token-mean", "seq-mean-token-sum")


@dataclass(frozen=True)
class Aggregation:
    """The mean or sum over tokens and sequences.

    token-mean           sum / tokens: each token has the same weight
    token-sum            sum
    seq-mean-token-mean  mean over sequences of the mean over their tokens: each sequence has the same weight
    seq-mean-token-sum   mean over sequences of the sum over their tokens

    tokens, sequences    what token-mean and seq-mean divide by; None: this batch's own
    count_empty          a fully masked sequence counts among the sequences, and no token as one (TRL; not verl)
    length               the result is divided by this; "width": by T
    factor               the result is multiplied by this
    Source: TRL 1.16.0 `_compute_loss`, verl 0.9.1 `agg_loss`, OpenRLHF 0.11.2 `aggregate_loss`.
    """

    kind: str = "token-mean"
    tokens: float | None = None
    sequences: float | None = None
    count_empty: bool = False
    length: float | str | None = None
    factor: float = 1.0

    def __call__(self, loss: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Loss [B, T], or [B, 1] for a whole sequence, and mask [B, T] -> a number."""
        loss = torch.where(mask > 0, loss, 0.0) * mask
        lengths = mask.sum(-1)
        if self.kind == "token-mean":
            own = lengths.sum().clamp(min=1.0 if self.count_empty else 0.0)
            value = loss.sum() / (own if self.tokens is None else self.tokens)
        elif self.kind == "token-sum":
            value = loss.sum()
        else:
            of_sequence = loss.sum(-1)
            if self.kind == "seq-mean-token-mean":
                of_sequence = of_sequence / lengths.clamp(min=1.0)
            own = len(loss) if self.count_empty else (lengths > 0).sum()
            value = of_sequence.sum() / (own if self.sequences is None else self.sequences)
        if self.length is not None:
            value = value / (mask.shape[-1] if self.length == "width" else self.length)
        return value * self.factor


def over_workers(kind: str, dp_size: float, tokens, sequences, length=None) -> Aggregation:
    """The aggregation on one of `dp_size` data-parallel workers, whose gradients are averaged afterwards."""
    needed, total = ("batch_num_tokens", tokens) if kind == "token-mean" else ("global_batch_size", sequences)
    if dp_size > 1 and total is None and kind != "token-sum":
        raise FieldError(needed, N_("{field} is needed when dp_size is above 1"))
    return Aggregation(kind, tokens, sequences, length=length, factor=dp_size)
