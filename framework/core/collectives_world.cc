#include "kusari/framework/core/collectives_world.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include "kusari/framework/core/environment.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/core/type_name.h"

namespace kusari {

RemoteError::RemoteError(const std::string& message) : Error(message) {}
RemoteError::~RemoteError() = default;

}  // namespace kusari

namespace kusari::collectives {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// Who awaits a message of a rank that has left has its last messages by then.
constexpr Seconds kLastMessages{0.2};
// Ranks begin to wait, and say so, at different times.
constexpr Seconds kSayingSo{1};
// How long a failing process waits for the others to hear of it.
constexpr Seconds kHearing{2};

constinit thread_local World* t_world __attribute__((tls_model("initial-exec"))) = nullptr;
constinit std::atomic<World*> process_world{nullptr};
constinit Status process_status{};

void copy_text(std::string_view text, char* to, size_t room) noexcept {
  const size_t n = std::min(text.size(), room - 1);
  std::memcpy(to, text.data(), n);
  to[n] = 0;
}

std::string text_of(const Waiting& waiting) {
  std::string text = waiting.operation.name;
  if (waiting.number > 0) text += " " + std::to_string(waiting.number);
  if (!waiting.operation.detail.empty()) text += " (" + std::string(waiting.operation.detail) + ")";
  return text;
}

std::string listed(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return text;
}

// Messages come within microseconds, large ones in milliseconds, or when another rank has computed what it must. MPI
// moves bytes only while it is called.
void back_off(Seconds waited) {
  if (waited < Seconds(50e-6)) {
#if defined(__x86_64__)
    for (int i = 0; i < 16; ++i) __builtin_ia32_pause();
#endif
  } else if (waited < Seconds(5e-3)) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::clamp(waited / 50, Seconds(20e-6), Seconds(1e-3)));
  }
}

double seconds_from(const char* variable, double otherwise) {
  const auto seconds = environment::number(variable);
  return seconds ? static_cast<double>(*seconds) : otherwise;
}

}  // namespace

Ticket::~Ticket() = default;
Transport::~Transport() = default;

const Status& status() noexcept { return process_status; }
World* current_world() noexcept { return t_world != nullptr ? t_world : process_world.load(std::memory_order_acquire); }

void enter_world(World& world, bool is_of_process) noexcept {
  if (!is_of_process) {
    t_world = &world;
    return;
  }
  process_world.store(&world, std::memory_order_release);
  copy_text(world.describe(world.transport().rank()), process_status.self, sizeof(process_status.self));
}

void leave_world(World& world) noexcept {
  if (t_world == &world) t_world = nullptr;
  World* expected = &world;
  process_world.compare_exchange_strong(expected, nullptr);
}

std::string failure_text(const std::exception_ptr& reason) {
  try {
    std::rethrow_exception(reason);
  } catch (const std::exception& error) {
    return type_name(typeid(error)) + ": " + error.what();
  } catch (...) {
    return "an exception of its own kind";
  }
}

void announce_failure(const std::exception_ptr& reason) noexcept {
  World* const world = current_world();
  if (world == nullptr || !reason) return;
  try {
    std::rethrow_exception(reason);
  } catch (const RemoteError&) {
    return;
  } catch (...) {
  }
  try {
    world->fail(failure_text(reason));
  } catch (...) {
    world->fail("an exception, and no memory to say which");
  }
}

World::World(std::unique_ptr<Transport> transport, const WorldOptions& options)
    : transport_{std::move(transport)}, options_{options} {
  options_.stall_warning = Seconds(seconds_from("KUSARI_DISTRIBUTED_STALL_WARNING", options.stall_warning.count()));
  options_.timeout = Seconds(seconds_from("KUSARI_DISTRIBUTED_TIMEOUT", options.timeout.count()));
  checks_calls_ = environment::flag("KUSARI_DISTRIBUTED_DEBUG").value_or(false);
}

World::~World() { leave_world(*this); }

std::string World::describe(int rank) const {
  std::string text = "rank " + std::to_string(rank) + " of " + std::to_string(transport_->size());
  const auto at = static_cast<size_t>(rank);
  if (at < places_.size()) text += " (" + places_[at] + ")";
  return text;
}

void World::use_context(int context) {
  next_context_ = std::max(next_context_, context + 1);
  if (context >= transport_->max_tag() / Group::kTagsOfGroup) {
    throw StateError("Communicator::split: there are " + std::to_string(context) +
                     " groups: messages of this MPI tell no more apart");
  }
}

void World::poll() {
  while (std::optional<Notice> notice = transport_->poll()) {
    notice->text[Notice::kTextBytes - 1] = 0;
    const std::scoped_lock lock(mutex_);
    switch (notice->kind) {
      case Notice::Kind::failed:
        if (failure_.empty()) failure_ = notice->text;
        ended_.insert(notice->from);
        break;
      case Notice::Kind::left:
        left_[notice->context][notice->from] = notice->text;
        if (notice->context < 0) ended_.insert(notice->from);
        break;
      case Notice::Kind::waits:
        waits_[{notice->context, notice->from}] = *notice;
        break;
    }
  }
}

void World::throw_failure() {
  const std::scoped_lock lock(mutex_);
  if (!failure_.empty()) throw RemoteError(failure_);
  if (!own_failure_.empty()) {
    throw StateError("the other ranks have been told that this one failed, and expect nothing more of it: " +
                     own_failure_);
  }
}

void World::check() {
  poll();
  throw_failure();
}

bool World::has_failed() {
  poll();
  const std::scoped_lock lock(mutex_);
  return !failure_.empty() || !own_failure_.empty();
}

void World::fail(std::string_view message) noexcept {
  try {
    {
      const std::scoped_lock lock(mutex_);
      if (!own_failure_.empty()) return;
      own_failure_ = message;
    }
    Notice notice{.kind = Notice::Kind::failed, .from = transport_->rank()};
    copy_text(describe(transport_->rank()) + ": " + std::string(message), notice.text, sizeof(notice.text));
    for (int rank = 0; rank < transport_->size(); ++rank) {
      if (rank != transport_->rank()) transport_->post(notice, rank);
    }
  } catch (...) {
    log::error("Communicator: the other ranks could not be told of a failure");
  }
}

void World::leave(int context, std::span<const int> members) noexcept {
  try {
    Notice notice{.kind = Notice::Kind::left, .from = transport_->rank(), .context = context};
    if (std::uncaught_exceptions() > 0) copy_text(" by an exception", notice.text, sizeof(notice.text));
    for (const int rank : members) {
      if (rank != transport_->rank()) transport_->post(notice, rank);
    }
  } catch (...) {
    log::error("Communicator: the other ranks could not be told of the end of this one");
  }
}

bool World::have_all_ended() {
  poll();
  const std::scoped_lock lock(mutex_);
  return static_cast<int>(ended_.size()) >= transport_->size() - 1;
}

void World::finish() noexcept {
  try {
    std::vector<int> all(static_cast<size_t>(transport_->size()));
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
    leave(-1, all);
    if (!has_failed()) return transport_->finish();
    const auto begin = Clock::now();
    while (!have_all_ended() && Clock::now() - begin < kHearing) std::this_thread::sleep_for(Seconds(0.005));
  } catch (...) {
  }
  transport_->abort();
}

/// Looks after one wait that takes long.
class World::Stall {
 public:
  Stall(World& world, const Waiting& waiting) : world_{world}, waiting_{waiting} {}

  void look(Seconds waited, Ticket& ticket) {
    if (waited >= warn_at() && !is_said_) say(waited);
    if (waited >= warn_at() + kSayingSo && !is_warned_) warn(waited, ticket);
    if (waited >= world_.options_.timeout) {
      const std::string text = describe(waited, ticket);
      world_.fail(text);
      throw RemoteError(text + ", and the timeout is over");
    }
  }
  void look_for_left(Seconds waited, Ticket& ticket) {
    std::vector<int> awaited;
    ticket.list_awaited(awaited);
    const std::optional<std::string> gone = left_of(awaited);
    if (!gone) return;
    if (!left_since_) left_since_ = waited;
    if (waited - *left_since_ < kLastMessages) return;
    const std::string text =
        *gone + ", and " + world_.describe(world_.transport_->rank()) + " waits for it in " + text_of(waiting_);
    world_.fail(text);
    throw RemoteError(text);
  }

 private:
  Seconds warn_at() const { return world_.options_.stall_warning; }

  /// "rank 1 of 2 (node7, process 1234) has left the group"; of the first of these ranks that has.
  std::optional<std::string> left_of(const std::vector<int>& awaited) {
    const std::scoped_lock lock(world_.mutex_);
    for (const int context : {waiting_.context, -1}) {
      const auto found = world_.left_.find(context);
      if (found == world_.left_.end()) continue;
      for (const int rank : awaited) {
        const auto how = found->second.find(rank);
        if (how != found->second.end()) return world_.describe(rank) + " has left the group" + how->second;
      }
    }
    return std::nullopt;
  }

  void say(Seconds waited) {
    is_said_ = true;
    Notice notice{.kind = Notice::Kind::waits,
                  .from = world_.transport_->rank(),
                  .context = waiting_.context,
                  .number = waiting_.number};
    copy_text(text_of(waiting_) + " for " + general_text(std::round(waited.count())) + " s", notice.text,
              sizeof(notice.text));
    for (const int rank : waiting_.members) {
      if (rank != world_.transport_->rank()) world_.transport_->post(notice, rank);
    }
  }

  // "rank 2 has not reached all-reduce 1042; ranks 0, 1, 3 wait for 30 s". Ranks of the group that neither say that
  // they wait here nor sit in another operation are those that it is about.
  std::string describe(Seconds waited, Ticket& ticket) {
    std::vector<int> waiting{world_.transport_->rank()}, silent, awaited;
    ticket.list_awaited(awaited);
    std::string elsewhere;
    {
      const std::scoped_lock lock(world_.mutex_);
      for (const int rank : waiting_.members) {
        if (rank == world_.transport_->rank()) continue;
        const auto found = world_.waits_.find({waiting_.context, rank});
        if (found == world_.waits_.end() || found->second.number < waiting_.number) {
          silent.push_back(rank);
        } else if (found->second.number == waiting_.number) {
          waiting.push_back(rank);
        } else {
          elsewhere += "; rank " + std::to_string(rank) + " waits in " + found->second.text;
        }
      }
    }
    std::sort(waiting.begin(), waiting.end());
    const std::string place = text_of(waiting_);
    const std::string seconds = general_text(std::round(waited.count())) + " s";
    const std::string who = listed(waiting) + (waiting.size() == 1 ? " waits for " : " wait for ") + seconds;
    if (silent.empty()) return who + " in " + place + elsewhere;
    std::string places;  // unknown before the ranks have told them
    for (const int rank : silent) {
      if (const auto at = static_cast<size_t>(rank); at < world_.places_.size()) {
        places += (places.empty() ? " (" : ", ") + world_.places_[at];
      }
    }
    return listed(silent) + places + (places.empty() ? "" : ")") + (silent.size() == 1 ? " has" : " have") +
           " not reached " + place + "; " + who + elsewhere;
  }

  // One of those that wait speaks.
  void warn(Seconds waited, Ticket& ticket) {
    is_warned_ = true;
    bool is_first = true;
    {
      const std::scoped_lock lock(world_.mutex_);
      for (const int rank : waiting_.members) {
        const auto found = world_.waits_.find({waiting_.context, rank});
        if (rank < world_.transport_->rank() && found != world_.waits_.end() &&
            found->second.number >= waiting_.number) {
          is_first = false;
        }
      }
    }
    if (is_first) log::warn("Communicator: " + describe(waited, ticket));
  }

  World& world_;
  const Waiting& waiting_;
  bool is_said_ = false, is_warned_ = false;
  std::optional<Seconds> left_since_;
};

double World::wait(Ticket& ticket, const Waiting& waiting) {
  if (ticket.test()) return 0;
  const auto begin = Clock::now();
  const bool is_of_process = t_world != this;
  if (is_of_process) copy_text(text_of(waiting), process_status.waits_for, sizeof(process_status.waits_for));
  struct Done {
    bool is_of_process;
    ~Done() {
      if (is_of_process) process_status.waits_for[0] = 0;
    }
  } done{is_of_process};
  Stall stall(*this, waiting);
  uint64_t moves = ticket.moves;
  Seconds moved{0};  // when a part was done last
  for (int64_t round = 0;; ++round) {
    if (ticket.test()) return Seconds(Clock::now() - begin).count();
    const Seconds waited = Clock::now() - begin;
    if (std::exchange(moves, ticket.moves) != ticket.moves) moved = waited;
    if (round % 16 == 15) {
      check();
      stall.look_for_left(waited, ticket);
      stall.look(waited, ticket);
    }
    back_off(waited - moved);
  }
}

}  // namespace kusari::collectives
