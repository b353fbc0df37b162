#include "kusari/framework/functions/loss/discriminative_loss.h"

#include <algorithm>
#include <string>
#include <vector>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/input_check.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/axes.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::functions {
namespace {

constexpr const char* kName = "discriminative_margin_based_clustering_loss";

void check_embeddings(const Variable& embeddings, const Variable& labels) {
  const InputCheck c(kName, {&embeddings, &labels});
  const auto [e, l] = c.args("embeddings", "labels");
  c.expect(e.is_floating(), l.is_integral(), e.ndim() == 4, l.ndim() == 3, e.shape(0) == l.shape(0),
           e.shape(2) == l.shape(1), e.shape(3) == l.shape(2));
}

void check_options(const Variable& embeddings, int64_t max_embedding_dim, const DiscriminativeLossOptions& o) {
  if (max_embedding_dim < 1 || max_embedding_dim != embeddings.shape()[1]) {
    throw ValueError(std::string("F::") + kName + ": max_embedding_dim is " + std::to_string(max_embedding_dim) +
                     " but embeddings has shape " + to_string(embeddings.shape()) +
                     ": it must be embeddings.shape[1] and positive");
  }
  if (o.norm != 1 && o.norm != 2) {
    throw ValueError(std::string("F::") + kName + ": norm is " + std::to_string(o.norm) + ": it must be 1 or 2");
  }
}

// The root of a sum of squares has no derivative at 0, where the distances of pixels outside of the instance lie.
Variable norm_of(const Variable& x, int norm, const Axes& axes) {
  if (norm == 1) return sum(absolute(x), axes);
  const Variable squared = sum(square(x), axes);
  const Array one = ones({}, x.dtype(), x.device()), zero = zeros({}, x.dtype(), x.device());
  const Array positive = pointwise(kernels::GreaterConst{0}, squared.array());
  return where(positive, sqrt(where(positive, squared, one)), zero);
}

// Sizes of sets of pixels, at least 1 to divide by.
Array sizes(const Array& masks, Dtype dtype, AxisMask axes) {
  const Array count = reduce_as(dtype, kernels::Sum{}, masks, axes);
  return pointwise(kernels::Maximum{}, count, ones({}, dtype, masks.device()));
}

Variable variance_of(const Variable& embeddings, const Variable& centres, const Array& masks, double delta, int norm) {
  const int64_t k = centres.shape()[0], n = centres.shape()[1];
  const Variable offsets = (reshape(centres, {k, n, k, 1, 1}) - embeddings) * masks;
  const Variable far = square(relu(norm_of(offsets, norm, 2) - delta));
  return sum(sum(far, {1, 2, 3}) / sizes(masks, embeddings.dtype(), {0b11110u})) / k;
}

Variable distance_of(const Variable& centres, double delta, int norm) {
  const int64_t k = centres.shape()[0], n = centres.shape()[1];
  std::vector<int64_t> first, second;
  for (int64_t a = 0; a < k; ++a) {
    for (int64_t b = a + 1; b < k; ++b) {
      first.push_back(a);
      second.push_back(b);
    }
  }
  const auto pairs = static_cast<int64_t>(first.size());
  const auto index = [&](const std::vector<int64_t>& places) {
    return host_constant([&] { return array(places, {pairs}, centres.device()); });
  };
  const Variable apart = get_item(centres, index(first)) - get_item(centres, index(second));
  return sum(square(relu(2 * delta - norm_of(apart, norm, 2)))) / std::max<int64_t>(pairs * n, 1);
}

}  // namespace

DiscriminativeLoss discriminative_margin_based_clustering_loss(const Variable& embeddings, const Variable& labels,
                                                               double delta_v, double delta_d,
                                                               int64_t max_embedding_dim,
                                                               const DiscriminativeLossOptions& options) {
  if (const CompositeInputs in(kName, {embeddings, labels}); in.is_cast()) {
    return discriminative_margin_based_clustering_loss(in[0], in[1], delta_v, delta_d, max_embedding_dim, options);
  }
  const std::string call = std::string("F::") + kName;
  argument::not_nan(call.c_str(), "delta_v", delta_v);
  argument::not_nan(call.c_str(), "delta_d", delta_d);
  if (config().type_check) check_embeddings(embeddings, labels);
  check_options(embeddings, max_embedding_dim, options);
  const Dtype dtype = embeddings.dtype(), work = promote(dtype, Dtype::float32);
  const int64_t k = max_embedding_dim, n = embeddings.shape()[0], h = labels.shape()[1], w = labels.shape()[2];

  const Variable wide = cast(embeddings, work);
  const Array instance = pointwise(kernels::AddConst{1}, arange(k, Dtype::int64, wide.device()));
  const Array masks =  // (K, N, 1, H, W)
      pointwise(kernels::Equal{}, labels.array().reshape({1, n, 1, h, w}), instance.reshape({k, 1, 1, 1, 1}));
  const Variable inside = where(masks, wide, zeros({}, work, wide.device()));     // (K, N, K, H, W)
  const Variable centres = sum(inside, {3, 4}) / sizes(masks, work, {0b11000u});  // (K, N, K)
  const Variable spread = sum(norm_of(centres, options.norm, {1, 2})) / std::max<int64_t>(k * n, 1);
  return {cast(variance_of(wide, centres, masks, delta_v, options.norm) * options.alpha, dtype),
          cast(distance_of(centres, delta_d, options.norm) * options.beta, dtype), cast(spread * options.gamma, dtype)};
}

}  // namespace kusari::functions
