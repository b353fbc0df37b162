#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/function_hook.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/static_graph/program.h"
#include "kusari/framework/static_graph/recording.h"

namespace kusari::graphs {

/// Watches a call while it runs define-by-run and writes down what a replay has to do: the kernels, and what happens
/// beside them. Keeps no memory alive that the call allocates, so that the call needs what it would need otherwise.
///
///     Recorder recorder("Mlp", options.fallback);
///     const Recorder::Input x = recorder.input(given);
///     { const Recorder::Scope scope(recorder, Phase::forward); y = model(x.array); }
///     recorder.exported(y, Export::own);
///     ...
///     Recording recording = recorder.finish();
class KUSARI_API Recorder final : private LaunchObserver, private GraphCapture, private FunctionHook {
 public:
  /// `name` of the static graph, for messages. `earlier_escapes`: ids of the storages that earlier calls of the static
  /// graph have let escape (Recording::escapes): a call that reads one keeps state, and is refused. With `fallback`,
  /// what cannot be replayed ends the recording and lets the call go on; without, it throws StateError.
  Recorder(std::string name, bool fallback, const std::set<uint64_t>* earlier_escapes = nullptr);
  /// From now on kernels are written down and not run: for a call whose numbers nobody wants. Not with `fallback`,
  /// where the call would go on with numbers that were never computed.
  void only_record() noexcept { runs_kernels_ = false; }
  ~Recorder() override;

  struct Input {
    Array array;  ///< the same elements under a storage of their own: hand this to the call
    View view;
  };
  /// An argument of the call, or the gradient of an output: before the phase that reads it. Those given before the
  /// forward phase ends are Recording::inputs, and escape like what the call computes. Their elements must not be
  /// written.
  Input input(const Array& array);

  /// Records what this thread does, until its end.
  class KUSARI_API Scope {
   public:
    Scope(Recorder& recorder, Phase phase);
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();

   private:
    Recorder& recorder_;
    ScopedLaunchObserver launches_;
    ScopedGraphCapture capture_;
    ScopedFunctionHook functions_;
  };

  /// What the caller gets: any array that the recording knows; undefined for an undefined one. Also outside of scopes.
  View exported(const Array& array, Export how);
  /// Whether the memory of `array` is part of the recording; until finish().
  bool knows(const Array& array) const;
  /// A result or a reported array as others get it: the same elements under a storage of their own, so that finish()
  /// can tell who else holds the memory (an escape). What is not the call's own memory comes back as it is.
  Array lent(const Array& array) override;
  /// Whether lent() has given away memory of `array`.
  bool is_lent(const Array& array) const;
  /// Known from the end of the forward phase on; indices stay as they are.
  std::span<const Recording::Leaf> leaves() const noexcept { return leaves_; }
  std::span<const Recording::Kept> kept_members() const noexcept { return kept_; }

  bool is_refused() const noexcept { return is_refused_; }
  /// "Array::item reads elements on the host inside F::foo; a replay cannot repeat that: ..."
  const std::string& reason() const noexcept { return reason_; }
  /// Refuses the recording from outside, as what happens in the call would. `reason`: a sentence's beginning, for
  /// reason().
  void refuse(const std::string& reason);

  /// Ends the recording; not after it was refused. The recorder goes on watching what has escaped, for expire().
  Recording finish();
  /// Before the first replay: what has escaped and still lives will throw StateError at its next use.
  void expire();

 private:
  struct Known {
    SlotIndex slot = kNoSlot;
    kusari::detail::Storage* storage = nullptr;             // of an intermediate or an argument
    const char* function = "";                              // under which it was allocated
    std::shared_ptr<std::atomic<uint32_t>> lent = nullptr;  // how many of its references belong to callers
  };
  struct SlotState {
    bool is_written = false;
  };
  struct Draw {
    RandomState taken;
    uint64_t count;
    uint64_t before;  // numbers drawn in this phase before it
  };

  void on_launch(const Launch& launch, void (*proceed)(const Launch&)) override;
  void allocated(kusari::detail::Storage& storage) override;
  void freed(const kusari::detail::Storage& storage) noexcept override;
  void host_reads(const char* call, const Array& array) override;
  void host_writes(const char* call, const Array& array) override;
  void copied_between_devices(const Array& from, const Array& to) override;
  void drawn(RandomState taken, uint64_t count) override;
  void reported(std::span<const Reported> values, const void* observer) override;
  void used(const Variable& input) override;
  void kept(Variable& member) override;
  void on_replay(When when, Callable<void()> action) override;
  void require(Callable<bool()> holds) override;
  void refused(const char* call, const std::string& reason) override;

  void forward_preprocess(const FunctionNode& function, const ArrayRefs& in) override;
  void forward_postprocess(const FunctionNode& function, const ArrayRefs& in, const Arrays& out) override;
  void backward_preprocess(const FunctionNode& function, const Variables& gy) override;
  void backward_postprocess(const FunctionNode& function, const Variables& gy, const Variables& gx) override;
  bool wants_own_gradients() const noexcept override { return false; }

  void constant(const Array& array) override;

  void begin(Phase phase);
  void end();
  void enter(const FunctionNode& function);
  void leave() noexcept;
  /// "F::linear", or "the call" outside of functions.
  std::string running() const;
  uint64_t& random_of(Phase phase);
  void refused(const std::string& call, const std::string& reason);

  SlotIndex add(Slot::Kind kind, const kusari::detail::Storage& storage);
  SlotIndex slot_of(const Array& array);
  View locked_view(const Array& array);
  View view(const Array& array);
  Step step_of(const Launch& launch);
  Operand operand(const Launch& launch, const LaunchArgument& argument);
  RandomState in_phase(const Launch& launch, RandomState state);
  void check_read(const Launch& launch, const View& view);
  void note_written(const Launch& launch, const View& view);

  const std::string name_;
  const bool fallback_;
  const std::set<uint64_t>* const earlier_escapes_;
  bool runs_kernels_ = true;
  bool is_refused_ = false;
  std::string reason_;

  mutable ForkSafeMutex mutex_;                // of known_: another thread may free what this one allocated
  std::unordered_map<uint64_t, Known> known_;  // by id of the storage; of intermediates, those that live

  Phase phase_ = Phase::forward;
  std::optional<Device> device_;
  std::vector<const char*> running_;       // functions, the innermost last
  std::unordered_set<std::string> names_;  // of functions
  std::vector<Array> held_;                // arguments, so that nobody takes them for his own while they are recorded
  std::vector<SlotState> states_;          // of the program's slots
  std::vector<Draw> draws_;                // of this phase
  uint64_t drawn_ = 0;
  const void* observation_ = nullptr;  // where reports went when the phase began
  bool reads_escape_ = false;
  std::unordered_set<const kusari::detail::VariableNode*> used_;        // those in memory that was there before
  std::unordered_set<const kusari::detail::VariableNode*> leaf_nodes_;  // of leaves_ and candidates_
  struct Watched {
    IntrusivePtr<kusari::detail::VariableNode> node;
    uint64_t storage_id;
  };
  std::vector<Watched> watched_;             // variables without gradient that were there before
  std::vector<Recording::Leaf> candidates_;  // leaves of this phase, if somebody still holds them when it ends
  std::vector<Recording::Leaf> leaves_;
  std::vector<Recording::Kept> kept_;
  Recording recording_;
};

}  // namespace kusari::graphs
