#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/static_graph/engine.h"
#include "kusari/framework/static_graph/static_graph.h"

namespace kusari::graphs {

/// The engines of one static graph: as many as there are threads that call it at the same time, each with recordings
/// and memory of its own. A thread alone always gets the first.
class Engines {
 public:
  using Callee = kusari::detail::StaticGraphCache::Callee;

  explicit Engines(StaticGraphOptions options);
  Engines(const Engines&) = delete;
  Engines& operator=(const Engines&) = delete;

  const StaticGraphOptions& options() const noexcept { return shared_->options; }
  bool is_on() const noexcept { return first_.engine.is_on(); }
  Variables call(const Callee& callee, std::span<const Variable> inputs);

  /// Those of the engines that have recordings. No other thread may be in a call.
  std::string summary() const;
  std::string dot() const;
  void clear() noexcept;

 private:
  struct Place {
    Place(const std::shared_ptr<EnginesShared>& shared, bool is_first) : engine{shared, is_first} {}
    Engine engine;
    std::atomic<std::thread::id> user{};  // whose call is running
    std::thread::id last_user;            // the user's to see
  };
  class Lease;

  static bool take(Place& place, std::thread::id self) noexcept;
  Place& take_any(std::thread::id self);
  bool is_calling(std::thread::id self) const noexcept;
  template <class Visit>
  void for_each(Visit visit) const;

  std::shared_ptr<EnginesShared> shared_;
  mutable Place first_;
  std::atomic<bool> has_others_{false};
  mutable ForkSafeMutex mutex_;  // of others_
  std::vector<std::unique_ptr<Place>> others_;
};

}  // namespace kusari::graphs
