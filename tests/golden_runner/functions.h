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

/// A function of one array and no options.
template <class Function>
Adapter unary(Function function) {
  return [function](Args& args) { return collect(function(args.only())); };
}

/// A function of two arrays, under these names, and no options.
template <class Function>
Adapter binary(Function function, std::string first = "x", std::string second = "y") {
  return [=](Args& args) { return collect(function(args.var(first), args.var(second))); };
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
void add_sampling_functions(FunctionTable& table);
/// All of them.
const FunctionTable& function_table();

}  // namespace kusari::golden
