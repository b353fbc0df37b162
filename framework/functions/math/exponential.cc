#include "kusari/framework/functions/math/exponential.h"

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

constexpr double kLn2 = 0.6931471805599453, kLn10 = 2.302585092994046;

class Exp final : public UnaryFunction<kernels::Exp, Keep::output> {
  Variables backward(const Variables& gy) override { return {retained_output(0) * gy[0]}; }
};

class Log final : public UnaryFunction<kernels::Log, Keep::input> {
  Variables backward(const Variables& gy) override { return {gy[0] / retained_input(0)}; }
};

class Log2 final : public UnaryFunction<kernels::Log2, Keep::input> {
  Variables backward(const Variables& gy) override { return {gy[0] / (retained_input(0) * kLn2)}; }
};

class Log10 final : public UnaryFunction<kernels::Log10, Keep::input> {
  Variables backward(const Variables& gy) override { return {gy[0] / (retained_input(0) * kLn10)}; }
};

}  // namespace

Variable exp(const Variable& x) { return apply<Exp>({x}); }
Variable log(const Variable& x) { return apply<Log>({x}); }
Variable log2(const Variable& x) { return apply<Log2>({x}); }
Variable log10(const Variable& x) { return apply<Log10>({x}); }

}  // namespace kusari::functions
