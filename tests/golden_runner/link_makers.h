#pragma once

#include "kusari/tests/golden_runner/links.h"

namespace kusari::golden {

/// Chainer's constructors of layers may leave out the size of what comes in; the arguments then move: Linear(n) has the
/// output size alone, Convolution2D(channels, ksize) the output channels and the kernel.
struct Sizes {
  int64_t in;
  int64_t out;
};
inline Sizes linear_sizes(Args& a, const std::string& in = "in_size", const std::string& out = "out_size") {
  if (a.raw(out).is_null()) return {kInfer, a.integer(in)};
  return {a.optional_integer(in).value_or(kInfer), a.integer(out)};
}

struct FilterSizes {
  int64_t in_channels;
  std::vector<int64_t> out_channels;
  PerAxis ksize;
};
/// `out_channels` is a list of them for MLPConvolution2D.
inline FilterSizes filter_sizes(Args& a) {
  if (a.raw("ksize").is_null()) return {kInfer, a.integers("in_channels"), a.per_axis("out_channels")};
  return {a.optional_integer("in_channels").value_or(kInfer), a.integers("out_channels"), a.per_axis("ksize")};
}

}  // namespace kusari::golden
