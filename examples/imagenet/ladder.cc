// Climbs from a plain float32 training of ResNet-50 to a fast one, a change at a time, and says what each change gives.
// Writes the rows as a Markdown table, with the lines that a program changes for each, and as a bar chart.
//
//   ladder --device cuda:0 --batchsize 128 --loaderjob 16                     # images of noise
//   ladder --device cuda:0 --batchsize 128 --loaderjob 16 --train train.tar   # JPEG files
//   ladder --batchsize 8 --iterations 10 --warmup 2                           # the steps that a CPU has
//
// Every step is measured in a process of its own, which begins with empty caches and memory pools.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <kusari/kusari.h>
#include <nlohmann/json.hpp>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/imagenet/archs.h"
#include "kusari/examples/imagenet/ladder_data.h"
#include "kusari/examples/imagenet/ladder_measure.h"
#include "kusari/examples/imagenet/ladder_report.h"
#include "kusari/examples/imagenet/ladder_steps.h"
#include "kusari/examples/imagenet/loader.h"

using namespace kusari;

namespace {

// Beside the steps, with the settings of the last: what limits it.
constexpr const char* kNetworkAlone = "network_alone";
constexpr const char* kLoaderAlone = "loader_alone";

struct Arguments : Flags {
  std::string train =
      text("--train", "", "Training images: a folder or tar of classes, or an image-label list file (default: noise)");
  std::string root = text("-R,--root", ".", "Root directory path of the image files of a list");
  std::string arch = text("-a,--arch", "resnet50", "Convnet architecture", key_of(kArchs));
  std::string device = device_flag();
  int64_t batchsize = count("-B,--batchsize", 32, "Learning minibatch size");
  int64_t larger_batchsize = count("--larger-batchsize", 0, "That of the last step (default: twice as large)");
  int64_t iterations = count("-i,--iterations", 50, "Iterations that are measured on each step");
  int64_t warmup = count("--warmup", 10, "Iterations before them");
  int64_t image_side = count("--image-side", 0, "Side of the images in a batch (default: that of the architecture)");
  std::vector<std::string> steps =
      value<std::vector<std::string>>("--steps", {}, "The steps to measure (default: all)");
  std::string out = text("-o,--out", "result", "Directory for the table and the chart");
  std::string measure = text("--measure", "", "Measure one step in this process", hidden());
  LoaderFlags loader = loader_flags(*this, "process");

  Arguments() {
    if (larger_batchsize == 0) larger_batchsize = 2 * batchsize;
    if (loader.jobs == 0) loader.jobs = num_threads();
    if (image_side == 0) image_side = kArchs.at(arch).insize;
  }
};

struct Ladder {
  explicit Ladder(const Arguments& args)
      : bottom{.batch_size = args.batchsize},
        top{.loader = kLoaders.at(args.loader.loader), .jobs = args.loader.jobs, .batch_size = args.larger_batchsize},
        steps{ladder_steps(get_device(args.device).is_cpu(), top)} {
    for (const std::string& name : args.steps) {
      if (!is_reference(name) &&
          std::none_of(steps.begin(), steps.end(), [&](const Step& step) { return step.name == name; })) {
        std::string names;
        for (const Step& step : steps) names += step.name + ", ";
        throw ValueError("--steps: " + name + " is none of " + names + kNetworkAlone + ", " + kLoaderAlone);
      }
    }
  }
  static bool is_reference(const std::string& name) { return name == kNetworkAlone || name == kLoaderAlone; }

  Settings bottom, top;
  std::vector<Step> steps;
};

// Where the choices of autotune go from the process of one step to the next, as a snapshot would carry them.
std::filesystem::path tuning_file(const Arguments& args) {
  return std::filesystem::path(args.out) / "ladder_tuning.txt";
}

bool is_wanted(const Arguments& args, const std::string& name) {
  return args.steps.empty() || std::count(args.steps.begin(), args.steps.end(), name) > 0;
}

// In the process of a step.
void measure(const Arguments& args) {
  const Ladder ladder(args);
  std::string step = args.measure;
  if (Ladder::is_reference(step)) {
    for (const Step& s : ladder.steps) {
      if (is_wanted(args, s.name)) step = s.name;
    }
  }
  const Settings settings = settings_at(ladder.steps, step, ladder.bottom, ladder.top);
  const Device device = get_device(args.device);
  random::seed(0);
  apply_config(settings);
  if (settings.autotune) {
    std::ifstream choices(tuning_file(args));
    tuning::restore({std::istreambuf_iterator<char>(choices), {}});
  }
  const auto images = open_squares(args.train, args.root, args.image_side, args.larger_batchsize);
  const MeasureOptions options{device, &kArchs.at(args.arch), args.image_side, args.warmup, args.iterations};
  const auto measured = args.measure == kNetworkAlone  ? measure_network
                        : args.measure == kLoaderAlone ? measure_loader
                                                       : measure_training;
  const Speed speed = measured(settings, images, options);
  if (settings.autotune) std::ofstream(tuning_file(args)) << tuning::choices();
  std::printf("%s\n", nlohmann::json{{"iterations_per_s", speed.iterations_per_s},
                                     {"images_per_s", speed.images_per_s},
                                     {"data_ms", speed.data_ms},
                                     {"compute_ms", speed.compute_ms}}
                          .dump()
                          .c_str());
}

std::string shell_quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// Runs this program again for one step.
Speed measure_in_process(int argc, char** argv, const std::string& step) {
  std::string command = shell_quoted(std::filesystem::read_symlink("/proc/self/exe").string());
  for (int i = 1; i < argc; ++i) command += " " + shell_quoted(argv[i]);
  command += " --measure " + step;
  // The choice of an algorithm for all convolutions is read once in a process.
  if (step == "im2col") {
    ::setenv("KUSARI_CONVOLUTION", "im2col", 1);
  } else {
    ::unsetenv("KUSARI_CONVOLUTION");
  }
  std::FILE* const program = ::popen(command.c_str(), "r");
  if (program == nullptr) throw IoError("ladder: cannot run " + command);
  std::string output;
  char buffer[512];
  while (std::fgets(buffer, sizeof buffer, program) != nullptr) output += buffer;
  if (::pclose(program) != 0) throw Error("ladder: step " + step + " failed");
  const auto speed = nlohmann::json::parse(output);
  return {.iterations_per_s = speed.at("iterations_per_s"),
          .images_per_s = speed.at("images_per_s"),
          .data_ms = speed.at("data_ms"),
          .compute_ms = speed.at("compute_ms")};
}

// What holds the last row back: the network itself, or its input.
std::string limits(const Row& last, const Speed& network, const Speed& loader, int64_t jobs) {
  const double share = last.speed.images_per_s / network.images_per_s;
  std::string text = formatted(
      "The network alone, on a batch that stays on the device: %.1f images/s, of which the last row reaches %.0f %%. "
      "The loader alone, with %lld worker(s): %.1f images/s.",
      network.images_per_s, 100 * share, static_cast<long long>(jobs), loader.images_per_s);
  if (share < 0.95) {
    const double needed = std::ceil(static_cast<double>(jobs) * network.images_per_s / loader.images_per_s);
    text += formatted(" The rate of the network takes %.0f worker(s), beside the cores that it computes on.", needed);
  }
  return text;
}

int climb(const Arguments& args, int argc, char** argv) {
  const Ladder ladder(args);
  const std::string images =
      args.train.empty() ? "random images" : "images of " + std::filesystem::path(args.train).filename().string();
  const std::string side = std::to_string(args.image_side);
  Report report{.title = args.arch + ", " + get_device(args.device).name() + ", " + images + " at " + side + " x " +
                         side + ", batch " + std::to_string(args.batchsize),
                .rows = {},
                .notes = {}};
  std::filesystem::create_directories(args.out);
  std::filesystem::remove(tuning_file(args));
  int failures = 0;
  const auto measured = [&](const std::string& name) {
    try {
      return measure_in_process(argc, argv, name);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      ++failures;
      return Speed{};
    }
  };
  std::printf("Speeds are against the first step and (against the one before).\n");
  std::string change;
  for (const Step& step : ladder.steps) {
    change += (change.empty() ? "" : "\n") + step.change;
    if (!is_wanted(args, step.name)) continue;
    const Speed speed = measured(step.name);
    if (speed.iterations_per_s == 0) {
      report.notes.push_back("The step \"" + step.title + "\" failed and is left out.");
      continue;
    }
    report.rows.push_back({step.name, step.title, change, speed});
    change.clear();
    const double first = report.rows.front().speed.images_per_s;
    const double before = report.rows[report.rows.size() - std::min<size_t>(2, report.rows.size())].speed.images_per_s;
    std::printf("%-37s %6.3g iterations/s %8.1f images/s  %.2fx (%.2fx)  data %.1f ms, compute %.1f ms\n",
                step.title.c_str(), speed.iterations_per_s, speed.images_per_s, speed.images_per_s / first,
                speed.images_per_s / before, speed.data_ms, speed.compute_ms);
    std::fflush(stdout);
    write_report(report, args.out);
  }
  if (!report.rows.empty() && is_wanted(args, kNetworkAlone) && is_wanted(args, kLoaderAlone)) {
    const Speed network = measured(kNetworkAlone), loader = measured(kLoaderAlone);
    if (network.iterations_per_s > 0 && loader.iterations_per_s > 0) {
      report.notes.push_back(limits(report.rows.back(), network, loader, args.loader.jobs));
      std::printf("%s\n", report.notes.back().c_str());
    }
  }
  if (!report.rows.empty()) write_report(report, args.out);
  std::filesystem::remove(tuning_file(args));
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: a training made fast, one change at a time",
                                [&](const Arguments& args) {
                                  if (args.measure.empty()) return climb(args, argc, argv);
                                  measure(args);
                                  return 0;
                                });
}
