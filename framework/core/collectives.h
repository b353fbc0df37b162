#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/remote_error.h"

/// How several processes (ranks) exchange bytes: a Transport moves messages between two ranks, a Group has the
/// operations of all its ranks, and looks for failed and silent ranks wherever it waits. Nothing here knows arrays.
namespace kusari::collectives {

/// The version of what libkusari_mpi.so and core know of each other.
inline constexpr int kTransportInterface = 1;

/// Something that was started and goes on when test() is called. The memory that it was given must live until it is
/// done.
class KUSARI_API Ticket {
 public:
  Ticket() = default;
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  /// Gives up what is not done; `held` stays alive as long as something may still read or write there.
  virtual ~Ticket();
  /// Moves on; whether it is done. Never waits.
  virtual bool test() = 0;
  /// Adds the ranks whose messages it still waits for, as the transport numbers them.
  virtual void list_awaited(std::vector<int>& ranks) const = 0;

  std::shared_ptr<const void> held = nullptr;  // owner of the memory, for one that may be given up
  uint64_t moves = 0;                          // another number whenever a part of it was done
};
using TicketPtr = std::unique_ptr<Ticket>;

/// A short message about the run itself, which no operation waits for.
struct Notice {
  enum class Kind : int32_t { failed, left, waits };
  static constexpr size_t kTextBytes = 1000;

  Kind kind = Kind::left;
  int32_t from = 0;     // rank in the transport
  int32_t context = 0;  // of the group; -1: all of them
  int64_t number = 0;   // of the operation
  char text[kTextBytes] = {};
};

/// Messages between two ranks of a run, in order for each pair and tag, and notices. Any thread may call, one at a
/// time: World sees to it.
class KUSARI_API Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport();

  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  /// Ranks that share memory with this one give the same number: the lowest of them.
  virtual std::vector<int> machines() const = 0;
  /// "node7, process 1234".
  virtual std::string place() const = 0;
  /// Tags are in [0, max_tag()].
  virtual int max_tag() const noexcept = 0;

  virtual TicketPtr send(const void* data, size_t bytes, int to, int tag) = 0;
  /// A message of exactly that many bytes.
  virtual TicketPtr recv(void* data, size_t bytes, int from, int tag) = 0;

  virtual void post(const Notice& notice, int to) = 0;
  /// The next notice that has come, if any.
  virtual std::optional<Notice> poll() = 0;
  /// Ends the whole run, ranks that do not answer included; a transport within one process does nothing.
  virtual void abort() noexcept = 0;
  /// The end of a run in which nothing failed; waits for the other ranks.
  virtual void finish() noexcept = 0;
};

struct WorldOptions {
  std::chrono::duration<double> stall_warning{30};
  std::chrono::duration<double> timeout{600};
};

class World;

/// Whom others see as failed: "rank 3 of 4 (node7, process 1234)", and what this process is waiting for just now:
/// "all-reduce 1042 (bucket 3: /conv1/W ..)". Written for signal handlers; empty strings when there is nothing.
struct Status {
  char self[256];
  char waits_for[512];
};
KUSARI_API const Status& status() noexcept;

/// An operation of a group for messages: "all-reduce", "bcast", and details: "bucket 3: /conv1/W .. /conv2/b".
struct Operation {
  const char* name;
  std::string_view detail = {};
};

/// Some ranks of a run, numbered from 0, that call the same operations in the same order. Methods that wait throw
/// RemoteError; an operation that another rank takes for another one throws StateError there with both names.
class KUSARI_API Group {
 public:
  /// Tags of a transport that one group uses: as many for send(), and as many for operations.
  static constexpr int kTagsOfGroup = 65536;
  static constexpr int kUserTags = kTagsOfGroup / 2;

  /// This process alone: no transport, and nothing ever waits.
  Group();
  /// All ranks of the transport.
  /// `is_of_process`: what announce_failure() of any thread tells; otherwise that of the calling one.
  explicit Group(std::unique_ptr<Transport> transport, const WorldOptions& options = {}, bool is_of_process = true);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group();

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return static_cast<int>(members_.size()); }
  int intra_rank() const noexcept { return intra_rank_; }
  int intra_size() const noexcept { return intra_size_; }
  int inter_rank() const noexcept { return inter_rank_; }
  int inter_size() const noexcept { return inter_size_; }
  /// "rank 3 of 4 (node7, process 1234)".
  std::string describe(int rank) const;
  /// Operations so far.
  int64_t operations() const noexcept { return operations_; }
  /// A number that differs between ranks which called other operations.
  uint64_t history() const noexcept { return history_; }

  /// The group of the ranks that give the same color, ordered by key, then by rank.
  std::shared_ptr<Group> split(int color, int key);

  // --- any number of bytes, which the receiver learns with them ---

  void send(std::string_view bytes, int to, int tag);
  std::string recv(int from, int tag);
  std::string bcast(Operation operation, std::string_view bytes, int root);
  std::vector<std::string> gather(Operation operation, std::string_view bytes, int root);
  std::vector<std::string> allgather(Operation operation, std::string_view bytes);
  std::string scatter(Operation operation, std::span<const std::string> parts, int root);
  std::vector<std::string> alltoall(Operation operation, std::span<const std::string> parts);
  void barrier();

  // --- sizes that all know; started, to be waited for by wait() or tested ---

  /// Takes the numbers of `count` operations that will be started in any order: the first of them.
  int64_t reserve(Operation operation, int count);
  /// `number`: one that was reserved, else the next. Rank r gets `counts[r]` bytes of `to_send` from the byte
  /// `offsets[r]` on, and each rank's part for this one comes to `received + r * stride`.
  TicketPtr start_alltoall(Operation operation, const void* to_send, std::span<const size_t> offsets,
                           std::span<const size_t> counts, void* received, size_t stride, int64_t number = 0);
  /// Part r of `data`, which is rank r's, comes to all others.
  TicketPtr start_allgather(Operation operation, void* data, std::span<const size_t> offsets,
                            std::span<const size_t> counts, int64_t number = 0);
  /// Waits until it is done; seconds that it took. `number`: what messages about the wait call it; else the last.
  double wait(Ticket& ticket, Operation operation, int64_t number = 0);
  /// Throws what wait() would throw now, without waiting.
  void check();

  // --- failures ---

  /// Tells the other ranks that this one has failed, so that they stop waiting. Once.
  void fail(std::string_view message) const noexcept;
  /// Tells them that it does not come any more.
  void leave() noexcept;
  bool has_left() const noexcept { return has_left_; }

  /// Whether KUSARI_DISTRIBUTED_DEBUG asks for each operation to be compared before it starts.
  bool checks_calls() const noexcept;
  /// Does so, for one of that many bytes if all ranks must agree in them: StateError with both calls where they differ.
  void compare_calls(const Operation& operation, std::optional<size_t> bytes = std::nullopt);

 private:
  struct Call;
  Group(std::shared_ptr<World> world, std::vector<int> members, int rank, int context);
  Call begin(const Operation& operation, std::optional<size_t> bytes = std::nullopt);
  Call reserved(const Operation& operation, int64_t number);
  void find_places();
  int world_rank(int rank) const { return members_[static_cast<size_t>(rank)]; }
  int group_rank(int world_rank) const;
  double wait_for(Ticket& ticket, const Call& call);

  std::shared_ptr<World> world_;
  std::vector<int> members_;  // ranks in the transport
  int rank_ = 0;
  int context_ = 0;
  int intra_rank_ = 0, intra_size_ = 1, inter_rank_ = 0, inter_size_ = 1;
  int64_t operations_ = 0;
  uint64_t history_ = 0;
  bool has_left_ = false;
};

/// libkusari_mpi.so's transport of all processes that the launcher started; loads the library. Throws DeviceError when
/// it cannot be loaded.
KUSARI_API std::unique_ptr<Transport> mpi_transport();
/// `n` transports whose ranks are threads of this process; `intra_size` of them share a pretended machine (0: all).
KUSARI_API std::vector<std::unique_ptr<Transport>> thread_transports(int n, int intra_size = 0);

/// Tells the groups of this process (of this thread, where ranks are threads) that it fails for that reason, unless it
/// is a RemoteError itself. For loops that catch exceptions to clean up before they go on.
KUSARI_API void announce_failure(const std::exception_ptr& reason) noexcept;
/// "ValueError: ..."
KUSARI_API std::string failure_text(const std::exception_ptr& reason);
/// At the end of the process: tells the other ranks, and ends the run: at once for all when something has failed.
KUSARI_API void finish_run() noexcept;

}  // namespace kusari::collectives
