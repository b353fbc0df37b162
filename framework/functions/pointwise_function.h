#pragma once

#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/kernels/pointwise.h"

// The two forms that most pointwise functions share, for the sources of this folder.
namespace kusari::functions {

/// What backward needs of a function of one array.
enum class Keep : uint8_t { nothing, input, output, both };

/// A function whose functor has numbers, which are options: it must describe them.
class FunctionWithOptions : public FunctionNode {
 public:
  void describe(Attributes& options) const override = 0;
};
template <class Op>
using FunctionOf = std::conditional_t<std::is_empty_v<Op>, FunctionNode, FunctionWithOptions>;

/// y = op(x) for floating x; a subclass adds backward.
template <class Op, Keep kKeep>
class UnaryFunction : public FunctionOf<Op> {
 public:
  explicit UnaryFunction(Op op = {}) : op_{op} {}
  const char* name() const override { return Op::kName; }

 protected:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    c.expect(x.is_floating());
  }
  Arrays forward(const ArrayRefs& in) override {
    if constexpr (kKeep == Keep::input || kKeep == Keep::both) this->retain_inputs({0});
    if constexpr (kKeep == Keep::output || kKeep == Keep::both) this->retain_outputs({0});
    return {pointwise(op_, in[0])};
  }

  Op op_;
};

/// y = op(x), which is constant almost everywhere: nothing is differentiated. Give it a variable without gradient.
/// `call`: the function's name with "F::".
template <class Op>
class StepFunction final : public UnaryFunction<Op, Keep::nothing> {
 public:
  explicit StepFunction(const char* call) : call_{call} {}
  const char* name() const override { return call_ + 3; }
  Precision precision() const noexcept override { return Precision::untouched; }

 private:
  Variables backward(const Variables&) override { return {Variable()}; }

  const char* call_;
};

/// gx = op(x, gy) where op is linear in gy and constant in x almost everywhere: the gradient of a function made of
/// straight pieces.
template <class Op>
class PiecewiseLinearGrad final : public FunctionNode {
 public:
  explicit PiecewiseLinearGrad(Op op = {}) : op_{op} {}
  const char* name() const override { return Op::kName; }
  void describe(Attributes& options) const override {
    if constexpr (!std::is_empty_v<Op>) {
      static_assert(sizeof(Op) % sizeof(double) == 0);
      std::vector<double> numbers(sizeof(Op) / sizeof(double));
      std::memcpy(numbers.data(), &op_, sizeof(Op));
      options.set("numbers", Attributes::Value(std::move(numbers)));
    }
  }

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
