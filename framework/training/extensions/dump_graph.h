#pragma once

#include <string>

#include "kusari/framework/autograd/computational_graph.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/training/extension.h"

namespace kusari::training::extensions {

struct DumpGraphOptions {
  DotStyle variable_style = ComputationalGraphOptions().variable_style;
  DotStyle function_style = ComputationalGraphOptions().function_style;
  std::string out_name = "cg.dot";  ///< the file in the trainer's output directory
};

/// Writes the graph that computed a reported variable, such as "main/loss", in the first iteration: as DOT, and as a
/// PNG beside it where Graphviz's `dot` is installed. Until then reported variables keep their graphs
/// (config.keep_graph_on_report) and steps are not recorded as static graphs. Throws KeyError when nothing is reported
/// under that name, TypeError when what is reported is no variable with a graph.
/// chainer.training.extensions.DumpGraph.
class KUSARI_API DumpGraph final : public Extension {
 public:
  explicit DumpGraph(std::string root_name, DumpGraphOptions options = {});

  void initialize(Trainer& trainer) override;
  void operator()(Trainer& trainer) override;
  void finalize() override;
  std::string default_name() const override { return "DumpGraph"; }
  void serialize(Serializer& serializer) override;

 private:
  struct Settings {
    ScopedSetting<bool> keep_graph_on_report{&Config::keep_graph_on_report, true};
    ScopedSetting<bool> use_static_graph{&Config::use_static_graph, false};
  };

  std::string root_name_;
  DumpGraphOptions options_;
  bool is_done_ = false;
  Owned<Settings> settings_;  // from initialize to the first call, whatever throws
};

/// chainer.training.extensions.dump_graph.
inline DumpGraph dump_graph(std::string root_name, DumpGraphOptions options = {}) {
  return DumpGraph(std::move(root_name), std::move(options));
}

}  // namespace kusari::training::extensions
