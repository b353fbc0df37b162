#include <utility>

#include "kusari/framework/functions/math/batch_matmul.h"
#include "kusari/framework/functions/math/cholesky.h"
#include "kusari/framework/functions/math/coo_matrix.h"
#include "kusari/framework/functions/math/cumprod.h"
#include "kusari/framework/functions/math/cumsum.h"
#include "kusari/framework/functions/math/det.h"
#include "kusari/framework/functions/math/einsum.h"
#include "kusari/framework/functions/math/fft.h"
#include "kusari/framework/functions/math/inv.h"
#include "kusari/framework/functions/math/sparse_matmul.h"
#include "kusari/framework/functions/math/tensordot.h"
#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {
namespace {

// {"coo": {"data", "row", "col", "shape"}}.
utils::CooMatrix coo_matrix(Args& a, const Json& value) {
  const Json& coo = value.at("coo");
  const Json& shape = coo.at("shape");
  return {a.decode(coo.at("data")),
          a.decode(coo.at("row")).array(),
          a.decode(coo.at("col")).array(),
          {shape.at(0).get<int64_t>(), shape.at(1).get<int64_t>()}};
}

Variable sparse_matmul(Args& a) {
  const Json &left = a.raw("a"), &right = a.raw("b");
  const F::SparseMatmulOptions options{.transa = a.flag("transa"), .transb = a.flag("transb")};
  if (is_array_name(left)) return F::sparse_matmul(a.decode(left), coo_matrix(a, right), options);
  return F::sparse_matmul(coo_matrix(a, left), a.decode(right), options);
}

// [0, {"ellipsis": true}, 2].
std::vector<int> subscripts(const Json& list) {
  std::vector<int> all;
  for (const Json& one : list) all.push_back(one.is_object() ? F::kEllipsisSubscript : one.get<int>());
  return all;
}

// Subscripts as text and operands, or operands each followed by a list of numbers.
Variable einsum(Args& a) {
  const std::vector<Json>& given = a.more();
  if (given.empty()) throw std::runtime_error("einsum has no arguments");
  const size_t count = given.size();
  if (!is_array_name(given[0])) {
    std::vector<Variable> operands;
    for (size_t i = 1; i < count; ++i) operands.push_back(a.decode(given[i]));
    return F::einsum(given[0].get<std::string>(), operands);
  }
  std::vector<F::EinsumOperand> operands;
  for (size_t i = 0; i + 1 < count; i += 2) operands.push_back({a.decode(given[i]), subscripts(given[i + 1])});
  if (count % 2 == 0) return F::einsum(operands);
  return F::einsum(operands, subscripts(given[count - 1]));
}

F::TensordotAxes tensordot_axes(Args& a) {
  const Json& axes = a.raw("axes");
  if (axes.is_number()) return axes.get<int64_t>();
  const auto list = [](const Json& value) {
    return value.is_number() ? std::vector<int64_t>{value.get<int64_t>()} : value.get<std::vector<int64_t>>();
  };
  return {list(axes.at(0)), list(axes.at(1))};
}

}  // namespace

void add_linear_algebra_functions(FunctionTable& table) {
  table.insert({
      {"batch_det", unary(F::batch_det)},
      {"batch_inv", unary(F::batch_inv)},
      {"batch_matmul", call([](Args& a) {
         return F::batch_matmul(a.var("a"), a.var("b"), {.transa = a.flag("transa"), .transb = a.flag("transb")});
       })},
      {"cholesky", unary(F::cholesky)},
      {"cumprod", call([](Args& a) { return F::cumprod(a.var("x"), a.optional_integer("axis")); })},
      {"cumsum", call([](Args& a) { return F::cumsum(a.var("x"), a.optional_integer("axis")); })},
      {"det", unary(F::det)},
      {"einsum", call(einsum)},
      {"fft", call([](Args& a) { return F::fft(a.vars("x")); })},
      {"ifft", call([](Args& a) { return F::ifft(a.vars("x")); })},
      {"inv", unary(F::inv)},
      {"sparse_matmul", call(sparse_matmul)},
      {"tensordot", call([](Args& a) { return F::tensordot(a.var("a"), a.var("b"), tensordot_axes(a)); })},
  });
}

}  // namespace kusari::golden
