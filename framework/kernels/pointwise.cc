#include "kusari/framework/kernels/pointwise.h"

#include <string>

namespace kusari {

Dtype detail::pointwise_dtype(std::span<const Array* const> operands) {
  Dtype dtype = operands[0]->dtype();
  for (const Array* x : operands.subspan(1)) {
    if (x->dtype() != dtype) dtype = promote(dtype, x->dtype());
  }
  return dtype;
}

Array detail::pointwise_result(const char* call, std::span<const Array* const> operands, Dtype dtype) {
  const Array& first = *operands[0];
  bool alike = true;
  for (const Array* x : operands.subspan(1)) {
    if (x->device() != first.device()) {
      throw DeviceError(std::string(call) + ": operands are on devices '" + first.device().name() + "' and '" +
                        x->device().name() + "' but must be on one");
    }
    alike = alike && x->shape() == first.shape() && x->is_contiguous() && first.is_contiguous();
  }
  if (alike) return empty_like(first, dtype);

  Shape shape = first.shape();
  for (const Array* x : operands.subspan(1)) shape = broadcast_shapes(shape, x->shape(), call);
  const Array* layout = nullptr;  // the operand whose memory order the result takes
  for (const Array* x : operands) {
    if (x->shape() != shape || !x->is_dense()) continue;
    if (!x->is_contiguous() && x->is_channels_last()) {
      layout = x;
      break;
    }
    if (layout == nullptr || (x->is_contiguous() && !layout->is_contiguous())) layout = x;
  }
  return layout != nullptr ? empty_like(*layout, dtype) : empty(shape, dtype, first.device());
}

}  // namespace kusari
