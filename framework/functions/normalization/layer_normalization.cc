#include "kusari/framework/functions/normalization/layer_normalization.h"

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/normalization/normalize_groups.h"

namespace kusari::functions {
namespace {

// A row is one group of channels without pixels.
class LayerNormalization final : public NormalizeGroups {
 public:
  explicit LayerNormalization(double eps) : NormalizeGroups({1, eps}) {}
  const char* name() const override { return "layer_normalization"; }

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
  if (!(eps >= 0)) {
    throw ValueError("F::layer_normalization: eps is " + std::to_string(eps) + ": it must be at least 0");
  }

  return apply<LayerNormalization>({x, gamma, beta}, eps);
}

}  // namespace kusari::functions
