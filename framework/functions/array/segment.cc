#include "kusari/framework/functions/array/segment.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/index_plan.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/maximum.h"
#include "kusari/framework/functions/math/minimum.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/array_operators.h"

namespace kusari::functions {
namespace {

using Extreme = Variable (*)(const Variable& a, const Variable& b);

void check_segments(const char* call, const Variable& x, const Variable& ids, int64_t n_segments) {
  expect_floating(x, call, "x");
  expect_given(ids, call, "ids");
  argument::not_negative(call, "n_segments", n_segments);
  if (x.ndim() > 0 && ids.shape() == Shape{x.shape()[0]} && is_integral(ids.dtype()) && ids.dtype() != Dtype::bool_)
    return;
  throw TypeError(std::string(call) + ": ids has shape " + to_string(ids.shape()) + " and dtype " + name(ids.dtype()) +
                  " but x has shape " + to_string(x.shape()) + ": ids must be integers, one for each row of x");
}

/// The ids, on the host.
std::vector<int64_t> checked_ids(const char* call, const Array& ids, int64_t n_segments) {
  std::vector<int64_t> numbers = ids.astype(Dtype::int64).to_vector<int64_t>();
  for (const int64_t id : numbers) {
    if (id >= 0 && id < n_segments) continue;
    throw IndexError(std::string(call) + ": ids has " + std::to_string(id) + ": it must be in [0, " +
                     std::to_string(n_segments) + ")");
  }
  return numbers;
}

/// (n_segments, ...): x's rows added to those of their ids.
Variable put_rows(const char* call, const Variable& x, const Array& ids, int64_t n_segments) {
  Shape shape = x.shape();
  shape[0] = n_segments;
  // A negative id is no place from the end.
  const Index places(xp::where(ids < int64_t{0}, n_segments, ids.astype(Dtype::int64)));
  return IndexPlan(call, shape, {&places, 1}).put(x);
}

Variable segment_sums(const char* call, const Variable& x, const Array& ids, int64_t n_segments) {
  // Otherwise the indexing finds them, a negative one under another number.
  if (ids.device().is_cpu() && GraphCapture::current() == nullptr) checked_ids(call, ids, n_segments);
  const Dtype wide = is_half(x.dtype()) ? Dtype::float32 : x.dtype();
  return put_rows(call, cast(x, wide), ids, n_segments);
}

/// Each segment becomes half as long in a step: each pair of rows one.
Variable extremes(const char* call, const Variable& x, const Variable& ids, int64_t n_segments, Extreme extreme) {
  check_segments(call, x, ids, n_segments);
  const std::vector<int64_t> segments = checked_ids(call, ids.array(), n_segments);
  std::vector<int64_t> lengths = host_vector<int64_t>({n_segments}, call);
  for (const int64_t id : segments) ++lengths[static_cast<size_t>(id)];
  std::vector<int64_t> begins = lengths, rows(segments.size()), filled;
  int64_t begin = 0;
  for (int64_t& of_segment : begins) of_segment = std::exchange(begin, begin + of_segment);
  for (size_t i = 0; i < segments.size(); ++i) {
    rows[static_cast<size_t>(begins[static_cast<size_t>(segments[i])]++)] = static_cast<int64_t>(i);
  }
  const auto taken = [&](const Variable& from, const std::vector<int64_t>& which) {
    return get_item(from, {array(which, Shape{static_cast<int64_t>(which.size())}, x.device())});
  };
  Variable y = taken(x, rows);
  for (bool is_done = false; !is_done;) {
    is_done = true;
    std::vector<int64_t> first, second;
    int64_t at = 0;
    for (int64_t& length : lengths) {
      for (int64_t k = 0; k < length; k += 2) {
        first.push_back(at + k);
        second.push_back(at + std::min(k + 1, length - 1));
      }
      at += length;
      is_done = is_done && length <= 2;
      length = (length + 1) / 2;
    }
    if (first.size() < static_cast<size_t>(at)) y = extreme(taken(y, first), taken(y, second));
  }
  for (int64_t id = 0; id < n_segments; ++id) {
    if (lengths[static_cast<size_t>(id)] > 0) filled.push_back(id);
  }
  return put_rows(call, y, array(filled, Shape{static_cast<int64_t>(filled.size())}, x.device()), n_segments);
}

}  // namespace

Variable segment_sum(const Variable& x, const Variable& ids, int64_t n_segments) {
  check_segments("F::segment_sum", x, ids, n_segments);
  return cast(segment_sums("F::segment_sum", x, ids.array(), n_segments), x.dtype());
}

Variable segment_mean(const Variable& x, const Variable& ids, int64_t n_segments) {
  const char* const call = "F::segment_mean";
  check_segments(call, x, ids, n_segments);
  const Variable total = segment_sums(call, x, ids.array(), n_segments);
  Shape one = x.shape();
  for (int axis = 1; axis < one.ndim(); ++axis) one[axis] = 1;
  const Variable row(ones(one, total.dtype(), x.device()), false);
  const Array counts = segment_sums(call, row, ids.array(), n_segments).array();
  return cast(total / xp::maximum(counts, 1), x.dtype());
}

Variable segment_max(const Variable& x, const Variable& ids, int64_t n_segments) {
  return extremes("F::segment_max", x, ids, n_segments,
                  [](const Variable& a, const Variable& b) { return maximum(a, b); });
}

Variable segment_min(const Variable& x, const Variable& ids, int64_t n_segments) {
  return extremes("F::segment_min", x, ids, n_segments,
                  [](const Variable& a, const Variable& b) { return minimum(a, b); });
}

}  // namespace kusari::functions
