#include "kusari/framework/functions/util/jacobian.h"

#include <cstdint>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/stack.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {
namespace {

Variable without_graph(const Variable& x) { return Variable(x.array(), false); }
Variable zeros_like(const Variable& x) { return Variable(zeros(x.shape(), x.dtype(), x.device()), false); }

}  // namespace

Variable jacobian(const Variable& y, const Variable& x, const JacobianOptions& options) {
  const char* const call = "F::jacobian";
  expect_floating(y, call, "y");
  expect_floating(x, call, "x");
  if (y.ndim() + x.ndim() > kMaxNdim) {
    throw ValueError(std::string(call) + ": y has shape " + to_string(y.shape()) + " and x " + to_string(x.shape()) +
                     ": together they must have at most " + std::to_string(kMaxNdim) + " axes");
  }
  Shape shape = y.shape();
  for (const int64_t size : x.shape()) shape.push_back(size);
  Variables rows;
  for (int64_t i = 0; i < y.size(); ++i) {
    const Array one = zeros({y.size()}, y.dtype(), y.device());
    one.slice(0, i, 1).fill(1);
    const Variable seed(one.reshape(y.shape()), false);
    const Variable row = grad(
        {&y, 1}, {&x, 1}, {.grad_outputs = {&seed, 1}, .enable_double_backprop = options.enable_double_backprop})[0];
    if (!row.is_defined()) break;  // y does not depend on x, and no element does
    rows.push_back(reshape(options.enable_double_backprop ? row : without_graph(row), {x.size()}));
  }
  if (rows.size() == 0) return Variable(zeros(shape, x.dtype(), x.device()), false);
  return reshape(stack(rows, 0), shape);
}

Variables hessian_vector_product(const Variable& y, std::span<const Variable> xs, std::span<const Variable> vs) {
  const std::string call = "F::hessian_vector_product: ";
  expect_floating(y, "F::hessian_vector_product", "y");
  if (y.size() != 1) {
    throw ValueError(call + "y has shape " + to_string(y.shape()) + ": it must have one element");
  }
  if (vs.size() != xs.size()) {
    throw ValueError(call + "there are " + std::to_string(vs.size()) + " vs and " + std::to_string(xs.size()) +
                     " xs: there must be as many");
  }
  for (size_t i = 0; i < xs.size(); ++i) {
    expect_given(xs[i], "F::hessian_vector_product", "xs");
    expect_given(vs[i], "F::hessian_vector_product", "vs");
    if (vs[i].shape() == xs[i].shape() && vs[i].dtype() == xs[i].dtype()) continue;
    const auto described = [](const Variable& x) { return to_string(x.shape()) + ", " + name(x.dtype()); };
    throw TypeError(call + "vs[" + std::to_string(i) + "] is " + described(vs[i]) + ": it must be like xs[" +
                    std::to_string(i) + "], " + described(xs[i]));
  }
  // The Hessian is symmetric: its product with v is that of v with the gradient's Jacobian.
  const Variables first = grad({&y, 1}, xs, {.enable_double_backprop = true});
  Variables gradients, seeds;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (!first[i].is_defined() || !first[i].requires_grad()) continue;
    gradients.push_back(first[i]);
    seeds.push_back(vs[i]);
  }
  Variables products(xs.size());
  if (gradients.size() > 0) products = grad(gradients, xs, {.grad_outputs = seeds});
  for (size_t i = 0; i < xs.size(); ++i) {
    products[i] = products[i].is_defined() ? without_graph(products[i]) : zeros_like(xs[i]);
  }
  return products;
}

}  // namespace kusari::functions
