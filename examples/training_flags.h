#pragma once

// What the programs that train with a Trainer have in common: flags, reports, and how errors are told.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

#include "kusari/examples/precision.h"

struct TrainingFlags {
  int64_t batchsize = 64;
  int64_t epoch = 10;
  std::string device = "cpu";
  std::string out = "result";
  std::string resume = {};
  int64_t seed = -1;
  PrecisionFlags precision = {};
};

inline void add_count(CLI::App& parser, const std::string& name, int64_t& value, const std::string& what) {
  parser.add_option(name, value, what)->check(CLI::PositiveNumber)->capture_default_str();
}

// Numbers in `flags` are the defaults.
inline void add_training_flags(CLI::App& parser, TrainingFlags& flags) {
  add_count(parser, "-b,--batchsize", flags.batchsize, "Number of examples in each mini-batch");
  add_count(parser, "-e,--epoch", flags.epoch, "Number of sweeps over the dataset to train");
  parser.add_option("-d,--device,-g,--gpu", flags.device, "cpu, or cuda:N or N for a GPU")->capture_default_str();
  parser.add_option("-o,--out", flags.out, "Directory to output the result")->capture_default_str();
  parser.add_option("-r,--resume", flags.resume, "Resume the training from this snapshot");
  parser.add_option("--seed", flags.seed, "Seed of the random numbers; runs with the same one are the same");
  add_precision_flags(parser, flags.precision);
}

// To be called before data are drawn and the model is made.
inline kusari::Device begin_training(const TrainingFlags& flags) {
  if (flags.seed >= 0) kusari::random::seed(static_cast<uint64_t>(flags.seed));
  set_dtype(flags.precision);
  return kusari::get_device(flags.device);
}

// Trains, with snapshots and a line of these values for each epoch. Returns what the last line reports.
inline kusari::training::extensions::LogEntry run_training(kusari::training::Trainer& trainer,
                                                           const TrainingFlags& flags, std::vector<std::string> columns,
                                                           const kusari::training::TriggerRef& snapshots = {1,
                                                                                                            "epoch"}) {
  using namespace kusari;
  trainer.extend(extensions::snapshot({.n_retains = 1}), {.trigger = snapshots});
  extensions::LogReport log;
  trainer.extend(log);
  trainer.extend(extensions::PrintReport(std::move(columns)));
  trainer.extend(extensions::ProgressBar());
  if (!flags.resume.empty()) serializers::load_npz(flags.resume, trainer);
  trainer.run();
  return log.last();
}

// main: parses the arguments, and runs a program that throws when something is wrong.
template <class Program>
int run_program(const char* name, CLI::App& parser, int argc, char** argv, Program program) {
  try {
    parser.parse(argc, argv);
    program();
    return 0;
  } catch (const CLI::ParseError& error) {
    return parser.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}
