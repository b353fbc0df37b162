#!/usr/bin/env python3
"""Lets faults happen to one rank of runs of tests/distributed/ranks at random instants: it is killed, stopped, throws, or
damages the newest snapshot and dies. Each run must end by itself, with an error and without processes that are left, and
a run that goes on from its snapshots must end with the bits of the run to which nothing happened.

faults_test.py LAUNCHER PROGRAM [RANKS]     LAUNCHER: tools/mpirun_here

KUSARI_FAULTS is the number of faults (6), KUSARI_FAULT_SEED says which (0). Ends with 77 where there is no mpirun.
"""
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import mpi_test

STEPS, PAUSE = 40, 10
KINDS = ["kill", "stop", "throw", "corrupt"]


class Launched:
    """A run whose text can be read while it goes on."""

    def __init__(self, launcher, program, n, folder, *arguments):
        command = [launcher, "-n", str(n), program, *arguments, "--saves", "--shards", "--steps", str(STEPS), "--out", folder]
        variables = {"KUSARI_DISTRIBUTED_STALL_WARNING": "1", "KUSARI_DISTRIBUTED_TIMEOUT": "8"}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=mpi_test.environment(**variables), start_new_session=True
        )
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(iter(self.process.stdout.readline, "")))
        self.reader.start()

    def text(self):
        return "".join(self.lines)

    def processes(self):
        return {int(rank): int(pid) for pid, rank in re.findall(r"^process (\d+) is rank (\d+)", self.text(), re.MULTILINE)}

    def wait_for_ranks(self, n):
        while len(self.processes()) < n and self.process.poll() is None:
            time.sleep(0.01)

    def end(self, limit=90):
        """What is wrong with how it ended."""
        try:
            self.process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            return ["it did not end"]
        deadline = time.monotonic() + 5
        while any(map(mpi_test.lives, self.processes().values())) and time.monotonic() < deadline:
            time.sleep(0.05)
        left = [pid for pid in self.processes().values() if mpi_test.lives(pid)]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        self.reader.join()
        return [f"processes are left: {left}"] if left else []


def happen(rng, launch, n, kind, seconds):
    """A run with a fault; what it was, and what is wrong."""
    rank = rng.randrange(n)
    if kind in ("throw", "corrupt"):
        at, place = rng.randrange(1, STEPS), rng.choice(["forward", "hook", "extension"])
        run = launch(kind, "--rank", str(rank), "--at", str(at), "--place", place)
        what = f"{kind} on rank {rank} at step {at} in {place}"
    else:
        run = launch("train", "--pause", str(PAUSE))
        run.wait_for_ranks(n)
        delay = rng.uniform(0, seconds)
        time.sleep(delay)
        if rank in run.processes() and run.process.poll() is None:
            os.kill(run.processes()[rank], signal.SIGKILL if kind == "kill" else signal.SIGSTOP)
        what = f"{kind} of rank {rank} after {delay:.3f} s"
    problems = run.end()
    if run.process.returncode == 0:
        problems.append("it ended without an error")
    if kind == "throw" and f"rank {rank} of {n}" not in run.text():
        problems.append("the error does not name the rank")
    if kind == "stop" and "has not reached" not in run.text():
        problems.append("nobody says which rank did not come")
    return what, problems, run.text()


def main():
    launcher, program, *ranks = sys.argv[1:]
    n = int(ranks[0]) if ranks else 2
    if subprocess.run([launcher, "-n", "2", "true"], capture_output=True, env=mpi_test.environment(), check=False).returncode != 0:
        print("skipped: mpirun does not work here")
        return 77
    count, seed = int(os.environ.get("KUSARI_FAULTS", "6")), int(os.environ.get("KUSARI_FAULT_SEED", "0"))
    rng, failures = random.Random(seed), 0
    with tempfile.TemporaryDirectory() as scratch:
        def launch_in(folder):
            os.makedirs(folder, exist_ok=True)
            return lambda *arguments: Launched(launcher, program, n, folder, *arguments)

        undisturbed = os.path.join(scratch, "undisturbed")
        run = launch_in(undisturbed)("train")
        if run.end() or run.process.returncode != 0:
            print(run.text())
            return 1
        expected = mpi_test.values(undisturbed, 0)
        for i in range(count):
            folder = os.path.join(scratch, str(i))
            launch = launch_in(folder)
            # Within the time that the pauses take: a run to which nothing happened any more would end well.
            what, problems, text = happen(rng, launch, n, KINDS[i % len(KINDS)], 0.9 * STEPS * PAUSE / 1000)
            if not problems:
                resumed = launch("train")
                problems = resumed.end()
                text += resumed.text()
                if resumed.process.returncode != 0:
                    problems.append("the run that goes on fails")
                elif any(mpi_test.values(folder, rank) != expected for rank in range(n)):
                    problems.append("the run that goes on ends with other numbers")
            print(f"fault {i + 1} of {count}: {what}: {', '.join(problems) or 'as it must be'}", flush=True)
            if problems:
                failures += 1
                print(text, flush=True)
            shutil.rmtree(folder)
    print(f"{failures} of {count} faults went wrong (seed {seed})")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
