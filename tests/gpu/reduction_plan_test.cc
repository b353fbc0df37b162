#include "kusari/cuda/plans/reduction_plan.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/cuda/plans/block_count.h"
#include "unbacked_array.h"

namespace kusari::cuda {
namespace {

using testing::for_each_index;
using testing::unbacked_array;

int64_t blocks_of(const ReductionPlan& plan) {
  return plan.by_columns ? plan.result_count / plan.columns() * plan.tiles
                         : blocks_for(plan.result_count, kReductionBlock / plan.width);
}

void check_reduction_limits(const ReductionPlan& plan) {
  const int64_t per_block = plan.by_columns ? 1 : kReductionBlock / plan.width;
  const int64_t blocks = plan.by_columns ? plan.result_count / plan.columns() * plan.tiles
                                         : (plan.result_count + per_block - 1) / per_block;
  CHECK(blocks >= 1);
  CHECK(blocks <= testing::kMostBlocks);
  CHECK(plan.splits >= 1);
  CHECK(plan.splits <= testing::kMostBlocksAcross);
  CHECK(plan.per_split * plan.splits >= plan.reduced.total);
  CHECK((plan.splits == 1 || plan.per_split * (plan.splits - 1) < plan.reduced.total));
  CHECK(std::has_single_bit(static_cast<unsigned>(plan.width)));
  CHECK(plan.width <= (plan.by_columns ? 32 : kReductionBlock));
  CHECK((plan.by_columns || plan.width <= 32 || plan.width == kReductionBlock));  // a warp's share, or a block's
}

// Which elements the threads of a plan read, and for which result.
class Reads {
 public:
  Reads(const ReductionPlan& plan, const Array& x, int pack) : plan_{plan}, x_{x}, pack_{pack} {
    for (int64_t block = 0; block < blocks_of(plan); ++block) {
      for (int split = 0; split < plan.splits; ++split) {
        for (int thread = 0; thread < kReductionBlock; ++thread) {
          if (plan.by_columns) {
            column_thread(block, split, thread);
          } else {
            row_thread(block, split, thread);
          }
        }
      }
    }
  }

  std::unordered_map<int64_t, std::vector<int64_t>> results_of;  // by x's offset: y's offsets
  int misaligned = 0, outside = 0;

 private:
  int64_t element(int64_t i) const {
    int64_t offset[1];
    plan_.reduced.locate(i, offset);
    return offset[0];
  }
  bool is_aligned(int64_t offset) const {
    return (reinterpret_cast<uintptr_t>(x_.raw_data()) + static_cast<uint64_t>(offset * itemsize(x_.dtype()))) % 16 ==
           0;
  }
  int64_t end_of(int split) const { return std::min((split + 1) * plan_.per_split, plan_.reduced.total); }
  void read(int64_t x, int64_t y) { results_of[x].push_back(y); }

  void row_thread(int64_t block, int split, int thread) {
    const int64_t result = block * (kReductionBlock / plan_.width) + thread / plan_.width;
    const int member = thread % plan_.width;
    if (result >= plan_.result_count) return;
    int64_t at[2];
    plan_.results.locate(result, at);
    const int64_t begin = split * plan_.per_split, end = end_of(split);
    if (!plan_.packed) {
      for (int64_t i = begin + member; i < end; i += plan_.width) read(at[0] + element(i), at[1]);
      return;
    }
    // Single elements up to a boundary of 16 bytes, packs, single elements.
    int64_t head = begin;
    while (head < end && !is_aligned(at[0] + element(head))) ++head;
    const int64_t packs_end = head + (end - head) / pack_ * pack_;
    for (int64_t i = begin + member; i < head; i += plan_.width) read(at[0] + element(i), at[1]);
    for (int64_t i = head + member * pack_; i < packs_end; i += plan_.width * pack_) {
      misaligned += is_aligned(at[0] + element(i)) ? 0 : 1;
      for (int k = 0; k < pack_; ++k) read(at[0] + element(i) + k, at[1]);
    }
    for (int64_t i = packs_end + member; i < end; i += plan_.width) read(at[0] + element(i), at[1]);
  }

  void column_thread(int64_t block, int split, int thread) {
    const int height = kReductionBlock / plan_.width, per_thread = plan_.packed ? pack_ : 1;
    const int last = plan_.results.count - 1;
    const int64_t outer = block / plan_.tiles;
    const int64_t column = (block % plan_.tiles * plan_.width + thread % plan_.width) * per_thread;
    if (column >= plan_.columns()) return;
    outside += column + per_thread <= plan_.columns() && outer * plan_.columns() + column < plan_.result_count ? 0 : 1;
    int64_t at[2];
    plan_.results.locate(outer, last, at);
    const int64_t from = at[0] + column * plan_.results.stride[last][0];
    const int64_t to = at[1] + column * plan_.results.stride[last][1];
    for (int64_t i = split * plan_.per_split + thread / plan_.width; i < end_of(split); i += height) {
      if (plan_.packed) misaligned += is_aligned(from + element(i)) ? 0 : 1;
      for (int k = 0; k < per_thread; ++k) read(from + element(i) + k, to + k * plan_.results.stride[last][1]);
    }
  }

  const ReductionPlan& plan_;
  const Array& x_;
  int pack_;
};

void check_reads(const Array& x, AxisMask mask, int pack) {
  const Array y = unbacked_array(reduced_shape(x.shape(), mask, false));
  const ReductionPlan plan = plan_reduction(x, mask, y, pack, true);
  check_reduction_limits(plan);
  CHECK(plan.result_count == y.size());
  CHECK(plan.reduced.total * plan.result_count == x.size());
  const Reads reads(plan, x, pack);
  int64_t wrong = 0;
  for_each_index(x.shape(), [&](const int64_t* index) {
    int64_t from = 0, to = 0;
    for (int axis = 0, kept = 0; axis < x.ndim(); ++axis) {
      from += index[axis] * x.strides()[axis];
      if (!mask.contains(axis)) to += index[axis] * y.strides()[kept++];
    }
    const auto found = reads.results_of.find(from);
    wrong += found != reads.results_of.end() && found->second == std::vector<int64_t>{to} ? 0 : 1;
  });
  CHECK(wrong == 0);
  CHECK(static_cast<int64_t>(reads.results_of.size()) == x.size());
  CHECK(reads.misaligned == 0);
  CHECK(reads.outside == 0);
}

bool is_same(const ReductionPlan& a, const ReductionPlan& b) {
  return a.by_columns == b.by_columns && a.packed == b.packed && a.width == b.width && a.splits == b.splits &&
         a.per_split == b.per_split && a.tiles == b.tiles && a.result_count == b.result_count;
}

TEST_CASE("reduction plan: every element goes into one result, once") {
  const Shape shapes[] = {{},        {1},          {31},         {32},       {33},        {1, 64, 1, 8},
                          {127, 3},  {7, 11, 13},  {3, 4, 5, 6}, {257, 24},  {40, 3, 66}, {16500, 3},
                          {4, 1030}, {2, 6, 1200}, {40000},      {2, 24000}, {24000, 2}};
  for (const Shape& shape : shapes) {
    const Strides dense = contiguous_strides(shape);
    Strides spread = dense, turned = dense;
    for (int64_t& stride : spread) stride *= 2;
    for (int axis = 0; axis < shape.ndim(); ++axis) {  // the first axis innermost
      turned[axis] = axis == 0 ? 1 : turned[axis - 1] * shape[axis - 1];
    }
    for (uint32_t bits = 0; bits < 1u << shape.ndim(); ++bits) {
      CAPTURE(to_string(shape));
      CAPTURE(bits);
      check_reads(unbacked_array(shape, dense), {bits}, 4);
      check_reads(unbacked_array(shape, dense, Dtype::float16, 0x100002), {bits}, 8);
      check_reads(unbacked_array(shape, turned), {bits}, 4);
      check_reads(unbacked_array(shape, spread), {bits}, 4);
      check_reads(unbacked_array(shape, testing::padded_strides(shape, 8)), {bits}, 4);
      check_reads(unbacked_array(shape, testing::padded_strides(shape, 1)), {bits}, 4);
    }
  }
}

TEST_CASE("reduction plan: results without elements") {
  const ReductionPlan plan = plan_reduction(unbacked_array({3, 0}), AxisMask::of(1), unbacked_array({3}), 4, true);
  check_reduction_limits(plan);
  CHECK(plan.result_count == 3);
  CHECK(plan.reduced.total == 0);
}

TEST_CASE("reduction plan: more elements than 32 bits count") {
  const int64_t huge = (int64_t{1} << 31) + 7;
  for (const Shape& shape : {Shape{huge}, {huge, 3}, {3, huge}, {huge, 60}, {60, huge}, {huge, 2, 2}}) {
    for (uint32_t bits = 0; bits < 1u << shape.ndim(); ++bits) {
      CAPTURE(to_string(shape));
      CAPTURE(bits);
      const Array x = unbacked_array(shape), y = unbacked_array(reduced_shape(shape, {bits}, false));
      const ReductionPlan plan = plan_reduction(x, {bits}, y, 4, true);
      check_reduction_limits(plan);
      CHECK(plan.result_count == y.size());
      CHECK(plan.reduced.total * plan.result_count == x.size());
    }
  }
}

TEST_CASE("reduction plan: few results are split among blocks, many are not") {
  const auto splits = [](const Shape& shape, uint32_t bits) {
    return plan_reduction(unbacked_array(shape), {bits}, unbacked_array(reduced_shape(shape, {bits}, false)), 4, true)
        .splits;
  };
  CHECK(splits({int64_t{1} << 24}, 1) > 500);
  CHECK(splits({int64_t{1} << 20, 32}, 1) > 500);
  CHECK(splits({100}, 1) == 1);
  CHECK(splits({10000, 5000}, 2) == 1);
  CHECK(splits({64, int64_t{1} << 20}, 1) == 1);
}

TEST_CASE("reduction plan: the same for the same sizes, strides and alignment") {
  const Array y = unbacked_array({24});
  const ReductionPlan plan = plan_reduction(unbacked_array({24, 5000}), AxisMask::of(1), y, 4, true);
  CHECK(is_same(plan,
                plan_reduction(unbacked_array({24, 5000}, Dtype::float32, 0x7770000), AxisMask::of(1), y, 4, true)));
  CHECK_FALSE(is_same(plan, plan_reduction(unbacked_array({24, 5001}), AxisMask::of(1), y, 4, true)));
  CHECK_FALSE(is_same(plan, plan_reduction(unbacked_array({24, 5000}), AxisMask::of(1), y, 4, false)));
}

TEST_CASE("reduction plan: places in logical order") {
  const Array x = unbacked_array({3, 4, 5}, {1, 3, 12}), y = unbacked_array({4});
  const AxisMask mask = {0b101};
  const ReductionPlan plan = plan_reduction(x, mask, y, 4, true, ReducedOrder::logical);
  int64_t offset[1];
  for (int64_t i = 0; i < 15; ++i) {
    plan.reduced.locate(i, offset);
    CHECK(offset[0] == i / 5 + i % 5 * 12);
  }
}

}  // namespace
}  // namespace kusari::cuda
