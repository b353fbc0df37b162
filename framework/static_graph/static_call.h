#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/intrusive_ptr.h"
#include "kusari/framework/core/small_vector.h"
#include "kusari/framework/links/home.h"
#include "kusari/framework/static_graph/bindings.h"
#include "kusari/framework/static_graph/call_results.h"
#include "kusari/framework/static_graph/instance.h"
#include "kusari/framework/static_graph/recorder.h"

namespace kusari::graphs {

/// Learns how the recording of a call ends.
class RecordingObserver {
 public:
  virtual ~RecordingObserver() = default;
  /// `recorder` may be refused; otherwise everything but the recording's views of results and gradients is in there.
  virtual void recorded(std::unique_ptr<Recorder> recorder, Recording recording, RecordedCall::Context context) = 0;
  virtual void refused(const std::string& reason) = 0;
  /// An exception ended it, or, with a `reason`, it came to nothing.
  virtual void abandoned(std::string reason) noexcept = 0;
};

/// A call while it is recorded: its graph, which leads from copies of the inputs to copies of the results.
class LiveCall {
 public:
  LiveCall(std::string name, std::unique_ptr<Recorder> recorder, std::shared_ptr<RecordingObserver> observer);
  LiveCall(const LiveCall&) = delete;
  LiveCall& operator=(const LiveCall&) = delete;
  ~LiveCall();

  /// A leaf in the place of an input of the call.
  Variable add_input(const Variable& input);
  Recorder& recorder() noexcept { return *recorder_; }
  const std::string& name() const noexcept { return name_; }
  /// After the forward phase. `model`: see Bindings. `carried`: the last results are states, through which gradients
  /// come in some calls and not in others: a backward that does not reach them is recorded as one that brings zeros.
  void add_results(const Variables& results, Link* model, size_t carried);
  const CallResults& results() const noexcept { return results_; }
  size_t input_count() const noexcept { return input_views_.size(); }
  std::span<const IntrusivePtr<kusari::detail::VariableNode>> leaves() const noexcept { return leaves_; }
  Arrays take_outputs() noexcept { return std::move(arrays_); }
  /// Nothing to go back through: the recording is complete.
  void finish();
  /// Records the backward phase, and finishes. One gradient for each input and leaf.
  Variables backward(const Variables& gy);

 private:
  using Node = IntrusivePtr<kusari::detail::VariableNode>;
  bool is_leaf_of_call(const Variable& result) const;
  void find_leaves();
  const kusari::detail::VariableNode* replaced_leaf() const noexcept;
  Variables record_backward(const Variables& gy);
  Variables differentiate(std::span<const Array> seeds);

  std::string name_;
  std::unique_ptr<Recorder> recorder_;
  std::shared_ptr<RecordingObserver> observer_;  // null once it knows
  std::vector<Node> inputs_, leaves_, outputs_;  // without handles, so that they keep no arrays
  std::vector<uint64_t> leaf_storages_;          // their ids after the forward phase
  std::vector<View> input_views_, output_views_, seed_views_, gradient_views_;
  CallResults results_;
  Arrays arrays_;  // of the results, for the caller
  Arrays lent_;    // the same until the graph is gone, which may need what nobody may then write
  IntrusivePtr<Home> home_;
  Anatomy anatomy_;
  size_t carried_ = 0;
  bool has_results_ = false, is_spent_ = false;
};

/// What stands for a call of a static graph in the graph around it.
class StaticCall final : public FunctionNode {
 public:
  /// A replay.
  StaticCall(const IntrusivePtr<RecordedCall>& recorded) : recorded_{recorded} {}
  /// A call that has been computed by its own graph.
  StaticCall(std::unique_ptr<LiveCall> live) : live_{std::move(live)} {}
  ~StaticCall() override;

  const char* name() const override { return "static_graph"; }
  Precision precision() const noexcept override { return Precision::untouched; }

 private:
  bool is_optional(size_t) const noexcept override { return true; }
  Arrays forward(const ArrayRefs& in) override;
  Variables backward(const Variables& gy) override;
  void check_arguments(const std::string& graph) const;

  SmallVector<uint64_t, 4> storages_;  // ids of those of the arguments; 0 for one that is not there
  OpenCall open_;                      // goes after all that belongs to the engine
  IntrusivePtr<RecordedCall> recorded_;
  std::unique_ptr<Instance> instance_;
  std::unique_ptr<LiveCall> live_;
};

}  // namespace kusari::graphs
