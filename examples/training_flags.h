#pragma once

// What programs that train with a Trainer have in common: flags and reports.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/precision.h"

struct TrainingDefaults {
  int64_t batchsize = 64;
  int64_t epoch = 10;
};

struct TrainingArguments : Flags {
  explicit TrainingArguments(const TrainingDefaults& defaults = {}) : defaults_{defaults} {}

 private:
  TrainingDefaults defaults_;

 public:
  int64_t batchsize = count("-b,--batchsize", defaults_.batchsize, "Number of examples in each mini-batch");
  int64_t epoch = count("-e,--epoch", defaults_.epoch, "Number of sweeps over the dataset to train");
  std::string device = device_flag();
  std::string out = out_flag();
  std::string resume = resume_flag();
  int64_t seed = seed_flag();
  PrecisionFlags precision = precision_flags(*this);
};

// Trains, with snapshots and a line of these values for each epoch. Returns what the last line reports.
inline kusari::training::extensions::LogEntry run_training(
    kusari::training::Trainer& trainer, const TrainingArguments& args, std::vector<std::string> columns,
    const kusari::training::TriggerRef& snapshots = {1, "epoch"}) {
  using namespace kusari;
  trainer.extend(extensions::snapshot({.n_retains = 1}), {.trigger = snapshots});
  extensions::LogReport log;
  trainer.extend(log);
  trainer.extend(extensions::PrintReport(std::move(columns)));
  trainer.extend(extensions::ProgressBar());
  if (!args.resume.empty()) serializers::load_npz(args.resume, trainer);
  trainer.run();
  return log.last();
}
