#include "kusari/framework/functions/loss/black_out.h"

#include <limits>
#include <string>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/masked_fill.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/loss/row_scores.h"
#include "kusari/framework/functions/math/average.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/logarithm_1p.h"
#include "kusari/framework/functions/math/logsumexp.h"
#include "kusari/framework/functions/math/minmax.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/array_operators.h"

namespace kusari::functions {

Variable black_out(const Variable& x, const Variable& t, const Variable& W, const Variable& samples, Reduce reduce) {
  constexpr const char* kCall = "black_out";
  if (const CompositeInputs in(kCall, {x, t, W, samples}); in.is_cast()) {
    return black_out(in[0], in[1], in[2], in[3], reduce);
  }
  if (reduce == Reduce::sum) throw ValueError("F::black_out: reduce must be mean or no");
  check_row_scores("F::black_out", x, t, W);
  expect_given(samples, "F::black_out", "samples");
  if (!is_integral(samples.dtype()) || samples.ndim() != 2 || samples.shape()[0] != x.shape()[0]) {
    throw TypeError("F::black_out: samples has shape " + to_string(samples.shape()) + " and dtype " +
                    name(samples.dtype()) + " but x has shape " + to_string(x.shape()) +
                    ": samples must be integers (N, S) where x is (N, D)");
  }
  const Array rows =
      concat({expand_dims(cast(t, Dtype::int64), 1), cast(samples, Dtype::int64)}, 1).array();  // the label first
  const Variable scores = row_scores(x, W, rows, {"F::black_out"});
  const Variable log_total = expand_dims(logsumexp(scores, 1), 1), log_p = scores - log_total;
  // Where p is nearly 1, 1 - p has no digits: of the largest score it is the sum of the other probabilities.
  const Array place = argmax(scores, 1).array().expand_dims(1);
  const Variable is_largest(place == arange(rows.shape(1), Dtype::int32, x.device()), false);
  const Variable apart = masked_fill(scores, is_largest, -std::numeric_limits<double>::infinity());
  const Variable log_rest = where(is_largest, expand_dims(logsumexp(apart, 1), 1) - log_total,
                                  log1p(-exp(masked_fill(log_p, is_largest, -1.0))));
  const Variable losses = -(get_item(log_p, {Slice{}, 0}) + sum(get_item(log_rest, {Slice{}, Slice{1, {}}}), 1));
  return cast(reduce == Reduce::no ? losses : mean(losses), x.dtype());
}

}  // namespace kusari::functions
