#include "kusari/framework/functions/quantization/fake_quantize.h"

#include <string>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/shape.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::functions {
namespace {

/// x: any shape; scale and zero_point (or absent): () or (x.shape[axis],).
class FakeQuantize final : public FunctionNode {
 public:
  FakeQuantize(double low, double high, std::optional<int> axis) : low_{low}, high_{high}, axis_{axis} {}
  const char* name() const override { return "fake_quantize"; }
  void describe(Attributes& options) const override {
    options.set("low", low_);
    options.set("high", high_);
    options.set("axis", axis_);
  }
  Precision precision() const noexcept override { return Precision::untouched; }

 private:
  bool is_optional(size_t input) const noexcept override { return input == 2; }
  void check(const TypeCheck& c) const override {
    const auto [x, scale, zero_point] = c.args("x", "scale", "zero_point");
    c.expect(x.is_floating(), scale.is_floating());
    if (axis_) {
      c.expect(scale.ndim() == 1, scale.shape(0) == x.shape(*axis_));
    } else {
      c.expect(scale.ndim() == 0);
    }
    if (zero_point.is_given()) c.expect(zero_point.is_integral(), zero_point.shape() == scale.shape());
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1, 2});
    return {computed(kernels::FakeQuantize{low_, high_}, in[0], in[1], in[2])};
  }

  Variables backward(const Variables& gy) override {
    const Array zero_point = has_input(2) ? retained_input(2).array() : Array();
    const Array mask = computed(kernels::FakeQuantizeMask{low_, high_}, retained_input(0).array(),
                                retained_input(1).array(), zero_point);
    // gy where the mask is 1, else 0, whatever gy is there.
    return {apply<PiecewiseLinearGrad<kernels::ReluGrad>>({Variable(mask, false), gy[0]}), Variable(), Variable()};
  }

  template <class Op>
  Array computed(const Op& op, const Array& x, const Array& scale, const Array& zero_point) const {
    const Array zero = zero_point.is_defined() ? beside(x, zero_point) : zeros({}, scale.dtype(), x.device());
    return pointwise_as(x.dtype(), op, x, beside(x, scale), zero);
  }
  /// With x's axes.
  Array beside(const Array& x, const Array& p) const {
    if (!axis_) return p;
    Shape shape = Shape::filled(x.ndim(), 1);
    shape[*axis_] = p.size();
    return p.reshape(shape);
  }

  double low_, high_;
  std::optional<int> axis_;
};

/// Integers have no other zero point; convolutions of integers pad with it.
void check_zero_points(const Array& zero_point, Dtype dtype) {
  if (!zero_point.is_defined() || !zero_point.device().is_cpu() || !is_integral(zero_point.dtype())) return;
  const ScopedGraphCapture unseen(nullptr);
  const int64_t low = dtype == Dtype::int8 ? -128 : 0, high = low + 255;
  for (const int64_t zero : zero_point.to_vector<int64_t>()) {
    if (zero >= low && zero <= high) continue;
    throw ValueError("F::fake_quantize: zero_point has " + std::to_string(zero) + ": it must be in [" +
                     std::to_string(low) + ", " + std::to_string(high) + "], as " + name(dtype) + " is");
  }
}

/// Without gradient.
Variable constant(const Array& array) { return array.is_defined() ? Variable(array, false) : Variable(); }

}  // namespace

Variable fake_quantize(const Variable& x, const Array& scale, const FakeQuantizeOptions& options) {
  if (options.dtype != Dtype::int8 && options.dtype != Dtype::uint8) {
    throw ValueError(std::string("F::fake_quantize: dtype is ") + name(options.dtype) + ": it must be int8 or uint8");
  }
  check_zero_points(options.zero_point, options.dtype);
  const bool is_signed = options.dtype == Dtype::int8;
  const double least = is_signed ? -128 : 0, low = options.narrow_range ? least + 1 : least;
  std::optional<int> axis;
  if (options.axis && x.is_defined()) axis = normalize_axis(*options.axis, x.ndim(), "F::fake_quantize");
  return apply<FakeQuantize>({x, constant(scale), constant(options.zero_point)}, low, is_signed ? 127.0 : 255.0, axis);
}

}  // namespace kusari::functions
