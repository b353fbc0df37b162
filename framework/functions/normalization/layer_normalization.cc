#include "kusari/framework/functions/normalization/layer_normalization.h"

#include <algorithm>
#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/identity.h"
#include "kusari/framework/functions/normalization/normalize_groups.h"

namespace kusari::functions {
namespace {

constexpr const char* kLayerNormalization = "layer_normalization";

[[noreturn]] void throw_shapes(const Variable& a, const char* name_of_a, const Variable& b, const char* name_of_b,
                               const std::string& rule) {
  throw TypeError(std::string("F::layer_normalization: ") + name_of_a + " has shape " + to_string(a.shape()) + " but " +
                  name_of_b + " has shape " + to_string(b.shape()) + ": " + rule);
}

// Throws TypeError unless the last axes of x have the sizes of v.
void expect_last_axes(const Variable& x, const Variable& v, const char* name_of_v) {
  const Shape &wide = x.shape(), &narrow = v.shape();
  const int skipped = wide.ndim() - narrow.ndim();
  bool fits = narrow.ndim() >= 1 && skipped >= 0;
  for (int i = 0; fits && i < narrow.ndim(); ++i) fits = wide[skipped + i] == narrow[i];
  if (!fits) throw_shapes(x, "x", v, name_of_v, std::string(name_of_v) + ".shape must be that of the last axes of x");
}

// A row is one group of channels without pixels.
class LayerNormalization final : public NormalizeGroups {
 public:
  explicit LayerNormalization(double eps) : NormalizeGroups({1, eps}) {}
  const char* name() const override { return kLayerNormalization; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x, gamma, beta] = c.args("x", "gamma", "beta");
    c.expect(x.ndim() == 2, x.is_floating());
    c.expect(gamma.ndim() == 1, beta.ndim() == 1, gamma.shape(0) == x.shape(1), beta.shape(0) == x.shape(1),
             gamma.is_floating(), beta.dtype() == gamma.dtype());
  }
};

}  // namespace

Variable layer_normalization(const Variable& x, const Variable& gamma, const Variable& beta, double eps) {
  argument::at_least_zero("F::layer_normalization", "eps", eps);
  expect_given(x, "F::layer_normalization", "x");
  expect_given(gamma, "F::layer_normalization", "gamma");
  expect_given(beta, "F::layer_normalization", "beta");
  if (x.ndim() == 2 && gamma.ndim() == 1) return apply<LayerNormalization>({x, gamma, beta}, eps);
  expect_last_axes(x, gamma, "gamma");
  expect_last_axes(x, beta, "beta");
  if (beta.ndim() != gamma.ndim()) throw_shapes(gamma, "gamma", beta, "beta", "they must be equal");
  const int64_t n = gamma.size(), rows = n == 0 ? 0 : x.size() / n;
  if (n == 0) return identity(x);
  const Variable y = apply<LayerNormalization>({reshape(x, {rows, n}), reshape(gamma, {n}), reshape(beta, {n})}, eps);
  return reshape(y, x.shape());
}

Variable layer_normalization(const Variable& x, const Variable& gamma, const Variable& beta,
                             const LayerNormalizationOptions& options) {
  if (options.axis.is_all()) return layer_normalization(x, gamma, beta, options.eps);
  expect_given(x, "F::layer_normalization", "x");
  expect_given(gamma, "F::layer_normalization", "gamma");
  const AxisMask axes = options.axis.mask(x.ndim(), "F::layer_normalization");
  if (axes.bits == 0) throw ValueError("F::layer_normalization: axis is empty: there must be at least one");
  Dims order, back = Dims::filled(x.ndim(), 0), normalized;
  for (const bool is_normalized : {false, true}) {
    for (int i = 0; i < x.ndim(); ++i) {
      if (axes.contains(i) != is_normalized) continue;
      back[i] = order.ndim();
      order.push_back(i);
      if (is_normalized) normalized.push_back(x.shape()[i]);
    }
  }
  if (gamma.shape() != normalized) {
    throw_shapes(x, "x", gamma, "gamma", "along axis " + to_string(options.axis.given()) + " they must be equal");
  }
  if (std::is_sorted(order.begin(), order.end())) return layer_normalization(x, gamma, beta, options.eps);
  const auto permuted = [](const Variable& v, const Dims& axes_of_v) {
    return transpose(v, std::span<const int64_t>(axes_of_v.begin(), axes_of_v.size()));
  };
  return permuted(layer_normalization(permuted(x, order), gamma, beta, options.eps), back);
}

}  // namespace kusari::functions
