"""Families that drafters learn from: twenty topics that no evaluation prompt talks about.

The study never measures on them. ``tests/prompts/test_training_prompts.py`` holds them against every
evaluation family: no eight words in a row in common.
"""

from specdec.prompts.families.sketch import Family
from specdec.prompts.families.training.asking import ASKING
from specdec.prompts.families.training.code import CODE
from specdec.prompts.families.training.data import DATA
from specdec.prompts.families.training.dialogue import DIALOGUE
from specdec.prompts.families.training.reading import READING
from specdec.prompts.families.training.words import PAD_ITEMS, PAD_OPENINGS
from specdec.prompts.padding import Padding

TRAINING: dict[str, Family] = {topic.name: topic.family() for topic in (*ASKING, *READING, *DATA, *CODE, *DIALOGUE)}
"""Every training family by its name."""

TRAINING_PADDING = Padding(PAD_OPENINGS, PAD_ITEMS)
