#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/intrusive_ptr.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/static_graph/bindings.h"
#include "kusari/framework/static_graph/instance.h"
#include "kusari/framework/static_graph/passes.h"
#include "kusari/framework/static_graph/plan.h"
#include "kusari/framework/static_graph/recorder.h"
#include "kusari/framework/static_graph/recording.h"

namespace kusari::graphs {

/// What the call of a static graph gives, beside the arrays: the results, then the members of links that it sets and
/// that are none of the results.
struct CallResults {
  struct Result {
    bool is_defined = false;
    bool is_connected = false;   ///< gradients come back through it
    bool requires_grad = false;  ///< of one that is not connected
  };
  struct Member {
    Variable* member;
    int32_t result;  ///< -1: left undefined
  };
  std::vector<Result> results;
  std::vector<Member> members;
  size_t returned = 0;  ///< how many of the results the caller gets

  /// Lets go of what the members hold, before the call that sets them.
  void clear_members() const;
  /// From the outputs of the function that stands for the call: sets the members, leaves what the caller gets.
  Variables deliver(Variables outputs) const;
};

/// How many calls wait for their backward, of one thread at a time.
struct OpenCalls {
  std::atomic<int> count{0};
};

/// One of them.
class OpenCall {
 public:
  OpenCall() noexcept = default;
  explicit OpenCall(std::shared_ptr<OpenCalls> calls) noexcept : calls_{std::move(calls)} {
    if (calls_) calls_->count.fetch_add(1, std::memory_order_relaxed);
  }
  OpenCall(OpenCall&& other) noexcept = default;
  OpenCall& operator=(OpenCall&& other) noexcept {
    std::swap(calls_, other.calls_);
    return *this;
  }
  ~OpenCall() {
    if (calls_) calls_->count.fetch_sub(1, std::memory_order_release);
  }
  const std::shared_ptr<OpenCalls>& calls() const noexcept { return calls_; }

 private:
  std::shared_ptr<OpenCalls> calls_;
};

/// A recording that can be replayed, with the instances that its calls in flight use.
class KUSARI_API RecordedCall {
 public:
  struct Context {
    Link* model;
    Anatomy anatomy;
    CallResults results;
    std::unique_ptr<Recorder> recorder;  ///< which watches what has escaped
    bool copies_outputs;
    size_t leaves;  ///< how many of the recording's leaves the forward phase knew
    std::shared_ptr<OpenCalls> open_calls = nullptr;
  };
  /// `scratch`: for a recording without backward phase.
  RecordedCall(Recording recording, const StaticGraphPasses& passes, Context context, std::shared_ptr<Scratch> scratch);
  RecordedCall(const RecordedCall&) = delete;
  RecordedCall& operator=(const RecordedCall&) = delete;

  const std::string& name() const noexcept { return plan_.program().name; }
  const Plan& plan() const noexcept { return plan_; }
  const PassLog& pass_log() const noexcept { return log_; }
  const CallResults& results() const noexcept { return results_; }
  bool has_backward() const noexcept { return has_backward_; }
  size_t input_count() const noexcept { return inputs_.size(); }
  /// The variables beside the inputs that get gradients.
  std::span<const Recording::Leaf> leaves() const noexcept { return bindings_.leaves().first(leaf_count_); }
  /// Why it cannot be replayed any more, or empty: see Bindings.
  std::string changed(Link* model);
  /// See Bindings.
  bool watches_arrays() const noexcept { return bindings_.watches_arrays(); }
  bool writes_into(std::span<const Variable> inputs) const noexcept { return bindings_.writes_into(inputs); }

  /// For a call that waits for its backward from now on.
  OpenCall open() const noexcept { return OpenCall(open_calls_); }
  std::unique_ptr<Instance> take_instance();
  void give_back(std::unique_ptr<Instance> instance) noexcept;

  Arrays forward(Instance& instance, const ArrayRefs& inputs);
  /// One gradient for each input and leaf. Throws StateError when an output has got a gradient for the first time.
  Variables backward(Instance& instance, const Variables& gy);

  void retain() noexcept { ++references_; }
  void release() noexcept {
    if (--references_ == 0) delete this;
  }

 private:
  void expire() noexcept;
  void report(const Instance& instance) const;
  const Device& device_of(const View& view) const {
    return plan_.program().slots[static_cast<size_t>(view.slot)].device;
  }

  uint32_t references_ = 0;
  std::vector<View> inputs_, outputs_, output_gradients_, gradients_;
  std::vector<Recording::Report> reports_;
  std::vector<Callable<void()>> before_, after_;
  Bindings bindings_;
  CallResults results_;
  std::unique_ptr<Recorder> recorder_;
  std::shared_ptr<Scratch> scratch_;
  std::shared_ptr<OpenCalls> open_calls_;
  bool copies_outputs_;
  bool has_backward_;
  bool is_outdated_ = false;
  size_t leaf_count_;
  PassLog log_;
  Plan plan_;
  std::vector<std::unique_ptr<Instance>> free_;  // before plan_, which they refer to, is gone
};

}  // namespace kusari::graphs
