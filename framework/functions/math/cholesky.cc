#include "kusari/framework/functions/math/cholesky.h"

#include <vector>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/inv.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/matrix_gradients.h"
#include "kusari/framework/kernels/linear_algebra.h"

namespace kusari::functions {
namespace {

// Ones below the diagonal, halves on it.
Array lower_mask(int64_t n, const Array& like) {
  return host_constant([&] {
    std::vector<float> values(static_cast<size_t>(n * n), 0);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) values[static_cast<size_t>(i * n + j)] = i == j ? 0.5f : 1.0f;
    }
    return array(values, {n, n}, like.device()).astype(like.dtype());
  });
}

class Cholesky final : public FunctionNode {
 public:
  const char* name() const override { return "cholesky"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [a] = c.args("a");
    c.expect(a.is_floating(), a.ndim() >= 2, a.shape(-2) == a.shape(-1));
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_outputs({0});
    const Array y = empty(in[0].shape(), in[0].dtype(), in[0].device());
    launch<kernels::Cholesky>(y.device(), kernels::MatrixCall{"F::cholesky"}, in[0], y);
    return {y};
  }
  // With dy = y lower(y^-1 da y^-T), where lower keeps half of the diagonal (Murray 2016, "Differentiation of the
  // Cholesky decomposition").
  Variables backward(const Variables& gy) override {
    const Variable y = retained_output(0), inverse = inv(y);
    const Variable lower = matmul(y, gy[0], {.transa = true}) * lower_mask(y.shape(-1), y.array());
    const Variable s = matmul(matmul(inverse, lower, {.transa = true}), inverse);
    return {(s + transposed(s)) * 0.5};
  }
};

}  // namespace

Variable cholesky(const Variable& a) { return apply<Cholesky>({a}); }

}  // namespace kusari::functions
