#include "kusari/framework/functions/array/triu.h"

#include <algorithm>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/array_operators.h"

namespace kusari::functions {
namespace {

Variable triangle(const char* call, const Variable& x, int64_t k, bool is_upper) {
  expect_given(x, call, "x");
  if (x.ndim() < 2) {
    throw TypeError(std::string(call) + ": x has shape " + to_string(x.shape()) + ": x.ndim must be at least 2");
  }
  const int64_t rows = x.shape()[x.ndim() - 2], columns = x.shape()[x.ndim() - 1];
  const int64_t diagonal = std::clamp(k, -rows - 1, columns + 1);
  const Array kept = host_constant([&] {
    const Array i = arange(rows, Dtype::int64, x.device()).reshape({rows, 1}),
                j = arange(columns, Dtype::int64, x.device());
    return is_upper ? Array(j >= i + diagonal) : Array(j <= i + diagonal);
  });
  return where(Variable(kept, false), x, Variable(zeros({}, x.dtype(), x.device()), false));
}

}  // namespace

Variable triu(const Variable& x, int64_t k) { return triangle("F::triu", x, k, true); }
Variable tril(const Variable& x, int64_t k) { return triangle("F::tril", x, k, false); }

}  // namespace kusari::functions
