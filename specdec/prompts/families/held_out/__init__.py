"""Families that only the confirmatory timing reads: other topics, other templates, other words than development."""

from specdec.prompts.families.held_out.code import CODE
from specdec.prompts.families.held_out.data import DATA
from specdec.prompts.families.held_out.dialogue import DIALOGUE
from specdec.prompts.families.held_out.reading import READING
from specdec.prompts.families.held_out.transforming import TRANSFORMING
from specdec.prompts.families.held_out.writing import WRITING

HELD_OUT = (*READING, *DATA, *TRANSFORMING, *CODE, *WRITING, *DIALOGUE)
