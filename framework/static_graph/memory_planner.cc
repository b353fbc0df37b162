#include "kusari/framework/static_graph/memory_planner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace kusari::graphs {

namespace {

struct Block {
  size_t bytes;  // a multiple of the alignment, not 0
  int32_t first;
  int32_t last;
};

bool meet(const Block& a, const Block& b) { return a.first <= b.last && b.first <= a.last; }

/// The largest sum of bytes in use at one step, and the first such step.
struct Peak {
  size_t bytes = 0;
  int32_t step = 0;
};
template <class Blocks>
Peak peak_of(const Blocks& blocks) {
  int32_t steps = 0;
  for (const auto& block : blocks) {
    if (block.bytes > 0) steps = std::max(steps, block.last + 1);
  }
  // Sums wrap around and come out right: what a step adds is unsigned.
  std::vector<size_t> change(static_cast<size_t>(steps) + 1);
  for (const auto& block : blocks) {
    if (block.bytes == 0 || block.last < block.first) continue;
    change[static_cast<size_t>(block.first)] += block.bytes;
    change[static_cast<size_t>(block.last) + 1] -= block.bytes;
  }
  Peak peak;
  size_t live = 0;
  for (int32_t step = 0; step < steps; ++step) {
    live += change[static_cast<size_t>(step)];
    if (live > peak.bytes) peak = {live, step};
  }
  return peak;
}

/// Which of the places that are free during its life a block gets.
enum class Fit : uint8_t {
  first,  ///< the lowest
  best,   ///< that which leaves least room between its neighbours, the lowest of these
};

/// Puts blocks one after the other where there is room.
class Placement {
 public:
  explicit Placement(const std::vector<Block>& blocks) : blocks_{blocks}, offsets_(blocks.size()) {
    placed_.reserve(blocks.size());
  }

  /// The bytes of the arena; at least `limit` when it was given up on the way because it would reach that.
  size_t place(const std::vector<int32_t>& order, Fit fit, size_t limit) {
    placed_.clear();
    work_ += 4 * static_cast<int64_t>(order.size());
    size_t bytes = 0;
    for (const int32_t index : order) {
      const Block& block = blocks_[static_cast<size_t>(index)];
      const size_t offset = fit == Fit::first ? first_fit(block) : best_fit(block);
      bytes = std::max(bytes, offset + block.bytes);
      if (bytes >= limit) return bytes;
      offsets_[static_cast<size_t>(index)] = offset;
      const auto at = std::ranges::upper_bound(placed_, offset, {}, &Placed::begin);
      placed_.insert(at, {offset, offset + block.bytes, block});
    }
    return bytes;
  }

  const std::vector<size_t>& offsets() const noexcept { return offsets_; }
  int64_t work() const noexcept { return work_; }

 private:
  struct Placed {
    size_t begin;
    size_t end;
    Block block;
  };
  size_t first_fit(const Block& block) {
    size_t offset = 0;
    for (const Placed& placed : placed_) {
      if (placed.begin >= offset + block.bytes) break;
      ++work_;
      if (placed.end > offset && meet(placed.block, block)) offset = placed.end;
    }
    return offset;
  }

  size_t best_fit(const Block& block) {
    size_t end = 0, best = 0, least = std::numeric_limits<size_t>::max();  // end of what meets the block so far
    work_ += static_cast<int64_t>(placed_.size());
    for (const Placed& placed : placed_) {
      if (!meet(placed.block, block)) continue;
      if (placed.begin >= end + block.bytes && placed.begin - end < least) {
        least = placed.begin - end;
        best = end;
      }
      end = std::max(end, placed.end);
    }
    return least < std::numeric_limits<size_t>::max() ? best : end;
  }

  const std::vector<Block>& blocks_;
  std::vector<size_t> offsets_;
  std::vector<Placed> placed_;  // by begin
  int64_t work_ = 0;
};

/// Looks for an order in which blocks placed one after the other end low.
class Search {
 public:
  Search(const std::vector<Block>& blocks, size_t bound) : blocks_{blocks}, bound_{bound}, placement_{blocks} {}

  void run() {
    // In the order of time, forwards and backwards, and outwards from the step that needs most.
    const int32_t peak = peak_of(blocks_).step;
    const std::vector<int32_t> of_time[] = {
        sorted([](const Block& block) { return block.first; }),
        sorted([](const Block& block) { return -block.last; }),
        sorted([&](const Block& block) {
          return block.last < peak ? peak - block.last : block.first > peak ? block.first - peak : 0;
        }),
    };
    for (const std::vector<int32_t>& order : of_time) try_order(order, Fit::best);
    // Blocks of long lives at the bottom leave whole what is free above them; large ones first leave small holes for
    // small ones. Which matters more depends on the program.
    constexpr double kWeights[][2] = {{1, 1}, {0, 1}, {1, 0}, {1, 2}, {2, 1}};
    for (const auto& [of_bytes, of_life] : kWeights) try_order(by_weight(of_bytes, of_life), Fit::first);
    for (const std::vector<int32_t>& order : of_time) try_order(order, Fit::first);
    climb();
  }

  const std::vector<size_t>& offsets() const noexcept { return best_offsets_; }
  size_t bytes() const noexcept { return best_bytes_; }

 private:
  template <class Key>
  std::vector<int32_t> sorted(Key key) const {
    std::vector<double> keys;
    keys.reserve(blocks_.size());
    for (const Block& block : blocks_) keys.push_back(static_cast<double>(key(block)));
    std::vector<int32_t> order(blocks_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
      return keys[i] != keys[j] ? keys[i] < keys[j] : blocks_[i].bytes > blocks_[j].bytes;
    });
    return order;
  }

  /// Those of largest bytes^of_bytes * life^of_life first.
  std::vector<int32_t> by_weight(double of_bytes, double of_life) const {
    return sorted([&](const Block& block) {
      const double life = static_cast<double>(block.last) - block.first + 1;
      return -(of_bytes * std::log(static_cast<double>(block.bytes)) + of_life * std::log(life));
    });
  }

  /// Keeps the order if its arena is the smallest so far.
  void try_order(const std::vector<int32_t>& order, Fit fit) {
    if (best_bytes_ == bound_ || placement_.work() > kMostWorkOfOrders) return;
    const size_t bytes = placement_.place(order, fit, best_bytes_);
    if (bytes >= best_bytes_) return;
    best_bytes_ = bytes;
    best_offsets_ = placement_.offsets();
    best_order_ = order;
    fit_ = fit;
  }

  /// Moves a block that ends where the arena ends before one that was placed earlier and meets it. A little worse is
  /// taken too, so that the search leaves places where no single move helps.
  void climb() {
    std::minstd_rand random(1);
    const auto pick = [&](const std::vector<size_t>& from) { return from[random() % from.size()]; };
    std::vector<int32_t> order = best_order_, tried;
    std::vector<size_t> offsets = best_offsets_;
    size_t bytes = best_bytes_;
    std::vector<size_t> at_end, earlier;  // positions in the order
    int tries = 0;                        // since the best was found
    while (best_bytes_ > bound_ && tries < kMostTries && placement_.work() < kMostWork) {
      at_end.clear();
      for (size_t i = 0; i < order.size(); ++i) {
        const auto index = static_cast<size_t>(order[i]);
        if (offsets[index] + blocks_[index].bytes == bytes) at_end.push_back(i);
      }
      const size_t from = pick(at_end);
      const Block& block = blocks_[static_cast<size_t>(order[from])];
      earlier.clear();
      for (size_t i = 0; i < from; ++i) {
        if (meet(blocks_[static_cast<size_t>(order[i])], block)) earlier.push_back(i);
      }
      if (earlier.empty()) break;  // the block alone is that large
      tried = order;
      const auto begin = tried.begin();
      const auto to = static_cast<ptrdiff_t>(pick(earlier));
      std::rotate(begin + to, begin + static_cast<ptrdiff_t>(from), begin + static_cast<ptrdiff_t>(from) + 1);
      const size_t slack = random() % kEvery == 0 ? best_bytes_ / kSlack : 0;
      const size_t limit = std::min(bytes, best_bytes_ + best_bytes_ / kSlack) + slack + 1;
      const size_t got = placement_.place(tried, fit_, limit);
      ++tries;
      if (got >= limit) continue;
      order.swap(tried);
      offsets = placement_.offsets();
      bytes = got;
      if (bytes >= best_bytes_) continue;
      best_bytes_ = bytes;
      best_offsets_ = offsets;
      tries = 0;
    }
  }

  static constexpr unsigned kEvery = 20;  // so many moves, one may end higher,
  static constexpr size_t kSlack = 20;    // by the best arena's kSlack-th part
  static constexpr int kMostTries = 2000;
  static constexpr int64_t kMostWork = 20'000'000;  // some 0.1 s for 3,000 blocks
  static constexpr int64_t kMostWorkOfOrders = 8 * kMostWork;

  const std::vector<Block>& blocks_;
  size_t bound_;
  Placement placement_;
  Fit fit_ = Fit::first;  // of the best order
  std::vector<int32_t> best_order_;
  std::vector<size_t> best_offsets_;
  size_t best_bytes_ = std::numeric_limits<size_t>::max();
};

}  // namespace

size_t largest_live_bytes(std::span<const Lifetime> blocks) { return peak_of(blocks).bytes; }

Packing pack(std::span<const Lifetime> blocks, size_t alignment) {
  Packing packing;
  packing.offsets.assign(blocks.size(), 0);
  packing.lower_bound = largest_live_bytes(blocks);
  std::vector<Block> rounded;
  std::vector<size_t> indices;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Lifetime& block = blocks[i];
    if (block.bytes == 0 || block.last < block.first) continue;
    rounded.push_back({(block.bytes + alignment - 1) / alignment * alignment, block.first, block.last});
    indices.push_back(i);
  }
  if (rounded.empty()) return packing;
  Search search(rounded, peak_of(rounded).bytes);
  search.run();
  packing.bytes = search.bytes();
  for (size_t i = 0; i < indices.size(); ++i) packing.offsets[indices[i]] = search.offsets()[i];
  return packing;
}

std::vector<Lifetime> lifetimes(const Program& program) {
  std::vector<Lifetime> lives(program.slots.size());
  const auto lives_in_arena = [&](SlotIndex slot) {
    const Slot& s = program.slots[static_cast<size_t>(slot)];
    return s.kind == Slot::Kind::intermediate && s.exported != Export::own;
  };
  const auto steps = static_cast<int32_t>(program.steps.size());
  for (int32_t i = 0; i < steps; ++i) {
    const auto use = [&](const View& view) {
      if (!lives_in_arena(view.slot)) return;
      const Slot& slot = program.slots[static_cast<size_t>(view.slot)];
      Lifetime& life = lives[static_cast<size_t>(view.slot)];
      if (life.last < life.first) life = {slot.bytes, i, i};
      life.last = slot.exported == Export::arena ? steps - 1 : i;
    };
    for_each_read(program.steps[static_cast<size_t>(i)], use);
    for_each_write(program.steps[static_cast<size_t>(i)], use);
  }
  // The caller gets memory that nobody has used, too.
  for (size_t slot = 0; slot < lives.size(); ++slot) {
    const bool is_unused = lives[slot].last < lives[slot].first;
    if (is_unused && program.slots[slot].exported == Export::arena && lives_in_arena(static_cast<SlotIndex>(slot)))
      lives[slot] = {program.slots[slot].bytes, 0, std::max(steps - 1, 0)};
  }
  return lives;
}

}  // namespace kusari::graphs
