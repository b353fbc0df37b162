#include "kusari/framework/quantization/activation_range.h"

#include "kusari/framework/functions/quantization/fake_quantize.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::quantization {
namespace {

namespace F = functions;

// Of what is 0 everywhere.
constexpr double kLeastScale = 1e-30;

}  // namespace

ActivationRange::ActivationRange(const ValueRange& range, bool is_signed_range, const Device& device)
    : low{*this, "low", full({}, range.low, Dtype::float32)},
      high{*this, "high", full({}, range.high, Dtype::float32)},
      scale{*this, "scale", zeros({}, Dtype::float32)},
      zero_point{*this, "zero_point", zeros({}, Dtype::int32)},
      is_signed{*this, "is_signed", is_signed_range} {
  to(device);
  set_scale();
}

Variable ActivationRange::operator()(const Variable& x) const {
  const bool with_sign = is_signed;
  return F::fake_quantize(x, scale,
                          {.zero_point = with_sign ? Array() : static_cast<const Array&>(zero_point),
                           .dtype = with_sign ? Dtype::int8 : Dtype::uint8});
}

void ActivationRange::follow(const Array& x, double decay) const {
  if (x.size() == 0) return;
  const auto move = [decay](const Persistent& end, const Array& extreme) {
    const Array moved = end * decay + extreme * (1 - decay);
    end.copy_from(xp::where(xp::isfinite(moved), moved, end));
  };
  move(low, reduce_as(Dtype::float32, kernels::Min{}, x, AxisMask::all(x.ndim())));
  move(high, reduce_as(Dtype::float32, kernels::Max{}, x, AxisMask::all(x.ndim())));
  set_scale();
}

// In place, with kernels alone, so that a static graph can do it.
void ActivationRange::set_scale() const {
  const Array below = xp::minimum(low, 0.0), above = xp::maximum(high, 0.0);  // 0 is always among the numbers
  if (is_signed) {
    scale.copy_from(xp::maximum(xp::maximum(-below, above) / 127, kLeastScale));
    return;
  }
  scale.copy_from(xp::maximum((above - below) / 255, kLeastScale));
  zero_point.copy_from(xp::clip(xp::rint(-below / scale), 0.0, 255.0));
}

Variable quantized_weight(const Variable& W) {
  const Array& array = W.array();
  const AxisMask within{AxisMask::all(array.ndim()).bits & ~AxisMask::of(0).bits};
  const Dtype dtype = promote(array.dtype(), Dtype::float32);
  const Array largest =
      xp::maximum(reduce_as(dtype, kernels::Max{}, array, within), -reduce_as(dtype, kernels::Min{}, array, within));
  return F::fake_quantize(W, xp::maximum(largest / 127, kLeastScale), {.axis = 0, .narrow_range = true});
}

}  // namespace kusari::quantization
