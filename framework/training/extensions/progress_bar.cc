#include "kusari/framework/training/extensions/progress_bar.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/core/seconds.h"
#include "kusari/framework/training/extensions/terminal.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training::extensions {
namespace {

constexpr size_t kDrawings = 100;  // that the speed is measured over

template <class... Args>
std::string format(const char* pattern, Args... args) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, args...);
  return text;
}

double fraction_done(const TrainingLength& length, int64_t iteration, double epoch) {
  const double done = length.unit == "iteration" ? static_cast<double>(iteration) : epoch;
  return std::min(done / length.period, 1.0);
}

/// Nothing where steps are not measured.
std::string describe(const updaters::StepTimes& steps) {
  if (steps.iterations == 0) return {};
  const double milliseconds = 1e3 / static_cast<double>(steps.iterations);
  return format("%.2f ms data, %.2f ms compute", steps.data * milliseconds, steps.compute * milliseconds) +
         (steps.is_input_bound() ? ": input bound" : "");
}

}  // namespace

std::string format_timedelta(double seconds) {
  constexpr double kLongest = 999999999.0 * 86400;  // days of Python's timedelta
  if (!(std::abs(seconds) < kLongest)) return "unknown";
  const double whole = std::floor(std::max(seconds, 0.0));  // in microseconds it may exceed int64
  const int64_t rounded = std::llround((std::max(seconds, 0.0) - whole) * 1e6);
  const int64_t total = static_cast<int64_t>(whole) + rounded / 1000000, micro = rounded % 1000000;
  const int64_t second = total % 60, minute = total / 60 % 60, hour = total / 3600 % 24, days = total / 86400;
  std::string text;
  if (days > 0) text = format("%lld day%s, ", static_cast<long long>(days), days == 1 ? "" : "s");
  text += format("%lld:%02lld:%02lld", static_cast<long long>(hour), static_cast<long long>(minute),
                 static_cast<long long>(second));
  if (micro > 0) text += format(".%06lld", static_cast<long long>(micro));
  return text;
}

ProgressBar::ProgressBar(ProgressBarOptions options)
    : options_{std::move(options)}, is_terminal_{is_terminal(options_.out)}, last_line_{steady_seconds()} {
  if (options_.update_interval < 1 || options_.bar_length < 1) {
    throw ValueError("ProgressBar: update_interval is " + general_text(options_.update_interval) +
                     " and bar_length is " + std::to_string(options_.bar_length) + ": both must be positive");
  }
  if (options_.training_length && !(options_.training_length->period > 0)) {
    throw ValueError("ProgressBar: the training length must be positive");
  }
}

ProgressBar::Speed ProgressBar::measure_speed(const updaters::Updater& updater) {
  const double now = steady_seconds();
  recent_.push_back({updater.iteration(), updater.epoch_detail(), now, updater.step_times()});
  if (recent_.size() > kDrawings) recent_.erase(recent_.begin());
  const Time &current = recent_.back(), &old = recent_.front();
  const double span = now - old.at;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (span == 0) return {kInfinity, kInfinity, current.steps};
  return {static_cast<double>(current.iteration - old.iteration) / span, (current.epoch - old.epoch) / span,
          current.steps.since(old.steps)};
}

std::string ProgressBar::bar(double rate) const {
  const int marks = static_cast<int>(rate * options_.bar_length);
  return "[" + std::string(static_cast<size_t>(marks), '#') +
         std::string(static_cast<size_t>(options_.bar_length - marks), '.') + "] " + format("%5.2f%%", 100 * rate);
}

void ProgressBar::operator()(Trainer& trainer) {
  const int64_t iteration = trainer.updater().iteration();
  if (iteration % options_.update_interval != 0) return;
  const auto length =
      options_.training_length ? options_.training_length : trainer.stop_trigger().get_training_length();
  if (is_terminal_) {
    draw(trainer, length);
  } else {
    print_line(trainer, length);
  }
}

void ProgressBar::draw(Trainer& trainer, const std::optional<TrainingLength>& length) {
  const int64_t iteration = trainer.updater().iteration();
  const double epoch = trainer.updater().epoch_detail();
  const Speed speed = measure_speed(trainer.updater());
  int lines = 3;
  std::string text = kEraseBelow;
  if (length) {
    text += "     total " + bar(fraction_done(*length, iteration, epoch)) + "\n";
    ++lines;
  }
  text += "this epoch " + bar(epoch - std::floor(epoch)) + "\n";
  text += format("%10lld iter, %lld epoch", static_cast<long long>(iteration),
                 static_cast<long long>(trainer.updater().epoch()));
  if (length) text += format(" / %.15g %ss", length->period, length->unit.c_str());
  text += format("\n%10.5g iters/sec.", speed.iterations);
  if (length) {
    const bool by_iteration = length->unit == "iteration";
    const double left = length->period - (by_iteration ? static_cast<double>(iteration) : epoch);
    text +=
        " Estimated time to finish: " + format_timedelta(left / (by_iteration ? speed.iterations : speed.epochs)) + ".";
  }
  text += "\n";
  if (const std::string steps = describe(speed.steps); !steps.empty()) {
    text += "           " + steps + "\n";
    ++lines;
  }
  text += format("\033[%dA", lines);  // back to the first line
  std::fputs(text.c_str(), options_.out);
  std::fflush(options_.out);
}

void ProgressBar::print_line(Trainer& trainer, const std::optional<TrainingLength>& length) {
  const int64_t iteration = trainer.updater().iteration();
  const double epoch = trainer.updater().epoch_detail();
  const Speed speed = measure_speed(trainer.updater());
  const double now = steady_seconds();
  if (now - last_line_ < options_.plain_interval) return;
  last_line_ = now;
  std::string text = format("%10lld iter, %.2f epoch", static_cast<long long>(iteration), epoch);
  if (length) {
    text += format(" / %.15g %ss (%.2f%%)", length->period, length->unit.c_str(),
                   100 * fraction_done(*length, iteration, epoch));
  }
  text += format(", %.5g iters/sec", speed.iterations);
  if (const std::string steps = describe(speed.steps); !steps.empty()) text += ", " + steps;
  text += "\n";
  std::fputs(text.c_str(), options_.out);
  std::fflush(options_.out);
}

void ProgressBar::finalize() {
  if (!is_terminal_) return;
  std::fputs(kEraseBelow, options_.out);
  std::fflush(options_.out);
}

}  // namespace kusari::training::extensions
