#include "kusari/framework/functions/connection/conv_outsize.h"

#include <limits>

#include "kusari/framework/core/argument.h"

namespace kusari::utils {
namespace {

/// Places that a window spans.
int64_t span_of(const char* call, int64_t size, const WindowOptions& windows) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const auto check = [&](const char* name, int64_t value, int64_t least, const char* rule) {
    argument::require(value >= least && value <= kMost, call, name, value, rule);
  };
  check("size", size, 0, "be in [0, 2^31)");
  check("ksize", windows.ksize, 1, "be in [1, 2^31)");
  check("stride", windows.stride, 1, "be in [1, 2^31)");
  check("pad", windows.pad, 0, "be in [0, 2^31)");
  check("dilate", windows.dilate, 1, "be in [1, 2^31)");
  return (windows.ksize - 1) * windows.dilate + 1;
}

}  // namespace

int64_t get_conv_outsize(int64_t size, const WindowOptions& windows) {
  const int64_t span = span_of("get_conv_outsize", size, windows);
  int64_t room = size + 2 * windows.pad - span;
  const int64_t stride = windows.stride;
  if (windows.cover_all) room += stride - 1;
  return (room >= 0 ? room / stride : -((stride - 1 - room) / stride)) + 1;
}

int64_t get_deconv_outsize(int64_t size, const WindowOptions& windows) {
  const int64_t span = span_of("get_deconv_outsize", size, windows);
  return windows.stride * (size - 1) + span - 2 * windows.pad - (windows.cover_all ? windows.stride - 1 : 0);
}

}  // namespace kusari::utils
