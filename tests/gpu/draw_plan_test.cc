#include "kusari/cuda/plans/draw_plan.h"

#include <unordered_map>
#include <utility>

#include <doctest/doctest.h>

#include "unbacked_array.h"

namespace kusari::cuda {
namespace {

using testing::for_each_index;
using testing::unbacked_array;

constexpr uint64_t kSeed = 7;

template <int kOperands>
struct Drawn {
  uint64_t place;
  char* at[kOperands];
  int times = 0;
};

// Element i in C order gets the number at offset + i, once, in every operand; in a graph at offset + *base + i.
template <int kOperands>
void check_draw(const Array* const (&operands)[kOperands], uint64_t offset, const uint64_t* base = nullptr) {
  const Shape& shape = operands[0]->shape();
  const int64_t itemsize = kusari::itemsize(operands[0]->dtype());
  std::unordered_map<char*, Drawn<kOperands>> expected;
  uint64_t place = offset + (base != nullptr ? *base : 0);
  for_each_index(shape, [&](const int64_t* index) {
    Drawn<kOperands> drawn = {};
    drawn.place = place++;
    for (int k = 0; k < kOperands; ++k) {
      drawn.at[k] = operands[k]->template data<char>();
      for (int axis = 0; axis < shape.ndim(); ++axis) {
        drawn.at[k] += index[axis] * operands[k]->strides()[axis] * itemsize;
      }
    }
    expected[drawn.at[0]] = drawn;
  });
  int64_t wrong = 0;
  for_each_narrow_in_order(
      range_in_order(operands), RandomState{kSeed, offset, base},
      [&](const StridedRange<kOperands>& piece, RandomState at) {
        const DrawPlan<kOperands> plan = plan_of(piece, at, itemsize);
        CHECK(plan.state.seed == kSeed);
        for (uint32_t unit = 0; unit < plan.units; ++unit) {
          const Group<kOperands> group(plan, unit, first_place(plan.state));
          for (int j = 0; j < kGroup; ++j) {
            if (!group.has(plan, j)) continue;
            const auto found = expected.find(plan.base[0] + group.offset[0] + j * plan.stride[0]);
            if (found == expected.end()) {
              ++wrong;
              continue;
            }
            ++found->second.times;
            wrong += found->second.place == group.place + static_cast<uint64_t>(j) ? 0 : 1;
            for (int k = 0; k < kOperands; ++k) {
              wrong += plan.base[k] + group.offset[k] + j * plan.stride[k] == found->second.at[k] ? 0 : 1;
            }
          }
          if (!group.is_pack(plan)) {
            // Groups that are no packs lie on the generator's blocks, so that none is made twice.
            wrong += plan.packed || group.place % kGroup == 0 ? 0 : 1;
            continue;
          }
          const auto bytes = static_cast<uintptr_t>(kGroup * itemsize < 16 ? kGroup * itemsize : 16);
          for (int k = 0; k < kOperands; ++k) {
            wrong += reinterpret_cast<uintptr_t>(plan.base[k] + group.offset[k]) % bytes == 0 ? 0 : 1;
            wrong += plan.stride[k] == itemsize ? 0 : 1;
          }
        }
      });
  for (const auto& [at, drawn] : expected) wrong += drawn.times == 1 ? 0 : 1;
  CHECK(wrong == 0);
}

TEST_CASE("draw plan: every element gets the number of its place, once") {
  for (const Shape& shape :
       {Shape{}, {1}, {2}, {3}, {31}, {32}, {33}, {1009}, {7, 5}, {5, 8}, {3, 4, 5}, {2, 1, 6, 3}}) {
    const Strides dense = contiguous_strides(shape);
    Strides spread = dense, turned = dense, backward = dense;
    for (int64_t& stride : spread) stride *= 3;
    for (int axis = 0; axis < shape.ndim(); ++axis) turned[axis] = axis == 0 ? 1 : turned[axis - 1] * shape[axis - 1];
    if (shape.ndim() > 0) backward[shape.ndim() - 1] = -1;
    for (const uint64_t offset : {0, 1, 2, 3, 4, 4094}) {
      CAPTURE(to_string(shape));
      CAPTURE(offset);
      for (const Dtype dtype : {Dtype::float16, Dtype::float32, Dtype::float64}) {
        const Array y = unbacked_array(shape, dtype), shifted = unbacked_array(shape, dense, dtype, 0x100008);
        for (const Strides& strides : {dense, spread, turned, backward}) {
          const Array x = unbacked_array(shape, strides, dtype);
          check_draw({&x}, offset);
          check_draw({&y, &x, &shifted}, offset);
          for (const uint64_t base : {0, 3, 4}) check_draw({&x}, offset, &base);
        }
        check_draw({&shifted}, offset);
      }
    }
  }
}

TEST_CASE("draw plan: packs wherever memory allows them, whatever the place in the stream") {
  const auto plan = [](const Array& y, uint64_t offset) {
    const Array* const operands[] = {&y};
    return plan_of(range_in_order(operands), RandomState{kSeed, offset}, itemsize(y.dtype()));
  };
  CHECK(plan(unbacked_array({1000}), 3).packed);
  CHECK(plan(unbacked_array({10, 4}), 0).packed);
  CHECK_FALSE(plan(unbacked_array({10, 4}, Strides{5, 1}), 0).packed);
  CHECK_FALSE(plan(unbacked_array({1000}, Dtype::float32, 0x100004), 0).packed);
  CHECK(plan(unbacked_array({1000}, Dtype::float16, 0x100008), 0).packed);
  CHECK(plan(unbacked_array({1000}), 0).units == 250);
  CHECK(plan(unbacked_array({1000}, {2}), 0).units == 250);
  CHECK(plan(unbacked_array({1000}, {2}), 1).units == 251);
}

TEST_CASE("draw plan: pieces of large arrays go on where the last one ended") {
  const int64_t n = (int64_t{1} << 31) + 7;
  for (const auto& [shape, strides] : {std::pair<Shape, Strides>{{n}, {1}}, {{3, n}, {n, 1}}, {{n, 3}, {4, 1}}}) {
    CAPTURE(to_string(shape));
    const Array y = unbacked_array(shape, strides);
    const Array* const operands[] = {&y};
    uint64_t next = 5;
    int pieces = 0;
    for_each_narrow_in_order(range_in_order(operands), RandomState{kSeed, next},
                             [&](const StridedRange<1>& piece, RandomState at) {
                               CHECK(at.offset == next);
                               CHECK(piece.is_narrow());
                               const DrawPlan<1> plan = plan_of(piece, at, 4);
                               const Group<1> first(plan, 0, at.offset), last(plan, plan.units - 1, at.offset);
                               CHECK(first.place <= next);
                               next += static_cast<uint64_t>(piece.elements());
                               CHECK(last.place < next + kGroup);
                               CHECK(last.place + kGroup >= next);
                               ++pieces;
                             });
    CHECK(next == 5 + static_cast<uint64_t>(y.size()));
    CHECK(pieces > 1);
  }
}

}  // namespace
}  // namespace kusari::cuda
