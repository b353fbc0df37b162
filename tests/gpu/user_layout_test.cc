#include "kusari/framework/kernels/user/layout.h"

#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/kernels/user/prelude.h"
#include "kusari/framework/kernels/user/source.h"
#include "kusari/tests/text_search.h"
#include "unbacked_array.h"

namespace kusari::cuda::user {
namespace {

using testing::contains;
using testing::unbacked_array;

AxisRuns runs_of(const std::vector<Array>& arrays) {
  return axis_runs(arrays[0].shape(), arrays, [](int) { return true; });
}

TEST_CASE("user layout: axes that are one range in every array become one") {
  const Shape shape = {2, 3, 1, 4};
  CHECK(runs_of({unbacked_array(shape), unbacked_array(shape, Dtype::float64)}).ndim == 1);
  const AxisRuns runs = runs_of({unbacked_array(shape), unbacked_array(shape, {1, 2, 0, 6}, Dtype::float64)});
  CHECK(runs.ndim == 3);
  const AxisRuns part = runs_of({unbacked_array(shape, {30, 4, 0, 1})});
  CHECK(part.ndim == 2);
  CHECK(part.size[0] == 2);
  CHECK(part.size[1] == 12);
  CHECK(part.stride[0][0] == 120);
  CHECK(part.stride[0][1] == 4);
  const AxisRuns repeated = runs_of({unbacked_array({3, 4}, {0, 0})});
  CHECK(repeated.ndim == 1);
  CHECK(repeated.size[0] == 12);
}

TEST_CASE("user layout: one axis at least") {
  for (const Shape& shape : {Shape{}, {1}, {1, 1, 1}}) {
    const AxisRuns runs = runs_of({unbacked_array(shape), unbacked_array(shape)});
    CHECK(runs.ndim == 1);
    CHECK(runs.size[0] == 1);
    CHECK(runs.stride[1][0] == 0);
  }
  CHECK(axis_runs({2, 3}, std::vector<Array>{unbacked_array({2, 3})}, [](int axis) { return axis == 1; }).size[0] == 3);
}

TEST_CASE("user layout: kernels locate every element in C order") {
  const Shape shape = {3, 4, 5};
  const std::vector<Array> arrays = {unbacked_array(shape, {1, 3, 12}), unbacked_array(shape, {0, 7, 1}, Dtype::int8)};
  const AxisRuns runs = runs_of(arrays);
  REQUIRE(runs.ndim == 3);
  int64_t flat[64];
  kusari::user::Layout<2, 3> layout;
  REQUIRE(runs.flatten(flat) == sizeof(layout));
  std::memcpy(&layout, flat, sizeof(layout));
  long long i = 0, wrong = 0;
  testing::for_each_index(shape, [&](const int64_t* index) {
    long long offset[2];
    layout.locate(i++, offset);
    for (int k = 0; k < 2; ++k) {
      int64_t expected = 0;
      for (int axis = 0; axis < 3; ++axis) expected += index[axis] * arrays[static_cast<size_t>(k)].strides()[axis];
      wrong += offset[k] == expected * itemsize(arrays[static_cast<size_t>(k)].dtype()) ? 0 : 1;
    }
  });
  CHECK(wrong == 0);
  // Beyond 32 bits.
  const int64_t huge = (int64_t{1} << 31) + 7;
  const AxisRuns large = runs_of({unbacked_array({3, huge}, {2 * huge, 1})});
  kusari::user::Layout<1, 2> locator;
  REQUIRE(large.flatten(flat) == sizeof(locator));
  std::memcpy(&locator, flat, sizeof(locator));
  long long offset[1];
  locator.locate(3 * huge - 1, offset);
  CHECK(offset[0] == 4 * (4 * huge + huge - 1));
}

TEST_CASE("user source: parameters in the order in which they are passed") {
  const std::vector<Bound> bound = {
      {{"T", "x"}}, {{"float32", "a"}, false, true}, {{"T", "table", true}, false, false, 3}, {{"T", "y"}, true}};
  const std::string text =
      elementwise_source("gather", "y = x + a", "using T = float64;\n", "// before\n", bound, 2, false);
  CHECK(contains(text, "using T = float64;\n// before\n"));
  CHECK(contains(text,
                 "void gather(const Layout<2, 2> layout, const long long n, const T* x_data, const float32 a, "
                 "const T* table_data, const Layout<1, 3> table_layout, T* y_data) {"));
  CHECK(contains(text, "const Raw<T, 3> table{table_data, table_layout};"));
  CHECK(contains(text, "const T x = *reinterpret_cast<const T*>(reinterpret_cast<const char*>(x_data) + offset[0]);"));
  CHECK(contains(text, "T& y = *reinterpret_cast<T*>(reinterpret_cast<char*>(y_data) + offset[1]);"));
  CHECK(contains(text, "{ y = x + a; }"));
  const std::string flat = elementwise_source("gather", "y = x + a", "", "", bound, 1, true);
  CHECK_FALSE(contains(flat, "locate"));
  CHECK(contains(flat, "x_data) + i * static_cast<long long>(sizeof(T)))"));
}

TEST_CASE("user source: a reduction counts its inputs alone in the layouts") {
  const std::vector<Bound> bound = {
      {{"T", "x"}}, {{"T", "w"}}, {{"float32", "scale"}, false, true}, {{"T", "y"}, true}};
  const std::string text =
      reduction_source("dot", {"x * w", "a + b", "y = a * scale", "0", "float64"}, "", "", bound, 2, 3);
  CHECK(contains(text,
                 "void dot(const Layout<2, 2> outer, const Layout<2, 3> inner, const long long outputs, "
                 "const long long n, const T* x_data, const T* w_data, const float32 scale, T* y_data) {"));
  CHECK(contains(text, "using kusari_value = float64;"));
  CHECK(contains(text, "return kusari_value(a + b);"));
  CHECK(contains(text, "kusari_value partial[" + std::to_string(kReductionThreads) + "];"));
  CHECK(contains(text, "base[1] + offset[1]"));
  CHECK_FALSE(contains(text, "base[2] +"));
  CHECK(contains(text, "{ y = a * scale; }"));
}

}  // namespace
}  // namespace kusari::cuda::user
