"""A Ray cluster of two nodes, three processors each as far as it knows, on this machine; and which of its processes do what."""

import os
from contextlib import contextmanager, suppress
from pathlib import Path

NODE = {"num_cpus": 3, "object_store_memory": 100_000_000}


@contextmanager
def two_nodes():
    """A cluster that this process is connected to."""
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args=NODE | {"include_dashboard": False})
    try:
        try:
            cluster.add_node(**NODE)
        except Exception:  # a node waits 30 s for its helpers, which may be too little where all start at once
            cluster.add_node(**NODE)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
        data = ray.data.DataContext.get_current()
        data.enable_progress_bars, data.execution_options.preserve_order = False, True
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def readers_of(path):
    """The processes, but for this one, that have a file open."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            with suppress(OSError):
                if any(os.readlink(link) == str(path) for link in (process / "fd").iterdir()):
                    found.append(int(process.name))
    return found


def is_dead(process):
    """Whether a process has ended, and so has closed its files."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True
