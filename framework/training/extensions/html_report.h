#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extension.h"

namespace kusari::training::extensions {

struct HtmlReportOptions {
  std::string title = "Training report";
  std::string filename = "report.html";   ///< in the trainer's output directory
  std::string log_report = "LogReport";   ///< name of the trainer's LogReport
  std::optional<std::string> x_key = {};  ///< "epoch" or "iteration"; what suits the log when not given
  /// Shown with the rest of the configuration: {{"batch size", "100"}, {"data", "MNIST"}}.
  std::vector<std::pair<std::string, std::string>> configuration = {};
  std::string model_summary = {};  ///< shown below the model, where given: `summary(model, {x}).text()`
  std::string graph = "cg.dot";    ///< where DumpGraph has written the graph, in the output directory
  int reload_seconds = 0;          ///< a browser loads the page anew so often while the run goes on; 0: never
};

/// A run as a page to look at: how far it is, its curves (training and validation of one quantity in one chart), the
/// rows of a LogReport with the best values marked, model, optimizers, extensions, configuration, environment, and the
/// computational graph if there is a DumpGraph, pictures if there is a DetectionVisReport or PictureReport. One HTML
/// file that needs no other and no network; replaced whole each epoch, unless told otherwise, and when the run ends or
/// fails. The graph is drawn by Graphviz's `dot`, and is text where that is not installed. Throws ValueError for
/// another x_key; when the run begins, where the trainer has no such LogReport.
class KUSARI_API HtmlReport final : public Extension {
 public:
  explicit HtmlReport(HtmlReportOptions options = {});

  void initialize(Trainer& trainer) override;
  void operator()(Trainer& trainer) override;
  void on_error(Trainer& trainer, const std::exception& error) override;
  void finalize() override;
  std::string default_name() const override { return "HtmlReport"; }
  TriggerRef default_trigger() const override { return {1, "epoch"}; }
  /// After LogReport, in whatever order they were added.
  int default_priority() const override { return kPriorityReader - 50; }

 private:
  void write(Trainer& trainer, bool is_over);

  HtmlReportOptions options_;
  Trainer* trainer_ = nullptr;  // while it runs
  std::string error_;
  std::string drawn_dot_, graph_svg_;  // the graph of the last page
};

}  // namespace kusari::training::extensions
