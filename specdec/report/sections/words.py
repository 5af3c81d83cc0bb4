"""The field's words that the page uses, each in one sentence; apart so that a newcomer finds them all in one place."""

WORDS = (
    ("R", "Target-only time divided by speculative time for the same tokens. Above 1, speculation is faster."),
    ("Arm", "One configuration that is timed: a drafter, a rule for the draft length, or none of both (target only)."),
    ("Null arm", "Target-only decoding timed against itself: what the machine's noise alone does to R."),
    (
        "Family",
        "A kind of prompt, such as writing an e-mail or going on with code. Families are what the interval is over.",
    ),
    ("Context", "The length of the prompt in tokens."),
    (
        "Round",
        "One draft and the target's forward that judges it. It yields the accepted tokens and one of the target's own.",
    ),
    ("Target-only step", "The time of one token without speculation: the unit in which costs are told."),
    (
        "Acceptance",
        "The share of draft tokens that the target would have written itself, of those that it came to judge.",
    ),
    ("Lossless", "The text is the target's own, token for token; only the time differs."),
    ("Development and held-out families", "The former choose configurations, the latter alone decide a verdict."),
)
"""Pairs of messages: a word and what it means."""
