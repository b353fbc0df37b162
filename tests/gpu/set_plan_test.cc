#include "kusari/cuda/plans/set_plan.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <vector>

#include <doctest/doctest.h>

#include "unbacked_array.h"

namespace kusari::cuda {
namespace {

using testing::for_each_index;
using testing::unbacked_array;

void check_set_limits(const SetPlan& plan) {
  CHECK(plan.width >= 1);
  CHECK(plan.width <= kSetBlock);
  CHECK(std::has_single_bit(static_cast<unsigned>(plan.width)));
  CHECK((plan.by_columns || plan.width <= 32 || plan.width == kSetBlock));
  const int64_t sets_of_block = kSetBlock / plan.width;
  CHECK((plan.count + sets_of_block - 1) / sets_of_block <= testing::kMostBlocks);
  CHECK(plan.splits >= 1);
  CHECK(plan.splits <= testing::kMostBlocksAcross);
  CHECK(plan.per_split * plan.splits >= plan.size);
  CHECK((plan.splits == 1 || plan.per_split * (plan.splits - 1) < plan.size));
}

struct Element {
  int64_t out, b, set, channel;
  int visits = 0;
};

// The threads of the plan take every element once, in the set and with the channel that expect(index) says.
template <class Expect>
void check_elements(const SetPlan& plan, const SetArrays& arrays, int pack, const Expect& expect) {
  const Array& x = arrays.a;
  check_set_limits(plan);
  CHECK(plan.count * plan.size == x.size());
  const auto offset_in = [](const Array& array, const int64_t* index) {
    int64_t offset = 0;
    for (int i = 0; array.is_defined() && i < array.ndim(); ++i) offset += index[i] * array.strides()[i];
    return offset;
  };
  std::unordered_map<int64_t, Element> elements;  // by a's offset
  for_each_index(x.shape(), [&](const int64_t* index) {
    const auto [set, channel] = expect(index);
    elements[offset_in(x, index)] = {offset_in(arrays.out, index), offset_in(arrays.b, index), set, channel};
  });
  std::unordered_map<int64_t, int64_t> number_of_set;  // by the plan's number
  int64_t wrong = 0;
  const int step = plan.packed ? pack : 1;
  for (int64_t set = 0; set < plan.count; ++set) {
    int64_t base[SetPlan::kArrays];
    plan.sets.locate(set, base);
    for (int split = 0; split < plan.splits; ++split) {
      const int64_t begin = split * plan.per_split, end = std::min(begin + plan.per_split, plan.size);
      for (int member = 0; member < plan.width; ++member) {
        for (int64_t i = begin + member * step; i < end; i += plan.width * step) {
          int64_t at[SetPlan::kOperands];
          plan.elements.locate(i, at);
          const auto address = reinterpret_cast<uintptr_t>(x.raw_data()) +
                               static_cast<uint64_t>((base[SetPlan::kA] + at[SetPlan::kA]) * itemsize(x.dtype()));
          wrong += step > 1 && address % 16 != 0 ? 1 : 0;
          for (int k = 0; k < step; ++k) {
            const auto found = elements.find(base[SetPlan::kA] + at[SetPlan::kA] + k);
            if (found == elements.end()) {
              ++wrong;
              continue;
            }
            Element& element = found->second;
            ++element.visits;
            wrong += !arrays.out.is_defined() || element.out == base[SetPlan::kOut] + at[SetPlan::kOut] + k ? 0 : 1;
            wrong += !arrays.b.is_defined() || element.b == base[SetPlan::kB] + at[SetPlan::kB] + k ? 0 : 1;
            wrong += element.channel == at[SetPlan::kChannel] + k * (step > 1 ? plan.channel_step : 0) ? 0 : 1;
            wrong += number_of_set.try_emplace(set, element.set).first->second == element.set ? 0 : 1;
          }
        }
      }
    }
  }
  for (const auto& [offset, element] : elements) wrong += element.visits == 1 ? 0 : 1;
  CHECK(wrong == 0);
}

struct Expected {
  int64_t set, channel;
};

std::vector<Strides> layouts_of(const Shape& shape) {
  const Strides dense = contiguous_strides(shape);
  Strides spread = dense, turned = dense;
  for (int64_t& stride : spread) stride *= 2;
  for (int axis = 0; axis < shape.ndim(); ++axis) turned[axis] = axis == 0 ? 1 : turned[axis - 1] * shape[axis - 1];
  std::vector<Strides> layouts = {dense, spread, turned, testing::padded_strides(shape, 8),
                                  testing::padded_strides(shape, 1)};
  if (shape.ndim() > 2) layouts.push_back(channels_last_strides(shape));
  return layouts;
}

TEST_CASE("set plan: every element in its set, once") {
  for (const Shape& shape : {Shape{1},
                             {31},
                             {33, 32},
                             {3, 5000},
                             {5000, 3},
                             {2, 3, 4, 5},
                             {2, 8, 6, 7},
                             {70, 1, 40},
                             {20, 3, 66},
                             {2, 40000}}) {
    for (const Strides& strides : layouts_of(shape)) {
      const Array x = unbacked_array(shape, strides), dense = unbacked_array(shape);
      for (uint32_t bits = 1; bits < 1u << shape.ndim(); ++bits) {
        CAPTURE(to_string(shape));
        CAPTURE(bits);
        const auto expect = [&](const int64_t* index) {
          int64_t set = 0;
          for (int i = 0; i < shape.ndim(); ++i) {
            if (!AxisMask{bits}.contains(i)) set = set * shape[i] + index[i];
          }
          return Expected{set, 0};
        };
        for (const SetArrays& arrays : {SetArrays{x, x, x}, {dense, x, Array()}, {x, dense, x}}) {
          check_elements(plan_sets(arrays, {bits}, 4), arrays, 4, expect);
        }
      }
    }
  }
}

TEST_CASE("set plan: groups of channels in order") {
  for (const Shape& shape : {Shape{3, 12}, {2, 12, 5}, {2, 8, 6, 7}, {1, 24, 16, 16}, {2, 6, 50, 40}}) {
    for (const Strides& strides : layouts_of(shape)) {
      for (const int64_t groups : {int64_t{1}, int64_t{2}, shape[1]}) {
        CAPTURE(to_string(shape));
        CAPTURE(groups);
        const Array x = unbacked_array(shape, strides);
        const SetArrays arrays = {unbacked_array(shape), x, Array()};
        const int64_t size = shape[1] / groups;
        const auto expect = [&](const int64_t* index) {
          return Expected{index[0] * groups + index[1] / size, index[1] % size};
        };
        const SetPlan plan = plan_groups(arrays, groups, 4);
        CHECK_FALSE(plan.by_columns);
        check_elements(plan, arrays, 4, expect);
        // Numbers of sets are those of statistics, which lie in order.
        for (int64_t set = 0; set < plan.count; ++set) {
          int64_t at[SetPlan::kArrays];
          plan.sets.locate(set, at);
          CHECK(at[SetPlan::kA] == set / groups * strides[0] + set % groups * size * strides[1]);
        }
      }
    }
  }
}

TEST_CASE("set plan: packs, splits and sizes beyond 32 bits") {
  const auto plan = [](const Shape& shape, uint32_t bits, uintptr_t address = 0x100000) {
    const Array x = unbacked_array(shape, Dtype::float32, address);
    return plan_sets({x, x, Array()}, {bits}, 4);
  };
  CHECK(plan({10, 64}, 2).packed);
  CHECK_FALSE(plan({10, 64}, 2, 0x100008).packed);
  CHECK_FALSE(plan({10, 66}, 2).packed);
  CHECK(plan({2, int64_t{1} << 20}, 2).splits > 50);
  CHECK(plan({5000, 4096}, 2).splits == 1);
  const int64_t huge = (int64_t{1} << 31) + 7;
  for (const Shape& shape : {Shape{huge}, {huge, 3}, {3, huge}, {huge, 60}, {2, huge, 2}, {5, 0}}) {
    for (uint32_t bits = 1; bits < 1u << shape.ndim(); ++bits) {
      CAPTURE(to_string(shape));
      CAPTURE(bits);
      const SetPlan large = plan(shape, bits);
      check_set_limits(large);
      CHECK(large.count * large.size == numel(shape));
    }
  }
}

}  // namespace
}  // namespace kusari::cuda
