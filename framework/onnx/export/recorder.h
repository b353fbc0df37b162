#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "kusari/framework/autograd/function_hook.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/onnx/export/array_operations.h"
#include "kusari/framework/onnx/export/trace.h"

namespace kusari::onnx::exporting {

/// Writes a Trace while it is installed: functions through their hooks, what kernels do outside of functions through
/// the door, and what the host reads as static graphs learn it.
class TraceRecorder final : public FunctionHook, public LaunchObserver, public LinkHook, public GraphCapture {
 public:
  TraceRecorder(Trace& trace, Link* root);
  ~TraceRecorder() override;
  /// This thread's, or null.
  static TraceRecorder* current() noexcept;

  int argument(const Variable& x);
  /// The value that a variable names; a constant is added when it is seen first, and so are the operations on arrays
  /// that made it. Throws StateError for what was computed from arguments outside of functions in another way.
  int id_of(const Variable& variable, const std::string& reader);
  /// Enters a call whose inputs are known, and its outputs.
  void record(Call call, std::span<const Variable> out);
  const std::string& path() const noexcept { return path_; }
  /// While it is above 0, calls are not written.
  int& muted() noexcept { return muted_; }

  void forward_preprocess(const FunctionNode& function, const ArrayRefs& in) override;
  void forward_postprocess(const FunctionNode& function, const ArrayRefs& in, const Arrays& out) override;
  void called(const FunctionNode& function, std::span<const Variable* const> in,
              std::span<const Variable> out) override;
  void on_launch(const Launch& launch, void (*proceed)(const Launch&)) override;
  /// Throws StateError for numbers that depend on an argument, outside of functions.
  void host_reads(const char* call, const Array& array) override;
  const char* name() const override { return "onnx"; }
  void forward_preprocess(Link& link) override;
  void forward_postprocess(Link& link) override;

 private:
  // An operation on arrays outside of functions, which becomes a call when its result is read.
  struct Noted {
    const ArrayOperation* operation;
    std::optional<double> number;
    Arrays inputs;
    Array output;
    std::string link;
  };

  int add(Value value);
  std::string place() const;
  // id_of, but kAbsent where that throws.
  int find_or_enter(const Variable& variable);
  int enter(const Noted& noted);
  // The same elements in order under another shape, if some value has them.
  int enter_reshaped(const Variable& variable);
  void note(const Launch& launch);
  // What was known of the elements in that storage is no longer so.
  void forget(uint64_t storage);

  // What only replays need to know.
  void allocated(kusari::detail::Storage&) override {}
  void freed(const kusari::detail::Storage&) noexcept override {}
  void host_writes(const char*, const Array&) override {}
  void copied_between_devices(const Array& from, const Array& to) override;
  void drawn(RandomState, uint64_t) override {}
  void reported(std::span<const Reported>, const void*) override {}
  Array lent(const Array& array) override { return array; }
  void used(const Variable&) override {}
  void kept(Variable&) override {}
  void on_replay(When, Callable<void()>) override {}
  void require(Callable<bool()>) override {}
  void constant(const Array&) override {}
  void refused(const char*, const std::string&) override {}

  Trace& trace_;
  Link* root_;
  TraceRecorder* previous_;
  std::unordered_map<const kusari::detail::VariableNode*, int> by_node_;
  std::unordered_map<const Link*, std::string> paths_;
  std::vector<std::string> outer_;
  std::map<ArrayKey, Noted> noted_;
  std::vector<Variable> held_;
  std::string path_, reader_;
  size_t count_ = 0;
  int depth_ = 0, muted_ = 0;
};

}  // namespace kusari::onnx::exporting
