#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extension.h"
#include "kusari/updaters/updater.h"

namespace kusari::training::extensions {

struct ProgressBarOptions {
  std::optional<TrainingLength> training_length = std::nullopt;  ///< the stop trigger's when not given
  int64_t update_interval = 100;                                 ///< iterations between two drawings
  int bar_length = 50;                                           ///< characters
  std::FILE* out = stdout;
  double plain_interval = 30;  ///< seconds between two lines where there is no terminal
};

/// Shows how far the training is, its speed, and when it will end: four lines at the bottom of a terminal, which rows
/// of a PrintReport push down. A fifth, where the updater measures its steps, tells how long an iteration waits for
/// data and how long it computes, "input bound" if data takes more. Where the output is no terminal, one plain line now
/// and then. Nothing here waits for a device.
/// Throws ValueError for an interval or a length that is not positive.
/// chainer.training.extensions.ProgressBar.
class KUSARI_API ProgressBar final : public Extension {
 public:
  explicit ProgressBar(ProgressBarOptions options = {});

  void operator()(Trainer& trainer) override;
  void finalize() override;
  std::string default_name() const override { return "ProgressBar"; }

 private:
  struct Time {
    int64_t iteration;
    double epoch;
    double at;
    updaters::StepTimes steps;
  };
  struct Speed {
    double iterations, epochs;  // a second
    updaters::StepTimes steps;  // on the way
  };

  Speed measure_speed(const updaters::Updater& updater);
  std::string bar(double rate) const;
  void draw(Trainer& trainer, const std::optional<TrainingLength>& length);
  void print_line(Trainer& trainer, const std::optional<TrainingLength>& length);

  ProgressBarOptions options_;
  bool is_terminal_;
  std::vector<Time> recent_;  // of the last 100 drawings
  double last_line_;
};

/// Seconds as Python prints a timedelta: "0:00:19.305000", "2 days, 1:00:00".
KUSARI_API std::string format_timedelta(double seconds);

}  // namespace kusari::training::extensions
