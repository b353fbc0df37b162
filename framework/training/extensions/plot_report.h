#pragma once

#include <vector>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/summary.h"
#include "kusari/framework/training/charts/line_chart.h"
#include "kusari/framework/training/extension.h"
#include "kusari/framework/training/unseen_keys.h"

namespace kusari::training::extensions {

struct PlotReportOptions {
  TriggerRef trigger = {1, "epoch"};                    ///< when a point is added and the picture drawn
  Callable<void(charts::LineChart&)> postprocess = {};  ///< may change the chart: title, axes, curves
  std::string filename = "plot.png";                    ///< in the trainer's output directory
  std::string marker = "x";                             ///< one of . o x + * s ^ v D, or "" for none
  bool grid = true;
};

/// Draws means of reported values over "iteration" or "epoch" as curves: to an .svg file by itself, to a .png file by
/// gnuplot. Without gnuplot it says so once, and draws an .svg file of the same name. The points are part of snapshots.
/// Warns once of a value that nobody reports, and names those that it may be a misspelling of: after some points, or
/// when the run ends.
/// Throws ValueError for another x_key or marker.
/// chainer.training.extensions.PlotReport.
class KUSARI_API PlotReport final : public Extension {
 public:
  explicit PlotReport(std::vector<std::string> y_keys, std::string x_key = "iteration", PlotReportOptions options = {});

  /// Whether there is a gnuplot in $PATH: PNG files.
  static bool available();

  void operator()(Trainer& trainer) override;
  void initialize(Trainer& trainer) override;
  void finalize() override;
  std::string default_name() const override { return "PlotReport"; }
  void serialize(Serializer& serializer) override;

 private:
  void draw(const std::string& directory);

  std::vector<std::string> y_keys_;
  std::string x_key_;
  PlotReportOptions options_;
  DictSummary summary_;
  std::vector<charts::Curve> curves_;  // one per key
  bool warned_ = false;
  UnseenKeys unseen_;
};

}  // namespace kusari::training::extensions
