#include "kusari/framework/functions/math/batch_matmul.h"

#include <string>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/math/matmul.h"

namespace kusari::functions {
namespace {

void check_matrices(const Variable& x, const std::string& name) {
  if (!x.is_defined()) throw TypeError("F::batch_matmul: " + name + " is not given: it is required");
  if (x.ndim() != 2 && x.ndim() != 3) {
    throw TypeError("F::batch_matmul: " + name + " has shape " + to_string(x.shape()) + ": " + name +
                    ".ndim must be 2 or 3");
  }
  if (!is_floating(x.dtype())) {
    throw TypeError("F::batch_matmul: " + name + " has dtype " + kusari::name(x.dtype()) + ": " + name +
                    ".dtype must be floating");
  }
}

Variable as_matrices(const Variable& x) { return x.ndim() == 2 ? expand_dims(x, 2) : x; }

}  // namespace

Variable batch_matmul(const Variable& a, const Variable& b, const BatchMatmulOptions& options) {
  check_matrices(a, "a");
  check_matrices(b, "b");
  const auto [transa, transb] = options;
  const Variable left = as_matrices(a), right = as_matrices(b);
  if (left.shape()[0] != right.shape()[0] || left.shape()[transa ? 1 : 2] != right.shape()[transb ? 2 : 1]) {
    throw TypeError("F::batch_matmul: a has shape " + to_string(a.shape()) + " but b has shape " +
                    to_string(b.shape()) + ": there must be as many matrices, and their inner sizes must be equal");
  }
  if (const CompositeInputs in("batch_matmul", {left, right}); in.is_cast()) {
    return batch_matmul(in[0], in[1], options);
  }
  return matmul(left, right, {.transa = transa, .transb = transb});
}

}  // namespace kusari::functions
