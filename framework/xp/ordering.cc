#include "kusari/framework/xp/ordering.h"

#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/unique.h"
#include "kusari/framework/functions/math/minmax.h"
#include "kusari/framework/functions/math/top_k.h"
#include "kusari/framework/kernels/ordering.h"
#include "kusari/framework/xp/indexing.h"
#include "kusari/framework/xp/without_graph.h"

namespace kusari::xp {
namespace {

/// The places that sort x along its last axis.
Array argsort_last(const char* call, const Array& x) {
  const int64_t n = x.shape(-1);
  const Array places = empty(x.shape(), Dtype::int64, x.device());
  if (x.size() == 0) return places;
  launch_for<kernels::ArgsortRows>(call, x.device(), x.contiguous().reshape({x.size() / n, n}),
                                   places.reshape({x.size() / n, n}));
  return places;
}

/// Applies function(x with the axis last) and puts the axis back.
template <class Function>
Array along_axis(const char* call, const Array& x, const std::optional<int64_t>& axis, const Function& function) {
  expect_array(call, "x", x);
  if (!axis) return function(x.reshape({x.size()}));
  const int at = normalize_axis(*axis, x.ndim(), call);
  return function(x.swapaxes(at, -1)).swapaxes(at, -1).contiguous();
}

}  // namespace

Array argsort(const Array& x, std::optional<int64_t> axis) {
  return along_axis("xp::argsort", x, axis, [](const Array& last) { return argsort_last("xp::argsort", last); });
}
Array sort(const Array& x, std::optional<int64_t> axis) {
  return along_axis("xp::sort", x, axis, [](const Array& last) {
    return last.size() == 0 ? last.copy() : take_along_axis(last, argsort_last("xp::sort", last), -1);
  });
}

TopElements topk(const Array& x, int64_t k, const TopkOptions& options) {
  constexpr const char* kCall = "xp::topk";
  expect_array(kCall, "x", x);
  const int at = normalize_axis(options.axis, x.ndim(), kCall);
  argument::require(k >= 0 && k <= x.shape()[at], kCall, "k", k, "be from 0 to the size of the axis");
  return without_graph(kCall, [&]() -> TopElements {
    if (options.largest) {
      const functions::TopK top = functions::top_k(x, k, at);
      return {top.values.array(), top.indices.array().astype(Dtype::int64)};
    }
    const Array places = argsort(x, at).slice(at, 0, k).contiguous();
    return {places.size() == 0 ? empty(places.shape(), x.dtype(), x.device()) : take_along_axis(x, places, at), places};
  });
}

Array argmax(const Array& x, std::optional<int64_t> axis) {
  expect_array("xp::argmax", "x", x);
  return without_graph("xp::argmax", [&] { return functions::argmax(x, axis).array().astype(Dtype::int64); });
}
Array argmin(const Array& x, std::optional<int64_t> axis) {
  expect_array("xp::argmin", "x", x);
  return without_graph("xp::argmin", [&] { return functions::argmin(x, axis).array().astype(Dtype::int64); });
}

UniqueElements unique(const Array& x, std::optional<int64_t> axis) {
  expect_array("xp::unique", "x", x);
  return without_graph("xp::unique", [&]() -> UniqueElements {
    const functions::UniqueResult found = functions::unique(x, {.axis = axis});
    return {found.values.array(), found.indices.array(), found.inverse.array(), found.counts.array()};
  });
}

Array searchsorted(const Array& sorted, const Array& values, const SearchsortedOptions& options) {
  constexpr const char* kCall = "xp::searchsorted";
  expect_array(kCall, "sorted", sorted);
  expect_array(kCall, "values", values);
  if (sorted.ndim() != 1) {
    throw TypeError(std::string(kCall) + ": sorted has shape " + to_string(sorted.shape()) + ": it must have one axis");
  }
  if (sorted.device() != values.device()) {
    throw DeviceError(std::string(kCall) + ": sorted is on " + sorted.device().name() + " but values is on " +
                      values.device().name());
  }
  const Dtype dtype = promote(sorted.dtype(), values.dtype());
  const Array places = empty(values.shape(), Dtype::int64, values.device());
  launch_for<kernels::SearchSorted>(kCall, values.device(), kernels::InsertionSide{options.right},
                                    sorted.astype(dtype).contiguous(), values.astype(dtype).contiguous(), places);
  return places;
}

}  // namespace kusari::xp
