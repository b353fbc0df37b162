#pragma once

#include <cstdint>

#include "kusari/framework/functions/attention/scaled_dot_product_attention.h"
#include "kusari/tests/functions/testing.h"

// What the tests of attention are called with.
namespace kusari::testing {

struct AttentionSizes {
  int64_t batch, heads, groups, n, keys, width, value_width;
};

struct AttentionCase {
  AttentionSizes s;
  F::AttentionOptions options;
  Variable q, k, v;
  AttentionCase(const AttentionSizes& sizes, const F::AttentionOptions& o, Dtype dtype) : s{sizes}, options{o} {
    q = Variable(uniform({s.batch, s.heads, s.n, s.width}, -1, 1, 1).astype(dtype));
    k = Variable(uniform({s.batch, s.groups, s.keys, s.width}, -1, 1, 2).astype(dtype));
    v = Variable(uniform({s.batch, s.groups, s.keys, s.value_width}, -1, 1, 3).astype(dtype));
  }
};

}  // namespace kusari::testing
