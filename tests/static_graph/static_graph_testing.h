#pragma once

#include <cstdint>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/link_walk.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/static_graph/static_graph.h"

// Models and numbers that the tests of static graphs share.
namespace kusari::testing {

/// With running statistics and random numbers: /l1, /bn, /l2.
class Net : public Chain {
 public:
  Net(int64_t units, int64_t out_size)
      : l1{*this, "l1", kInfer, units}, bn{*this, "bn", units}, l2{*this, "l2", units, out_size} {}
  Variable operator()(const Variable& x) { return l2(functions::dropout(functions::relu(bn(l1(x))), 0.5)); }

  Child<L::Linear> l1;
  Child<L::BatchNormalization> bn;
  Child<L::Linear> l2;
};

/// h' = tanh(W x + U h).
class Cell : public Chain {
 public:
  Cell(int64_t in_size, int64_t units) : w{*this, "w", in_size, units}, u{*this, "u", units, units} {}
  Variable operator()(const Variable& x, const Variable& h) { return functions::tanh(w(x) + u(h)); }

  Child<L::Linear> w, u;
};

inline StaticGraphOptions options_with(bool passes) {
  StaticGraphOptions options;
  if (!passes) options.passes = StaticGraphPasses::none();
  return options;
}

/// Numbers in [-1, 1) that `seed` determines; leaves the process's stream alone.
inline Array uniform_like(const Array& like, int seed) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < like.size(); ++i) {
    const uint32_t word = philox_word(static_cast<uint64_t>(seed) + 77, static_cast<uint64_t>(i));
    numbers.push_back(static_cast<float>(word) / 2147483648.0f - 1.0f);
  }
  return array(numbers, like.shape()).astype(like.dtype());
}
inline Array batch(int64_t n, int64_t size, int seed) { return uniform_like(empty({n, size}), seed); }
inline Array labels(int64_t n, int64_t classes, int seed) {
  std::vector<int32_t> numbers;
  for (int64_t i = 0; i < n; ++i) numbers.push_back(static_cast<int32_t>((i * 7 + seed) % classes));
  return array(numbers, {n});
}

inline void append(std::vector<float>& numbers, const Array& array) {
  for (const float value : array.to_vector<float>()) numbers.push_back(value);
}
/// Parameters, their gradients and persistent arrays.
inline void append_all(std::vector<float>& numbers, Link& model) {
  for (const auto& entry : kusari::detail::LinkWalk::entries(model)) {
    if (entry.kind == kusari::detail::MemberKind::persistent) append(numbers, *static_cast<const Array*>(entry.at));
    if (entry.kind != kusari::detail::MemberKind::parameter) continue;
    const auto& parameter = *static_cast<const Parameter*>(entry.at);
    append(numbers, parameter.array());
    if (parameter.grad().is_defined()) append(numbers, parameter.grad());
  }
}

}  // namespace kusari::testing
