#include "kusari/framework/training/extensions/gradient_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/kernels/value_statistics.h"
#include "kusari/framework/training/extensions/gnuplot.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/optimizers/optimizer.h"

namespace kusari::training::extensions {
namespace {

using kernels::ValueCounts;
using Row = GradientStatisticsRow;

constexpr int64_t kFields = sizeof(ValueCounts) / sizeof(double);

/// Gradients and values: how their rows are called.
struct Kind {
  const char* suffix;
  const char* all;
};
constexpr Kind kGradients{"/grad", "gradients"}, kValues{"/data", "parameters"};

struct Column {
  const char* name;
  double Row::*value;
};
constexpr Column kColumns[] = {
    {"zeros", &Row::zeros},     {"subnormals", &Row::subnormals}, {"inf", &Row::inf},          {"nan", &Row::nan},
    {"abs_min", &Row::abs_min}, {"abs_max", &Row::abs_max},       {"abs_mean", &Row::abs_mean}};

const Column& column(const std::string& name) {
  std::string known;
  for (const Column& c : kColumns) {
    if (name == c.name) return c;
    known += std::string(" '") + c.name + "'";
  }
  throw ValueError("GradientStatistics: '" + name + "' in columns is none of" + known);
}

/// The first `depth` parts of "predictor/l1/W"; all of it for 0.
std::string front(const std::string& path, int64_t depth) {
  if (depth == 0) return path;
  size_t end = path.find('/');
  for (; depth > 1 && end != std::string::npos; --depth) end = path.find('/', end + 1);
  return path.substr(0, end);
}

Row make_row(const std::string& name, const ValueCounts& c) {
  return {name,
          c.size,
          c.zeros / c.size,
          c.subnormals / c.size,
          c.infinities / c.size,
          c.nans / c.size,
          c.smallest,
          c.largest,
          c.sum / (c.size - c.infinities - c.nans)};
}

/// What is counted on one device, by one launch.
struct Batch {
  struct Member {
    Parameter* parameter;
    const Kind* kind;
    size_t total;  // number of the sum to which its row of `counts` belongs
  };
  Device device;
  std::vector<Member> members = {};
  std::vector<Array> tensors = {};  // held during a launch only
  Array counts = {};

  void clear() {
    const std::vector<ValueCounts> rows(members.size(), ValueCounts::none());
    counts = from_host(rows.data(), {static_cast<int64_t>(rows.size()), kFields}, Dtype::float64, device);
  }
  void count(const kernels::ValueCounting& counting) {
    tensors.clear();
    for (const Member& member : members) {
      const Array x = member.kind == &kValues ? member.parameter->array() : member.parameter->grad();
      tensors.push_back(x.is_dense() ? x : x.contiguous());
    }
    launch<kernels::ValueStatistics>(device, InList(tensors), counting, counts);
    tensors.clear();
  }
};

std::string format(const char* pattern, double number) {
  char text[40];
  std::snprintf(text, sizeof text, pattern, number);
  return text;
}

/// A number of gnuplot's data; NaN is a gap.
std::string plotted(double number) { return std::isfinite(number) ? " " + general_text(number, 9) : " NaN"; }

}  // namespace

struct GradientStatistics::State {
  struct Total {
    std::string name;
    const Kind* kind;
    ValueCounts counts;  // without what is still on the devices
  };
  struct Watched {
    std::string prefix;  // "" or "gen/"
    Optimizer* optimizer;
    std::vector<Parameter*> parameters = {};  // for which the batches are
    std::vector<Batch> batches = {};
    std::shared_ptr<const void> observer = {};
  };

  std::string with_prefix(const std::string& name) const {
    return options.prefix.empty() ? name : options.prefix + "/" + name;
  }
  size_t total(const std::string& name, const Kind& kind) {
    const auto found = std::find_if(totals.begin(), totals.end(), [&](const Total& t) { return t.name == name; });
    if (found != totals.end()) return static_cast<size_t>(found - totals.begin());
    totals.push_back({name, &kind, ValueCounts::none()});
    return totals.size() - 1;
  }
  void prepare(Watched& w, std::span<Parameter* const> parameters);
  void observe(Watched& w, std::span<Parameter* const> parameters);
  void gather();
  void summarize(Trainer& trainer);
  std::string table() const;
  std::string drawing() const;
  void write_files(const std::string& directory);

  GradientStatisticsOptions options;
  std::vector<const Column*> columns;
  std::vector<Total> totals = {};
  std::vector<Row> rows = {};
  std::string title = {};  // of `rows`
  const Trainer* trainer = nullptr;
  std::vector<std::unique_ptr<Watched>> watched = {};
  bool can_draw = true;
};

void GradientStatistics::State::prepare(Watched& w, std::span<Parameter* const> parameters) {
  gather();
  w.parameters.assign(parameters.begin(), parameters.end());
  w.batches.clear();
  for (const auto& [path, parameter] : w.optimizer->target().namedparams(false)) {
    if (std::find(parameters.begin(), parameters.end(), parameter) == parameters.end()) continue;
    if (!parameter->array().is_floating() || (options.parameters && !options.parameters(path))) continue;
    const Device& device = parameter->device();
    auto batch = std::find_if(w.batches.begin(), w.batches.end(), [&](const Batch& b) { return b.device == device; });
    if (batch == w.batches.end()) batch = w.batches.insert(batch, Batch{device});
    const std::string name = with_prefix(w.prefix + front(path.substr(1), options.depth));
    batch->members.push_back({parameter, &kGradients, total(name + kGradients.suffix, kGradients)});
    if (options.values) batch->members.push_back({parameter, &kValues, total(name + kValues.suffix, kValues)});
  }
  for (Batch& batch : w.batches) batch.clear();
}

void GradientStatistics::State::observe(Watched& w, std::span<Parameter* const> parameters) {
  if ((trainer->updater().iteration() + 1) % options.interval != 0) return;
  const auto is_elsewhere = [](const Batch& batch) {
    return std::any_of(batch.members.begin(), batch.members.end(),
                       [&](const Batch::Member& member) { return member.parameter->device() != batch.device; });
  };
  if (!std::equal(parameters.begin(), parameters.end(), w.parameters.begin(), w.parameters.end()) ||
      std::any_of(w.batches.begin(), w.batches.end(), is_elsewhere)) {
    prepare(w, parameters);
  }
  const kernels::ValueCounting counting{!options.range, options.range.value_or(Dtype::float32)};
  for (Batch& batch : w.batches) batch.count(counting);
}

// Reads what the devices have counted.
void GradientStatistics::State::gather() {
  for (const auto& w : watched) {
    for (Batch& batch : w->batches) {
      const std::vector<double> numbers = batch.counts.to_vector<double>();
      for (size_t i = 0; i < batch.members.size(); ++i) {
        ValueCounts counts;
        std::copy_n(numbers.begin() + static_cast<ptrdiff_t>(i) * kFields, kFields, reinterpret_cast<double*>(&counts));
        totals[batch.members[i].total].counts.merge(counts);
      }
      batch.clear();
    }
  }
}

// Makes the rows, and starts again.
void GradientStatistics::State::summarize(Trainer& of) {
  gather();
  rows.clear();
  std::vector<Row> sums;
  for (const Kind* kind : {&kGradients, &kValues}) {
    ValueCounts all = ValueCounts::none();
    for (Total& total : totals) {
      if (total.kind != kind || total.counts.size == 0) continue;
      rows.push_back(make_row(total.name, total.counts));
      all.merge(total.counts);
      total.counts = ValueCounts::none();
    }
    if (all.size > 0) sums.push_back(make_row(with_prefix(kind->all), all));
  }
  rows.insert(rows.end(), sums.begin(), sums.end());

  title = "iteration " + std::to_string(of.updater().iteration());
  if (options.range) title += std::string(", in the range of ") + kusari::name(*options.range);
  for (const auto& w : watched) {
    if (!w->optimizer->has_loss_scaling()) continue;
    const double scale = w->optimizer->loss_scale();
    of.observation().set(with_prefix(w->prefix + kGradients.all) + "/loss_scale", scale);
    title += ", " + w->prefix + "loss scale " + general_text(scale);
  }
  for (const Row& row : rows) {
    for (const Column* c : columns) of.observation().set(row.name + "/" + c->name, row.*c->value);
  }
}

std::string GradientStatistics::State::table() const {
  size_t width = 4;
  for (const Row& row : rows) width = std::max(width, row.name.size());
  const auto padded = [&](std::string name) { return name.append(width - name.size(), ' '); };
  std::string text = title + "\n" + padded("name") +
                     "        size    zeros  subnormal      inf      nan     abs_min     abs_max    abs_mean\n";
  for (const Row& row : rows) {
    text += padded(row.name) + format("  %10.4g", row.size);
    text += format("  %6.2f%%", 100 * row.zeros) + format("    %6.2f%%", 100 * row.subnormals);
    text += format("  %6.2f%%", 100 * row.inf) + format("  %6.2f%%", 100 * row.nan);
    for (const double magnitude : {row.abs_min, row.abs_max, row.abs_mean}) {
      text += std::isfinite(magnitude) ? format("  %10.3g", magnitude) : "           -";
    }
    text += "\n";
  }
  return text;
}

// Above, what became of the numbers of each row; below, their magnitudes between the ends of 16-bit dtypes.
std::string GradientStatistics::State::drawing() const {
  std::string data = "$rows << END\n";
  for (const Row& row : rows) {
    data += "\"" + row.name + "\"";
    for (const double share : {row.zeros, row.subnormals, row.inf + row.nan}) data += plotted(100 * share);
    for (const double magnitude : {row.abs_mean, row.abs_min, row.abs_max}) {
      data += plotted(magnitude > 0 ? magnitude : std::nan(""));
    }
    data += "\n";
  }
  const double smallest = kernels::value_range(Dtype::float16).normal;
  return data + "END\nset multiplot layout 2,1 title " + gnuplot_quoted(title) +
         "\nset grid ytics\nset xtics rotate font ',8'\nset key outside top horizontal\nset style fill solid 0.8\n"
         "set xrange [-0.6:" +
         general_text(static_cast<double>(rows.size()) - 0.4) +
         "]\nset boxwidth 0.8\nset style data histograms\nset style histogram rowstacked\nset yrange [0:100]\n"
         "set ylabel '% of the numbers'\n"
         "plot $rows using 2:xtic(1) title 'zeros', '' using 3 title 'subnormal', '' using 4 title 'inf, NaN'\n"
         "set yrange [*:*]\nset logscale y 2\nset format y '2^%L'\nset ylabel 'magnitude'\n"
         "plot $rows using 0:5:6:7:xtic(1) with yerrorbars title 'smallest, mean, largest', " +
         general_text(smallest, 9) + " title 'smallest normal float16', 65504 title 'largest float16'\n";
}

void GradientStatistics::State::write_files(const std::string& directory) {
  if (options.filename.empty() || rows.empty()) return;
  const std::string file = (std::filesystem::path(directory) / options.filename).string();
  write_file_atomically(file + ".txt", table());
  if (!can_draw) return;
  can_draw = draw_with_gnuplot(file + ".png", 1200, 1000, drawing());
  if (!can_draw) log::warn("GradientStatistics: gnuplot is missing or failed: " + file + ".png is not drawn");
}

GradientStatistics::GradientStatistics(GradientStatisticsOptions options) {
  if (options.interval < 1) {
    throw ValueError("GradientStatistics: interval is " + std::to_string(options.interval) + " but must be positive");
  }
  argument::not_negative("GradientStatistics", "depth", options.depth);
  std::vector<const Column*> columns;
  for (const std::string& name : options.columns) columns.push_back(&column(name));
  state_ = std::make_unique<State>(State{std::move(options), std::move(columns)});
}

GradientStatistics::GradientStatistics(GradientStatistics&&) noexcept = default;
GradientStatistics& GradientStatistics::operator=(GradientStatistics&&) noexcept = default;
GradientStatistics::~GradientStatistics() = default;

const std::vector<GradientStatisticsRow>& GradientStatistics::rows() const noexcept { return state_->rows; }
std::string GradientStatistics::table() const { return state_->table(); }

void GradientStatistics::initialize(Trainer& trainer) {
  State& state = *state_;
  state.trainer = &trainer;
  state.watched.clear();
  const auto optimizers = trainer.updater().get_all_optimizers();
  for (const auto& [name, optimizer] : optimizers) {
    State::Watched& w = *state.watched.emplace_back(
        std::make_unique<State::Watched>(State::Watched{optimizers.size() > 1 ? name + "/" : "", optimizer}));
    w.observer = optimizer->observe_gradients(
        [&state, &w](std::span<Parameter* const> parameters) { state.observe(w, parameters); });
  }
}

void GradientStatistics::operator()(Trainer& trainer) {
  if (!state_->options.trigger(trainer)) return;
  state_->summarize(trainer);
  state_->write_files(trainer.out());
}

void GradientStatistics::finalize() {
  state_->gather();  // a run that goes on has the rest
  state_->watched.clear();
}

void GradientStatistics::serialize(Serializer& serializer) {
  State& state = *state_;
  state.options.trigger.serialize(*serializer.child("_trigger"));
  state.gather();
  nlohmann::json names = nlohmann::json::array();
  std::vector<double> numbers;
  for (const State::Total& total : state.totals) {
    names.push_back({total.name, total.kind == &kValues});
    const auto* const fields = reinterpret_cast<const double*>(&total.counts);
    numbers.insert(numbers.end(), fields, fields + kFields);
  }
  std::string text = names.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);  // names may be no UTF-8
  Array counts = array(numbers, {static_cast<int64_t>(state.totals.size()), kFields});
  serializer("_names", text);
  if (!serializer.is_writer()) counts = Array();
  serializer("_counts", counts);
  if (serializer.is_writer()) return;
  names = nlohmann::json::parse(text, nullptr, false);
  numbers = counts.is_defined() ? counts.to_vector<double>() : std::vector<double>();
  if (!names.is_array() || names.size() * kFields != numbers.size()) {
    throw ValueError(serializer.place("_names") + "is not a JSON list with a name for each row of _counts");
  }
  for (const auto& w : state.watched) {  // their places in `totals` are no more
    w->parameters.clear();
    w->batches.clear();
  }
  state.totals.clear();
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i].is_array() || names[i].size() != 2 || !names[i][0].is_string() || !names[i][1].is_boolean()) {
      throw ValueError(serializer.place("_names") + "has a row that is not a name and a kind: " + text);
    }
    State::Total total{names[i][0], names[i][1] ? &kValues : &kGradients, ValueCounts::none()};
    std::copy_n(numbers.begin() + static_cast<ptrdiff_t>(i) * kFields, kFields,
                reinterpret_cast<double*>(&total.counts));
    state.totals.push_back(std::move(total));
  }
}

}  // namespace kusari::training::extensions
