#include "kusari/framework/kernels/softmax.h"

#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::kernels {

void mean_loss_by_reductions(const MeanLossOptions& options, const Array& loss, const Array& t, const Array& mean,
                             const Array& divisor) {
  if (options.count > 0) {
    divisor.fill(static_cast<double>(options.count));
  } else {
    const Array counts = pointwise(NotEqualConst{static_cast<double>(options.ignore_label)}, t);
    const Array count = reduce_as(divisor.dtype(), Sum{}, counts, AxisMask::all(t.ndim()));
    pointwise_to(divisor, Clip{1, 9e18}, count);
  }
  const Array sum =
      reduce_as(is_half(loss.dtype()) ? Dtype::float32 : loss.dtype(), Sum{}, loss, AxisMask::all(loss.ndim()));
  if (mean.dtype() == sum.dtype()) return pointwise_to(mean, Div{}, sum, divisor);
  pointwise_to(sum, Div{}, sum, divisor);
  mean.copy_from(sum);
}

}  // namespace kusari::kernels
