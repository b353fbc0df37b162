#include "kusari/framework/functions/loss/negative_sampling.h"

#include <limits>
#include <string>
#include <vector>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/softplus.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/loss/row_scores.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::functions {
namespace {

// The samples, with the labels in the first column.
Array draw(const Sampler& sampler, const Array& t, int64_t sample_size) {
  const Shape shape{t.shape()[0], 1 + sample_size};
  const Array drawn = sampler(shape);
  if (!drawn.is_defined() || drawn.shape() != shape || !is_integral(drawn.dtype())) {
    throw ValueError("F::negative_sampling: the sampler gave " +
                     (drawn.is_defined() ? "shape " + to_string(drawn.shape()) + " and dtype " + name(drawn.dtype())
                                         : std::string("nothing")) +
                     ": it must give integers of shape " + to_string(shape));
  }
  const Dtype dtype = t.dtype() == Dtype::int64 ? Dtype::int64 : Dtype::int32;
  const Array samples = drawn.to_device(t.device()).astype(dtype, true).contiguous();
  samples.slice(1, 0, 1).copy_from(t.expand_dims(1));
  return samples;
}

// (1, 1 + sample_size): -1 for the label, 1 for the drawn ones.
Array signs(int64_t sample_size, Dtype dtype, const Device& device) {
  const Array result = ones({1, 1 + sample_size}, dtype, device);
  result.slice(1, 0, 1).fill(-1);
  return result;
}

}  // namespace

Variable negative_sampling(const Variable& x, const Variable& t, const Variable& W, const Sampler& sampler,
                           int64_t sample_size, const NegativeSamplingOptions& options) {
  constexpr const char* kCall = "negative_sampling";
  if (const CompositeInputs in(kCall, {x, t, W}); in.is_cast()) {
    return negative_sampling(in[0], in[1], in[2], sampler, sample_size, options);
  }
  check_row_scores("F::negative_sampling", x, t, W);
  if (options.reduce == Reduce::mean) throw ValueError("F::negative_sampling: reduce must be sum or no");
  if (!sampler) throw ValueError("F::negative_sampling: sampler is not given: it is required");
  argument::not_negative("F::negative_sampling", "sample_size", sample_size);
  argument::require(sample_size <= std::numeric_limits<int32_t>::max(), "F::negative_sampling", "sample_size",
                    sample_size, "be at most 2147483647");
  const Array samples = draw(sampler, t.array(), sample_size);
  if (options.return_samples != nullptr) *options.return_samples = samples;
  // What does not count may hold anything, and leaves no trace in gradients.
  const Array counts = pointwise(kernels::NotEqualConst{-1}, t.array()).expand_dims(1);
  const Variable counted = where(counts, x, zeros({1, 1}, x.dtype(), x.device()));
  const Variable scores = row_scores(counted, W, samples, {"F::negative_sampling", true, -1});
  const Variable losses = softplus(scores * signs(sample_size, scores.dtype(), scores.device()));
  const Variable each = sum(losses * counts.astype(losses.dtype()), 1);
  return cast(options.reduce == Reduce::no ? each : sum(each), x.dtype());
}

}  // namespace kusari::functions
