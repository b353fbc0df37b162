#include "kusari/framework/functions/normalization/local_response_normalization.h"

#include <algorithm>
#include <string>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/pad.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/kernels/normalization.h"

namespace kusari::functions {
namespace {

using Options = kernels::LocalResponseNormalizationOptions;

/// For each channel the sum over it and its neighbours.
Variable window_sum(const Variable& x, int64_t reach) {
  const int64_t channels = x.shape()[1];
  const int64_t near = std::min(reach, channels);
  PadWidth::Pair widths[kMaxNdim] = {};
  widths[1] = {near, near};
  const Variable padded = pad(x, PadWidth(std::span(widths, static_cast<size_t>(x.ndim()))));
  SmallVector<Variable, 8> shifted;
  for (int64_t d = 0; d <= 2 * near; ++d) shifted.push_back(get_item(padded, {Slice{}, Slice{d, d + channels}}));
  return add(std::span<const Variable>(shifted.data(), shifted.size()));
}

class LocalResponseNormalization final : public FunctionNode {
 public:
  explicit LocalResponseNormalization(const Options& options) : options_{options} {}
  const char* name() const override { return "local_response_normalization"; }
  void describe(Attributes& options) const override {
    options.set("n", 2 * options_.reach + 1);
    options.set("k", options_.k);
    options.set("alpha", options_.alpha);
    options.set("beta", options_.beta);
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    c.expect(x.ndim() >= 2, x.is_floating());
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    const Array& x = in[0];
    const Array y = empty_channels_last(x.shape(), x.dtype(), x.device());
    launch<kernels::LocalResponseNormalization>(x.device(), options_, x, y);
    return {y};
  }

  Variables backward(const Variables& gy) override {
    if (!config().enable_backprop) {
      const Array x = retained_input(0).array();
      const Array gx = empty_channels_last(x.shape(), x.dtype(), x.device());
      launch<kernels::LocalResponseNormalizationGrad>(x.device(), options_, x, gy[0].array(), gx);
      return {Variable(gx, false)};
    }
    const Dtype wide = input_dtype(0) == Dtype::float64 ? Dtype::float64 : Dtype::float32;
    const Variable x = cast(retained_input(0), wide), g = cast(gy[0], wide);
    const Variable unit = window_sum(square(x), options_.reach) * options_.alpha + options_.k;
    const Variable scaled = g * pow(unit, -options_.beta);
    const Variable gx =
        scaled - x * window_sum(x * scaled / unit, options_.reach) * (2 * options_.alpha * options_.beta);
    return {cast(gx, input_dtype(0))};
  }

  Options options_;
};

}  // namespace

Variable local_response_normalization(const Variable& x, const LocalResponseNormalizationOptions& options) {
  if (options.n < 1) {
    throw ValueError("F::local_response_normalization: n is " + std::to_string(options.n) + ": it must be at least 1");
  }
  return apply<LocalResponseNormalization>({x}, Options{options.n / 2, options.k, options.alpha, options.beta});
}

}  // namespace kusari::functions
