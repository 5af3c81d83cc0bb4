"""What a chain rule may look at: functions of the draft logits ``[V]`` that stay on the device, float32 ``[]``."""

import torch


def top_probability(logits: torch.Tensor) -> torch.Tensor:
    """Softmax probability of the largest logit, in 0..1."""
    return torch.softmax(logits.float(), dim=0).amax()


def top_choices(logits: torch.Tensor, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The ``n`` largest logits (all, if fewer), largest first: softmax probabilities ``[n]``, columns int64 ``[n]``."""
    values, columns = torch.softmax(logits.float(), dim=-1).topk(min(n, logits.shape[-1]))
    return values, columns


def entropy(logits: torch.Tensor) -> torch.Tensor:
    """Shannon entropy of the softmax, in nats."""
    log_probability = torch.log_softmax(logits.float(), dim=0)
    return -(log_probability.exp() * log_probability).sum()


def margin(logits: torch.Tensor) -> torch.Tensor:
    """Largest minus second largest softmax probability, in 0..1."""
    top = torch.topk(torch.softmax(logits.float(), dim=0), 2).values
    return top[0] - top[1]
