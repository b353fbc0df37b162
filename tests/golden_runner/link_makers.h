#pragma once

#include "kusari/framework/links/connection/linear.h"
#include "kusari/tests/golden_runner/args.h"

namespace kusari::golden {

// Links that cases use by themselves and inside others.

/// Chainer's Linear(n) has the output size alone; None and a missing size are inferred.
inline L::Linear make_linear(Args& a) {
  const L::LinearOptions options{.nobias = a.flag("nobias", false)};
  if (a.positional_count() == 1) return L::Linear(a.positional(0).get<int64_t>(), options);
  return L::Linear(a.integer("in_size", kInfer), a.integer("out_size", 0), options);
}

}  // namespace kusari::golden
