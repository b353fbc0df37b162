#include "kusari/tests/golden_runner/functions.h"

#include "kusari/tests/golden_runner/compare.h"

namespace kusari::golden {

const FunctionTable& function_table() {
  static const FunctionTable table = [] {
    FunctionTable all;
    add_activation_functions(all);
    add_array_functions(all);
    add_batch_normalization_functions(all);
    add_connection_functions(all);
    add_convolution_functions(all);
    add_linear_algebra_functions(all);
    add_loss_functions(all);
    add_math_functions(all);
    add_noise_functions(all);
    add_normalization_functions(all);
    add_pooling_functions(all);
    add_rnn_functions(all);
    add_sampling_functions(all);
    return all;
  }();
  return table;
}

Variables call_function(const std::string& name, const Json& args, const Json& attrs, const Inputs& inputs) {
  const auto adapter = function_table().find(name);
  if (adapter == function_table().end()) throw Unsupported("function " + name);
  Args bound(signature_of("function", name), args, attrs, inputs);
  Variables results = adapter->second(bound);
  bound.check_all_used();
  return results;
}

std::function<Variable(const Variables& xs)> function_argument(Args& args, const std::string& name) {
  const Json& value = args.raw(name);
  if (!value.is_object() || !value.contains("function")) args.fail(name, "is not a function");
  const std::string function = value.at("function");
  if (!function_table().contains(function)) args.fail(name, "is a function that is not here");
  return [function](const Variables& xs) {
    Inputs inputs;
    Json given;
    for (size_t i = 0; i < xs.size(); ++i) {
      inputs["x" + std::to_string(i)] = xs[i];
      given["*"].push_back("x" + std::to_string(i));
    }
    return call_function(function, given, Json::object(), inputs)[0];
  };
}

}  // namespace kusari::golden
