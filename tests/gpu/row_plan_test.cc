#include "kusari/cuda/plans/row_plan.h"

#include <bit>
#include <unordered_map>
#include <vector>

#include <doctest/doctest.h>

#include "unbacked_array.h"

namespace kusari::cuda {
namespace {

using testing::for_each_index;
using testing::unbacked_array;

Shape without(const Shape& shape, int axis) {
  Shape result;
  for (int i = 0; i < shape.ndim(); ++i) {
    if (i != axis) result.push_back(shape[i]);
  }
  return result;
}

void check_row_limits(const RowPlan& plan) {
  CHECK((plan.count + plan.columns - 1) / plan.columns <= testing::kMostBlocks);
  CHECK(std::has_single_bit(static_cast<unsigned>(plan.columns)));
  CHECK(plan.threads % 32 == 0);
  CHECK(plan.threads <= 1024);
  CHECK(plan.columns <= plan.threads);
  CHECK((plan.contiguous || !plan.packed));
}

// Every row is some number's, with its places in all arrays; every element is some thread's.
void check_rows(const RowOperands& operands, int axis, int pack) {
  const RowPlan plan = plan_rows(operands, axis, pack);
  const Array* const arrays[] = {&operands.out, &operands.a, &operands.b, &operands.value, &operands.label};
  const Shape& shape = operands.a.shape();
  check_row_limits(plan);
  CHECK(plan.n == shape[axis]);
  CHECK(plan.count * plan.n == operands.a.size());

  struct Place {
    int64_t of[RowPlan::kOperands];
    int visits = 0;
  };
  std::unordered_map<int64_t, Place> rows;  // by a's offset
  for_each_index(without(shape, axis), [&](const int64_t* index) {
    Place place = {};
    for (int k = 0; k < RowPlan::kOperands; ++k) {
      const Array& x = *arrays[k];
      if (!x.is_defined() || (k > RowPlan::kB && x.size() == 1)) continue;
      for (int i = 0, j = 0; i < shape.ndim(); ++i) {
        if (i == axis) continue;
        place.of[k] += index[j] * x.strides()[k <= RowPlan::kB ? i : j];
        ++j;
      }
    }
    rows[place.of[RowPlan::kA]] = place;
  });
  CHECK(static_cast<int64_t>(rows.size()) == plan.count);
  int64_t wrong = 0;
  for (int64_t row = 0; row < plan.count; ++row) {
    int64_t at[RowPlan::kOperands];
    plan.rows.locate(row, at);
    Place& place = rows[at[RowPlan::kA]];
    ++place.visits;
    for (int k = 0; k < RowPlan::kOperands; ++k) wrong += place.of[k] == at[k] ? 0 : 1;
  }
  for (const auto& [offset, place] : rows) wrong += place.visits == 1 ? 0 : 1;
  CHECK(wrong == 0);
  for (int k = 0; k <= RowPlan::kB; ++k) {
    CHECK(plan.stride[k] == (arrays[k]->is_defined() ? arrays[k]->strides()[axis] : 0));
  }
  if (!plan.packed) return;
  CHECK(plan.n % pack == 0);
  for (int k = 0; k <= RowPlan::kB; ++k) {
    if (!arrays[k]->is_defined()) continue;
    const auto address = reinterpret_cast<uintptr_t>(arrays[k]->raw_data());
    for (auto& [offset, place] : rows) {
      const auto bytes = static_cast<uint64_t>(place.of[k] * itemsize(arrays[k]->dtype()));
      wrong += (address + bytes) % 16 == 0 ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("row plan: every row once, in every array") {
  for (const Shape& shape : {Shape{1}, {31}, {32, 33}, {5, 8192}, {2, 3, 4, 5}, {7, 1, 11}, {1, 64, 1}, {6, 70, 12}}) {
    const Strides dense = contiguous_strides(shape);
    Strides spread = dense, turned = dense;
    for (int64_t& stride : spread) stride *= 4;
    for (int axis = 0; axis < shape.ndim(); ++axis) turned[axis] = axis == 0 ? 1 : turned[axis - 1] * shape[axis - 1];
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      CAPTURE(to_string(shape));
      CAPTURE(axis);
      const Shape rest = without(shape, axis);
      const Array value = unbacked_array(rest), label = unbacked_array(rest, Dtype::int32);
      for (const Strides& strides :
           {dense, spread, turned, testing::padded_strides(shape, 8), testing::padded_strides(shape, 1)}) {
        const Array x = unbacked_array(shape, strides);
        check_rows({unbacked_array(shape), x, Array(), value, label}, axis, 4);
        check_rows({x, unbacked_array(shape), x, Array(), label}, axis, 4);
        check_rows({Array(), x, Array(), unbacked_array({}), label}, axis, 4);
        check_rows({x, x, x, Array(), Array()}, axis, 4);
      }
    }
  }
}

TEST_CASE("row plan: packs only where every row of every array begins on 16 bytes") {
  const auto packed = [](const Array& out, const Array& a) {
    return plan_rows({out, a, Array(), Array(), Array()}, 1, 4).packed;
  };
  const Array x = unbacked_array({10, 64});
  CHECK(packed(x, x));
  CHECK_FALSE(packed(unbacked_array({10, 64}, Dtype::float32, 0x100004), x));
  CHECK_FALSE(packed(x, unbacked_array({10, 64}, {66, 1})));
  CHECK(packed(x, unbacked_array({10, 64}, {68, 1})));
  CHECK_FALSE(packed(unbacked_array({10, 66}), unbacked_array({10, 66})));
  CHECK_FALSE(packed(unbacked_array({10, 64}, {1, 10}), x));
}

TEST_CASE("row plan: threads for short, long and many rows") {
  const auto plan = [](const Shape& shape, int axis) {
    return plan_rows({Array(), unbacked_array(shape), Array(), Array(), Array()}, axis, 4);
  };
  CHECK(plan({100, kLongRow - 4}, 1).threads == kRowBlock);
  CHECK(plan({100, kLongRow}, 1).threads == kLongRowBlock);
  CHECK(plan({100, 50}, 1).columns == 1);
  CHECK(plan({64, 100}, 0).columns == kRowBlock);
  CHECK(plan({65, 100}, 0).columns == 32);
  CHECK(plan({65, 1 << 17}, 0).columns == kRowBlock);
}

TEST_CASE("row plan: more elements than 32 bits count, and none") {
  const int64_t huge = (int64_t{1} << 31) + 7;
  for (const Shape& shape : {Shape{huge, 3}, {3, huge}, {2, huge, 5}, {0, 5}, {5, 0}}) {
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      CAPTURE(to_string(shape));
      CAPTURE(axis);
      const Array x = unbacked_array(shape);
      const RowPlan plan = plan_rows({x, x, Array(), Array(), Array()}, axis, 4);
      // Rows of at most 1024 elements have a warp each.
      if (!plan.contiguous || plan.n > 1024) check_row_limits(plan);
      CHECK(plan.n == shape[axis]);
      CHECK(plan.count == numel(without(shape, axis)));
    }
  }
}

}  // namespace
}  // namespace kusari::cuda
