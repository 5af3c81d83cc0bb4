"""Every column of every table, once: type, unit, meaning. The reference in docs/ is generated from here."""

from dataclasses import dataclass

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Column:
    """One column. ``kind`` is ``int``, ``float``, ``str`` or ``bool``; ``optional`` ones may be null."""

    name: str
    kind: str
    unit: str
    meaning: str
    optional: bool = False


def _columns(*rows: tuple[str, str, str, str]) -> tuple[Column, ...]:
    return tuple(
        Column(name, kind.rstrip("?"), unit, meaning, kind.endswith("?")) for name, kind, unit, meaning in rows
    )


IDENTITY = _columns(
    ("schema_version", "int", "", "version of this column registry"),
    ("study_hash", "str", "", "hash of what all cells of a table share: parameters of the phase and model weights"),
    ("fingerprint", "str", "", "hash of the machine and software that measured (environment.json)"),
    ("phase", "str", "", "sweep, timing or mechanisms"),
    ("context", "int", "tokens", "exact prompt length"),
    ("family", "str", "", "prompt family"),
    ("prompt_hash", "str", "", "SHA-256 of the prompt's token ids"),
    ("arm", "str", "", "name of the configuration"),
    ("baseline", "str", "", "target-only arm of the same executor that this arm is compared with"),
    ("executor", "str", "", "what ran the models: hf, static, packed, native, graph or compiled"),
    ("device", "str", "", "cpu or cuda"),
    ("dtype", "str", "", "compute type"),
    ("threads", "int", "", "CPU threads used by torch"),
    ("prefill_chunk", "int", "tokens", "prompt tokens per prefill forward"),
    ("max_new_tokens", "int", "tokens", "limit on emitted tokens, the prefill's token included"),
    ("drafter", "str", "", "kind of drafter, as in params.yaml: none, model, ngram ..."),
    ("lossless", "bool", "", "whether the arm's acceptance keeps the target's own tokens"),
    ("text_valid", "bool", "", "whether the emitted text means anything (false for forced acceptance)"),
    (
        "tree",
        "str?",
        "",
        "how drafts branch: children per token by levels (8, 9/3+2+1), a chain with siblings; null: chains",
    ),
    ("probe_level", "str", "", "off (headline times) or phases (time split, never a headline)"),
)

PROTOCOL = _columns(
    ("block", "int", "", "block number; even blocks run the arms in order, odd ones reversed (AB, BA)"),
    ("order", "int", "", "running number of the process within its cell"),
    ("process", "str", "", "process that measured: <pid>-<start time>"),
    ("repeat", "int", "", "running number within the process; warm-ups count from 0 as well"),
    ("warmup", "bool", "", "kept and labelled, never analysed"),
    ("status", "str", "", "ok, failed or skipped; a failed row has null numbers"),
    ("reason", "str?", "", "why it failed or was skipped"),
    ("started_at", "str", "UTC", "ISO 8601 time at which the repeat began"),
)

TIMES = _columns(
    ("prefill_ns", "int?", "ns", "host time of the prompt's prefill in this process (target and drafter), once"),
    ("target_prefill_ns", "int?", "ns", "the target's share of prefill_ns"),
    ("decode_ns", "int?", "ns", "host time from the first token to the last, device synchronised at both ends"),
    ("device_decode_ns", "int?", "ns", "the same by device events; null without a device clock"),
    ("draft_ns", "int?", "ns", "probe phases: inside propose"),
    ("verify_ns", "int?", "ns", "probe phases: inside score"),
    ("judge_ns", "int?", "ns", "probe phases: inside judge and learn"),
    ("settle_ns", "int?", "ns", "probe phases: inside settle of drafter and verifier (roll back, repair)"),
)

COUNTS = _columns(
    ("n_prompt", "int?", "tokens", "prompt tokens"),
    ("n_emitted", "int?", "tokens", "tokens emitted by rounds (the prefill's token is not counted)"),
    ("n_rounds", "int?", "", "rounds, each with one verify forward"),
    ("n_drafted", "int?", "tokens", "draft tokens sent to verification, all nodes of trees"),
    ("n_reached", "int?", "tokens", "draft tokens whose acceptance was decided (of a tree: levels)"),
    ("n_accepted", "int?", "tokens", "draft tokens accepted and kept (of a tree: along the accepted path)"),
    ("n_recovered", "int?", "tokens", "target's own tokens after a rejection"),
    ("n_bonus", "int?", "tokens", "target's own tokens after a fully accepted draft"),
    ("n_plain", "int?", "tokens", "tokens of rounds without a draft"),
    ("depths", "str?", "", "accepted/reached draft tokens at depth 1, 2 ... (12/20 5/12); null: none was reached"),
    ("n_repeated_8grams", "int?", "", "runs of 8 emitted ids that had been emitted before: what loops make many of"),
    ("n_verify_forwards", "int?", "", "target forwards that judged"),
    ("n_repair_forwards", "int?", "", "target forwards that only restored the state"),
    ("n_draft_forwards", "int?", "", "drafter forwards that drafted a token"),
    ("n_catch_up_forwards", "int?", "", "drafter forwards that only fed committed tokens"),
    ("n_draft_rows", "int?", "tokens", "tokens pushed through the drafter, catch-up included"),
    ("n_verify_rows", "int?", "tokens", "tokens pushed through the target while verifying"),
    ("n_blocking_reads", "int?", "", "times the host waited for a device value"),
    ("n_uploads", "int?", "", "host-to-device copies"),
    ("uploaded_bytes", "int?", "bytes", "payload of those copies"),
    ("downloaded_bytes", "int?", "bytes", "payload of the blocking reads"),
    ("stopped", "str?", "", "eos, max_new_tokens or context"),
    ("tokens_hash", "str?", "", "SHA-256 of the emitted ids, the prefill's token included"),
    (
        "first_divergence",
        "int?",
        "",
        "index of the first emitted token that differs from the cell's baseline; -1: none",
    ),
)

MACHINE = _columns(
    ("rss_bytes", "int?", "bytes", "resident memory of the process after the repeat"),
    ("peak_device_bytes", "int?", "bytes", "peak allocated device memory; null without a device"),
    ("load_average", "float?", "", "one-minute load average at the start"),
    ("steal_ns", "int?", "ns", "CPU time taken by other guests of the host during the repeat; null if unreadable"),
    ("cpu_mhz", "float?", "MHz", "mean clock of the cores at the start; null if unreadable"),
    ("gpu_clock_mhz", "int?", "MHz", "SM clock of the device at the start; null without a device or NVML"),
    ("gpu_temperature_c", "int?", "°C", "temperature of the device at the start; null without a device or NVML"),
    (
        "kernels",
        "str?",
        "",
        "executor packed or native: kernel of each linear from how many rows on, and why others are not used",
    ),
    (
        "n_recordings",
        "int?",
        "",
        "executors graph and compiled: launches of the target recorded so far; null otherwise",
    ),
    (
        "recordings_bytes",
        "int?",
        "bytes",
        "device memory that torch reserved while recording them; null without a device",
    ),
)

RUNS = IDENTITY + PROTOCOL + TIMES + COUNTS + MACHINE
"""Columns of ``sweep/runs.csv`` and ``timing/runs.csv``; cells (.jsonl) add ``tokens`` and ``rounds``."""

EQUAL_WORK = (
    *("executor", "device", "dtype", "threads"),
    *("prefill_chunk", "max_new_tokens", "prompt_hash", "n_prompt"),
)
"""Columns of a run that an arm and its baseline must have equal: whatever is not speculation (case S3)."""

N_CHANCES = 8
"""Tokens of each level whose probabilities are recorded, the chain's own (column ``confidence``) among them."""

CHANCES = tuple(f"chance_{rank}" for rank in range(2, N_CHANCES + 1))
"""Columns of the probabilities behind the first. Tables recorded before they were hold none, and replay chains."""

OBSERVATIONS = _columns(
    ("context", "int", "tokens", "exact prompt length"),
    ("family", "str", "", "prompt family (development only)"),
    ("prompt_hash", "str", "", "SHA-256 of the prompt's token ids"),
    ("position", "int", "", "index of the emitted token after which the chain starts (0: the prefill's token)"),
    ("depth", "int", "", "1 is the first draft token of the chain"),
    ("token", "int", "", "draft token id"),
    ("target_token", "int", "", "the target's greedy token there; -1 behind the end of the text"),
    ("confidence", "float", "", "drafter's top-1 probability"),
    ("entropy", "float", "nats", "entropy of the drafter's distribution"),
    ("margin", "float", "", "drafter's top-1 minus top-2 probability"),
    *(
        (name, "float?", "", f"probability of the drafter's likeliest token number {rank} there; null: it has fewer")
        for rank, name in enumerate(CHANCES, 2)
    ),
    ("accepted", "bool", "", "whether this token and all before it in the chain are the target's"),
    ("reached", "bool", "", "whether all tokens before it in the chain were accepted"),
    ("draft_rank", "int?", "", "rank of the target's token in the drafter's logits, 0 is top; where reached"),
    ("target_rank", "int?", "", "rank of the draft token in the target's logits, 0 is top; where reached"),
    ("logit_gap", "float?", "logits", "target's top logit minus the draft token's; where reached"),
    ("target_margin", "float?", "logits", "target's top-1 minus top-2 logit; where reached"),
)
"""Columns of ``observations/observations.parquet``: one row per (position, depth)."""
