"""Columns of the frames that ``load_results`` makes of the analysis' JSON files; the reference page prints them too."""

from specdec.records.columns import Column

_RATIO = (
    Column("r_gm", "float", "ratio", "speed-up: geometric mean over the valid families; above 1 is faster", True),
    Column("ci_low", "float", "ratio", "lower end of its interval", True),
    Column("ci_high", "float", "ratio", "upper end of its interval", True),
)
_WHERE = (
    Column("context", "int", "tokens", "exact prompt length"),
    Column("arm", "str", "", "name of the configuration"),
)

SPEEDUP = (
    Column("phase", "str", "", "sweep or timing"),
    *_WHERE,
    Column("baseline", "str", "", "target-only arm that it is compared with"),
    Column("executor", "str", "", "what ran the models", True),
    Column("estimand", "str", "", "decode or end_to_end"),
    Column("primary_estimand", "bool", "", "whether the study decides by this estimand"),
    Column("status", "str", "", "ok, too few families or not measured"),
    Column("lossless", "bool", "", "whether the arm keeps the target's own tokens", True),
    Column("text_valid", "bool", "", "whether the emitted text means anything", True),
    *_RATIO,
    Column("ci_method", "str", "", "bca, percentile, hierarchical, degenerate or undefined"),
    Column("p_value", "float", "", "two-sided paired t test over families of log R = 0", True),
    Column(
        "minimum_detectable_ratio", "float", "ratio", "smallest ratio that four of five such studies would detect", True
    ),
    Column("n_families", "int", "", "families in the inference"),
    Column("n_families_total", "int", "", "families measured"),
    Column("n_identical", "int", "", "families whose text is the baseline's, token for token"),
    Column("baseline_tokens_per_s", "float", "tokens/s", "absolute speed of the baseline", True),
    Column("arm_tokens_per_s", "float", "tokens/s", "absolute speed of the arm", True),
    Column("baseline_bandwidth_share", "float", "fraction", "baseline's speed over the memory limit's", True),
    Column("acceptance_rate", "float", "fraction", "accepted over reached draft tokens", True),
    Column("tokens_per_round", "float", "tokens", "emitted tokens for each verification", True),
    Column("draft_forwards_per_request", "float", "", "drafter forwards of one generation, catch-up included", True),
    Column("target_forwards_per_request", "float", "", "target forwards of one generation, repair included", True),
)

FAMILIES = (
    Column("phase", "str", "", "sweep or timing"),
    *_WHERE,
    Column("estimand", "str", "", "decode or end_to_end"),
    Column("family", "str", "", "prompt family"),
    Column("r", "float", "ratio", "speed-up of this family", True),
    Column("valid", "bool", "", "whether it enters the inference"),
    Column("reason", "str", "", "why not", True),
    Column("identical", "bool", "", "whether all its texts are the baseline's", True),
    Column("first_divergence", "int", "", "earliest differing token; -1: none", True),
    Column("n_emitted", "int", "tokens", "emitted tokens, median over repeats", True),
    Column("n_rounds", "int", "", "rounds, median over repeats", True),
    Column("baseline_tokens_per_s", "float", "tokens/s", "absolute speed of the baseline", True),
    Column("arm_tokens_per_s", "float", "tokens/s", "absolute speed of the arm", True),
)

VERDICTS = (
    *_WHERE,
    Column("verdict", "str", "", "faster, slower, cannot tell or not measured"),
    Column("why", "str", "", "the reason in one sentence"),
    Column("estimand", "str", "", "decode or end_to_end"),
    *_RATIO,
    Column("n_families", "int", "", "families in the inference"),
    Column("n_families_total", "int", "", "families measured"),
    Column("primary", "bool", "", "whether this is the study's headline arm"),
)

CLAIMS = (
    Column("id", "str", "", "what the number is: <phase>.<context>.<arm>.<what>"),
    Column("value", "float", "as `unit`", "the number; empty where the claim is a word (see text)", True),
    Column("low", "float", "as `unit`", "lower end of its interval", True),
    Column("high", "float", "as `unit`", "upper end of its interval", True),
    Column("unit", "str", "", "unit of value, low and high"),
    Column("n", "int", "", "families, observations or prompts behind it", True),
    Column("source", "str", "", "table that it comes from"),
    Column("text", "str", "", "the word or sentence of a claim that is no number", True),
)

FRAMES: dict[str, tuple[Column, ...]] = {
    "speedup": SPEEDUP,
    "families": FAMILIES,
    "verdicts": VERDICTS,
    "claims": CLAIMS,
}
"""Frames beside ``runs``, ``sweep`` and ``observations``, whose columns are those of their files."""
