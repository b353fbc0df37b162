#include "kusari/framework/functions/math/fft.h"

#include <string>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/fft.h"

namespace kusari::functions {
namespace {

class Fft final : public FunctionNode {
 public:
  explicit Fft(bool inverse) : options_{inverse} {}
  const char* name() const override { return options_.inverse ? "ifft" : "fft"; }
  void describe(Attributes& options) const override { options.set("inverse", options_.inverse); }

 private:
  void check(const TypeCheck& c) const override {
    const auto [real, imag] = c.args("real", "imag");
    c.expect(real.is_floating(), real.dtype() == imag.dtype(), real.ndim() >= 1, real.shape() == imag.shape(),
             real.shape(-1) >= 1);
  }
  Arrays forward(const ArrayRefs& in) override {
    const Array y_real = empty(in[0].shape(), in[0].dtype(), in[0].device());
    const Array y_imag = empty(in[0].shape(), in[0].dtype(), in[0].device());
    launch<kernels::Fft>(in[0].device(), options_, in[0], in[1], y_real, y_imag);
    return {y_real, y_imag};
  }
  // The matrix C - iS is symmetric, and its adjoint is its conjugate: exchanged parts on both sides.
  Variables backward(const Variables& gy) override {
    const auto given = [](const Variable& g, const Variable& other) {
      return g.is_defined() ? g : Variable(zeros_like(other.array()), false);
    };
    const Variables gx = apply_all<Fft>({given(gy[1], gy[0]), given(gy[0], gy[1])}, options_.inverse);
    return {gx[1], gx[0]};
  }

  kernels::FftOptions options_;
};

Variables transform(std::span<const Variable> x, bool inverse) {
  if (x.size() != 2) {
    throw ValueError(std::string(inverse ? "F::ifft" : "F::fft") + ": x has " + std::to_string(x.size()) +
                     " parts: they must be 2, the real and the imaginary one");
  }
  return apply_all<Fft>(x, inverse);
}

}  // namespace

Variables fft(std::span<const Variable> x) { return transform(x, false); }

Variables ifft(std::span<const Variable> x) { return transform(x, true); }

}  // namespace kusari::functions
