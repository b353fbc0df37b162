#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace kusari::cuda::emulated {

/// In which order blocks, and the threads of a block, have their turns. A card promises none, so that a kernel whose
/// results change with it is wrong. KUSARI_EMULATED_SCHEDULE=forward (the default, and the fastest), reverse, or
/// random:SEED.
class Schedule {
 public:
  explicit Schedule(const char* text);
  static Schedule from_environment();

  bool is_forward() const noexcept { return order_ == Order::forward; }
  bool is_reverse() const noexcept { return order_ == Order::reverse; }
  bool is_random() const noexcept { return order_ == Order::random; }

  /// Whatever came before, a grid has the same order each time.
  void begin_grid(uint64_t blocks);
  /// The block that has turn `turn` of the grid's.
  uint64_t block(uint64_t turn) const noexcept;
  /// Fills `threads` with 0 .. count - 1 in the order in which they begin.
  void arrange(std::vector<int>& threads, int count);
  /// Which of `count` threads that may go on does.
  size_t pick(size_t count);

 private:
  enum class Order { forward, reverse, random };

  Order order_ = Order::forward;
  uint64_t seed_ = 0;
  std::mt19937_64 numbers_;
  uint64_t blocks_ = 1, first_ = 0, step_ = 1;
};

}  // namespace kusari::cuda::emulated
