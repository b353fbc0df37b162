#!/usr/bin/env python3
"""Runs tests/distributed/ranks as several processes with MPI: equality with one process, and what happens when a rank
fails, is killed, stops or leaves.

mpi_test.py LAUNCHER PROGRAM [RANKS...]     LAUNCHER: tools/mpirun_here

Ends with 77 where there is no mpirun.
"""
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

LAUNCHER = PROGRAM = None
RANKS = [2]


def environment(**variables):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_COMM", "PMI"))}
    return {**kept, "KUSARI_NUM_THREADS": "1", **variables}


class Run:
    """A run that has ended, or was ended after `limit` seconds."""

    def __init__(self, n, *arguments, limit=60, **variables):
        command = [PROGRAM, *arguments] if n == 1 else [LAUNCHER, "-n", str(n), PROGRAM, *arguments]
        begin = time.monotonic()
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment(**variables), start_new_session=True
        )
        try:
            self.text, _ = process.communicate(timeout=limit)
            self.is_over = True
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            self.text, _ = process.communicate()
            self.is_over = False
        self.seconds = time.monotonic() - begin
        self.status = process.returncode
        self.processes = [int(p) for p in re.findall(r"^process (\d+) is rank", self.text, re.MULTILINE)]


def lives(process):
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def values(folder, rank):
    with open(f"{folder}/values.{rank}", "rb") as file:
        data = file.read()
    return struct.unpack(f"{len(data) // 8}d", data)


class Ranks(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def place(self, name):
        path = os.path.join(self.folder.name, name)
        os.makedirs(path, exist_ok=True)
        return path

    def run_ranks(self, n, *arguments, **options):
        run = Run(n, *arguments, **options)
        self.assertTrue(run.is_over, f"it did not end:\n{run.text}")
        deadline = time.monotonic() + 5
        while any(map(lives, run.processes)) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual([p for p in run.processes if lives(p)], [], f"processes are left:\n{run.text}")
        return run

    def fails(self, n, *arguments, **options):
        run = self.run_ranks(n, *arguments, **options)
        self.assertNotEqual(run.status, 0, run.text)
        return run

    def test_equality(self):
        one = self.place("1")
        self.assertEqual(self.run_ranks(1, "train", "--steps", "50", "--out", one).status, 0)
        expected = values(one, 0)
        for n in RANKS:
            found = []
            for again in range(2):
                out = self.place(f"{n}.{again}")
                run = self.run_ranks(n, "train", "--steps", "50", "--out", out)
                self.assertEqual(run.status, 0, run.text)
                found += [values(out, rank) for rank in range(n)]
            for other in found:
                self.assertEqual(other, found[0])  # all ranks, both runs: to the bit
            largest = max(map(abs, expected))
            self.assertLess(max(abs(a - b) for a, b in zip(expected, found[0])) / largest, 1e-5)

    def test_resume(self):
        whole, parts = self.place("whole"), self.place("parts")
        n = RANKS[-1]
        self.assertEqual(self.run_ranks(n, "train", "--saves", "--steps", "20", "--out", whole).status, 0)
        self.assertEqual(self.run_ranks(n, "train", "--saves", "--steps", "10", "--out", parts).status, 0)
        run = self.run_ranks(n, "train", "--saves", "--steps", "20", "--out", parts)
        self.assertEqual(run.status, 0, run.text)
        self.assertEqual(values(parts, n - 1), values(whole, 0))
        other = self.place("other")
        self.assertEqual(self.run_ranks(n, "train", "--saves", "--steps", "10", "--out", other).status, 0)
        run = self.run_ranks(1, "train", "--saves", "--steps", "20", "--out", other)
        self.assertEqual(run.status, 0, run.text)
        expected = values(whole, 0)
        largest = max(map(abs, expected))
        self.assertLess(max(abs(a - b) for a, b in zip(expected, values(other, 0))) / largest, 1e-5)

    def test_exception(self):
        for n in RANKS:
            for rank in (0, n - 1):
                run = self.fails(n, "throw", "--rank", str(rank))
                self.assertRegex(run.text, rf"error: rank {rank} of {n} \(\S+, process \d+\): ValueError: the data is gone")
                self.assertEqual(run.text.count("error: "), n, run.text)
                self.assertEqual(run.text.count("on_error of rank"), n, run.text)
                self.assertLess(run.seconds, 20)

    def test_killed(self):
        for rank in (0, 1):
            for scenario in ("kill", "crash"):
                run = self.fails(2, scenario, "--rank", str(rank))
                self.assertIn("signal 9" if scenario == "kill" else "signal 11", run.text)
                self.assertLess(run.seconds, 20)

    def test_stopped(self):
        run = self.fails(
            2, "stop", limit=90, KUSARI_DISTRIBUTED_STALL_WARNING="1", KUSARI_DISTRIBUTED_TIMEOUT="4"
        )
        self.assertRegex(run.text, r"rank 1 \(\S+, process \d+\) has not reached (step|all-reduce) \d+.*; rank 0 waits for 2 s")
        self.assertRegex(run.text, r"error: rank 1 .* has not reached .*; rank 0 waits for 4 s, and the timeout is over")

    def test_left(self):
        run = self.fails(2, "exit")
        self.assertRegex(run.text, r"error: rank 1 of 2 \(\S+, process \d+\) has left the group, and rank 0 of 2 .* waits for it in")

    def test_terminate(self):
        self.fails(2, "terminate")

    def test_other_model(self):
        run = self.fails(2, "model")
        self.assertIn("the models differ: rank 0 of 2", run.text)
        self.assertIn("'/predictor/l1/b' (float32 (16,))", run.text)

    def test_other_calls(self):
        run = self.fails(2, "order")
        self.assertRegex(run.text, "calls barrier as operation|have called other operations|expects")
        run = self.fails(2, "order", KUSARI_DISTRIBUTED_DEBUG="1")
        self.assertIn("barrier", run.text)
        self.assertIn("step", run.text)


if __name__ == "__main__":
    LAUNCHER, PROGRAM, *ranks = sys.argv[1:]
    RANKS = [int(n) for n in ranks] or RANKS
    trial = subprocess.run([LAUNCHER, "-n", "2", "true"], capture_output=True, text=True, env=environment())
    if trial.returncode != 0:
        print("skipped: mpirun does not work here:", trial.stdout, trial.stderr)
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
