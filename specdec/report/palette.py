"""The colours of the charts, each with its counterpart for dark pages.

A chart is drawn once with the light colours; the page swaps them by this table (style rules for the
static drawing, the specification's text for the interactive one).
"""

INK = "#1f2a30"
MUTED = "#5b6870"
GRID = "#dfe3e2"
FASTER = "#0b7285"
SLOWER = "#b5432e"
UNSURE = "#8a6414"
EXCLUDED = "#9aa5ab"
REFERENCE = "#39464d"
ACCENT = "#3b5b92"
FLAG = "#a3266f"

DARK = {
    INK: "#e6eaea",
    MUTED: "#a3afb3",
    GRID: "#333d42",
    FASTER: "#54b8c9",
    SLOWER: "#ee8a72",
    UNSURE: "#dcb254",
    EXCLUDED: "#6e7b81",
    REFERENCE: "#c3cccf",
    ACCENT: "#8fb0ea",
    FLAG: "#ee8fc4",
}

COSTS = {
    "prefill": "#b9c4c7",
    "draft": "#c9703e",
    "verify": "#2f6f8f",
    "judge": "#7a9a4a",
    "settle": "#8c6bb1",
    "host": "#d1a93b",
    "unattributed": "#8b8f92",
}
MORE = {"#7f5539": "#c79a78", "#4f9bc7": "#7cc0e8", "#b9679b": "#e09ac6", "#5f7a1f": "#b3d169"}
"""Further colours of arms, with their counterparts."""
DARK.update(MORE)
DARK.update(
    {
        "#b9c4c7": "#5a676c",
        "#c9703e": "#e2935f",
        "#2f6f8f": "#5fa8cc",
        "#7a9a4a": "#a3c46f",
        "#8c6bb1": "#b598dc",
        "#d1a93b": "#e5c66b",
        "#8b8f92": "#848b8f",
    }
)
SERIES = (ACCENT, "#c9703e", "#7a9a4a", "#8c6bb1", FASTER, "#d1a93b", *MORE)
"""Colours for arms, in order; shapes tell them apart as well."""
