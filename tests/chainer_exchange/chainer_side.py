"""Exchanges files of models, optimizers and trainers between Chainer and Kusari, both ways, and compares what both compute
with them. tools/check_chainer runs this with a Python that has Chainer.

    chainer_side.py PROGRAM [--only mlp ...] [--dtype float32 float64]
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np

warnings.filterwarnings("ignore")  # Chainer's, of a newer Python
import chainer  # noqa: E402
import chainer.functions as F  # noqa: E402
import chainer.links as L  # noqa: E402
from chainer import training  # noqa: E402
from chainer.training import extensions  # noqa: E402

STEPS = 3
TOLERANCE = {"float32": 1e-6, "float64": 1e-13}  # of numbers up to 1, relative beyond
# RMSprop's first steps are as large for the smallest gradients, which have lost digits.
FACTOR = {"optimizer:RMSprop": 5}
FLOAT32_ALONE = ["tagger"]  # as is Chainer's L.Bilinear
OPTIMIZERS = ["AMSBound", "AMSGrad", "AdaBound", "AdaDelta", "AdaGrad", "Adam", "AdamW", "CorrectedMomentumSGD", "MSVAG",
              "MomentumSGD", "NesterovAG", "RMSprop", "RMSpropGraves", "SGD", "SMORMS3"]
# Seconds since the start, which differ, and the log, which has such.
TIMES = ("_snapshot_elapsed_time", "extensions/LogReport/_log")


class Mlp(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(None, 20)
            self.l2 = L.Linear(20, 20)
            self.l3 = L.Linear(None, 5)

    def forward(self, x):
        return self.l3(F.relu(self.l2(F.relu(self.l1(x)))))


class Cnn(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(None, 6, 3, stride=2, pad=1)
            self.bn1 = L.BatchNormalization(6)
            self.depthwise = L.DepthwiseConvolution2D(None, 2, 3, pad=1)
            self.gn = L.GroupNormalization(3)
            self.prelu = L.PReLU((12,))
            self.deconv = L.Deconvolution2D(None, 3, 4, stride=2, pad=1, nobias=True)
            self.brn = L.BatchRenormalization(3, rmax=2, dmax=1)
            self.scale = L.Scale(1, (3,), bias_term=True)
        self.add_persistent("colour", np.zeros(3, chainer.config.dtype))
        self.add_persistent("seen", 0)
        self.add_persistent("rate", 1.0)
        self.add_persistent("is_trained", False)
        self.add_persistent("note", "new")

    def forward(self, x):
        if chainer.config.train:
            self.colour[...] = x.mean(axis=(0, 2, 3))
            self.seen += len(x)
            self.rate *= 0.5
            self.is_trained = True
            self.note = "seen %d" % self.seen
        h = F.relu(self.bn1(self.conv(x)))
        down = F.dropout(self.prelu(self.gn(self.depthwise(h))), 0.3)
        return self.scale(self.brn(self.deconv(down)))

    def loss(self, x):
        return F.mean(self(x) * x)


class Tagger(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.crf = L.CRF1d(5)
            self.softmax = L.BinaryHierarchicalSoftmax(
                8, L.BinaryHierarchicalSoftmax.create_huffman_tree({0: 5, 1: 2, 2: 2, 3: 7, 4: 1, 5: 3}))
            self.embed = L.EmbedID(11, 8)
            self.norm = L.LayerNormalization()
            self.highway = L.Highway(8)
            self.bilinear = L.Bilinear(8, 8, 5)
            self.maxout = L.Maxout(None, 5, 3)
            self.tail = chainer.Sequential(L.Linear(None, 7), F.tanh, L.Linear(7, 5))

    def forward(self, ids):
        labels, before = [], None
        for column in ids.T:
            h = self.highway(self.norm(self.embed(column)))
            before = h if before is None else before
            labels.append(self.bilinear(h, before) + self.maxout(h) + self.tail(before))
            before = h
        return labels, before

    def loss(self, ids, labels, word):
        scores, last = self(ids)
        return self.crf(scores, labels) + self.softmax(last, word)


class Folder:
    def __init__(self, path, writes):
        self.path, self.writes, self.results = path, writes, {}
        with np.load(path / "inputs.npz") as inputs:
            self.input = dict(inputs)

    def result(self, key, value):
        self.results[key] = getattr(value, "array", value)

    def results_of(self, model):
        for name, parameter in model.namedparams():
            self.result("after" + name, parameter)

    def exchange(self, name, target):
        """Saves the object, or loads it and saves what it is then, which should be the same file."""
        if self.writes:
            return chainer.serializers.save_npz(self.path / (name + ".npz"), target)
        chainer.serializers.load_npz(str(self.path / (name + ".npz")), target)
        if name != "trainer":  # Chainer saves only those that run
            chainer.serializers.save_npz(self.path / (name + "_again.npz"), target)


def train(optimizer, loss):
    for _ in range(STEPS):
        optimizer.update(loss)


def exchange_model(folder, model, loss):
    if folder.writes:
        train(chainer.optimizers.SGD(0.1).setup(model), loss)
    folder.exchange("model", model)


def mlp(folder):
    model = L.Classifier(Mlp())
    x, t = folder.input["x"], folder.input["t"]
    exchange_model(folder, model, lambda: model(x, t))
    model(x, t)
    folder.result("y", model.y)
    folder.result("loss", model.loss)
    folder.result("accuracy", model.accuracy)


def cnn(folder):
    model = Cnn()
    x = folder.input["images"]
    exchange_model(folder, model, lambda: model.loss(x))
    with chainer.using_config("train", False):
        folder.result("y", model(x))


def tagger(folder):
    model = Tagger()
    ids, word, labels = folder.input["ids"], folder.input["word"], list(folder.input["labels"].T)
    exchange_model(folder, model, lambda: model.loss(ids, labels, word))
    scores, last = model(ids)
    for i, score in enumerate(scores):
        folder.result("scores%d" % i, score)
    folder.result("loss", model.crf(scores, labels))
    folder.result("word", model.softmax(last, word))
    best, path = model.crf.argmax(scores)
    folder.result("best", best)
    for i, chosen in enumerate(path):
        folder.result("path%d" % i, chosen)


def optimizer(folder, name):
    model = L.Classifier(Mlp())
    x, t = folder.input["x"], folder.input["t"]
    chosen = getattr(chainer.optimizers, name)().setup(model)
    if folder.writes:
        train(chosen, lambda: model(x, t))
    folder.exchange("model", model)
    folder.exchange("optimizer", chosen)
    if name == "MSVAG" and not folder.writes:  # Chainer does not save this number, so its resumed runs begin with another
        for parameter in model.params():
            parameter.update_rule.beta_power = chosen.beta ** (chosen.t + 1)
    train(chosen, lambda: model(x, t))
    folder.results_of(model)


def trainer(folder):
    model = L.Classifier(Mlp())
    adam = chainer.optimizers.Adam().setup(model)
    adam.add_hook(chainer.optimizer_hooks.WeightDecay(0.01))
    data = chainer.datasets.TupleDataset(folder.input["rows"], folder.input["classes"])
    iterator = chainer.iterators.SerialIterator(data, 4)
    test_iterator = chainer.iterators.SerialIterator(data, 4, repeat=False, shuffle=False)
    run = training.Trainer(training.updaters.StandardUpdater(iterator, adam), (2, "epoch"), str(folder.path))
    run.extend(extensions.Evaluator(test_iterator, model), trigger=(2, "iteration"))
    run.extend(extensions.ExponentialShift("alpha", 0.9), trigger=(4, "iteration"))
    log = extensions.LogReport(trigger=(2, "iteration"), filename=None)
    run.extend(log)
    if folder.writes:
        run.extend(extensions.snapshot(filename="trainer.npz"), name="snapshot", trigger=(8, "iteration"))
    else:
        folder.exchange("trainer", run)
    run.run()
    for key in ("main/loss", "main/accuracy", "validation/main/loss", "epoch", "iteration"):
        folder.result("log/" + key, np.array([row[key] for row in log.log], "d"))
    folder.result("alpha", np.array([adam.alpha]))
    folder.results_of(model)


def run_chainer(case, path, writes):
    np.random.seed(2)
    folder = Folder(path, writes)
    name, _, argument = case.partition(":")
    globals()[name](folder, *([argument] if argument else []))
    np.savez(path / ("written.npz" if writes else "read.npz"), **folder.results)


def load(path):
    with np.load(path, allow_pickle=True) as file:
        return dict(file)


def inputs(dtype):
    random = np.random.RandomState(0)
    return {
        "x": random.randn(7, 12).astype(dtype), "t": random.randint(0, 5, 7).astype("i"),
        "images": random.rand(4, 3, 8, 8).astype(dtype),
        "ids": random.randint(0, 11, (4, 6)).astype("i"), "labels": random.randint(0, 5, (4, 6)).astype("i"),
        "word": random.randint(0, 6, 4).astype("i"),
        "rows": random.randn(24, 12).astype(dtype), "classes": random.randint(0, 5, 24).astype("i"),
    }


class Failure(Exception):
    pass


def distance(what, a, b):
    """The largest difference, relative where numbers are large. Texts, integers and None must be equal."""
    if a.shape != b.shape:
        raise Failure("%s: shapes %s and %s" % (what, a.shape, b.shape))
    if a.dtype.kind != "f" or b.dtype.kind != "f":
        if not np.array_equal(a, b):
            raise Failure("%s: %s and %s" % (what, a, b))
        return 0.0
    a, b = a.astype("d"), b.astype("d")
    difference = np.abs(a - b) / np.maximum(1, np.abs(a))
    if np.isnan(difference).any():
        raise Failure("%s: not a number" % what)
    return float(difference.max(initial=0.0))


def compare_kinds(what, ours, theirs):
    """Both sides name their entries alike, with the same dtypes and shapes; Kusari's may have more."""
    for key, value in theirs.items():
        if key not in ours:
            raise Failure("%s: Kusari's has no %s" % (what, key))
        if (ours[key].dtype.kind, ours[key].shape) != (value.dtype.kind, value.shape) or (
                value.dtype.kind in "fb" and ours[key].dtype != value.dtype):
            raise Failure("%s: %s is %s %s in Kusari's, %s %s in Chainer's" % (
                what, key, ours[key].dtype, ours[key].shape, value.dtype, value.shape))


def check(case, dtype, program, path):
    """The largest differences: what Kusari wrote and Chainer read, and the other way round."""
    environment = dict(os.environ, CHAINER_DTYPE=dtype)
    environment.pop("KUSARI_DTYPE", None)

    def run_kusari(folder, direction):
        done = subprocess.run([program, case, direction, str(folder)], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise Failure(done.stdout.strip())

    differences, files = [], []
    for writer in ("kusari", "chainer"):
        folder = path / writer
        folder.mkdir(parents=True)
        np.savez(folder / "inputs.npz", **inputs(dtype))
        if writer == "kusari":
            run_kusari(folder, "write")
            run_chainer(case, folder, writes=False)
        else:
            run_chainer(case, folder, writes=True)
            run_kusari(folder, "read")
        written, read = load(folder / "written.npz"), load(folder / "read.npz")
        if set(written) != set(read):
            raise Failure("%s wrote results that the other lacks: %s" % (writer, set(written) ^ set(read)))
        differences.append(max(distance(key, written[key], read[key]) for key in written))
        exchanged = {name: load(folder / (name + ".npz")) for name in ("model", "optimizer", "trainer")
                     if (folder / (name + ".npz")).exists()}
        for name, entries in exchanged.items():
            again = folder / (name + "_again.npz")
            again = load(again) if again.exists() else {}
            for key in set(entries) & set(again):
                if key not in TIMES and distance(key, entries[key], again[key]) != 0:
                    raise Failure("%s.npz: %s changed while %s's was read" % (name, key, writer))
        files.append(exchanged)
    for name, entries in files[0].items():
        compare_kinds(name + ".npz", entries, files[1][name])
    if "model" in files[0] and set(files[0]["model"]) != set(files[1]["model"]):
        raise Failure("model.npz: only one side has %s" % (set(files[0]["model"]) ^ set(files[1]["model"])))
    return differences


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="chainer_exchange, of Kusari's build")
    cases = ["mlp", "cnn", "tagger", "trainer"] + ["optimizer:" + name for name in OPTIMIZERS]
    parser.add_argument("--only", nargs="+", choices=cases, default=cases, metavar="CASE")
    parser.add_argument("--dtype", nargs="+", choices=sorted(TOLERANCE), default=sorted(TOLERANCE))
    args = parser.parse_args()
    print("Chainer %s, numpy %s" % (chainer.__version__, np.__version__))
    print("%-8s %-32s %16s %16s" % ("dtype", "case", "kusari->chainer", "chainer->kusari"))
    failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        for dtype in args.dtype:
            chainer.global_config.dtype = np.dtype(dtype)
            for case in args.only:
                if dtype != "float32" and case in FLOAT32_ALONE:
                    continue
                limit = TOLERANCE[dtype] * FACTOR.get(case, 1)
                try:
                    there, back = check(case, dtype, args.program, pathlib.Path(scratch) / dtype / case.replace(":", "_"))
                    verdict = "" if max(there, back) <= limit else "  FAIL: above %g" % limit
                    print("%-8s %-32s %16.3g %16.3g%s" % (dtype, case, there, back, verdict), flush=True)
                except Exception as failure:  # also what Chainer throws while it reads
                    verdict = "FAIL"
                    print("%-8s %-32s FAIL: %s: %s" % (dtype, case, type(failure).__name__, failure), flush=True)
                failures += bool(verdict)
    print("%d failed" % failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
