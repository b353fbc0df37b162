#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/onnx/parameter_tree.h"

namespace kusari::onnx {

class Subgraph;
struct CompiledModel;

/// An input or output of a model, as its file describes it.
struct Argument {
  std::string name;
  std::optional<Dtype> dtype;  ///< none if the file does not say
  /// Sizes of the axes, -1 where any goes; none if the file says nothing.
  std::optional<std::vector<int64_t>> shape;
  std::vector<std::string> axis_names;  ///< "batch", "" where an axis has none
};

/// A model from an ONNX file: an ordinary link that calls functions, so that it is trained, converted, moved, recorded
/// and exported as others are. Its parameters are the initializers that operators read as weights, under their names:
/// "conv1.weight" is /conv1/weight. Other initializers are persistent arrays. Dropout and batch normalization train
/// when config.train.
class KUSARI_API Model : public ParameterTree {
 public:
  /// For load().
  Model(CompiledModel compiled, std::vector<Argument> inputs, std::vector<Argument> outputs,
        std::map<std::string, std::string> metadata, std::string source);
  Model(const Model& other);
  Model(Model&&) noexcept;
  Model& operator=(const Model&) = delete;
  Model& operator=(Model&&) noexcept;
  ~Model() override;

  /// The only output of a model with one input. Throws ValueError for a model with several of either.
  Variable operator()(const Variable& x) const;
  /// All outputs. xs: the inputs in the file's order; an undefined variable is an input left out. Throws ValueError for
  /// another number of inputs, TypeError for a shape or dtype that the file rules out.
  Variables call(std::span<const Variable> xs) const;
  Variables call(std::initializer_list<Variable> xs) const { return call(std::span(xs.begin(), xs.size())); }

  const std::vector<Argument>& inputs() const noexcept { return inputs_; }
  const std::vector<Argument>& outputs() const noexcept { return outputs_; }
  /// Texts that the file has beside the network (metadata_props), such as ExportOptions::metadata.
  const std::map<std::string, std::string>& metadata() const noexcept { return metadata_; }
  /// Operations of a call, in their order, each as "node 'conv1' (#3): Conv (opset 13)".
  std::vector<std::string> operations() const;

 private:
  /// A constant of the graph: a member of the tree, or numbers that stay on the host, or a small member's copy there.
  struct Held {
    int member = -1;
    Array host;
  };
  void check_input(size_t i, const Variable& x) const;

  std::shared_ptr<const Subgraph> graph_;
  std::vector<Argument> inputs_, outputs_;
  std::map<std::string, std::string> metadata_;
  std::string source_;
  std::vector<Member> members_;
  std::vector<Held> constants_;
};

}  // namespace kusari::onnx
