#include "kusari/framework/functions/noise/dropout.h"

#include <string>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/random.h"

namespace kusari::functions {
namespace {

class Dropout final : public FunctionNode {
 public:
  Dropout(double ratio, const DropoutOptions& options)
      : ratio_{ratio}, mask_{options.mask}, return_mask_{options.return_mask} {}
  const char* name() const override { return "dropout"; }
  void describe(Attributes& options) const override {
    options.set("ratio", ratio_);
    if (mask_.is_defined()) options.set("mask", mask_);
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    c.expect(x.is_floating());
    if (mask_.is_defined()) c.expect(type_check::Argument(name(), "mask", &mask_).shape() == x.shape());
  }

  Arrays forward(const ArrayRefs& in) override {
    const Array& x = in[0];
    Array y;
    if (mask_.is_defined()) {
      y = pointwise_as(x.dtype(), kernels::Mul{}, x, mask_);
    } else {
      y = empty_like(x);
      mask_ = empty_like(x);
      const RandomState state = random::reserve(static_cast<uint64_t>(x.size()));
      launch<kernels::Dropout>(x.device(), kernels::DropoutRatio{ratio_}, state, x, y, mask_);
    }
    if (return_mask_ != nullptr) *return_mask_ = mask_;
    return {y};
  }

  Variables backward(const Variables& gy) override { return {gy[0] * mask_}; }

  double ratio_;
  Array mask_;
  Array* return_mask_;
};

}  // namespace

Variable dropout(const Variable& x, double ratio, const DropoutOptions& options) {
  if (!(ratio >= 0 && ratio < 1)) {
    throw ValueError("F::dropout: ratio " + general_text(ratio) + " must be in [0, 1)");
  }
  if (config().train) return apply<Dropout>({x}, ratio, options);
  if (options.return_mask != nullptr) *options.return_mask = Array();
  return x;
}

}  // namespace kusari::functions
