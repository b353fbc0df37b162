#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/links/in_use.h"
#include "kusari/framework/static_graph/arena.h"
#include "kusari/framework/static_graph/call_results.h"
#include "kusari/framework/static_graph/carried_states.h"
#include "kusari/framework/static_graph/signature.h"
#include "kusari/framework/static_graph/static_graph.h"

namespace kusari::graphs {

/// What the engines of one static graph share.
struct EnginesShared {
  explicit EnginesShared(StaticGraphOptions given) : options{std::move(given)} {}
  /// Whether nobody has asked with this text before: for warnings that come once.
  bool is_new(const std::string& warning);

  const StaticGraphOptions options;
  kusari::detail::InUse members;  ///< of links, which replays set
  ForkSafeMutex mutex;
  std::unordered_set<std::string> warnings;
};

/// Decides for each call of a static graph whether it is recorded, replayed or run as it is. One thread at a time.
class Engine {
 public:
  using Callee = kusari::detail::StaticGraphCache::Callee;

  /// is_first: of the engines of its graph; the others leave calls as they are that use arrays beside the model.
  Engine(std::shared_ptr<EnginesShared> shared, bool is_first);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Does not look at what calls change.
  bool is_on() const noexcept;
  /// Whether calls wait for their backward.
  bool has_open_calls() const noexcept { return open_calls_->count.load(std::memory_order_acquire) > 0; }
  /// The states of the model go with the inputs, and come with the results.
  Variables call(const Callee& callee, std::span<const Variable> inputs);

  std::string summary() const;
  std::string dot() const;
  void clear() noexcept;

 private:
  /// What is known about the calls of one signature.
  struct Entry {
    explicit Entry(Signature calls) : signature{std::move(calls)} {}
    enum class State : uint8_t {
      fresh,  ///< calls are recorded; there may be several before the backward of one comes
      ready,
      plain,  ///< calls run as they are for good
    };
    Signature signature;
    State state = State::fresh;
    IntrusivePtr<RecordedCall> recorded;
    int open_recordings = 0;
    int unused_recordings = 0;    ///< in a row
    bool is_used = false;         ///< `recorded` has been replayed
    bool left_something = false;  ///< a recorded call did, so that one more call had to show whether it reads that
    std::string reason;           ///< why the last recording was of no use
  };
  class Observer;

  /// `carried`: how many of the inputs and of the results, the last ones, are states.
  Variables call_stateless(const Callee& callee, std::span<const Variable> inputs, size_t carried);
  void check(std::span<const Variable> inputs) const;
  Entry* find(std::span<const Variable> inputs, const Surroundings& surroundings) const noexcept;
  Entry* add(std::span<const Variable> inputs, const Surroundings& surroundings);
  void forget_mode(bool is_training);
  void forget_changed(const Callee& callee);
  Variables record(Entry& entry, const Callee& callee, std::span<const Variable> inputs, size_t carried);
  Variables replay(const IntrusivePtr<RecordedCall>& recorded, std::span<const Variable> inputs);
  void log(int level, const Entry& entry, const char* what) const;

  std::shared_ptr<EnginesShared> shared_;
  const StaticGraphOptions& options_;
  bool is_first_;
  CarriedStates states_;
  bool copies_outputs_;
  std::shared_ptr<OpenCalls> open_calls_ = std::make_shared<OpenCalls>();
  std::vector<std::shared_ptr<Entry>> entries_;  // shared with calls that are being recorded
  std::shared_ptr<Scratch> scratch_ = std::make_shared<Scratch>();
  std::shared_ptr<std::set<uint64_t>> escaped_ = std::make_shared<std::set<uint64_t>>();
};

}  // namespace kusari::graphs
