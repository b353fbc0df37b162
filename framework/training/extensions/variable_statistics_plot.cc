#include "kusari/framework/training/extensions/variable_statistics_plot.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <limits>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/framework/training/charts/gnuplot_chart.h"
#include "kusari/framework/training/extensions/sample_statistics.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training::extensions {
namespace {

/// The number of that ordinal in a random sequence: SplitMix64 (Steele, Lea and Flood 2014). The training's own random
/// numbers stay what they are without this extension.
uint64_t random_number(int64_t ordinal) {
  uint64_t z = (static_cast<uint64_t>(ordinal) + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

void append(std::vector<double>& to, const std::vector<double>& values) {
  to.insert(to.end(), values.begin(), values.end());
}

}  // namespace

VariableStatisticsPlot::VariableStatisticsPlot(std::vector<StatisticsTarget> targets,
                                               VariableStatisticsPlotOptions options)
    : targets_{std::move(targets)}, options_{std::move(options)} {
  const auto fail = [](const std::string& what) { throw ValueError("VariableStatisticsPlot: " + what); };
  if (targets_.empty()) fail("targets is empty: it must have a variable or a link");
  argument::not_empty("VariableStatisticsPlot", "filename", options_.filename, "name a file");
  if (options_.report_data) kinds_.emplace_back("data");
  if (options_.report_grad) kinds_.emplace_back("grad");
  if (kinds_.empty() || numbers_per_kind() == 0) {
    fail(
        "nothing to plot: one of report_data and report_grad, and one of plot_mean, plot_std and percentile_sigmas, "
        "must be set");
  }
  if (options_.max_sample_size < 1) {
    fail("max_sample_size is " + std::to_string(options_.max_sample_size) + " but must be positive");
  }
  for (const double percent : options_.percentile_sigmas) {
    if (!(percent >= 0 && percent <= 100)) {
      fail("percentile_sigmas has " + std::to_string(percent) + ": all must lie in [0, 100]");
    }
  }
  if (!charts::is_marker(options_.marker)) {
    fail("marker is '" + options_.marker + "': it must be one of . o x + * s ^ v D, or empty");
  }
}

size_t VariableStatisticsPlot::numbers_per_kind() const {
  return (options_.plot_mean ? 1U : 0U) + (options_.plot_std ? 1U : 0U) + options_.percentile_sigmas.size();
}

std::vector<double> VariableStatisticsPlot::describe(const std::vector<double>& values) const {
  if (values.empty()) return std::vector<double>(numbers_per_kind(), std::numeric_limits<double>::quiet_NaN());
  std::vector<double> numbers;
  if (options_.plot_mean) numbers.push_back(mean(values));
  if (options_.plot_std) numbers.push_back(standard_deviation(values));
  if (!options_.percentile_sigmas.empty()) append(numbers, percentiles(values, options_.percentile_sigmas));
  return numbers;
}

// Algorithm R (Vitter 1985): the n-th of all samples takes a random place of n, if that is one of those kept.
void VariableStatisticsPlot::add(Sample sample) {
  const int64_t ordinal = seen_++;
  if (ordinal < options_.max_sample_size) {
    samples_.push_back(std::move(sample));
    return;
  }
  const uint64_t place = random_number(ordinal) % static_cast<uint64_t>(seen_);
  if (place < samples_.size()) samples_[place] = std::move(sample);
}

void VariableStatisticsPlot::operator()(Trainer& trainer) {
  std::vector<double> data, gradients;
  const auto read = [&](const Variable& variable) {
    if (options_.report_data) append(data, variable.array().to_vector<double>());
    if (options_.report_grad) append(gradients, gradient_values(variable));
  };
  for (const StatisticsTarget& target : targets_) {
    if (!target.home_) {
      read(target.variable_);
    } else {
      for (const Parameter* parameter : target.home_->get().params(false)) read(*parameter);
    }
  }
  Sample sample{trainer.updater().iteration(), {}};
  if (options_.report_data) append(sample.numbers, describe(data));
  if (options_.report_grad) append(sample.numbers, describe(gradients));
  add(std::move(sample));
  if (!options_.trigger(trainer)) return;
  const std::string picture = (std::filesystem::path(trainer.out()) / options_.filename).string();
  const std::string drawn = charts::draw(picture, charts());
  if (drawn != picture && !std::exchange(warned_, true)) {
    log::warn("VariableStatisticsPlot: gnuplot is missing or failed: " + drawn + " is drawn instead of " + picture);
  }
}

charts::ChartGrid VariableStatisticsPlot::charts() const {
  std::vector<const Sample*> order;
  for (const Sample& sample : samples_) order.push_back(&sample);
  std::sort(order.begin(), order.end(), [](const Sample* a, const Sample* b) { return a->iteration < b->iteration; });

  const auto columns = static_cast<int>(kinds_.size());
  const bool has_moments = options_.plot_mean || options_.plot_std, has_percents = !options_.percentile_sigmas.empty();
  const int rows = (has_moments ? 1 : 0) + (has_percents ? 1 : 0);
  const charts::LineChart empty{.x_label = "iteration",
                                .grid = options_.grid,
                                .marker = options_.marker,
                                .width = options_.figsize.first / columns,
                                .height = options_.figsize.second / rows};
  charts::ChartGrid grid{.columns = columns};
  const auto curve = [&](std::string name, size_t column) {
    charts::Curve result{std::move(name)};
    for (const Sample* s : order) result.points.push_back({static_cast<double>(s->iteration), s->numbers[column]});
    return result;
  };
  const auto band = [&](const auto& low, const auto& high) {
    charts::Band result;
    for (const Sample* s : order) result.ranges.push_back({static_cast<double>(s->iteration), low(*s), high(*s)});
    return result;
  };
  for (size_t kind = 0; has_moments && kind < kinds_.size(); ++kind) {
    charts::LineChart chart = empty;
    chart.title = kinds_[kind];
    const size_t first = kind * numbers_per_kind();
    if (options_.plot_mean && options_.plot_std) {
      chart.curves.push_back(curve("mean, std", first));
      chart.bands.push_back(band([=](const Sample& s) { return s.numbers[first] - s.numbers[first + 1]; },
                                 [=](const Sample& s) { return s.numbers[first] + s.numbers[first + 1]; }));
    } else {
      chart.curves.push_back(curve(options_.plot_mean ? "mean" : "std", first));
    }
    grid.charts.push_back(std::move(chart));
  }
  // Areas between the first and the last percentile, the second and the last but one, ...: darkest in the middle.
  for (size_t kind = 0; has_percents && kind < kinds_.size(); ++kind) {
    charts::LineChart chart = empty;
    if (!has_moments) chart.title = kinds_[kind];
    const size_t count = options_.percentile_sigmas.size(), last = (kind + 1) * numbers_per_kind() - 1;
    for (size_t i = 0; i < count / 2; ++i) {
      chart.bands.push_back(band([=](const Sample& s) { return s.numbers[last - count + 1 + i]; },
                                 [=](const Sample& s) { return s.numbers[last - i]; }));
    }
    charts::Curve middle{"percentile"};
    if (count % 2 == 1) middle = curve("percentile", last - count / 2);
    chart.curves.push_back(std::move(middle));
    grid.charts.push_back(std::move(chart));
  }
  return grid;
}

void VariableStatisticsPlot::serialize(Serializer& serializer) {
  if (!serializer.contains("_seen")) return;  // Chainer saves nothing of it
  options_.trigger.serialize(*serializer.child("_trigger"));
  serialize_count(serializer, "_seen", seen_);
  const size_t width = kinds_.size() * numbers_per_kind();
  std::vector<int64_t> iterations;
  std::vector<double> numbers;
  for (const Sample& sample : samples_) {
    iterations.push_back(sample.iteration);
    append(numbers, sample.numbers);
  }
  serializer("_iterations", iterations);
  Array table;
  if (serializer.is_writer()) {
    table = array(numbers, {static_cast<int64_t>(samples_.size()), static_cast<int64_t>(width)});
  }
  serializer("_samples", table);
  if (serializer.is_writer()) return;
  if (!table.is_defined() ||
      table.shape() != Shape{static_cast<int64_t>(iterations.size()), static_cast<int64_t>(width)}) {
    throw ValueError(serializer.place("_samples") + "is not a table of " + std::to_string(iterations.size()) +
                     " rows of " + std::to_string(width) + " numbers");
  }
  if (static_cast<int64_t>(iterations.size()) > seen_) {
    throw ValueError(serializer.place("_iterations") + "has " + std::to_string(iterations.size()) +
                     " iterations, but only " + std::to_string(seen_) + " were seen");
  }
  numbers = table.to_vector<double>();
  samples_.clear();
  for (size_t i = 0; i < iterations.size(); ++i) {
    const auto begin = numbers.begin() + static_cast<ptrdiff_t>(i * width);
    samples_.push_back({iterations[i], {begin, begin + static_cast<ptrdiff_t>(width)}});
  }
}

}  // namespace kusari::training::extensions
