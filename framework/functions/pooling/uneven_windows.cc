#include "kusari/framework/functions/pooling/uneven_windows.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/pad.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/pooling/windows.h"

namespace kusari::functions {
namespace {

/// Elements o stride + k dilate of an axis, for each window o its places k.
Variable windows_side_by_side(const char* call, const Variable& x, int axis, int64_t windows, int64_t ksize,
                              int64_t stride, int64_t dilate) {
  std::vector<int64_t> places = host_vector<int64_t>({windows, ksize}, call);
  for (int64_t i = 0; i < windows * ksize; ++i) {
    places[static_cast<size_t>(i)] = i / ksize * stride + i % ksize * dilate;
  }
  std::vector<Index> slices(static_cast<size_t>(axis), Index(Slice{}));
  slices.emplace_back(host_constant([&] { return array(places, x.device()); }));
  return get_item(x, std::span<const Index>(slices));
}

}  // namespace

bool are_uneven(const GivenWindows& windows) {
  const Dims &end = windows.pad_end.given(), &dilate = windows.dilate.given();
  return (!end.empty() && end != windows.pad.given()) ||
         std::any_of(dilate.begin(), dilate.end(), [](int64_t d) { return d != 1; });
}

PlainWindows plain_windows(const char* call, int ndim, const Variable& x, const GivenWindows& windows, Scalar padding) {
  expect_floating(x, call, "x");
  if (x.ndim() != 2 + ndim) {
    throw TypeError(std::string(call) + ": x has shape " + to_string(x.shape()) + ": x.ndim must be " +
                    std::to_string(2 + ndim));
  }
  const kernels::Pooling given = make_windows(call, ndim, windows.ksize, windows.stride, windows.pad);
  const PerAxis& end = windows.pad_end.given().empty() ? windows.pad : windows.pad_end;
  const Dims pad_end = window_option(call, "pad_end", end, ndim, 0);
  const Dims dilate = window_option(call, "dilate", windows.dilate, ndim, 1);

  std::vector<PadWidth::Pair> widths(2, PadWidth::Pair{0, 0});
  Dims counts;
  for (int i = 0; i < ndim; ++i) {
    const int64_t extent = (given.ksize[i] - 1) * dilate[i] + 1, size = x.shape()[2 + i];
    const int64_t space = size + given.pad[i] + pad_end[i] - extent + (windows.cover_all ? given.stride[i] - 1 : 0);
    if (space < 0) {
      throw ValueError(std::string(call) + ": x has shape " + to_string(x.shape()) + ": no window fits into axis " +
                       std::to_string(2 + i) + ", which has " + std::to_string(size + given.pad[i] + pad_end[i]) +
                       " places with the padding, of which a window needs " + std::to_string(extent));
    }
    counts.push_back(space / given.stride[i] + 1);
    // The last window may need more than it was given.
    const int64_t needed = (counts[i] - 1) * given.stride[i] + extent;
    widths.push_back({given.pad[i], std::max(pad_end[i], needed - size - given.pad[i])});
  }
  PlainWindows result{pad(x, PadWidth(std::span<const PadWidth::Pair>(widths)), PadMode::constant, padding), {}, {}};
  for (int i = 0; i < ndim; ++i) {
    const bool has_gaps = dilate[i] != 1;
    if (has_gaps) {
      result.x = windows_side_by_side(call, result.x, 2 + i, counts[i], given.ksize[i], given.stride[i], dilate[i]);
    }
    result.ksize.push_back(given.ksize[i]);
    result.stride.push_back(has_gaps ? given.ksize[i] : given.stride[i]);
  }
  return result;
}

}  // namespace kusari::functions
