#!/usr/bin/env python3
"""Compares examples/distributed/train_mnist, as one process and as several, with examples/mnist/train_mnist: the logs and
the snapshots, entry by entry.

twins_test.py LAUNCHER DISTRIBUTED TWIN FOLDER [RANKS...]     LAUNCHER: tools/mpirun_here

Ends with 77 where there is no mpirun.
"""
import ast
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import zipfile

FLAGS = "--data stroke-digits --seed 1 --unit 30 --batchsize 500 --epoch 2 --noplot".split()
FORMATS = {"<f4": "f", "<f8": "d", "<i4": "i", "<i8": "q", "|u1": "B", "|i1": "b", "|b1": "?"}
# Seconds; what each process counts for itself; and what only several have.
IGNORED = ("_time", "/_snapshot_elapsed_time", "step_times/", "/_elapsed_time", "ranks/", "trainer/elapsed")


def numbers(data):
    """The numbers of an .npy file; None for one of Python objects or text."""
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10 : 10 + length].decode())
    kind = FORMATS.get(header["descr"])
    body = data[10 + length :]
    return None if kind is None else struct.unpack(f"<{len(body) // struct.calcsize(kind)}{kind}", body)


def entries(folder):
    (path,) = pathlib.Path(folder).glob("snapshot_iter_*")
    with zipfile.ZipFile(path) as file:
        return path.name, {name: numbers(file.read(name)) for name in file.namelist()}


def compare(where, expected, found, problems):
    if expected is None or found is None:
        return
    if len(expected) != len(found):
        problems.append(f"{where}: {len(found)} numbers instead of {len(expected)}")
        return
    largest = max([1e-6, *(abs(x) for x in expected)])
    difference = max([0, *(abs(a - b) for a, b in zip(expected, found))])
    if not difference <= 2e-4 * largest:
        problems.append(f"{where}: differs by {difference:g} of {largest:g}")


def main():
    launcher, distributed, twin, folder, *ranks = sys.argv[1:]
    environment = {**os.environ, "KUSARI_NUM_THREADS": "1"}
    if subprocess.run([launcher, "-n", "2", "true"], capture_output=True, check=False).returncode != 0:
        print("skipped: mpirun does not work here")
        return 77
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([twin, *FLAGS, "--out", f"{folder}/twin"], check=True, env=environment)
    problems = []
    for n in [1, *map(int, ranks)]:
        command = [distributed, *FLAGS, "--out", f"{folder}/{n}"]
        subprocess.run(command if n == 1 else [launcher, "-n", str(n), *command], check=True, env=environment)
        with open(f"{folder}/twin/log", encoding="utf-8") as a, open(f"{folder}/{n}/log", encoding="utf-8") as b:
            expected, found = json.load(a), json.load(b)
        if len(expected) != len(found):
            problems.append(f"{n} ranks: {len(found)} rows of the log instead of {len(expected)}")
        for row, (one, other) in enumerate(zip(expected, found)):
            for key, value in one.items():
                if not key.endswith("_time"):
                    compare(f"{n} ranks: row {row} of the log, {key}", [value], [other.get(key, float("nan"))], problems)
        (name, one), (other_name, other) = entries(f"{folder}/twin"), entries(f"{folder}/{n}")
        if name != other_name:
            problems.append(f"{n} ranks: the snapshot is {other_name} instead of {name}")
        compared = 0
        for key, value in one.items():
            if "updater/" not in key or any(part in key for part in IGNORED):
                continue
            if key not in other:
                problems.append(f"{n} ranks: the snapshot has no {key}")
            else:
                compare(f"{n} ranks: {key} of the snapshot", value, other[key], problems)
                compared += 1
        if compared < 10:
            problems.append(f"{n} ranks: only {compared} entries of the snapshot were compared")
    print(*problems, f"{len(problems)} differences", sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
