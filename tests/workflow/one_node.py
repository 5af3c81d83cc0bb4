"""A real SLURM of one node: controller and node daemon on loopback, without munge, cgroups or systemd.

Two partitions over the same node, ``cpu`` and ``gpu``; the GPU is one that SLURM only counts. State and logs lie in a
folder of the test; the configuration has to stand in /etc/slurm meanwhile, since jobs lose ``SLURM_CONF`` on their way.
"""

import os
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "sinfo", "scancel")

CONFIGURED = Path("/etc/slurm/slurm.conf")
OURS = "# one node for the tests of specdec"

CONFIGURATION = """\
{ours}
ClusterName=specdec
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
SlurmctldPort={control_port}
SlurmdPort={node_port}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/completed.log
MpiDefault=none
ReturnToService=2
MinJobAge=300
SchedulerParameters=sched_interval=2
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory_mb} Gres=gpu:1 State=UNKNOWN
PartitionName=cpu Nodes={host} Default=YES MaxTime=INFINITE State=UP
PartitionName=gpu Nodes={host} MaxTime=INFINITE State=UP
"""


def obstacle():
    """Why SLURM cannot be brought up here, or None."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"{', '.join(missing)}: no such program; `make test-slurm` installs them (Debian, as root)"
    if os.getuid() != 0:
        return "slurmd must be started by root"
    if CONFIGURED.exists() and OURS not in CONFIGURED.read_text():
        return f"{CONFIGURED}: this machine has a SLURM of its own"
    return None


@contextmanager
def one_node(folder):
    """Bring SLURM up with its state below ``folder``."""
    host = socket.gethostname().split(".")[0]
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20 * 3 // 4
    values = {"host": host, "cpus": os.cpu_count(), "memory_mb": memory_mb, "folder": folder}
    values |= {"control_port": _free_port(), "node_port": _free_port()}
    CONFIGURED.write_text(CONFIGURATION.format(ours=OURS, **values))
    CONFIGURED.with_name("gres.conf").write_text("Name=gpu File=/dev/null\n")
    # -D: children of this process, so that they end with it
    daemons = [
        subprocess.Popen(
            [shutil.which(program), "-D", "-c"] if program == "slurmctld" else [shutil.which(program), "-D"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for program in ("slurmctld", "slurmd")
    ]
    try:
        _wait_until_idle(folder)
        yield
    finally:
        subprocess.run(["scancel", "--user=root"], check=False)
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait(timeout=60)
        for name in ("slurm.conf", "gres.conf"):
            CONFIGURED.with_name(name).unlink()


def completed(folder):
    """Lines of SLURM's own record of finished jobs."""
    path = Path(folder) / "completed.log"
    return path.read_text().splitlines() if path.exists() else []


def _wait_until_idle(folder):
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        said = subprocess.run(["sinfo", "-h", "-o", "%T"], text=True, capture_output=True, check=False)
        if set(said.stdout.split()) == {"idle"}:
            return
        time.sleep(0.5)
    logs = "\n".join(p.read_text()[-2000:] for p in (folder / "slurmctld.log", folder / "slurmd.log") if p.exists())
    raise AssertionError(f"the node is not idle after two minutes: {said.stdout}{said.stderr}\n{logs}")


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
