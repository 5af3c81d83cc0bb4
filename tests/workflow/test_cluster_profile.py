"""The profile for SLURM and the rules say the same: no job waits in a queue with a limit that nobody chose for it."""

import re
from pathlib import Path

import yaml

WORKFLOW = Path(__file__).resolve().parents[2] / "workflow"
PROFILE = yaml.safe_load((WORKFLOW / "profiles/slurm/config.yaml").read_text())["set-resources"]
EXCLUSIVE = {"slurm_extra": "'--exclusive'"}


def blocks():
    """``{rule: its text}`` of the whole workflow."""
    texts = [path.read_text() for path in (WORKFLOW / "Snakefile", *sorted((WORKFLOW / "rules").glob("*.smk")))]
    parts = re.split(r"^(?:rule|checkpoint) (\w+):$", "\n".join(texts), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def local():
    """Rules that run beside Snakemake; a rule that only names files is nobody's job."""
    listed = re.search(r"^localrules:\n((?:    \w+,\n)+)", (WORKFLOW / "Snakefile").read_text(), re.MULTILINE)
    return {name.strip() for name in listed.group(1).replace(",", "").splitlines()}


def queued():
    return {rule: text for rule, text in blocks().items() if "shell:" in text and rule not in local()}


def test_every_rule_of_the_queue_has_its_time_and_memory():
    assert {rule: sorted(PROFILE[rule]) for rule in PROFILE if not {"runtime", "mem_mb"} <= set(PROFILE[rule])} == {}
    assert set(PROFILE) == set(queued())


def test_local_rules_are_rules():
    assert local() <= set(blocks())


def test_timed_jobs_and_the_description_of_their_machine_have_the_node_alone():
    """`divergences` takes the bench so as to disturb no timing of this machine; in a queue others have their nodes."""
    timed = {rule for rule, text in queued().items() if "bench=1" in text} - {"divergences"}
    assert len(timed) == 5
    alone = {rule for rule, entry in PROFILE.items() if EXCLUSIVE.items() <= entry.items()}
    assert alone == timed | {"describe_machine"}
