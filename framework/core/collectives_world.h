#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kusari/framework/core/collectives.h"

namespace kusari::collectives {

/// What a rank waits for, as its messages say it.
struct Waiting {
  Operation operation;
  int64_t number = 0;
  int context = 0;
  std::span<const int> members;  // ranks in the transport
};

/// The run as one rank sees it: its transport, who has failed or left, and how to wait. Groups share it.
class World {
 public:
  World(std::unique_ptr<Transport> transport, const WorldOptions& options);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  Transport& transport() noexcept { return *transport_; }
  const WorldOptions& options() const noexcept { return options_; }
  bool checks_calls() const noexcept { return checks_calls_; }

  /// Throws RemoteError when a rank has failed, StateError when this one has.
  void check();
  /// Waits until the ticket is done. Throws as check() does, RemoteError when who is awaited has left the group, and
  /// when nobody comes within the timeout.
  double wait(Ticket& ticket, const Waiting& waiting);

  void fail(std::string_view message) noexcept;
  void leave(int context, std::span<const int> members) noexcept;
  bool has_failed();
  /// At the end of the process: lets the others hear of it, then ends the run.
  void finish() noexcept;

  /// "rank 3 of 4 (node7, process 1234)".
  std::string describe(int rank) const;
  void set_places(std::vector<std::string> places) { places_ = std::move(places); }

  int next_context() const noexcept { return next_context_; }
  void use_context(int context);

 private:
  class Stall;
  void poll();
  void throw_failure();
  bool have_all_ended();

  std::unique_ptr<Transport> transport_;
  WorldOptions options_;
  bool checks_calls_ = false;
  std::vector<std::string> places_;
  int next_context_ = 1;

  std::mutex mutex_;
  std::string failure_;                             // of another rank
  std::string own_failure_;                         // what this one has told the others
  std::map<int, std::map<int, std::string>> left_;  // by context and rank: how
  std::map<std::pair<int, int>, Notice> waits_;     // of other ranks, by context and rank
  std::set<int> ended_;                             // left all groups, or failed
};

/// The world of the caller: the one of its thread, else the process's; null without one.
World* current_world() noexcept;
/// Says which that is. `is_of_process`: not only of this thread.
void enter_world(World& world, bool is_of_process) noexcept;
void leave_world(World& world) noexcept;

}  // namespace kusari::collectives
