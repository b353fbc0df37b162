#include "kusari/framework/functions/math/basic_math.h"

#include <cmath>

#include "kusari/framework/autograd/add.h"
#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/sign.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari {
namespace functions {
namespace {

// Two operands of equal shape and dtype.
class Binary : public FunctionNode {
 protected:
  void check(const TypeCheck& c) const override {
    const auto [a, b] = c.args("a", "b");
    c.expect(a.dtype() == b.dtype());
  }
};

class Sub final : public Binary {
 public:
  const char* name() const override { return "sub"; }

 private:
  Arrays forward(const ArrayRefs& in) override { return {pointwise(kernels::Sub{}, in[0], in[1])}; }
  Variables backward(const Variables& gy) override { return {gy[0], needs_grad(1) ? -gy[0] : Variable()}; }
};

class Mul final : public Binary {
 public:
  const char* name() const override { return "mul"; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    return {pointwise(kernels::Mul{}, in[0], in[1])};
  }
  Variables backward(const Variables& gy) override {
    return {needs_grad(0) ? apply<Mul>({gy[0], retained_input(1)}) : Variable(),
            needs_grad(1) ? apply<Mul>({gy[0], retained_input(0)}) : Variable()};
  }
};

class Div final : public Binary {
 public:
  const char* name() const override { return "div"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [a, b] = c.args("a", "b");
    c.expect(a.is_floating(), a.dtype() == b.dtype());
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({1});
    retain_outputs({0});
    return {pointwise(kernels::Div{}, in[0], in[1])};
  }
  Variables backward(const Variables& gy) override {
    const Variable ga = gy[0] / retained_input(1);
    return {ga, needs_grad(1) ? -(ga * retained_output(0)) : Variable()};
  }
};

class Pow final : public Binary {
 public:
  const char* name() const override { return "pow"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [base, exponent] = c.args("base", "exponent");
    c.expect(base.is_floating(), base.dtype() == exponent.dtype());
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    retain_outputs({0});
    return {pointwise(kernels::Pow{}, in[0], in[1])};
  }
  Variables backward(const Variables& gy) override {
    const Variable base = retained_input(0), exponent = retained_input(1);
    return {needs_grad(0) ? exponent * pow(base, exponent - 1) * gy[0] : Variable(),
            needs_grad(1) ? log(base) * retained_output(0) * gy[0] : Variable()};
  }
};

// One operand; integers are welcome.
template <class Op, Keep kKeep = Keep::nothing>
class WithConst : public UnaryFunction<Op, kKeep> {
 public:
  using UnaryFunction<Op, kKeep>::UnaryFunction;

 private:
  void check(const TypeCheck& c) const override { static_cast<void>(c.arg("x", 0).array()); }
};

class Neg final : public WithConst<kernels::Neg> {
  Variables backward(const Variables& gy) override { return {-gy[0]}; }
};

class AddConst final : public WithConst<kernels::AddConst> {
 public:
  explicit AddConst(double c) : WithConst(kernels::AddConst{c}) {}
  void describe(Attributes& options) const override { options.set("c", op_.c); }

 private:
  Variables backward(const Variables& gy) override { return {gy[0]}; }
};

class RSubConst final : public WithConst<kernels::RSubConst> {
 public:
  explicit RSubConst(double c) : WithConst(kernels::RSubConst{c}) {}
  void describe(Attributes& options) const override { options.set("c", op_.c); }

 private:
  Variables backward(const Variables& gy) override { return {-gy[0]}; }
};

class MulConst final : public WithConst<kernels::MulConst> {
 public:
  explicit MulConst(double c) : WithConst(kernels::MulConst{c}) {}
  void describe(Attributes& options) const override { options.set("c", op_.c); }

 private:
  Variables backward(const Variables& gy) override { return {apply<MulConst>({gy[0]}, op_.c)}; }
};

class DivConst final : public UnaryFunction<kernels::DivConst, Keep::nothing> {
 public:
  explicit DivConst(double c) : UnaryFunction(kernels::DivConst{c}) {}
  void describe(Attributes& options) const override { options.set("c", op_.c); }

 private:
  Variables backward(const Variables& gy) override { return {apply<DivConst>({gy[0]}, op_.c)}; }
};

class RDivConst final : public UnaryFunction<kernels::RDivConst, Keep::both> {
 public:
  explicit RDivConst(double c) : UnaryFunction(kernels::RDivConst{c}) {}
  void describe(Attributes& options) const override { options.set("c", op_.c); }

 private:
  Variables backward(const Variables& gy) override {
    return {-((gy[0] / retained_input(0)) * retained_output(0))};  // x x may be too large for the dtype
  }
};

class PowConst final : public WithConst<kernels::PowConst, Keep::input> {
 public:
  explicit PowConst(double exponent) : WithConst(kernels::PowConst{exponent}) {}
  void describe(Attributes& options) const override { options.set("exponent", op_.exponent); }

 private:
  Variables backward(const Variables& gy) override {
    return {op_.exponent * pow(retained_input(0), op_.exponent - 1) * gy[0]};
  }
};

class RPowConst final : public WithConst<kernels::RPowConst, Keep::output> {
 public:
  explicit RPowConst(double base) : WithConst(kernels::RPowConst{base}) {}
  void describe(Attributes& options) const override { options.set("base", op_.base); }

 private:
  Variables backward(const Variables& gy) override { return {std::log(op_.base) * retained_output(0) * gy[0]}; }
};

class Absolute final : public UnaryFunction<kernels::Abs, Keep::input> {
 public:
  const char* name() const override { return "absolute"; }

 private:
  Variables backward(const Variables& gy) override { return {gy[0] * sign(retained_input(0))}; }
};

// `call` is the one of an operator, "F::mul".
void expect_operands(const Variable& a, const Variable& b, const char* call) {
  expect_given(a, call, "a");
  expect_given(b, call, "b");
}

// x in the dtype of an operation with that number; throws ValueError for one that the dtype cannot hold.
Variable beside_number(const Variable& x, Scalar number, const char* call, const char* argument) {
  expect_given(x, call, argument);
  if (is_floating(x.dtype())) return x;
  const Dtype dtype = promote(x.dtype(), number);
  expect_fits(dtype, number, call);
  return cast(x, dtype);
}
// The same where the result is floating anyway.
Variable floating(const Variable& x, const char* call, const char* argument) {
  expect_given(x, call, argument);
  return is_floating(x.dtype()) ? x : cast(x, promote(x.dtype(), 0.5));
}

// Whether a functor, which has its number as a double, would round the one beside integers of `dtype`.
bool is_rounded(Dtype dtype, Scalar number) {
  constexpr int64_t kExact = int64_t{1} << 53;
  return is_integral(dtype) && (number.as_int64() > kExact || number.as_int64() < -kExact);
}
// The number as an array beside x.
Array array_of(Scalar number, const Variable& x) { return full({}, number, x.dtype(), x.device()); }

// Applies Const, a functor with `constant` in it, to x beside a number; one that it would round goes to `other` as an
// array.
template <class Const, class Other>
Variable with_number(const Variable& x, Scalar number, double constant, const char* call, const char* argument,
                     const Other& other) {
  expect_given(x, call, argument);
  if (is_floating(x.dtype())) [[likely]]
    return apply<Const>({x}, constant);
  const Variable promoted = beside_number(x, number, call, argument);
  if (is_rounded(promoted.dtype(), number)) return other(promoted, Variable(array_of(number, promoted), false));
  return apply<Const>({promoted}, constant);
}

// Applies F to operands broadcast to one shape.
template <class F>
Variable binary(const Variable& a, const Variable& b, const char* call) {
  expect_operands(a, b, call);
  if (a.shape() == b.shape()) return apply<F>({a, b});
  const Shape shape = broadcast_shapes(a.shape(), b.shape(), call);
  return apply<F>({broadcast_to(a, shape), broadcast_to(b, shape)});
}

}  // namespace

Variable add(const Variable& a, const Variable& b) {
  expect_given(a, "F::add", "a");
  expect_given(b, "F::add", "b");

  if (a.shape() == b.shape()) return autograd::add(a, b);
  const Shape shape = broadcast_shapes(a.shape(), b.shape(), "F::add");
  return autograd::add(broadcast_to(a, shape), broadcast_to(b, shape));
}

Variable add(std::span<const Variable> xs) {
  if (xs.empty()) throw ValueError("F::add: there must be at least one argument");
  Variable sum = xs[0];
  for (const Variable& x : xs.subspan(1)) sum = add(sum, x);
  return sum;
}

Variable pow(const Variable& base, const Variable& exponent) { return binary<Pow>(base, exponent, "F::pow"); }

Variable pow(const Variable& base, Scalar exponent) {
  const double e = exponent.as_double();
  const Variable x = beside_number(base, exponent, "F::pow", "base");
  if (is_integral(x.dtype())) {
    if (exponent.as_int64() < 0) {
      throw ValueError("F::pow: base has dtype " + std::string(name(base.dtype())) + " and exponent is " +
                       std::to_string(exponent.as_int64()) + ": integers have no negative integer powers");
    }
    if (is_rounded(x.dtype(), exponent)) {
      return Variable(pointwise(kernels::Pow{}, x.array(), array_of(exponent, x)), false);
    }
    return apply<PowConst>({x}, e);
  }
  if (e == 2) return square(x);
  if (e == 0.5) return sqrt(x);
  return apply<PowConst>({x}, e);
}

Variable pow(Scalar base, const Variable& exponent) {
  const Variable x = beside_number(exponent, base, "F::pow", "exponent");
  if (is_rounded(x.dtype(), base)) return Variable(pointwise(kernels::Pow{}, array_of(base, x), x.array()), false);
  return apply<RPowConst>({x}, base.as_double());
}

Variable absolute(const Variable& x) {
  expect_given(x, "F::absolute", "x");
  return is_floating(x.dtype()) ? apply<Absolute>({x}) : Variable(pointwise(kernels::Abs{}, x.array()), false);
}

}  // namespace functions

Variable operator-(const Variable& x) { return apply<functions::Neg>({x}); }

Variable operator+(const Variable& a, const Variable& b) { return functions::add(a, b); }
Variable operator-(const Variable& a, const Variable& b) { return functions::binary<functions::Sub>(a, b, "F::sub"); }
Variable operator*(const Variable& a, const Variable& b) { return functions::binary<functions::Mul>(a, b, "F::mul"); }
Variable operator/(const Variable& a, const Variable& b) { return functions::binary<functions::Div>(a, b, "F::div"); }

namespace {

// In which a variable of dtype `variable` and an array are computed.
Dtype dtype_beside(Dtype variable, Dtype array) { return is_floating(variable) ? variable : promote(variable, array); }

// A raw array as the operand beside a variable; what is absent is left to the operation to name.
Variable beside(const Variable& other, const Array& array) {
  const bool can_convert = array.is_defined() && other.is_defined() && other.array().is_defined();
  return can_convert ? Variable(array.astype(dtype_beside(other.dtype(), array.dtype())), false) : Variable();
}
// And the variable, which is converted if it is an integer one.
Variable promoted(const Variable& variable, const Array& array) {
  if (!array.is_defined() || !variable.is_defined() || !variable.array().is_defined()) return variable;
  return functions::cast(variable, dtype_beside(variable.dtype(), array.dtype()));
}

}  // namespace

Variable operator+(const Variable& a, const Array& b) { return promoted(a, b) + beside(a, b); }
Variable operator-(const Variable& a, const Array& b) { return promoted(a, b) - beside(a, b); }
Variable operator*(const Variable& a, const Array& b) { return promoted(a, b) * beside(a, b); }
Variable operator/(const Variable& a, const Array& b) { return promoted(a, b) / beside(a, b); }

Variable operator+(const Array& a, const Variable& b) { return beside(b, a) + promoted(b, a); }
Variable operator-(const Array& a, const Variable& b) { return beside(b, a) - promoted(b, a); }
Variable operator*(const Array& a, const Variable& b) { return beside(b, a) * promoted(b, a); }
Variable operator/(const Array& a, const Variable& b) { return beside(b, a) / promoted(b, a); }

Variable operator+(const Variable& a, Scalar b) {
  return functions::with_number<functions::AddConst>(
      a, b, b.as_double(), "F::add", "a", [](const Variable& x, const Variable& number) { return x + number; });
}
Variable operator-(const Variable& a, Scalar b) {
  return functions::with_number<functions::AddConst>(
      a, b, -b.as_double(), "F::sub", "a", [](const Variable& x, const Variable& number) { return x - number; });
}
Variable operator*(const Variable& a, Scalar b) {
  return functions::with_number<functions::MulConst>(
      a, b, b.as_double(), "F::mul", "a", [](const Variable& x, const Variable& number) { return x * number; });
}
Variable operator/(const Variable& a, Scalar b) {
  return apply<functions::DivConst>({functions::floating(a, "F::div", "a")}, b.as_double());
}

Variable operator+(Scalar a, const Variable& b) { return b + a; }
Variable operator-(Scalar a, const Variable& b) {
  return functions::with_number<functions::RSubConst>(
      b, a, a.as_double(), "F::sub", "b", [](const Variable& x, const Variable& number) { return number - x; });
}
Variable operator*(Scalar a, const Variable& b) { return b * a; }
Variable operator/(Scalar a, const Variable& b) {
  return apply<functions::RDivConst>({functions::floating(b, "F::div", "b")}, a.as_double());
}

namespace {

// What is compared: an undefined variable, or one without an array, is an undefined array, which the comparison names.
Array values_of(const Variable& x) { return x.is_defined() ? x.array() : Array(); }

}  // namespace

#define KUSARI_COMPARISON(op)                                                                          \
  BoolArray operator op(const Variable& a, const Variable& b) { return values_of(a) op values_of(b); } \
  BoolArray operator op(const Variable& a, const Array& b) { return values_of(a) op b; }               \
  BoolArray operator op(const Array& a, const Variable& b) { return a op values_of(b); }               \
  BoolArray operator op(const Variable& a, Scalar b) { return values_of(a) op b; }                     \
  BoolArray operator op(Scalar a, const Variable& b) { return a op values_of(b); }
KUSARI_COMPARISON(==)
KUSARI_COMPARISON(!=)
KUSARI_COMPARISON(<)
KUSARI_COMPARISON(<=)
KUSARI_COMPARISON(>)
KUSARI_COMPARISON(>=)
#undef KUSARI_COMPARISON

}  // namespace kusari
