#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/summary.h"
#include "kusari/framework/training/extension.h"

namespace kusari::training::extensions {

struct PlotReportOptions {
  TriggerRef trigger = {1, "epoch"};  ///< when a point is added and the picture drawn
  std::string filename = "plot.png";  ///< in the trainer's output directory
  bool grid = true;
};

/// Draws means of reported values over "iteration" or "epoch" as curves in a PNG file, with gnuplot. Without gnuplot it
/// says so once and goes on without pictures. Throws ValueError for another x_key.
/// chainer.training.extensions.PlotReport.
class KUSARI_API PlotReport final : public Extension {
 public:
  explicit PlotReport(std::vector<std::string> y_keys, std::string x_key = "iteration", PlotReportOptions options = {});

  /// Whether there is a gnuplot in $PATH.
  static bool available();

  void operator()(Trainer& trainer) override;
  std::string default_name() const override { return "PlotReport"; }
  void serialize(Serializer& serializer) override;

 private:
  using Curve = std::vector<std::pair<double, double>>;

  std::string script() const;
  void draw(const std::string& directory);

  std::vector<std::string> y_keys_;
  std::string x_key_;
  PlotReportOptions options_;
  DictSummary summary_;
  std::vector<Curve> curves_;  // one per key
  bool can_draw_ = true;
};

}  // namespace kusari::training::extensions
