#pragma once

#include <string>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/kernels/convolution.h"
#include "kusari/tests/functions/connection/convolution_reference.h"

// Problems for the tests of convolution.
namespace kusari::testing {

/// A convolution's shapes and options.
struct Problem {
  Geometry geometry;
  Shape x, W, y;

  kernels::Convolution parameters() const {
    kernels::Convolution g;
    g.ndim = x.ndim() - 2;
    for (int i = 0; i < g.ndim; ++i) {
      g.stride[i] = geometry.stride[i];
      g.pad[i] = geometry.pad[i];
      g.dilate[i] = geometry.dilate[i];
    }
    g.groups = geometry.groups;
    return g;
  }
  std::string text() const {
    return "x " + to_string(x) + " W " + to_string(W) + " y " + to_string(y) + " stride " + to_string(geometry.stride) +
           " pad " + to_string(geometry.pad) + " dilate " + to_string(geometry.dilate) + " groups " +
           std::to_string(geometry.groups);
  }
};

/// Random numbers for the choices of a test.
class Choices {
 public:
  explicit Choices(uint64_t seed) : seed_{seed} {}
  /// In [low, high].
  int64_t operator()(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(philox_word(seed_, count_++) % static_cast<uint64_t>(high - low + 1));
  }

 private:
  uint64_t seed_, count_ = 0;
};

inline Problem random_problem(uint64_t seed) {
  Choices choose(seed);
  const int ndim = static_cast<int>(choose(1, 3));
  const int64_t groups = choose(0, 2) == 0 ? choose(2, 20) : 1;
  const bool depthwise = choose(0, 2) == 0;
  const int64_t own = depthwise ? 1 : choose(1, groups > 4 ? 3 : 40);
  const int64_t outputs = choose(1, groups > 4 ? 3 : 40);
  Problem p;
  p.geometry.groups = groups;
  p.x = {choose(1, 4), own * groups};
  p.W = {outputs * groups, own};
  p.y = {p.x[0], outputs * groups};
  for (int i = 0; i < ndim; ++i) {
    const int64_t in = choose(1, ndim == 3 ? 6 : 12), kernel = choose(1, 4), stride = choose(1, 3);
    const int64_t dilate = choose(1, 2), reach = dilate * (kernel - 1) + 1;
    int64_t pad = choose(0, 3);
    while (in + 2 * pad < reach) ++pad;
    // As many positions as there are, fewer (so that the end of x is never seen), or as with cover_all.
    int64_t out = (in + 2 * pad - reach) / stride + 1;
    if (choose(0, 3) == 0 && out > 1) out -= 1;
    if (choose(0, 3) == 0) out = (in + 2 * pad - reach + stride - 1) / stride + 1;
    p.x.push_back(in);
    p.W.push_back(kernel);
    p.y.push_back(out);
    p.geometry.stride.push_back(stride);
    p.geometry.pad.push_back(pad);
    p.geometry.dilate.push_back(dilate);
  }
  return p;
}

enum class Order { c, channels_last, sliced };
inline Array in_order(const Array& x, Order order) {
  if (order == Order::c) return x;
  if (order == Order::channels_last) return x.channels_last();
  Shape wide = x.shape();
  wide[1] *= 2;
  const Array whole = zeros(wide, x.dtype());
  const Array part = whole.slice(1, 1, x.shape()[1], 2);
  part.copy_from(x);
  return part;
}

/// Sizes that are cut into several chunks.
inline std::vector<Problem> long_problems() {
  const Geometry padded = {{1, 1}, {1, 1}, {1, 1}}, strided = {{2, 2}, {3, 3}, {1, 1}};
  return {
      {padded, {2, 64, 30, 31}, {40, 64, 3, 3}, {2, 40, 30, 31}},  // several chunks, two images
      {padded, {1, 160, 6, 6}, {300, 160, 3, 3}, {1, 300, 6, 6}},  // few rows, wide
      {strided, {1, 3, 61, 64}, {16, 3, 7, 7}, {1, 16, 31, 32}},   // one image: the gradient of x in parts
      {{{1, 1}, {0, 0}, {1, 1}}, {3, 130, 9, 9}, {140, 130, 1, 1}, {3, 140, 9, 9}},  // a matrix product
      {{{1, 1}, {0, 0}, {1, 1}, 2}, {3, 130, 9, 9}, {140, 65, 1, 1}, {3, 140, 9, 9}},
      {{{2, 2}, {0, 0}, {1, 1}}, {3, 20, 9, 9}, {30, 20, 1, 1}, {3, 30, 5, 5}},
      {{{1, 1}, {1, 1}, {1, 1}, 70}, {2, 70, 33, 20}, {70, 1, 3, 3}, {2, 70, 33, 20}},  // depthwise
      {{{2, 2}, {1, 1}, {1, 1}, 70}, {2, 70, 33, 20}, {140, 1, 3, 3}, {2, 140, 17, 10}},
      {{{1, 1}, {3, 3}, {1, 1}, 44}, {2, 44, 13, 20}, {44, 1, 7, 7}, {2, 44, 13, 20}},
      {{{1}, {2}, {1}}, {2, 5, 3000}, {7, 5, 5}, {2, 7, 3000}},
      {padded, {40, 3, 4, 4}, {5, 3, 3, 3}, {40, 5, 4, 4}},  // many small images
  };
}

}  // namespace kusari::testing
