#!/usr/bin/env python3
"""The cases iterator and iterator_overhead of kusari-bench with PyTorch's DataLoader and torchvision's transforms.

    peer_loader.py iterator --images FOLDER [--form pil] [--workers 2] [--batch 64] [--pixels float32]
    peer_loader.py iterator_overhead [--form examples] [--workers 2] [--batch 256]

Forms of iterator, all with ImageFolder, RandomResizedCrop(224), RandomHorizontalFlip:
  pil        torchvision.transforms as in PyTorch's ImageNet example: Pillow decodes and resizes, ToTensor, Normalize
  v2         torchvision.transforms.v2 on uint8 tensors that torchvision.io decoded; workers normalize
  v2_main    the same; workers give uint8, and the main process normalizes whole batches
  v2_noaa    v2_main without antialiasing: another picture where a crop shrinks, and less work
Forms of iterator_overhead:
  examples   TensorDataset, default_collate: as users write it
  batched    a data set whose __getitems__ indexes whole batches

--workers 0 loads in the main process. Persistent workers, prefetch_factor 2, no pinned memory. Prints one line of JSON
with the fields of kusari-bench.
"""
import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

MEAN, DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
SIDE = 224
WINDOWS = 9
FORMS = {"iterator": ["pil", "v2", "v2_main", "v2_noaa"], "iterator_overhead": ["examples", "batched"]}


def read_photo(path):
    from torchvision.io import ImageReadMode, decode_jpeg, read_file

    return decode_jpeg(read_file(path), mode=ImageReadMode.RGB)


def photo_loader(arguments):
    """The loader, and what the main process does to a batch."""
    from torchvision import datasets, transforms
    from torchvision.transforms import v2

    to_float = arguments.pixels == "float32"
    finish = None
    if arguments.form == "pil":
        steps = [transforms.RandomResizedCrop(SIDE), transforms.RandomHorizontalFlip()]
        steps += [transforms.ToTensor(), transforms.Normalize(MEAN, DEVIATION)] if to_float else [transforms.PILToTensor()]
        photos = datasets.ImageFolder(arguments.images, transforms.Compose(steps))
    else:
        steps = [v2.RandomResizedCrop(SIDE, antialias=arguments.form != "v2_noaa"), v2.RandomHorizontalFlip()]
        normalize = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, DEVIATION, inplace=True)]
        if to_float and arguments.form == "v2":
            steps += normalize
        elif to_float:
            finish = v2.Compose(normalize)
        photos = datasets.ImageFolder(arguments.images, v2.Compose(steps), loader=read_photo)
    return make_loader(photos, arguments), finish


class BatchedTensors(Dataset):
    def __init__(self, *tensors):
        self.tensors = tensors

    def __len__(self):
        return len(self.tensors[0])

    def __getitems__(self, indices):
        return [tensor[indices] for tensor in self.tensors]


def memory_loader(arguments):
    images, labels = torch.full((50000, 3072), 7, dtype=torch.uint8), torch.full((50000,), 7, dtype=torch.int32)
    if arguments.form == "examples":
        return make_loader(TensorDataset(images, labels), arguments), None
    return make_loader(BatchedTensors(images, labels), arguments, collate_fn=lambda batch: batch), None


def make_loader(dataset, arguments, **options):
    workers = arguments.workers
    return DataLoader(dataset, batch_size=arguments.batch, shuffle=True, drop_last=True, num_workers=workers,
                      persistent_workers=workers > 0, **options)


def endless(loader):
    while True:
        yield from loader


def machine_busy_seconds():
    with open("/proc/stat") as file:
        ticks = [int(field) for field in file.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")  # neither idle nor waiting for a disk


def ticks_of_tree(process):
    """What a process, its ended children and all processes below it have used."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
        children = [child for task in Path(f"/proc/{process}/task").iterdir()
                    for child in (task / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(map(int, stat[stat.rindex(")") + 2:].split()[11:15])) + sum(map(ticks_of_tree, children))


def processor_seconds_of_tree():
    return ticks_of_tree(os.getpid()) / os.sysconf("SC_CLK_TCK")


def sample_flow(step, arguments):
    """[(others, examples a second, processor time of an example)] of the quietest windows: kusari-bench's protocol."""
    for _ in range(3):
        step()
    length = max(0.5, arguments.seconds / WINDOWS)
    windows, quiet, start = [], 0, time.perf_counter()
    while quiet < WINDOWS and (len(windows) < WINDOWS or time.perf_counter() - start < arguments.patience):
        begin, busy, own = time.perf_counter(), machine_busy_seconds(), processor_seconds_of_tree()
        examples = 0
        while examples == 0 or time.perf_counter() - begin < length:
            examples += step()
        elapsed, used = time.perf_counter() - begin, processor_seconds_of_tree() - own
        others = max(0.0, machine_busy_seconds() - busy - used) / elapsed
        quiet += others <= 0.1
        windows.append((others, examples / elapsed, 1e6 * used / examples))
    return sorted(windows)[:WINDOWS]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=FORMS)
    parser.add_argument("--form", choices=sum(FORMS.values(), []), help="default: the first of the case")
    parser.add_argument("--images", help="a folder with a folder of photos for each class")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--pixels", choices=["uint8", "float32"], default="float32")
    parser.add_argument("--threads", type=int, default=1, help="of the main process")
    parser.add_argument("--seconds", type=float, default=3, help="time for one measurement")
    parser.add_argument("--patience", type=float, default=60, help="seconds to wait for a quiet machine")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    photos = arguments.case == "iterator"
    arguments.form = arguments.form or FORMS[arguments.case][0]
    arguments.batch = arguments.batch or (64 if photos else 256)
    if arguments.form not in FORMS[arguments.case]:
        parser.error(f"--form {arguments.form} is none of {arguments.case}: {', '.join(FORMS[arguments.case])}")
    if photos and not arguments.images:
        parser.error("--images FOLDER is needed")
    loader, finish = photo_loader(arguments) if photos else memory_loader(arguments)
    batches = endless(loader)

    def step():
        images = next(batches)[0]
        return len(finish(images) if finish else images)

    windows = sample_flow(step, arguments)
    rates = [rate for _, rate, _ in windows]
    line = {"bench": f"{arguments.case}.{arguments.form}", "impl": f"pytorch-{torch.__version__}",
            "threads": arguments.threads, "unit": "images/s" if photos else "examples/s",
            "median": round(statistics.median(rates), 1), "min": round(min(rates), 1), "max": round(max(rates), 1),
            "processor_us": round(statistics.median(used for _, _, used in windows), 2),
            "others": round(windows[-1][0], 2), "workers": arguments.workers, "batch": arguments.batch}
    print(json.dumps(line | ({"pixels": arguments.pixels} if photos else {}), separators=(",", ":")))


if __name__ == "__main__":
    sys.exit(main())
