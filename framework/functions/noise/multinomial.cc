#include "kusari/framework/functions/noise/multinomial.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/top_k.h"
#include "kusari/framework/functions/noise/gumbel.h"
#include "kusari/framework/kernels/array_math.h"

namespace kusari::functions {
namespace {

const char* const kMultinomial = "F::multinomial";

void check_weights(const Array& w, int64_t needed) {
  if (w.shape()[0] == 0) return;
  if (w.size() > 0 && !(xp::min(w).item<double>() >= 0 && std::isfinite(xp::max(w).item<double>()))) {
    throw ValueError(std::string(kMultinomial) + ": weights has a number that is below 0 or not finite");
  }
  const auto fewest = w.size() == 0 ? 0 : xp::min(xp::sum(w > 0, 1)).item<int64_t>();
  if (fewest >= needed) return;
  throw ValueError(std::string(kMultinomial) + ": weights has a row with " + std::to_string(fewest) +
                   " numbers above 0: it must have at least " + std::to_string(needed));
}

// Log weights and Gumbel noise: the largest sums are a draw without replacement (Kool et al. 2019).
Array draw_different(const Array& weights, int64_t n) {
  const Array scores = xp::log(weights.astype(promote(weights.dtype(), Dtype::float32)));
  return top_k(Variable(scores + gumbel_like(scores), false), n).indices.array();
}

// Places in the running sums of the weights, on the host.
Array draw_any(const Array& weights, int64_t n) {
  const int64_t rows = weights.shape()[0], width = weights.shape()[1];
  const Array places = empty({rows, n}, Dtype::int32);
  if (places.size() == 0) return places.to_device(weights.device());
  const Array uniform = empty({rows, n}, Dtype::float64);
  launch<kernels::Uniform>(Device(), kernels::UniformRange{}, random::reserve(static_cast<uint64_t>(rows * n)),
                           uniform);
  const std::vector<double> given = weights.astype(Dtype::float64).to_vector<double>();
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<double> sums(static_cast<size_t>(width));
    std::partial_sum(given.begin() + row * width, given.begin() + (row + 1) * width, sums.begin());
    for (int64_t i = row * n; i < (row + 1) * n; ++i) {
      // The first whose sum is above: never one of weight 0. Rounding may reach the end.
      const auto found = std::upper_bound(sums.begin(), sums.end(), uniform.data<double>()[i] * sums.back());
      const auto last = std::lower_bound(sums.begin(), sums.end(), sums.back());
      places.data<int32_t>()[i] = static_cast<int32_t>(std::min(found, last) - sums.begin());
    }
  }
  return places.to_device(weights.device());
}

}  // namespace

Variable multinomial(const Variable& weights, int64_t n, const MultinomialOptions& options) {
  expect_floating(weights, kMultinomial, "weights");
  argument::not_negative(kMultinomial, "n", n);
  if (weights.ndim() != 1 && weights.ndim() != 2) {
    throw TypeError(std::string(kMultinomial) + ": weights has shape " + to_string(weights.shape()) +
                    ": it must have one axis or two, (rows, places)");
  }
  const bool is_row = weights.ndim() == 1;
  const Array given = is_row ? weights.array().reshape({1, weights.size()}) : weights.array();
  check_weights(given, options.replacement ? (n > 0 ? 1 : 0) : n);
  const Array places = options.replacement ? draw_any(given, n) : draw_different(given, n);
  return Variable(is_row ? places.reshape({n}) : places, false);
}

}  // namespace kusari::functions
