#pragma once

#include <cstdint>
#include <deque>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "kusari/cuda/libraries/cudnn_descriptor.h"
#include "kusari/cuda/libraries/cudnn_graph.h"

// Which of cuDNN's engines computes a convolution. All of it works for a card that is not here.
namespace kusari::cuda {

/// Where a plan shall run: a card that is here, by its handle, or one that is described.
struct PlanTarget {
  cudnnHandle_t handle = nullptr;
  const CudnnDescriptor* device = nullptr;
};

/// The card of the text that CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION gives for it.
CudnnDescriptor describe_device(const std::string& json);

/// The addresses of an execution; z, bias, sums and load where the key has them. The sums of squares lie behind the
/// sums, what is added to x behind what it is multiplied by.
struct ConvolutionPointers {
  void *x, *w, *y;
  void *z = nullptr, *bias = nullptr;
  float* sums = nullptr;
  void* load = nullptr;
  friend bool operator==(const ConvolutionPointers&, const ConvolutionPointers&) = default;
};

/// An engine with its settings, ready to run. For one thread.
class ConvolutionPlan {
 public:
  int64_t engine() const noexcept { return engine_; }
  int64_t workspace() const noexcept { return workspace_; }  ///< bytes
  bool has_note(cudnnBackendNumericalNote_t note) const noexcept { return (numerical_notes_ >> note & 1) != 0; }
  bool has_note(cudnnBackendBehaviorNote_t note) const noexcept { return (behavior_notes_ >> note & 1) != 0; }
  /// "engine 12 2:14 27:1": the engine and its knobs, for make_plan.
  const std::string& choice() const noexcept { return choice_; }

  /// Enqueues the computation on the handle's stream.
  void execute(cudnnHandle_t handle, const ConvolutionKey& key, const ConvolutionPointers& p, void* workspace) const;

 private:
  friend class PlanSearch;
  // Addresses in cuDNN's form. A training loop meets the same ones in every step, and making one takes half a
  // microsecond.
  struct Pack {
    ConvolutionPointers pointers;
    void* workspace;
    CudnnDescriptor descriptor;
  };
  ConvolutionPlan() = default;
  const CudnnDescriptor& pack_of(const ConvolutionKey& key, const ConvolutionPointers& p, void* workspace) const;

  mutable std::vector<Pack> packs_;
  mutable size_t oldest_ = 0;
  CudnnDescriptor plan_;
  int64_t engine_ = 0, workspace_ = 0;
  uint32_t numerical_notes_ = 0, behavior_notes_ = 0;
  std::string choice_;
};

/// The plans for a key that keep its rules (determinism, tensor cores, TF32, workspace limit): those on tensor cores,
/// then the others that cuDNN's heuristics name, each time the one that cuDNN thinks fastest first, then those of its
/// fallback. Without that order cards before Hopper compute many float32 convolutions beside the tensor cores. Engines
/// that compile at run time come last, and only if the key allows them: building one takes about a second.
class PlanSearch {
 public:
  PlanSearch(const ConvolutionKey& key, const PlanTarget& target);
  std::optional<ConvolutionPlan> next();
  /// The plan that choice() named, if it can be built here and keeps the rules.
  std::optional<ConvolutionPlan> named(const std::string& choice);
  /// After next() has given nothing: what came of the candidates.
  std::string report() const;

 private:
  struct Candidate {
    CudnnDescriptor config;
    ConvolutionPlan plan;  // without the descriptor
  };
  void ask(cudnnBackendHeurMode_t mode);
  std::optional<ConvolutionPlan> named(Candidate candidate, std::istream& knob_texts);
  std::optional<ConvolutionPlan> build(Candidate candidate);

  ConvolutionKey key_;
  PlanTarget target_;
  std::string graph_error_;
  CudnnDescriptor graph_;
  std::deque<Candidate> candidates_, compiled_later_;
  size_t modes_asked_ = 0;
  int count_ = 0, by_notes_ = 0, by_workspace_ = 0, by_compilation_ = 0, by_cudnn_ = 0;
  int64_t least_workspace_ = 0;
  std::string cudnn_message_;
};

}  // namespace kusari::cuda
