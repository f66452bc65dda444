"""One job in a process of its own, and what it took.

`python -m benches.corpus_tools.job JSON` is that process: it imports, does the job, and tells how long both took.
"""

import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from benches.compare import memory
from benches.corpus_tools.tools import EOT_ID, TOOLS, Job
from benches.peers import Problem

TOP = Path(__file__).resolve().parents[2]
EVERY = 0.05  # seconds between two looks at the memory


# --- In the process of the job ---


def work(given: dict[str, Any]) -> None:
    tool = TOOLS[given["tool"]]
    start = time.perf_counter()
    for module in tool.modules:
        import_module(module)
    imported = time.perf_counter()
    files, out = [Path(path) for path in given["files"]], Path(given["out"])
    seconds = tool.run(Job(given["form"], files, given["threads"], Path(given["tokenizers"]), out))
    if seconds is None:
        seconds = time.perf_counter() - imported
    told = {"import": imported - start, "inside": seconds, "memory": memory("VmHWM")}
    Path(given["told"]).write_text(json.dumps(told), encoding="utf-8")


# --- In the process that measures ---


def measure(name: str, form: str, threads: int, corpus: Path, tokenizers: Path, limit: float) -> dict[str, float]:
    """Does one job on the files of a corpus and checks the ids.

    Gives seconds of the whole process (`whole`), of its imports (`import`), of the job (`inside`) and of processor time (`cpu`), and
    the most memory that the process and its children had at once, in bytes (`memory`). Raises `Problem` where the job fails, takes
    more than `limit` seconds, or makes other ids than `expect` wrote down.
    """
    tool, folder = TOOLS[name], corpus / "job"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "out").mkdir(parents=True)
    parts = corpus / form / str(min(threads, 2) if tool.shares_files else 1)
    given = {"tool": name, "form": form, "threads": threads, "files": sorted(map(str, parts.iterdir()))}
    given |= {"tokenizers": str(tokenizers), "out": str(folder / "out"), "told": str(folder / "told")}
    isolated = ["-E"] if sys.flags.ignore_environment else []
    command = [sys.executable, *isolated, "-m", "benches.corpus_tools.job", json.dumps(given)]
    before = processor_seconds()
    with (folder / "log").open("wb") as log:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=TOP, env=environment(threads, folder), stdout=log, stderr=log, start_new_session=True
        )
        with Watch(process) as watch:
            try:
                process.wait(limit)
            except BaseException as error:  # Ctrl-C does not reach the group of the job by itself
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                if isinstance(error, subprocess.TimeoutExpired):
                    raise Problem(f"stopped after {limit:g} s") from None
                raise
            whole = time.perf_counter() - start
    if process.returncode:
        said = (folder / "log").read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]
        raise Problem(f"failed: {said or f'exit code {process.returncode}'}")
    told = json.loads((folder / "told").read_text(encoding="utf-8"))
    if digest(sorted((folder / "out").glob(tool.ids))) != (corpus / "expected").read_text():
        raise Problem("other ids")
    shutil.rmtree(folder)
    told["memory"] = max(watch.most, told["memory"] or 0)
    cpu = max(
        processor_seconds() - before, watch.cpu
    )  # a server of forks (datatrove's) does not hand on what its workers took
    return {"whole": whole, "cpu": cpu, **told}


def environment(threads: int, folder: Path) -> dict[str, str]:
    """No network, no cache of an earlier job, and no more threads than asked for where there are processes."""
    return os.environ | {
        "RAYON_NUM_THREADS": str(threads),  # of gigatoken
        "TOKENIZERS_PARALLELISM": "false",
        "TIKTOKEN_CACHE_DIR": "",
        "HF_HOME": str(folder / "hub"),
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    }


def processor_seconds() -> float:
    """Of all processes that have ended below this one."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Watch:
    """The most memory that a process and those below it held at one time, in bytes, where pages that they share count for each; and
    the processor seconds of all that were seen."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.most, self.seconds, self.ended = 0, dict[int, float](), threading.Event()
        self.thread = threading.Thread(target=self.look, args=(process.pid,))

    def look(self, pid: int) -> None:
        import psutil

        while not self.ended.wait(EVERY):
            try:
                parent = psutil.Process(pid)
                processes = [parent, *parent.children(recursive=True)]
            except psutil.NoSuchProcess:
                return
            self.most = max(self.most, sum(map(self.held_by, processes)))

    def held_by(self, process: Any) -> int:
        import psutil

        try:
            used = process.cpu_times()
            self.seconds[process.pid] = used.user + used.system
            return int(process.memory_info().rss)
        except psutil.Error:  # it has ended
            return 0

    @property
    def cpu(self) -> float:
        return sum(self.seconds.values())

    def __enter__(self) -> "Watch":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()


# --- The ids ---


def expect(corpus: Path, texts: list[str]) -> None:
    """Writes down what all tools must come to: the hash of bpeline's ids, end-of-text after each document."""
    import numpy as np

    hashed, eot = hashlib.sha256(), np.array([EOT_ID], np.uint16).tobytes()
    for ids in import_module("bpeline").load("gpt2").encode_ragged(texts):
        hashed.update(ids.astype(np.uint16).tobytes() + eot)
    (corpus / "expected").write_text(hashed.hexdigest())


def digest(files: Iterable[Path]) -> str:
    hashed = hashlib.sha256()
    for path in files:
        hashed.update(path.read_bytes())
    return hashed.hexdigest()


if __name__ == "__main__":
    work(json.loads(sys.argv[1]))
