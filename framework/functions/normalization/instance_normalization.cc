#include "kusari/framework/functions/normalization/instance_normalization.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/normalization/normalize_groups.h"

namespace kusari::functions {
namespace {

class InstanceNormalization final : public NormalizeGroups {
 public:
  InstanceNormalization(int64_t channels, double eps) : NormalizeGroups({channels, eps}) {}
  const char* name() const override { return "instance_normalization"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x, gamma, beta] = c.args("x", "gamma", "beta");
    c.expect(x.ndim() >= 3, x.is_floating());
    c.expect(gamma.ndim() == 1, beta.ndim() == 1, gamma.shape(0) == x.shape(1), beta.shape(0) == x.shape(1),
             gamma.is_floating(), beta.dtype() == gamma.dtype());
  }
};

}  // namespace

Variable instance_normalization(const Variable& x, const Variable& gamma, const Variable& beta,
                                const InstanceNormalizationOptions& options) {
  argument::at_least_zero("F::instance_normalization", "eps", options.eps);
  expect_given(x, "F::instance_normalization", "x");
  return apply<InstanceNormalization>({x, gamma, beta}, x.ndim() > 1 ? x.shape()[1] : 1, options.eps);
}

}  // namespace kusari::functions
