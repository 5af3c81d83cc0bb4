"""The built-in families: 8 for development, 16 held out, each a kind of prompt that people really send."""

from specdec.prompts.families.development import DEVELOPMENT
from specdec.prompts.families.development import words as development_words
from specdec.prompts.families.held_out import HELD_OUT
from specdec.prompts.families.held_out import words as held_out_words
from specdec.prompts.families.sketch import Family
from specdec.prompts.padding import Padding

FAMILIES: dict[str, Family] = {family.name: family for family in (*DEVELOPMENT, *HELD_OUT)}
"""Every family by its name in params.yaml."""

PADDING: dict[str, Padding] = {
    "development": Padding(development_words.PAD_OPENINGS, development_words.PAD_ITEMS),
    "held_out": Padding(held_out_words.PAD_OPENINGS, held_out_words.PAD_ITEMS),
}
"""Closing remarks of each split."""
