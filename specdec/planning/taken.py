"""What the last run really took: start and end of each job as Snakemake keeps them beside the results.

DVC versions these records together with the results (stage ``provenance``), so a pulled study brings its
durations along.
"""

import base64
import binascii
import json
from pathlib import Path

METADATA = Path(".snakemake/metadata")


def durations(results: Path) -> dict[str, float]:
    """Seconds of the job behind each result, by its name in the workflow; empty without Snakemake's records."""
    folder = Path(results).parent / METADATA
    found: dict[str, float] = {}
    for path in folder.rglob("*") if folder.is_dir() else ():
        if not path.is_file():
            continue
        try:
            # long names are split over folders
            name = base64.urlsafe_b64decode("".join(path.relative_to(folder).parts).replace("@", "")).decode()
            record = json.loads(path.read_text(encoding="utf-8"))
            seconds = float(record["endtime"]) - float(record["starttime"])
        except (OSError, ValueError, KeyError, TypeError, binascii.Error):
            continue  # a record of another version of Snakemake: the estimate does without
        if name.startswith("results/") and (Path(results).parent / name).exists():
            found[name] = seconds
    return found
