#include "kusari/iterators/work_board.h"

#include <algorithm>
#include <climits>
#include <new>

#include "kusari/iterators/futex.h"

// All atomic operations here are sequentially consistent where two sides each write one word and read the other's:
// (chunk done, consumer asleep) and (chunk open, worker asleep). One of them then sees the other.

namespace kusari::iterators {
namespace {

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Makes `count` objects in zeroed memory from `*next` on, and moves that behind them.
template <class T>
T* lay_out(char** next, int64_t count) {
  T* const first = reinterpret_cast<T*>(*next);
  for (int64_t i = 0; i < count; ++i) ::new (first + i) T();
  *next += aligned(count * static_cast<int64_t>(sizeof(T)));
  return first;
}

}  // namespace

WorkBoard::WorkBoard(const Size& size)
    : size_{size},
      chunks_per_place_{(size.batch_size + size.chunk_rows - 1) / size.chunk_rows},
      memory_(whole_pages(aligned(sizeof(Header)) + size.workers * aligned(sizeof(Worker)) +
                          size.places * (aligned(sizeof(Place)) + chunks_per_place_ * aligned(sizeof(Chunk))) +
                          aligned(size.places * size.batch_size * static_cast<int64_t>(sizeof(ExampleKey))))) {
  char* next = memory_.data();
  header_ = lay_out<Header>(&next, 1);
  workers_ = lay_out<Worker>(&next, size.workers);
  places_ = lay_out<Place>(&next, size.places);
  chunks_ = lay_out<Chunk>(&next, size.places * chunks_per_place_);
  keys_ = lay_out<ExampleKey>(&next, size.places * size.batch_size);
}

std::span<WorkBoard::Chunk> WorkBoard::chunks(int place) const noexcept {
  return {chunks_ + place * chunks_per_place_, static_cast<size_t>(chunks_per_place_)};
}

std::span<ExampleKey> WorkBoard::keys(int place) const noexcept {
  return {keys_ + place * size_.batch_size, static_cast<size_t>(size_.batch_size)};
}

bool WorkBoard::has_room(int place) const noexcept {
  return std::ranges::any_of(chunks(place), [](const Chunk& chunk) { return chunk.owner.load() == kNobody; });
}

void WorkBoard::open(int place, int64_t first_row, int64_t rows) noexcept {
  const std::span<Chunk> all = chunks(place);
  Chunk& chunk = *std::ranges::find_if(all, [](const Chunk& each) { return each.owner.load() == kNobody; });
  chunk.first_row = static_cast<uint32_t>(first_row);
  chunk.rows = static_cast<uint32_t>(rows);
  chunk.rows_done.store(0);
  places_[place].open.fetch_add(1);  // before the chunk is open, so that the count is never too low
  chunk.owner.store(kOpen);
}

void WorkBoard::announce(int place, int chunks) noexcept {
  header_->oldest.store(static_cast<uint32_t>(place));
  header_->announcements.fetch_add(1);
  int asleep = 0;
  for (int i = 0; i < size_.workers; ++i) asleep += workers_[i].is_asleep.load() != 0;
  if (asleep > 0) futex_wake(header_->announcements, std::min(asleep, chunks));
}

void WorkBoard::cancel(int place) noexcept {
  places_[place].is_cancelled.store(1);
  for (Chunk& chunk : chunks(place)) {
    uint32_t owner = kOpen;
    if (chunk.owner.compare_exchange_strong(owner, kNobody)) {
      places_[place].open.fetch_sub(1);
    } else if (owner == kDone) {
      chunk.owner.store(kNobody);
    }
  }
}

bool WorkBoard::is_busy(int place) const noexcept {
  return std::ranges::any_of(chunks(place), [](const Chunk& chunk) {
    const uint32_t owner = chunk.owner.load();
    return owner != kNobody && owner != kDone;
  });
}

bool WorkBoard::is_unused(int place) const noexcept {
  return std::ranges::all_of(chunks(place), [](const Chunk& chunk) { return chunk.owner.load() == kNobody; });
}

bool WorkBoard::has_open_chunks() const noexcept {
  for (int i = 0; i < size_.places; ++i) {
    for (const Chunk& chunk : chunks(i)) {
      if (chunk.owner.load() == kOpen) return true;
    }
  }
  return false;
}

void WorkBoard::wait_for(int place, uint32_t seen, double seconds) noexcept {
  header_->awaited.store(static_cast<uint32_t>(place));
  if (is_busy(place)) futex_wait(header_->events, seen, seconds);
  header_->awaited.store(kNoPlace);
}

std::optional<WorkBoard::Claim> WorkBoard::claim(int worker) noexcept {
  const uint32_t first = header_->oldest.load();
  for (int i = 0; i < size_.places; ++i) {
    const int at = static_cast<int>((first + static_cast<uint32_t>(i)) % static_cast<uint32_t>(size_.places));
    if (places_[at].open.load() == 0) continue;
    for (Chunk& chunk : chunks(at)) {
      uint32_t owner = chunk.owner.load();
      if (owner != kOpen || !chunk.owner.compare_exchange_strong(owner, kFirstWorker + static_cast<uint32_t>(worker))) {
        continue;
      }
      places_[at].open.fetch_sub(1);
      return Claim{at, &chunk};
    }
  }
  return std::nullopt;
}

void WorkBoard::finish(const Claim& claim) noexcept {
  claim.chunk->owner.store(kDone);
  if (header_->awaited.load() == static_cast<uint32_t>(claim.place) && !is_busy(claim.place)) signal();
}

void WorkBoard::signal() noexcept {
  header_->events.fetch_add(1);
  if (header_->awaited.load() != kNoPlace) futex_wake(header_->events, INT_MAX);
}

void WorkBoard::wait_for_work(int worker, uint32_t seen, double seconds) noexcept {
  Worker& self = workers_[worker];
  self.is_asleep.store(1);
  futex_wait(header_->announcements, seen, seconds);
  self.is_asleep.store(0);
  self.progress.fetch_add(1);
}

}  // namespace kusari::iterators
