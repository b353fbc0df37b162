#include "kusari/framework/functions/math/cumsum.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/math/scan_parts.h"
#include "kusari/framework/kernels/reduce.h"
#include "kusari/framework/kernels/scan.h"

namespace kusari::functions {
namespace {

class Cumsum final : public FunctionNode {
 public:
  explicit Cumsum(const kernels::ScanAxis& along) : along_{along} {}
  const char* name() const override { return "cumsum"; }
  void describe(Attributes& options) const override {
    options.set("axis", along_.axis);
    options.set("reverse", along_.reverse);
  }

 private:
  Arrays forward(const ArrayRefs& in) override {
    const Array y = empty(in[0].shape(), accumulation_dtype(in[0].dtype()), in[0].device());
    launch<kernels::CumulativeSum>(y.device(), along_, in[0], y);
    return {y};
  }
  Variables backward(const Variables& gy) override {
    return {cast(apply<Cumsum>({gy[0]}, kernels::ScanAxis{along_.axis, !along_.reverse}), input_dtype(0))};
  }

  kernels::ScanAxis along_;
};

}  // namespace

Variable cumsum(const Variable& x, std::optional<int64_t> axis, const ScanOptions& options) {
  if (!x.is_defined()) return apply<Cumsum>({x}, kernels::ScanAxis{});  // throws
  const Variable along = axis ? x : flatten(x);
  const int k = normalize_axis(axis.value_or(0), along.ndim(), "F::cumsum");
  return apply<Cumsum>({options.exclusive ? shifted_by_one(along, k, options.reverse, 0) : along},
                       kernels::ScanAxis{k, options.reverse});
}

}  // namespace kusari::functions
