#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/intrusive_ptr.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/training/charts/line_chart.h"
#include "kusari/framework/training/extension.h"

namespace kusari::training::extensions {

/// A variable, or all parameters of a link.
class StatisticsTarget {
 public:
  StatisticsTarget(const Variable& variable) : variable_{variable} {}
  StatisticsTarget(Link& link) : home_{link.home()} {}

 private:
  friend class VariableStatisticsPlot;
  Variable variable_;
  IntrusivePtr<Home> home_;  // of a link
};

struct VariableStatisticsPlotOptions {
  int64_t max_sample_size = 1000;  ///< calls that are kept, each of all calls being as likely as the others
  bool report_data = true;
  bool report_grad = true;  ///< without the loss scale
  bool plot_mean = true;
  bool plot_std = true;
  std::vector<double> percentile_sigmas = {0, 0.13, 2.28, 15.87, 50, 84.13, 97.72, 99.87, 100};  ///< percents
  TriggerRef trigger = {1, "epoch"};                                                             ///< when it is drawn
  std::string filename = "statistics.png";    ///< in the trainer's output directory; .svg needs no gnuplot
  std::pair<int, int> figsize = {1200, 900};  ///< pixels
  std::string marker = {};                    ///< as PlotReport's
  bool grid = true;
};

/// Draws over iterations the mean, the standard deviation and percentiles of all numbers of some variables, and of
/// their gradients. Whenever it is called, every iteration unless told otherwise, it reads them; it keeps a sample of
/// a limited size of what it saw (reservoir sampling), which is part of snapshots. Without gnuplot it draws an .svg
/// file. Throws ValueError without targets, when there is nothing to plot, for percents outside of [0, 100] and for a
/// sample size that is not positive. chainer.training.extensions.VariableStatisticsPlot.
class KUSARI_API VariableStatisticsPlot final : public Extension {
 public:
  explicit VariableStatisticsPlot(Link& link, VariableStatisticsPlotOptions options = {})
      : VariableStatisticsPlot(std::vector<StatisticsTarget>{link}, std::move(options)) {}
  /// `VariableStatisticsPlot({model.l1.W, model.l2})`
  explicit VariableStatisticsPlot(std::vector<StatisticsTarget> targets, VariableStatisticsPlotOptions options = {});

  void operator()(Trainer& trainer) override;
  std::string default_name() const override { return "VariableStatisticsPlot"; }
  void serialize(Serializer& serializer) override;

 private:
  struct Sample {
    int64_t iteration;
    std::vector<double> numbers;  // of each kind: mean, std, percentiles, as far as wanted
  };

  size_t numbers_per_kind() const;
  std::vector<double> describe(const std::vector<double>& values) const;
  void add(Sample sample);
  charts::ChartGrid charts() const;

  std::vector<StatisticsTarget> targets_;
  VariableStatisticsPlotOptions options_;
  std::vector<std::string> kinds_;  // data, grad
  std::vector<Sample> samples_;
  int64_t seen_ = 0;
  bool warned_ = false;
};

}  // namespace kusari::training::extensions
