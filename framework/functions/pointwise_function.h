#pragma once

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/kernels/pointwise.h"

// The two forms that most pointwise functions share, for the sources of this folder.
namespace kusari::functions {

/// What backward needs of a function of one array.
enum class Keep : uint8_t { nothing, input, output };

/// y = op(x) for floating x; a subclass adds backward.
template <class Op, Keep kKeep>
class UnaryFunction : public FunctionNode {
 public:
  explicit UnaryFunction(Op op = {}) : op_{op} {}
  const char* name() const override { return Op::kName; }

 protected:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    c.expect(x.is_floating());
  }
  Arrays forward(const ArrayRefs& in) override {
    if constexpr (kKeep == Keep::input) retain_inputs({0});
    if constexpr (kKeep == Keep::output) retain_outputs({0});
    return {pointwise(op_, in[0])};
  }

  Op op_;
};

/// gx = op(x, gy) where op is linear in gy and constant in x almost everywhere: the gradient of a function made of
/// straight pieces.
template <class Op>
class PiecewiseLinearGrad final : public FunctionNode {
 public:
  explicit PiecewiseLinearGrad(Op op = {}) : op_{op} {}
  const char* name() const override { return Op::kName; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    return {pointwise(op_, in[0], in[1])};
  }
  Variables backward(const Variables& ggx) override {
    return {Variable(), apply<PiecewiseLinearGrad>({retained_input(0), ggx[0]}, op_)};
  }

  Op op_;
};

}  // namespace kusari::functions
