#pragma once

#include "kusari/framework/autograd/type_check.h"

namespace kusari::functions {

/// The rules of sequences xs: arrays that differ in nothing but their lengths.
inline void expect_sequences(const TypeCheck& c) {
  const auto first = c.arg("xs[0]", 0);
  for (size_t i = 0; i < c.size(); ++i) {
    const auto x = c.arg("xs[i]", i);
    c.expect(x.ndim() >= 1, x.ndim() == first.ndim(), x.dtype() == first.dtype());
    for (int axis = 1; axis < first.array().ndim(); ++axis) c.expect(x.shape(axis) == first.shape(axis));
  }
}

}  // namespace kusari::functions
