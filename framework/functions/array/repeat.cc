#include "kusari/framework/functions/array/repeat.h"

#include <algorithm>
#include <string>
#include <vector>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/core/small_vector.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {
namespace {

void check_count(int64_t count) { argument::not_negative("F::repeat", "repeats", count); }

[[noreturn]] void throw_too_long(int64_t repeats) {
  throw ValueError("F::repeat: repeats is " + std::to_string(repeats) + ": the axis must stay shorter than 2^63");
}

}  // namespace

Variable repeat(const Variable& x, int64_t repeats, std::optional<int64_t> axis) {
  expect_given(x, "F::repeat", "x");

  check_count(repeats);
  if (!axis) return repeat(flatten(x), repeats, 0);
  const int k = normalize_axis(*axis, x.ndim(), "F::repeat");
  Shape shape = x.shape();
  int64_t outer = 1, inner = 1;
  for (int i = 0; i <= k; ++i) outer *= shape[i];
  for (int i = k + 1; i < x.ndim(); ++i) inner *= shape[i];
  if (__builtin_mul_overflow(shape[k], repeats, &shape[k])) throw_too_long(repeats);
  return reshape(broadcast_to(reshape(x, {outer, 1, inner}), {outer, repeats, inner}), shape);
}

Variable repeat(const Variable& x, std::span<const int64_t> repeats, std::optional<int64_t> axis) {
  expect_given(x, "F::repeat", "x");

  if (repeats.size() == 1) return repeat(x, repeats[0], axis);
  if (!axis) return repeat(flatten(x), repeats, 0);
  const int k = normalize_axis(*axis, x.ndim(), "F::repeat");
  if (static_cast<int64_t>(repeats.size()) != x.shape()[k]) {
    throw ValueError("F::repeat: there are " + std::to_string(repeats.size()) + " repeats but x has shape " +
                     to_string(x.shape()) + ": there must be one, or x.shape[" + std::to_string(k) + "]");
  }
  int64_t count = 0;
  for (const int64_t of_element : repeats) {
    check_count(of_element);
    if (__builtin_add_overflow(count, of_element, &count)) throw_too_long(of_element);
  }
  std::vector<int64_t> places = host_vector<int64_t>({count}, "F::repeat");
  auto place = places.begin();
  for (size_t i = 0; i < repeats.size(); ++i) place = std::fill_n(place, repeats[i], static_cast<int64_t>(i));
  SmallVector<Index, 4> slices(static_cast<size_t>(k), Index(Slice{}));
  slices.push_back(host_constant([&] { return array(places, x.array().device()); }));
  return get_item(x, std::span<const Index>(slices.data(), slices.size()));
}

}  // namespace kusari::functions
