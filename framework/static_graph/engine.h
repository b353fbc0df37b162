#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/static_graph/arena.h"
#include "kusari/framework/static_graph/recorded_call.h"
#include "kusari/framework/static_graph/signature.h"
#include "kusari/framework/static_graph/static_graph.h"

namespace kusari::graphs {

/// Decides for each call of a static graph whether it is recorded, replayed or run as it is.
class Engine {
 public:
  using Callee = kusari::detail::StaticGraphCache::Callee;

  explicit Engine(StaticGraphOptions options);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const StaticGraphOptions& options() const noexcept { return options_; }
  bool is_on() const noexcept;
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

  void check(std::span<const Variable> inputs) const;
  Entry* find(std::span<const Variable> inputs, const Surroundings& surroundings) const noexcept;
  Entry* add(std::span<const Variable> inputs, const Surroundings& surroundings);
  void forget_mode(bool is_training);
  void forget_changed(const Callee& callee);
  Variables record(Entry& entry, const Callee& callee, std::span<const Variable> inputs);
  Variables replay(const IntrusivePtr<RecordedCall>& recorded, std::span<const Variable> inputs);
  void log(int level, const Entry& entry, const char* what) const;

  StaticGraphOptions options_;
  std::vector<std::shared_ptr<Entry>> entries_;  // shared with calls that are being recorded
  std::shared_ptr<Scratch> scratch_ = std::make_shared<Scratch>();
  std::shared_ptr<std::unordered_set<uint64_t>> escaped_ = std::make_shared<std::unordered_set<uint64_t>>();
  bool is_full_ = false;     // a signature was refused
  bool is_running_ = false;  // a replay, from which static_code may call again
};

}  // namespace kusari::graphs
