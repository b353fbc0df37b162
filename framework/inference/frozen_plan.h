#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/inference/constant_pool.h"
#include "kusari/framework/static_graph/arena.h"
#include "kusari/framework/static_graph/instance.h"
#include "kusari/framework/static_graph/passes.h"
#include "kusari/framework/static_graph/plan.h"
#include "kusari/framework/static_graph/recording.h"

namespace kusari::inference {

/// The recording of a call that infers, with everything computed that follows from parameters alone. Threads share it:
/// what a call needs beside it is an instance.
class KUSARI_API FrozenPlan {
 public:
  /// Empty, or why replays of the recording would change the model: "it writes into an array of shape (3,) that ...".
  static std::string why_not(const graphs::Recording& recording);

  /// Runs the passes, then the kernels that read parameters alone, whose results it keeps, or takes what other plans
  /// have computed so.
  FrozenPlan(graphs::Recording recording, const StaticGraphPasses& passes, ConstantPool& pool);
  FrozenPlan(const FrozenPlan&) = delete;
  FrozenPlan& operator=(const FrozenPlan&) = delete;

  /// An instance whose intermediates lie in `scratch`. The plan must outlive it.
  std::unique_ptr<graphs::Instance> make_instance(std::shared_ptr<graphs::Scratch> scratch) const;
  /// One call, with inputs as they were recorded but for the numbers. `given`: null, or an array for each output, of
  /// its shape and dtype, which gets the numbers; then the result is empty. Arrays returned share no memory with
  /// inputs and parameters.
  Arrays run(graphs::Instance& instance, std::span<const Array> inputs, const Arrays* given) const;

  /// Keeps nothing but what calls read; is_outdated() is false from then on.
  void release_sources() noexcept { sources_.clear(); }
  /// Whether somebody has written into what the constants were made of.
  bool is_outdated() const noexcept;
  std::span<const graphs::View> outputs() const noexcept { return outputs_; }
  const graphs::Plan& plan() const noexcept { return plan_; }
  /// Lines of text.
  std::string summary() const;

 private:
  /// Memory that calls only read.
  struct Bound {
    graphs::SlotIndex slot;
    std::shared_ptr<const Array> array;
  };
  struct Source {
    Array array;
    uint64_t generation;
  };
  graphs::Program frozen(graphs::Recording& recording, const StaticGraphPasses& passes, ConstantPool& pool);
  void compute_constants(graphs::Program program, const std::vector<bool>& is_needed, ConstantPool& pool);
  bool writes_directly(size_t output, const Array& array, std::span<const Array> inputs) const;

  graphs::PassLog log_;
  size_t constant_kernels_ = 0;
  bool is_from_cache_ = false;  // what these kernels compute
  size_t constant_bytes_ = 0, shared_bytes_ = 0;
  std::vector<Source> sources_;
  std::vector<Bound> bound_;
  std::vector<graphs::View> inputs_, outputs_;
  std::vector<bool> is_own_;     // of each output: computed into an array of its own
  std::vector<bool> is_direct_;  // of each output: may be computed into an array of the caller
  graphs::Plan plan_;
};

}  // namespace kusari::inference
