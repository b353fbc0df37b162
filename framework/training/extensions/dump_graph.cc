#include "kusari/framework/training/extensions/dump_graph.h"

#include <filesystem>
#include <system_error>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/training/extensions/run_program.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training::extensions {

DumpGraph::DumpGraph(std::string root_name, DumpGraphOptions options)
    : root_name_{argument::not_empty("DumpGraph", "root_name", std::move(root_name), "name a reported variable")},
      options_{std::move(options)} {
  argument::not_empty("DumpGraph", "out_name", options_.out_name, "name a file");
}

void DumpGraph::initialize(Trainer&) {
  if (is_done_ || settings_) return;
  settings_ = std::make_unique<Settings>();
}

void DumpGraph::operator()(Trainer& trainer) {
  if (is_done_) return;
  is_done_ = true;
  settings_.reset();
  const ObservedValue* const root = trainer.observation().find(root_name_);
  if (root == nullptr) throw KeyError("DumpGraph: nothing is reported as '" + root_name_ + "'");
  if (root->variable() == nullptr) {
    throw TypeError("DumpGraph: what is reported as '" + root_name_ + "' is not a variable with a graph");
  }
  const std::string graph = build_computational_graph(
      {*root->variable()}, {.variable_style = options_.variable_style, .function_style = options_.function_style});
  const std::filesystem::path file = std::filesystem::path(trainer.out()) / options_.out_name;
  write_file_atomically(file.string(), graph);
  const std::filesystem::path picture = std::filesystem::path(file).replace_extension(".png");
  const std::string unfinished = picture.string() + ".tmp";
  std::error_code error;
  if (run_program({"dot", "-Tpng", file.string(), "-o", unfinished})) {
    std::filesystem::rename(unfinished, picture, error);
  } else {
    std::filesystem::remove(unfinished, error);  // without Graphviz the text has to do
  }
}

void DumpGraph::finalize() { settings_.reset(); }

void DumpGraph::serialize(Serializer& serializer) {
  serializer("_flag", is_done_);
  if (!serializer.is_writer() && is_done_) settings_.reset();
}

}  // namespace kusari::training::extensions
