#pragma once

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/pointwise.h"

// The form that maximum and minimum share, for the sources of this folder.
namespace kusari::functions {

/// The gradient of one operand. Which of the two won decides where gy goes, and nothing else: the operands get no
/// gradient from it.
template <class Op>
class ChoiceGrad final : public FunctionNode {
 public:
  const char* name() const override { return Op::kName; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    return {pointwise(Op{}, in[0], in[1], in[2])};
  }
  Variables backward(const Variables& ggx) override {
    return {Variable(), Variable(), apply<ChoiceGrad>({retained_input(0), retained_input(1), ggx[0]})};
  }
};

/// One of two operands, element by element. Integers have no gradient.
template <class Op, class FirstGrad, class SecondGrad>
class Choice final : public FunctionNode {
 public:
  using Functor = Op;
  const char* name() const override { return Op::kName; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x1, x2] = c.args("x1", "x2");
    c.expect(x1.dtype() == x2.dtype());
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    return {pointwise(Op{}, in[0], in[1])};
  }
  Variables backward(const Variables& gy) override {
    const Variable x1 = retained_input(0), x2 = retained_input(1);
    return {needs_grad(0) ? apply<ChoiceGrad<FirstGrad>>({x1, x2, gy[0]}) : Variable(),
            needs_grad(1) ? apply<ChoiceGrad<SecondGrad>>({x1, x2, gy[0]}) : Variable()};
  }
};

/// Applies a Choice to operands of any shapes that broadcast; `call` names the function in an error.
template <class Node>
Variable choose(const char* call, const Variable& x1, const Variable& x2) {
  expect_given(x1, call, "x1");
  expect_given(x2, call, "x2");
  if (!is_floating(x1.dtype()) && x1.dtype() == x2.dtype()) {
    broadcast_shapes(x1.shape(), x2.shape(), call);
    return Variable(pointwise(typename Node::Functor{}, x1.array(), x2.array()), false);
  }
  if (x1.shape() == x2.shape()) return apply<Node>({x1, x2});
  const Shape shape = broadcast_shapes(x1.shape(), x2.shape(), call);
  return apply<Node>({broadcast_to(x1, shape), broadcast_to(x2, shape)});
}

}  // namespace kusari::functions
