#!/usr/bin/env python3
"""PyTorch's side of kusari-bench's cases: the same models, steps, windows and JSON keys.

    peer_torch.py CASE [--threads N] [--channels-last] [--bfloat16] [--jit] [--compile] [--seconds S] [--patience S]
    peer_torch.py CASE --device cuda [--amp float16] [--channels-last] [--compile]

Cases: cnn_seed resnet18_cifar resnet50_train resnet50_infer mem lstm_lm lstm_ragged n_step gpt_small
gpt_nano attention transformer_infer retinanet_train efficientdet_train detect. Needs PyTorch from pip, and for the last
three torchvision. --bfloat16 and --jit (the model
traced, frozen and optimized for inference: batch normalization folded, convolutions fused) are for resnet50_infer; --compile, which runs the model through torch.compile, for the
sequences and the detectors. On a GPU (lstm_lm lstm_ragged n_step gpt_small gpt_nano attention transformer_infer, and the trainings
of detectors) products of float32 are TF32, and --amp trains with autocast, and with a GradScaler in float16; attention and
transformer_infer are of that dtype throughout.
"""
import argparse
import json
import resource
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

CASES = ["cnn_seed", "resnet18_cifar", "resnet50_train", "resnet50_infer", "mem", "lstm_lm", "lstm_ragged", "n_step",
         "gpt_small", "gpt_nano", "attention", "transformer_infer",
         "retinanet_train", "efficientdet_train", "detect"]


def cnn_seed():
    layers, channels = [], 3
    for out in (128, 256, 256, 256, 0, 256, 256, 512, 512, 0, 256, 256, 256, 128):
        if out == 0:
            layers.append(nn.MaxPool2d(2))
            continue
        layers += [nn.Conv2d(channels, out, 3, padding=1), nn.ReLU(inplace=True)]
        channels = out
    layers += [nn.MaxPool2d(4), nn.Flatten(), nn.BatchNorm1d(512), nn.Linear(512, 512), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers, nn.Linear(512, 10))


def convolution(channels, out, kernel, stride):
    return nn.Conv2d(channels, out, kernel, stride, kernel // 2, bias=False)


class Block(nn.Module):
    """Two 3x3 convolutions, or 1x1, 3x3 and 1x1 ones, beside the input."""

    def __init__(self, channels, middle, out, stride, bottleneck):
        super().__init__()
        shapes = ([(channels, middle, 1, 1), (middle, middle, 3, stride), (middle, out, 1, 1)] if bottleneck else
                  [(channels, middle, 3, stride), (middle, out, 3, 1)])
        self.convolutions = nn.ModuleList(convolution(*shape) for shape in shapes)
        self.norms = nn.ModuleList(nn.BatchNorm2d(shape[1]) for shape in shapes)
        self.shortcut = None
        if stride != 1 or channels != out:
            self.shortcut = nn.Sequential(convolution(channels, out, 1, stride), nn.BatchNorm2d(out))

    def forward(self, x):
        h = x
        for i, (conv, norm) in enumerate(zip(self.convolutions, self.norms)):
            h = norm(conv(h))
            if i + 1 < len(self.convolutions):
                h = F.relu(h, inplace=True)
        h += x if self.shortcut is None else self.shortcut(x)
        return F.relu(h, inplace=True)


def resnet(imagenet):
    """ResNet-50, or ResNet-18 for small images."""
    kernel, stride = (7, 2) if imagenet else (3, 1)
    layers = [convolution(3, 64, kernel, stride), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    if imagenet:
        layers.append(nn.MaxPool2d(3, 2, 1))
    channels = 64
    for group, blocks in enumerate((3, 4, 6, 3) if imagenet else (2, 2, 2, 2)):
        middle = 64 << group
        out = 4 * middle if imagenet else middle
        for i in range(blocks):
            layers.append(Block(channels, middle, out, 2 if i == 0 and group > 0 else 1, imagenet))
            channels = out
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000 if imagenet else 10)]
    return nn.Sequential(*layers)


def own_processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def machine_busy_seconds():
    with open("/proc/stat") as file:
        ticks = [int(field) for field in file.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / 100  # neither idle nor waiting for a disk


def sample_device(step, limit):
    """Seconds a call in 7 windows of 20 calls, or of as many as fit into the limit, between events."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def seconds_of(calls):
        begin.record()
        for _ in range(calls):
            step()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / calls / 1e3

    for _ in range(3):
        step()
    torch.cuda.synchronize()
    calls = min(20, max(1, int(limit / 7 / seconds_of(1))))
    for _ in range(calls // 3):
        step()
    return [seconds_of(calls) for _ in range(7)]


def trainer(optimizer, arguments, clip=None):
    """A step with a function that computes the loss, under autocast if asked for."""
    amp = {None: None, "float16": torch.float16, "bfloat16": torch.bfloat16}[arguments.amp]
    scaler = torch.amp.GradScaler(enabled=amp == torch.float16)

    def step(loss_of):
        optimizer.zero_grad()
        with torch.autocast("cuda", amp, enabled=amp is not None):
            loss = loss_of()
        scaler.scale(loss).backward()
        if clip is not None:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], clip)
        scaler.step(optimizer)
        scaler.update()

    return step


def inference_dtype(arguments):
    return torch.bfloat16 if arguments.bfloat16 or arguments.amp == "bfloat16" else torch.float16 if arguments.amp else torch.float32


def sample(step, arguments):
    """Seconds a call in the 9 quietest windows, and the cores that others used: the protocol of kusari-bench."""
    if arguments.device != "cpu":
        return sample_device(step, arguments.seconds), 0
    for _ in range(3):
        step()
    windows, quiet, start = [], 0, time.perf_counter()
    limit = 0.1 if arguments.threads > 1 else 0.6
    while quiet < 9 and (len(windows) < 9 or time.perf_counter() - start < arguments.patience):
        begin, busy, own = time.perf_counter(), machine_busy_seconds(), own_processor_seconds()
        calls = 0
        while calls == 0 or time.perf_counter() - begin < max(0.2, arguments.seconds / 9):
            step()
            calls += 1
        elapsed = time.perf_counter() - begin
        others = max(0.0, (machine_busy_seconds() - busy) - (own_processor_seconds() - own)) / elapsed
        if others <= limit:
            quiet += 1
        else:
            time.sleep(0.2)
        windows.append((others, elapsed / calls))
    windows = sorted(windows)[:9]
    return [seconds for _, seconds in windows], windows[-1][0]


def peak_rss_mib():
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def rss_mib():
    with open("/proc/self/statm") as file:
        return round(int(file.read().split()[1]) * resource.getpagesize() / 2**20)


def train(name, model, shape, classes, arguments):
    layout = {"memory_format": torch.channels_last} if arguments.channels_last else {}
    model = model.to(**layout)
    x = torch.randn(shape).contiguous(**layout)
    t = torch.randint(0, classes, shape[:1])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), t).backward()
        optimizer.step()

    if name.startswith("mem."):
        before = rss_mib()
        for _ in range(3):
            step()
        return {"bench": name, "unit": "MiB", "peak_rss": peak_rss_mib(), "rss_before_first_step": before}
    seconds, others = sample(step, arguments)
    return timing(name, "ms/step", seconds, others) | {"params": sum(p.numel() for p in model.parameters()),
                                                       "peak_rss_mib": peak_rss_mib()}


def infer(arguments):
    layout = {"memory_format": torch.channels_last} if arguments.channels_last else {}
    dtype = torch.bfloat16 if arguments.bfloat16 else torch.float32
    model = resnet(True).to(dtype=dtype, **layout).eval()
    x = torch.randn(1, 3, 224, 224).to(dtype).contiguous(**layout)
    if arguments.jit:
        with torch.no_grad():
            model = torch.jit.optimize_for_inference(torch.jit.trace(model, x))  # freezes it as well
    with torch.inference_mode():
        seconds, others = sample(lambda: model(x), arguments)
    return timing("resnet50_infer_bs1", "ms", seconds, others) | {"dtype": str(dtype).removeprefix("torch."),
                                                                  "jit": arguments.jit}


def timing(name, unit, seconds, others):
    return {"bench": name, "unit": unit, "median": round(1e3 * statistics.median(seconds), 4),
            "min": round(1e3 * min(seconds), 4), "others": round(others, 2)}


WORDS, UNITS, TIMES, BATCH = 10000, 650, 35, 20


class RnnLm(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, UNITS)
        self.lstm = nn.LSTM(UNITS, UNITS, 2)
        self.out = nn.Linear(UNITS, WORDS)

    def forward(self, words, batch_sizes):
        xs = self.embed(words)
        if batch_sizes is None:
            return self.out(self.lstm(xs)[0])
        packed = nn.utils.rnn.PackedSequence(xs, batch_sizes)
        return self.out(self.lstm(packed)[0].data)


def lstm_lm(arguments):
    model = RnnLm().to(arguments.device)
    batch_sizes, shape = None, (TIMES, BATCH)
    if arguments.case == "lstm_ragged":
        lengths = [TIMES - b * 30 // (BATCH - 1) for b in range(BATCH)]
        batch_sizes = torch.tensor([sum(length > t for length in lengths) for t in range(TIMES)])
        shape = (sum(lengths),)
    call = torch.compile(model) if arguments.compile else model
    words, t = (torch.randint(0, WORDS, shape, device=arguments.device) for _ in range(2))
    t = t.flatten()
    train_step = trainer(torch.optim.SGD(model.parameters(), lr=1), arguments, clip=5)

    def loss():
        return F.cross_entropy(call(words, batch_sizes).reshape(-1, WORDS), t)

    seconds, others = sample(lambda: train_step(loss), arguments)
    return timing(arguments.case, "ms/step", seconds, others) | {"tokens": t.numel()}


def n_step(arguments):
    model, x = nn.LSTM(128, 128).to(arguments.device), torch.randn(20, 32, 128, device=arguments.device)
    call = torch.compile(model) if arguments.compile else model

    def step():
        model.zero_grad()
        call(x)[0].sum().backward()

    seconds, others = sample(step, arguments)
    return timing("n_step", "us/step", [1e3 * each for each in seconds], others)


class GptBlock(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.ratio = heads, dropout
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp_in, self.mlp_out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, times, width = x.shape
        q, k, v = (part.view(batch, times, self.heads, width // self.heads).transpose(1, 2)
                   for part in self.qkv(self.ln_1(x)).split(width, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.ratio)
        h = x + F.dropout(self.out(y.transpose(1, 2).reshape(batch, times, width)), self.ratio)
        return h + F.dropout(self.mlp_out(F.gelu(self.mlp_in(self.ln_2(h)))), self.ratio)


class Gpt(nn.Module):
    def __init__(self, layers, heads, width, block, dropout):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(65, width), nn.Embedding(block, width)
        self.h = nn.ModuleList(GptBlock(width, heads, dropout) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)

    def forward(self, ids, places):
        x = self.wte(ids) + self.wpe(places)
        for block in self.h:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)


def gpt(arguments):
    lines = []
    sizes = {"gpt_small": (6, 6, 384, 256), "gpt_nano": (4, 4, 128, 64)}[arguments.case]
    for dropout in (0, 0.2) if arguments.case == "gpt_small" else (0,):
        model = Gpt(*sizes, dropout).to(arguments.device)
        call = torch.compile(model) if arguments.compile else model
        ids, t = (torch.randint(0, 65, (12, sizes[3]), device=arguments.device) for _ in range(2))
        places = torch.arange(sizes[3], device=arguments.device)[None]
        fused = {"fused": True} if arguments.device != "cpu" else {}
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1, **fused)
        train_step = trainer(optimizer, arguments)

        def loss():
            return F.cross_entropy(call(ids, places).reshape(-1, 65), t.flatten())

        seconds, others = sample(lambda: train_step(loss), arguments)
        lines.append(timing(arguments.case + (".dropout" if dropout else ""), "ms/step", seconds, others))
    return lines


class CachedBlock(nn.Module):
    """One of GPT-2's blocks, which writes keys and values into arrays that are there already."""

    def __init__(self, heads, width, places):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp_in, self.mlp_out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.register_buffer("k", torch.zeros(1, heads, places, width // heads))
        self.register_buffer("v", torch.zeros(1, heads, places, width // heads))

    def forward(self, x, first):
        n = x.shape[1]
        q, k, v = (a.view(1, n, self.heads, -1).transpose(1, 2) for a in self.qkv(self.ln_1(x)).chunk(3, -1))
        self.k[:, :, first : first + n], self.v[:, :, first : first + n] = k, v
        y = F.scaled_dot_product_attention(
            q, self.k[:, :, : first + n], self.v[:, :, : first + n], is_causal=first == 0
        )
        x = x + self.out(y.transpose(1, 2).reshape(x.shape))
        return x + self.mlp_out(F.gelu(self.mlp_in(self.ln_2(x))))


class CachedGpt(nn.Module):
    def __init__(self, words, layers, heads, width, places):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(words, width), nn.Embedding(places, width)
        self.h = nn.ModuleList(CachedBlock(heads, width, places) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)

    def forward(self, ids, first):
        x = self.wte(ids) + self.wpe.weight[first : first + ids.shape[1]]
        for block in self.h:
            x = block(x, first)
        return F.linear(self.ln_f(x[:, -1:]), self.wte.weight)


def transformer_infer(arguments):
    model = CachedGpt(50257, 12, 12, 768, 1024).eval().to(arguments.device, inference_dtype(arguments))
    prompt = torch.randint(0, 50257, (1, 128), device=arguments.device)

    @torch.inference_mode()
    def read():
        model(prompt, 0)

    @torch.inference_mode()
    def write():
        token = torch.zeros(1, 1, dtype=torch.int64, device=arguments.device)
        for i in range(128):
            token = model(token, 128 + i).argmax(-1)

    prompts = sample(read, arguments)
    seconds, others = sample(write, arguments)
    return [
        timing("transformer_infer.prompt", "ms", *prompts),
        timing("transformer_infer", "ms/token", [each / 128 for each in seconds], others),
    ]


def attention(arguments):
    q, k, v = (torch.randn(8, 6, 1024, 64, device=arguments.device, dtype=inference_dtype(arguments), requires_grad=True)
               for _ in range(3))
    lines = []
    for dropout in (0, 0.1):
        def step():
            q.grad = k.grad = v.grad = None
            F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout).sum().backward()

        seconds, others = sample(step, arguments)
        lines.append(timing("attention" + (".dropout" if dropout else ""), "ms", seconds, others))
    return lines


def train_detector(arguments, name):
    import peer_detectors

    layout = {"memory_format": torch.channels_last} if arguments.channels_last else {}
    model, loss_of = peer_detectors.detector(name)
    model = model.to(arguments.device, **layout)
    train_step = trainer(torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), arguments)
    batch = 2 if arguments.device == "cpu" else 32
    x = torch.randn(batch, 3, peer_detectors.SIZE, peer_detectors.SIZE, device=arguments.device).contiguous(**layout)
    targets = [each.to(arguments.device) for each in peer_detectors.drawn_targets(batch)]

    def loss():
        return loss_of(model(x), targets)

    compute = torch.compile(loss) if arguments.compile else loss

    seconds, others = sample(lambda: train_step(compute), arguments)
    return timing(f"{name}_train_bs{batch}", "ms/step", seconds, others) | {
        "params": sum(p.numel() for p in model.parameters()), "peak_rss_mib": peak_rss_mib(),
        "compile": arguments.compile}


def detect(arguments):
    """A photo of 480x640 on 512x512 through torchvision's RetinaNet and an EfficientDet-D0: all of it and the network alone."""
    import peer_detectors

    def network_of(model):
        model = model.eval()
        if arguments.channels_last:
            model = model.to(memory_format=torch.channels_last)
        return torch.compile(model) if arguments.compile else model

    retinanet = peer_detectors.RetinaNetOutputs()
    detector = retinanet.detector.eval()
    detector.transform.min_size, detector.transform.max_size = (384,), 512
    predictor = peer_detectors.EfficientDetPredictor(network_of(peer_detectors.EfficientDetOutputs()))
    photo = (torch.randn(3, 480, 640) * 50 + 128).clamp(0, 255) / 255
    x = torch.randn(1, 3, 512, 512)
    if arguments.channels_last:
        x = x.contiguous(memory_format=torch.channels_last)
    network = network_of(retinanet)
    calls = {"retinanet.network": lambda: network(x), "retinanet": lambda: detector([photo]),
             "efficientdet.network": lambda: predictor.network(x), "efficientdet": lambda: predictor(photo)}
    lines = []
    with torch.inference_mode():
        for name, call in calls.items():
            seconds, others = sample(call, arguments)
            lines.append(timing("detect." + name, "ms", seconds, others) | {"compile": arguments.compile})
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--bfloat16", action="store_true")
    parser.add_argument("--jit", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--amp", choices=["float16", "bfloat16"])
    parser.add_argument("--seconds", type=float, default=3, help="time for one measurement")
    parser.add_argument("--patience", type=float, default=60, help="seconds to wait for a quiet machine")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = True
    case = arguments.case
    if case in ("lstm_lm", "lstm_ragged"):
        line = lstm_lm(arguments)
    elif case in ("gpt_small", "gpt_nano"):
        line = gpt(arguments)
    elif case == "transformer_infer":
        line = transformer_infer(arguments)
    elif case == "attention":
        line = attention(arguments)
    elif case == "n_step":
        line = n_step(arguments)
    elif case in ("retinanet_train", "efficientdet_train"):
        line = train_detector(arguments, case.removesuffix("_train"))
    elif case == "detect":
        line = detect(arguments)
    elif case == "cnn_seed":
        line = train(case, cnn_seed(), (32, 3, 32, 32), 10, arguments)
    elif case == "resnet18_cifar":
        line = train(case, resnet(False), (64, 3, 32, 32), 10, arguments)
    elif case == "resnet50_infer":
        line = infer(arguments)
    else:
        name = "mem.resnet50_train_bs8" if case == "mem" else "resnet50_train_bs8"
        line = train(name, resnet(True), (8, 3, 224, 224), 1000, arguments)
    for each in line if isinstance(line, list) else [line]:
        if arguments.device != "cpu":
            each |= {"device": torch.cuda.get_device_name(), "mode": arguments.amp or "tf32", "compile": arguments.compile,
                     "peak_mib": torch.cuda.max_memory_allocated() >> 20}
        common = {"bench": each.pop("bench"), "impl": f"pytorch-{torch.__version__}", "threads": arguments.threads,
                  "layout": "channels_last" if arguments.channels_last else "plain"}
        print(json.dumps(common | each, separators=(",", ":")))


if __name__ == "__main__":
    sys.exit(main())
