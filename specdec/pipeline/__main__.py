"""``python -m specdec.pipeline``: write ``dvc.yaml``; with ``--check``, fail if it is out of date."""

import sys

from specdec.pipeline.dvc_yaml import TARGET, dvc_yaml
from specdec.storage import write_text

if "--check" not in sys.argv:
    write_text(TARGET, dvc_yaml())
elif not TARGET.exists() or TARGET.read_text(encoding="utf-8") != dvc_yaml():
    sys.exit("dvc.yaml: not what the table says; run `python -m specdec.pipeline`")
