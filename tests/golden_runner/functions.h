#pragma once

#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "kusari/framework/autograd/variable.h"
#include "kusari/tests/golden_runner/args.h"

namespace kusari {
namespace functions {}
namespace F = functions;
}  // namespace kusari

namespace kusari::golden {

/// Calls one function with the arguments of a case; results in the order of the case's `returns`, flattened.
using Adapter = std::function<Variables(Args&)>;
using FunctionTable = std::map<std::string, Adapter>;

template <class Result>
Variables collect(Result&& result) {
  if constexpr (std::is_convertible_v<Result&&, Variable>) {
    return Variables(Variable(std::forward<Result>(result)));
  } else {
    Variables all;
    for (const Variable& one : result) all.push_back(one);
    return all;
  }
}

/// Any call: `call([](Args& a) { return F::leaky_relu(a.var("x"), a.number("slope", 0.2)); })`.
template <class Function>
Adapter call(Function function) {
  return [function](Args& args) { return collect(function(args)); };
}

/// A function of one array, its first parameter, and no options.
template <class Function>
Adapter unary(Function function) {
  return [function](Args& args) { return collect(function(args.first())); };
}

/// A function of two arrays, under these names, and no options.
template <class Function>
Adapter binary(Function function, std::string first = "x", std::string second = "y") {
  return [=](Args& args) { return collect(function(args.var(first), args.var(second))); };
}

/// A result and what an argument return_NAME asks for besides: `flag` is its name, `extra` is undefined when there is
/// none.
inline Variables with_extra(Args& args, const std::string& flag, const Variable& y, const Array& extra) {
  if (!args.flag(flag)) return Variables(y);
  return Variables(y, extra.is_defined() ? Variable(extra, false) : Variable());
}

// The functions of each family, by Chainer's names.
void add_activation_functions(FunctionTable& table);
void add_array_functions(FunctionTable& table);
void add_batch_normalization_functions(FunctionTable& table);
void add_connection_functions(FunctionTable& table);
void add_convolution_functions(FunctionTable& table);
void add_linear_algebra_functions(FunctionTable& table);
void add_loss_functions(FunctionTable& table);
void add_math_functions(FunctionTable& table);
void add_noise_functions(FunctionTable& table);
void add_normalization_functions(FunctionTable& table);
void add_pooling_functions(FunctionTable& table);
void add_rnn_functions(FunctionTable& table);
void add_sampling_functions(FunctionTable& table);
/// All of them.
const FunctionTable& function_table();
/// Calls one of them with arguments as a case gives them. Throws Unsupported when there is no such function.
Variables call_function(const std::string& name, const Json& args, const Json& attrs, const Inputs& inputs);
/// An argument that is a function, {"function": "tanh"}: called with as many arrays as it is given, otherwise with its
/// defaults.
std::function<Variable(const Variables& xs)> function_argument(Args& args, const std::string& name);

}  // namespace kusari::golden
