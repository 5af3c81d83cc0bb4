"""Families that may be looked at while choosing: gates, observations and the sweep read these alone."""

from specdec.prompts.families.development.code import CODE
from specdec.prompts.families.development.data import DATA
from specdec.prompts.families.development.dialogue import DIALOGUE
from specdec.prompts.families.development.prose import PROSE

DEVELOPMENT = (*PROSE, *DATA, *CODE, *DIALOGUE)
