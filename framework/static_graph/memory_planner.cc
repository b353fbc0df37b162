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

/// Puts blocks one after the other, each at the lowest place that is free during its life.
class Placement {
 public:
  explicit Placement(const std::vector<Block>& blocks) : blocks_{blocks}, offsets_(blocks.size()) {
    placed_.reserve(blocks.size());
  }

  /// The bytes of the arena; at least `limit` when it was given up on the way because it would reach that.
  size_t place(const std::vector<int32_t>& order, size_t limit) {
    placed_.clear();
    work_ += 4 * static_cast<int64_t>(order.size());
    size_t bytes = 0;
    for (const int32_t index : order) {
      const Block& block = blocks_[static_cast<size_t>(index)];
      size_t offset = 0;
      auto at = placed_.begin();
      for (; at != placed_.end() && at->begin < offset + block.bytes; ++at) {
        ++work_;
        if (at->end > offset && meet(at->block, block)) offset = at->end;
      }
      bytes = std::max(bytes, offset + block.bytes);
      if (bytes >= limit) return bytes;
      offsets_[static_cast<size_t>(index)] = offset;
      at = std::upper_bound(placed_.begin(), placed_.end(), offset,
                            [](size_t value, const Placed& placed) { return value < placed.begin; });
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
    // Blocks of long lives at the bottom leave whole what is free above them; large ones first leave small holes for
    // small ones. Which matters more depends on the program.
    constexpr double kWeights[][2] = {{1, 1}, {0, 1}, {1, 0}, {1, 2}, {2, 1}, {1, 0.5}, {0.5, 1}};
    for (const auto& [of_bytes, of_life] : kWeights) {
      try_order(sorted([&](const Block& block) {
        const double life = static_cast<double>(block.last) - block.first + 1;
        return -(of_bytes * std::log(static_cast<double>(block.bytes)) + of_life * std::log(life));
      }));
    }
    try_order(sorted([](const Block& block) { return block.first; }));
    try_order(sorted([](const Block& block) { return -block.last; }));
    const int32_t peak = peak_of(blocks_).step;
    try_order(sorted([&](const Block& block) {  // outwards from the step that needs most
      return block.last < peak ? peak - block.last : block.first > peak ? block.first - peak : 0;
    }));
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

  /// Keeps the order if its arena is smaller than `limit`.
  void try_order(std::vector<int32_t> order, size_t limit) {
    const size_t bytes = placement_.place(order, limit);
    if (bytes >= limit) return;
    best_bytes_ = bytes;
    best_offsets_ = placement_.offsets();
    best_order_ = std::move(order);
  }
  void try_order(std::vector<int32_t> order) {
    if (best_bytes_ > bound_) try_order(std::move(order), best_bytes_);
  }

  /// Moves a block that ends where the arena ends before one that was placed earlier and meets it, as long as that
  /// makes nothing worse.
  void climb() {
    std::minstd_rand random(1);
    const auto pick = [&](const std::vector<size_t>& from) { return from[random() % from.size()]; };
    std::vector<size_t> at_end, earlier;  // positions in the order
    while (best_bytes_ > bound_ && placement_.work() < kMostWork) {
      at_end.clear();
      for (size_t i = 0; i < best_order_.size(); ++i) {
        const auto index = static_cast<size_t>(best_order_[i]);
        if (best_offsets_[index] + blocks_[index].bytes == best_bytes_) at_end.push_back(i);
      }
      const size_t from = pick(at_end);
      const Block& block = blocks_[static_cast<size_t>(best_order_[from])];
      earlier.clear();
      for (size_t i = 0; i < from; ++i) {
        if (meet(blocks_[static_cast<size_t>(best_order_[i])], block)) earlier.push_back(i);
      }
      if (earlier.empty()) break;  // the block alone is that large
      std::vector<int32_t> order = best_order_;
      const auto begin = order.begin();
      const auto to = static_cast<ptrdiff_t>(pick(earlier));
      std::rotate(begin + to, begin + static_cast<ptrdiff_t>(from), begin + static_cast<ptrdiff_t>(from) + 1);
      try_order(std::move(order), best_bytes_ + 1);
    }
  }

  // Enough for 3,000 blocks within 0.1 s.
  static constexpr int64_t kMostWork = 20'000'000;

  const std::vector<Block>& blocks_;
  size_t bound_;
  Placement placement_;
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
  return lives;
}

}  // namespace kusari::graphs
