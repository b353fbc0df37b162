#include "kusari/framework/functions/attention/rotary_embedding.h"

#include <cmath>
#include <string>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/attention/rotary_table.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/rotary_embedding.h"

namespace kusari::functions {
namespace {

class RotaryEmbedding final : public FunctionNode {
 public:
  RotaryEmbedding(const RotaryOptions& options, bool inverse) : options_{options}, inverse_{inverse} {}
  const char* name() const override { return "rotary_embedding"; }
  void describe(Attributes& options) const override {
    options.set("first", options_.first);
    options.set("base", options_.base);
    options.set("interleaved", options_.interleaved);
    options.set("inverse", inverse_);
    if (options_.scaling == RotaryScaling()) return;
    options.set("factor", options_.scaling.factor);
    options.set("trained", options_.scaling.trained);
    options.set("low", options_.scaling.low);
    options.set("high", options_.scaling.high);
  }

 private:
  Arrays forward(const ArrayRefs& in) override {
    const Array& x = in[0];
    const Array y = empty(x.shape(), x.dtype(), x.device());
    if (x.size() == 0) return {y};
    const RotaryAngles angles{x.shape(-1) / 2, options_.base,
                              x.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32, options_.scaling};
    const Array table = rotary_table(angles, options_.first, x.shape(-2), x.device());
    launch<kernels::RotaryEmbedding>(x.device(), kernels::RotaryForm{options_.interleaved, inverse_}, x, table, y);
    return {y};
  }

  // The inverse of a rotation is its transpose.
  Variables backward(const Variables& gy) override { return {apply<RotaryEmbedding>({gy[0]}, options_, !inverse_)}; }

  RotaryOptions options_;
  bool inverse_;
};

}  // namespace

Variable rotary_embedding(const Variable& x, const RotaryOptions& options) {
  const char* const call = "F::rotary_embedding";
  expect_floating(x, call, "x");
  argument::not_negative(call, "first", options.first);
  argument::finite_positive(call, "base", options.base);
  argument::finite_positive(call, "scaling.factor", options.scaling.factor);
  argument::not_negative(call, "scaling.trained", options.scaling.trained);
  argument::finite_positive(call, "scaling.low", options.scaling.low);
  argument::require(options.scaling.high > options.scaling.low && std::isfinite(options.scaling.high), call,
                    "scaling.high", options.scaling.high, "be more than scaling.low and finite");
  const int ndim = x.ndim();
  if (ndim < 2 || x.shape()[ndim - 1] % 2 != 0) {
    throw TypeError(std::string(call) + ": x has shape " + to_string(x.shape()) +
                    ": it must have two axes at least, the last of an even size");
  }
  return apply<RotaryEmbedding>({x}, options, false);
}

}  // namespace kusari::functions
