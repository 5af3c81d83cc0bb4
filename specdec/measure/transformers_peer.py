"""transformers' own ``generate`` as a peer: the same weights and prompt, every knob pinned, tokens counted alike.

A checkpoint brings generation defaults (a repetition penalty, a temperature), an assistant adapts its draft
length and keeps it for the next call, and the library's own defaults change between versions. Each call here
therefore gets configurations made for it alone, and what they said is kept with the times.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import GenerationConfig, PreTrainedModel

from specdec.measure.clocks import Clock

NEUTRAL: dict[str, Any] = {
    "do_sample": False,
    "num_beams": 1,
    "repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
    "use_cache": True,
    "pad_token_id": 0,
}
"""Greedy, and nothing that a checkpoint could have changed."""

ASSISTANT_KNOBS = ("num_assistant_tokens", "num_assistant_tokens_schedule", "assistant_confidence_threshold")


@dataclass(frozen=True)
class Way:
    """One way of calling ``generate``: knobs of the call and of the assistant's configuration (None: no assistant)."""

    call: Mapping[str, Any]
    assistant: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Request:
    """What is asked of every peer alike.

    At most ``n_new`` tokens behind ``prompt``, fewer if one of ``eos_ids`` comes, chosen among the first
    ``n_vocabulary`` ids: a model's padding rows are nobody's choice (``specdec.models.vocabulary``).
    """

    prompt: Sequence[int]
    n_new: int
    eos_ids: Collection[int]
    n_vocabulary: int

    def knobs(self, n_rows: int) -> dict[str, Any]:
        """The same as knobs of a model with ``n_rows`` vocabulary rows."""
        padding = list(range(self.n_vocabulary, n_rows))
        ends = sorted(self.eos_ids)
        return {"max_new_tokens": self.n_new, "eos_token_id": ends or None, "suppress_tokens": padding or None}


@dataclass(frozen=True)
class PeerRun:
    """One generation.

    ``tokens`` is the whole text; the first ``n_first`` of them came at once, at the end of the first forward or
    round, and ``decode_ns`` runs from there: it belongs to the tokens behind them. ``total_ns`` has the prefill in it.
    """

    tokens: tuple[int, ...]
    n_first: int
    n_rounds: int
    decode_ns: int
    total_ns: int


def ways(k: int, max_n: int) -> dict[str, Way]:
    """The peers by name: plain, assisted with ``k`` tokens at a time and with the library's defaults, prompt lookup."""
    constant = {
        "num_assistant_tokens": k,
        "num_assistant_tokens_schedule": "constant",
        "assistant_confidence_threshold": 0.0,
    }
    return {
        "hf_generate": Way({}),
        "hf_assisted": Way({}, constant),
        "hf_assisted_defaults": Way({}, library_defaults()),
        "hf_lookup": Way({"prompt_lookup_num_tokens": k, "max_matching_ngram_size": max_n}),
    }


def library_defaults() -> dict[str, Any]:
    """What this version of transformers gives an assistant that says nothing."""
    defaults = _configuration()._get_default_generation_params()
    return {knob: defaults[knob] for knob in ASSISTANT_KNOBS}


def knobs(way: Way, request: Request, n_rows: int) -> dict[str, Any]:
    """Every knob of a call as plain values, for the records."""
    assistant = None if way.assistant is None else dict(way.assistant)
    return {**NEUTRAL, **way.call, **request.knobs(n_rows), "assistant": assistant}


def generate(
    way: Way,
    target: PreTrainedModel,
    drafter: PreTrainedModel | None,
    request: Request,
    clock: Clock,
) -> PeerRun:
    """Generate one text; ``drafter`` is used where the way has an assistant, and must be there then."""
    prompt = request.prompt
    ids = torch.tensor([list(prompt)], device=target.device)
    target.generation_config = _configuration(**NEUTRAL)
    options: dict[str, Any] = {}
    if way.assistant is not None:
        assert drafter is not None, "this way needs the drafter"
        drafter.generation_config = _configuration(**NEUTRAL, **way.assistant)
        options["assistant_model"] = drafter
    arrivals = Arrivals(clock)
    config = _configuration(**NEUTRAL, **way.call, **request.knobs(target.config.vocab_size))
    clock.synchronise()
    begun_ns = clock.now_ns()
    with torch.inference_mode():
        out = target.generate(  # type: ignore[operator]
            ids, attention_mask=torch.ones_like(ids), generation_config=config, streamer=arrivals, **options
        )
    clock.synchronise()
    ended_ns = clock.now_ns()
    return PeerRun(
        tokens=tuple(out[0, len(prompt) :].tolist()),
        n_first=arrivals.n_first,
        n_rounds=arrivals.n_calls,
        decode_ns=ended_ns - arrivals.first_ns,
        total_ns=ended_ns - begun_ns,
    )


class Arrivals:
    """A streamer that notes when the first new tokens arrived, and how often some did."""

    def __init__(self, clock: Clock) -> None:
        self.n_calls = -1  # the first call brings the prompt
        self.n_first = 0
        self.first_ns = 0
        self._clock = clock

    def put(self, value: torch.Tensor) -> None:
        """New tokens on the host, ``[n]`` or ``[1, n]``."""
        self.n_calls += 1
        if self.n_calls == 1:
            self.first_ns = self._clock.now_ns()
            self.n_first = value.numel()

    def end(self) -> None:
        """Nothing more will come."""


def _configuration(**values: Any) -> GenerationConfig:
    return GenerationConfig(**values)  # type: ignore[no-untyped-call]
