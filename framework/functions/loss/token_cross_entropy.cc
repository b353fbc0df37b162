#include "kusari/framework/functions/loss/token_cross_entropy.h"

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {

Variable token_cross_entropy(const Variable& x, const Variable& t, const SoftmaxCrossEntropyOptions& options) {
  expect_floating(x, "F::token_cross_entropy", "x");
  expect_given(t, "F::token_cross_entropy", "t");
  Shape expected = x.shape();
  if (!expected.empty()) expected.pop_back();
  if (x.ndim() == 0 || t.shape() != expected) {
    throw TypeError("F::token_cross_entropy: t has shape " + to_string(t.shape()) + " and x " + to_string(x.shape()) +
                    ": t must have all axes of x but the last");
  }
  const int64_t classes = x.shape()[x.ndim() - 1], count = numel(expected);
  const Variable loss = softmax_cross_entropy(reshape(x, {count, classes}), reshape(t, {count}), options);
  return options.reduce == Reduce::no ? reshape(loss, expected) : loss;
}

}  // namespace kusari::functions
