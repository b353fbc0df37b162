#include "kusari/framework/functions/normalization/group_normalization.h"

#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/normalization/normalize_groups.h"

namespace kusari::functions {
namespace {

class GroupNormalization final : public NormalizeGroups {
 public:
  GroupNormalization(int64_t groups, double eps) : NormalizeGroups({groups, eps}) {}
  const char* name() const override { return "group_normalization"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x, gamma, beta] = c.args("x", "gamma", "beta");
    c.expect(x.ndim() >= 2, x.is_floating());
    c.expect(gamma.ndim() == 1, beta.ndim() == 1, gamma.shape(0) == x.shape(1), beta.shape(0) == x.shape(1),
             gamma.is_floating(), beta.dtype() == gamma.dtype());
  }
};

}  // namespace

Variable group_normalization(const Variable& x, int64_t groups, const Variable& gamma, const Variable& beta,
                             double eps) {
  argument::at_least_zero("F::group_normalization", "eps", eps);

  expect_given(x, "F::group_normalization", "x");
  if (groups < 1 || (x.ndim() >= 2 && x.shape()[1] % groups != 0)) {
    throw ValueError("F::group_normalization: groups is " + std::to_string(groups) + " but x has shape " +
                     to_string(x.shape()) + ": groups must divide x.shape[1]");
  }
  return apply<GroupNormalization>({x, gamma, beta}, groups, eps);
}

}  // namespace kusari::functions
