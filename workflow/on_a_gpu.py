"""Run a command on a GPU that no other such command uses; wait for one where all are taken: on_a_gpu.py COMMAND ARGUMENT ...

The device is held by a lock on a file that the command inherits, so that it is free again however the command ends.
"""

import fcntl
import os
import sys
import tempfile
import time
from pathlib import Path


def devices() -> list[str]:
    """The GPUs that may be used: those of `CUDA_VISIBLE_DEVICES`, or all that torch sees."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        import torch

        return [str(number) for number in range(torch.cuda.device_count())]
    return [name for name in named.split(",") if name]


def take(names: list[str], folder: Path) -> str:
    """Lock a device for this process and what it turns into; waits until one is free."""
    files = {name: os.open(folder / f"story-of-heads-gpu-{name}-{os.getuid()}", os.O_RDWR | os.O_CREAT) for name in names}
    while True:
        for name, file in files.items():
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            os.set_inheritable(file, True)
            return name
        time.sleep(1)


if __name__ == "__main__":
    found = devices()
    if not found:
        sys.exit("error: There is no GPU on this machine: run make study with GPU=0.")
    os.environ["CUDA_VISIBLE_DEVICES"] = take(found, Path(tempfile.gettempdir()))
    os.execvp(sys.argv[1], sys.argv[1:])
