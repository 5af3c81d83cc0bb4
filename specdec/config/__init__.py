"""What a study is: params.yaml as typed, validated, immutable values."""

from specdec.config.arms import Arm
from specdec.config.load import load_study, parse_study
from specdec.config.study import Study

__all__ = ["Arm", "Study", "load_study", "parse_study"]
