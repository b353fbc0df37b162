#!/usr/bin/env python3
"""Compares a program of examples/distributed, as one process and as several, with its twin for one process, such as
examples/mnist/train_mnist: the logs and the snapshots, entry by entry.

twins_test.py LAUNCHER DISTRIBUTED TWIN FOLDER NAME [RANKS...]     LAUNCHER: tools/mpirun_here, NAME: mnist, ptb or imagenet

Ends with 77 where there is no mpirun.
"""
import ast
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import zipfile
import zlib

FLAGS = {
    "mnist": "--data stroke-digits --seed 1 --unit 30 --batchsize 500 --epoch 2 --noplot",
    "ptb": "--data generated --seed 1 --unit 20 --bproplen 10 --epoch 2",
    "imagenet": "{images}/train {images}/val --mean {images}/mean.npy --arch nin --batchsize 4 --val_batchsize 4 --epoch 1 --test "
    "--loader serial",
}
# Up to how many processes have the twin's numbers: each draws its own dropout, and imagenet has no seed.
EQUAL = {"mnist": 99, "ptb": 1, "imagenet": 0}
FORMATS = {"<f4": "f", "<f8": "d", "<i4": "i", "<i8": "q", "|u1": "B", "|i1": "b", "|b1": "?"}
# Seconds; what each process counts for itself; and what only several have.
IGNORED = ("_time", "/_snapshot_elapsed_time", "step_times/", "/_elapsed_time", "ranks/", "trainer/elapsed", "state:")


def numbers(data):
    """The numbers of an .npy file; None for one of Python objects or text."""
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10 : 10 + length].decode())
    kind = FORMATS.get(header["descr"])
    body = data[10 + length :]
    return None if kind is None else struct.unpack(f"<{len(body) // struct.calcsize(kind)}{kind}", body)


def write_png(path, rng):
    """16 x 16 random pixels."""
    rows = b"".join(b"\0" + rng.randbytes(48) for _ in range(16))
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write_images(folder, side=232):
    """Two classes of four images to train with and two to validate with, and a gray mean image."""
    rng = random.Random(0)
    for part, count in (("train", 4), ("val", 2)):
        for name in "ab":
            for i in range(count):
                write_png(pathlib.Path(folder) / part / name / f"{i}.png", rng)
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (3, {side}, {side}), }}".ljust(117) + "\n"
    body = struct.pack("<f", 128) * (3 * side * side)
    (pathlib.Path(folder) / "mean.npy").write_bytes(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header.encode() + body)


def entries(folder):
    path = max(pathlib.Path(folder).glob("snapshot_iter_*"), key=lambda path: int(path.name.rsplit("_", 1)[1]))
    with zipfile.ZipFile(path) as file:
        return path.name, {name: numbers(file.read(name)) for name in file.namelist()}


def compare(where, expected, found, problems, are_equal):
    if expected is None or found is None:
        return
    if len(expected) != len(found):
        problems.append(f"{where}: {len(found)} numbers instead of {len(expected)}")
        return
    if not are_equal:
        return
    largest = max([1e-6, *(abs(x) for x in expected)])
    difference = max([0, *(abs(a - b) for a, b in zip(expected, found))])
    if not difference <= 2e-4 * largest:
        problems.append(f"{where}: differs by {difference:g} of {largest:g}")


def main():
    launcher, distributed, twin, folder, name, *ranks = sys.argv[1:]
    flags = FLAGS[name].format(images=f"{folder}/images").split()
    environment = {**os.environ, "KUSARI_NUM_THREADS": "1"}
    if subprocess.run([launcher, "-n", "2", "true"], capture_output=True, check=False).returncode != 0:
        print("skipped: mpirun does not work here")
        return 77
    shutil.rmtree(folder, ignore_errors=True)
    if name == "imagenet":
        write_images(f"{folder}/images")
    subprocess.run([twin, *flags, "--out", f"{folder}/twin"], check=True, env=environment)
    problems = []
    for n in [1, *map(int, ranks)]:
        are_equal = n <= EQUAL[name]
        command = [distributed, *flags, "--out", f"{folder}/{n}"]
        subprocess.run(command if n == 1 else [launcher, "-n", str(n), *command], check=True, env=environment)
        with open(f"{folder}/twin/log", encoding="utf-8") as a, open(f"{folder}/{n}/log", encoding="utf-8") as b:
            expected, found = json.load(a), json.load(b)
        if len(expected) != len(found):
            problems.append(f"{n} ranks: {len(found)} rows of the log instead of {len(expected)}")
        for row, (one, other) in enumerate(zip(expected, found)):
            for key, value in one.items():
                if not key.endswith("_time"):
                    if key not in other:
                        problems.append(f"{n} ranks: row {row} of the log has no {key}")
                    else:
                        compare(f"{n} ranks: row {row} of the log, {key}", [value], [other[key]], problems, are_equal)
        (file, one), (other_file, other) = entries(f"{folder}/twin"), entries(f"{folder}/{n}")
        if file != other_file:
            problems.append(f"{n} ranks: the snapshot is {other_file} instead of {file}")
        compared = 0
        for key, value in one.items():
            if "updater/" not in key or any(part in key for part in IGNORED):
                continue
            if key not in other:
                problems.append(f"{n} ranks: the snapshot has no {key}")
            else:
                compare(f"{n} ranks: {key} of the snapshot", value, other[key], problems, are_equal)
                compared += 1
        if compared < 10:
            problems.append(f"{n} ranks: only {compared} entries of the snapshot were compared")
    print(*problems, f"{len(problems)} differences", sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
