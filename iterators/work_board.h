#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kusari/iterators/batch_layout.h"
#include "kusari/iterators/epoch_state.h"
#include "kusari/iterators/shared_memory.h"

namespace kusari::iterators {

/// What the consumer's process and its workers tell each other through shared memory: the batches that are to be
/// loaded, in chunks of rows, and how far each chunk is. Without locks, so that a process may be killed at any instant:
/// a chunk has one owner word, and a worker takes the chunk by writing its number there.
class WorkBoard {
 public:
  enum Owner : uint32_t { kNobody, kOpen, kDone, kFirstWorker };

  /// Rows [first_row, first_row + rows) of a batch; owned by nobody when the chunk is not in use.
  struct alignas(64) Chunk {
    std::atomic<uint32_t> owner{kNobody};
    std::atomic<uint32_t> rows_done{0};
    uint32_t first_row = 0;
    uint32_t rows = 0;
  };

  /// Where the rows of a batch go: planes of one layout in a block of the iterator's file; or slots of `room` bytes in
  /// such a block, each with a layout of its own; or, without a block, examples by themselves.
  struct Target {
    BatchLayout layout;
    int64_t room = 0;
    int64_t offset = 0;
    int64_t bytes = 0;  // 0: there is no block
  };

  /// A batch under work. The target, keys and the rows of chunks are written while no chunk is open or owned.
  struct alignas(64) Place {
    std::atomic<uint32_t> open{0};  // at least that many chunks are open
    std::atomic<uint32_t> is_cancelled{0};
    Target target;
  };

  struct alignas(64) Worker {
    std::atomic<uint32_t> is_asleep{0};
    std::atomic<uint32_t> progress{0};  // changes whenever the worker does something
    std::atomic<uint32_t> is_retired{0};
    std::atomic<int32_t> process{0};
  };

  struct Size {
    int workers;
    int places;
    int64_t batch_size;
    int64_t chunk_rows;
  };

  explicit WorkBoard(const Size& size);
  WorkBoard(const WorkBoard&) = delete;
  WorkBoard& operator=(const WorkBoard&) = delete;

  int places() const noexcept { return size_.places; }
  int workers() const noexcept { return size_.workers; }
  int64_t chunk_rows() const noexcept { return size_.chunk_rows; }
  Place& place(int i) const noexcept { return places_[i]; }
  std::span<Chunk> chunks(int place) const noexcept;
  std::span<ExampleKey> keys(int place) const noexcept;
  Worker& worker(int i) const noexcept { return workers_[i]; }

  // --- for the consumer's process ---

  /// Whether a chunk of the place is not in use.
  bool has_room(int place) const noexcept;
  /// Opens rows of a batch to the workers. There must be room.
  void open(int place, int64_t first_row, int64_t rows) noexcept;
  /// Wakes workers for `chunks` that were opened; `place` is the oldest batch's.
  void announce(int place, int chunks) noexcept;
  /// Takes back the place's chunks that no worker has begun, and bids the others to stop.
  void cancel(int place) noexcept;
  /// Whether some chunk of the place is open or a worker's.
  bool is_busy(int place) const noexcept;
  /// Whether all of the place's chunks are nobody's.
  bool is_unused(int place) const noexcept;
  bool has_open_chunks() const noexcept;
  /// Changes whenever there may be news.
  uint32_t events() const noexcept { return header_->events.load(); }
  /// Sleeps until all of a place's chunks are done or there are other news since events() gave `seen`, or until the
  /// time is over. May return early.
  void wait_for(int place, uint32_t seen, double seconds) noexcept;
  /// Gives the memory back, in all processes.
  void discard() noexcept { memory_.discard(); }

  // --- for workers ---

  struct Claim {
    int place;
    Chunk* chunk;
  };
  /// Takes an open chunk, of the oldest batch that has one.
  std::optional<Claim> claim(int worker) noexcept;
  void finish(const Claim& claim) noexcept;
  /// Tells the consumer that there are news.
  void signal() noexcept;
  /// Changes whenever chunks are opened.
  uint32_t announcements() const noexcept { return header_->announcements.load(); }
  /// Sleeps until chunks were opened since announcements() gave `seen`, or until the time is over. May return early.
  void wait_for_work(int worker, uint32_t seen, double seconds) noexcept;

 private:
  static constexpr uint32_t kNoPlace = ~0u;

  struct alignas(64) Header {
    std::atomic<uint32_t> announcements{0};
    std::atomic<uint32_t> oldest{0};  // place where workers begin to look
    alignas(64) std::atomic<uint32_t> events{0};
    std::atomic<uint32_t> awaited{kNoPlace};  // place for which the consumer sleeps
  };

  Size size_;
  int64_t chunks_per_place_;
  Mapping memory_;
  Header* header_;
  Worker* workers_;
  Place* places_;
  Chunk* chunks_;
  ExampleKey* keys_;
};

}  // namespace kusari::iterators
