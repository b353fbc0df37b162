#include "kusari/framework/functions/noise/multinomial.h"

#include <cmath>
#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/top_k.h"
#include "kusari/framework/functions/noise/gumbel.h"
#include "kusari/framework/kernels/array_math.h"

namespace kusari::functions {
namespace {

const char* const kCall = "F::multinomial";

void check(const Array& w, int64_t needed) {
  if (w.shape()[0] == 0) return;
  if (w.size() > 0 && !(xp::min(w).item<double>() >= 0 && std::isfinite(xp::max(w).item<double>()))) {
    throw ValueError(std::string(kCall) + ": weights has a number that is below 0 or not finite");
  }
  const auto fewest = w.size() == 0 ? 0 : xp::min(xp::sum(w > 0, 1)).item<int64_t>();
  if (fewest >= needed) return;
  throw ValueError(std::string(kCall) + ": weights has a row with " + std::to_string(fewest) +
                   " numbers above 0: it must have at least " + std::to_string(needed));
}

}  // namespace

// Log weights and Gumbel noise: the largest sums are a draw without replacement (Kool et al. 2019).
Variable multinomial(const Variable& weights, int64_t n, const MultinomialOptions& options) {
  expect_floating(weights, kCall, "weights");
  argument::not_negative(kCall, "n", n);
  if (weights.ndim() != 1 && weights.ndim() != 2) {
    throw TypeError(std::string(kCall) + ": weights has shape " + to_string(weights.shape()) +
                    ": it must have one axis or two, (rows, places)");
  }
  const bool is_row = weights.ndim() == 1;
  const Array given = is_row ? weights.array().reshape({1, weights.size()}) : weights.array();
  check(given, options.replacement ? (n > 0 ? 1 : 0) : n);
  const Array scores = xp::log(given.astype(promote(given.dtype(), Dtype::float32)));
  Array places = empty({given.shape()[0], n}, Dtype::int32, given.device());
  if (!options.replacement) {
    places = top_k(Variable(scores + gumbel_like(scores), false), n).indices.array();
  } else {
    for (int64_t i = 0; i < n; ++i) {
      places.slice(1, i, 1).copy_from(top_k(Variable(scores + gumbel_like(scores), false), 1).indices.array());
    }
  }
  return Variable(is_row ? places.reshape({n}) : places, false);
}

}  // namespace kusari::functions
