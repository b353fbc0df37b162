"""Runs tools/gpu_check and tools/compare_gpu with programs that only say something, and no card: what passes, fails and could
not run is told apart, what was measured stays, and nothing goes on after a kill."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PASSES = 'echo "test cases: 3 | 3 passed | 0 failed"'


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)


def fake_build(folder):
    for name in ("gpu", "amp", "distributions", "functions", "kernels", "optimizers", "properties", "quantization", "static_graph",
                 "training", "xp"):
        write(folder / "tests" / f"test_{name}", PASSES)
    write(folder / "tests" / "golden_runner", PASSES)
    write(folder / "tests" / "test_distributed", PASSES)
    write(folder / "tools" / "kusari-bench", """case "$*" in
*host_cost*) echo ok;;
*small_mlp*) echo "no such case" >&2; exit 3;;
*) echo '{"ms_per_step": 2.5, "batch": 4, "peak_mib": 3, "items_per_s": 1600}';;
esac""")
    log = '[{"epoch": 3, "validation/main/accuracy": %s}]'
    for name, accuracy in (("mnist/train_mnist", 0.97), ("cifar/train_cifar", 0.1)):
        write(folder / "examples" / name, f"""while [ "$1" != --out ]; do shift; done
mkdir -p "$2"; echo '{log % accuracy}' > "$2/log" """)
    write(folder / "examples" / "imagenet" / "ladder", "exit 0")
    for name in ("libkusari.so", "libkusari_cuda.so"):
        (folder / name).touch()


def run(build, out, *arguments, card=True, tools=None):
    path = os.environ["PATH"]
    bin_folder = out.parent / ("bin" if card else "bin_without")
    bin_folder.mkdir(exist_ok=True)
    if card:
        write(bin_folder / "nvidia-smi", 'echo "A card, 1, 2 MiB"')
    else:
        write(bin_folder / "nvidia-smi", "exit 9")
    if tools:
        write(bin_folder / "compute-sanitizer", tools)
    command = [sys.executable, ROOT / "tools" / "gpu_check", "--build", build, "--out", out, *arguments]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env={**os.environ, "PATH": f"{bin_folder}:{path}"})
    report = out / "gpu_check.json"
    steps = {s["name"]: s for s in json.loads(report.read_text())["steps"]} if report.exists() else {}
    return done, steps


def expect(condition, what, *details):
    if not condition:
        print("FAIL:", what, *details)
        sys.exit(1)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        build = scratch / "build"
        fake_build(build)

        done, _ = run(build, scratch / "none", "--preflight", card=False)
        expect(done.returncode == 77 and "NOT READY: no card" in done.stdout, "a preflight without a card", done.stdout)
        done, steps = run(build, scratch / "none", "--call", "1", card=False)
        expect(done.returncode == 77, "without a card nothing fails", done.returncode)
        expect({s["state"] for s in steps.values()} == {"could not run"} and steps["golden"]["last_line"] == "no card", "states without a card")

        done, steps = run(build, scratch / "good", "--call", "1")
        expect(done.returncode == 0 and "READY" in done.stdout, "all passes", done.stdout, done.stderr)
        expect(all(s["state"] == "passed" for s in steps.values()) and len(steps) == 15, "states", steps)

        # Another call fills the same table. compute-sanitizer is refused; the accuracy of one example is too small.
        refused = 'echo "========= Error: Target application terminated before first instrumented API call"; exit 1'
        done, steps = run(build, scratch / "good", "--call", "3", tools=refused)
        expect(done.returncode == 1, "a wrong accuracy is a failure", done.returncode)
        expect(steps["golden"]["state"] == "passed", "what an earlier call found stays")
        expect(steps["memcheck"]["state"] == "could not run", "a refused compute-sanitizer", steps["memcheck"])
        expect(steps["mnist_cuda0"]["state"] == "passed" and steps["cifar_gpu"]["state"] == "failed", "accuracies", steps)
        done, steps = run(build, scratch / "errors", "--only", "memcheck", tools='echo "========= ERROR SUMMARY: 2 errors"; exit 1')
        expect(steps["memcheck"]["state"] == "failed", "memory errors", steps["memcheck"])

        write(build / "tests" / "test_gpu", 'echo "test cases: 3 | 0 passed | 0 failed | 3 skipped"; exit 77')
        done, steps = run(build, scratch / "no_device", "--call", "1")
        expect(done.returncode == 77 and "NOT READY: the library finds no device" in done.stdout, "a library without a device", done.stdout)
        write(build / "tests" / "test_gpu", PASSES)
        write(build / "tests" / "golden_runner", "exit 1")
        done, steps = run(build, scratch / "bad", "--only", "golden")
        expect(done.returncode == 1 and steps["golden"]["state"] == "failed", "a failure", steps)

        # The benchmarks: one case fails, the others are rows.
        done, steps = run(build, scratch / "bench", "--call", "2", "--minutes", "2")
        compared = json.loads((scratch / "bench" / "compare.json").read_text())
        expect(steps["compare_gpu"]["state"] == "failed", "a case that fails", steps)
        expect(compared["rows"][0]["case"] == "resnet50" and compared["rows"][0]["precision"] == "float16", "the order", compared["rows"])
        expect(not any(r["case"] == "small_mlp" for r in compared["rows"]), "a failed case has no row")
        expect(compared["rows"][0]["kusari static graph"] == 2.5, "both ways of ours")

        # A kill in the middle leaves what was measured, and no program.
        pid_file = scratch / "pid"
        write(build / "tools" / "kusari-bench", f"""if [ -e {scratch / "second"} ]; then echo $$ > {pid_file}; sleep 600; fi
touch {scratch / "second"}; echo '{{"ms_per_step": 2.5, "batch": 4}}'""")
        killed = subprocess.Popen([sys.executable, str(ROOT / "tools" / "compare_gpu"), "--build", str(build), "--no-torch", "--json",
                                   str(scratch / "killed.json")], stdout=subprocess.DEVNULL)
        for _ in range(300):
            if pid_file.exists() and pid_file.read_text().strip():
                break
            time.sleep(0.1)
        killed.send_signal(signal.SIGTERM)
        killed.wait(timeout=20)
        expect(len(json.loads((scratch / "killed.json").read_text())["rows"]) == 1, "what was measured before a kill")
        child = int(pid_file.read_text())
        for _ in range(200):
            if not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split()[2]:
                break
            time.sleep(0.1)
        else:
            expect(False, "a program goes on after a kill")
    print("passed")


if __name__ == "__main__":
    main()
