#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"

namespace kusari::onnx {

struct ExportOptions {
  std::vector<std::string> input_names = {};   ///< default: input_0, input_1, ...
  std::vector<std::string> output_names = {};  ///< default: output_0, output_1, ...
  int opset = 21;                              ///< 13 to 22
  /// The first axis of the inputs that have the first one's size there is the batch: the file takes any size of it.
  bool dynamic_batch = false;
  /// Axes of inputs whose sizes are any in the file, by the input's name and the axis, each with a name for its size:
  /// `{{"ids", {{0, "batch"}, {1, "length"}}}, {"mask", {{1, "length"}}}}`. Axes of one name have one size; there are
  /// four names at most. An entry for an output names its axes.
  std::map<std::string, std::map<int, std::string>> dynamic_axes = {};
  /// Write what the model does in training: dropout draws at each run. Running statistics move as in other calls.
  bool train = false;
  /// Convolutions get the weights with which they compute what batch normalizations behind them do, in float32 and
  /// float64; not with `train`.
  bool fold_batch_normalization = false;
  /// Weights of that many bytes in all, or more, go to a file of their own beside the model's, NAME.data.
  uint64_t external_threshold = uint64_t{1} << 30;
  std::string graph_name = "kusari";
  std::map<std::string, std::string> metadata = {};
  /// Names the parameters of a callable that is no link itself, such as a lambda around one.
  Link* model = nullptr;
};

struct TestcaseOptions {
  ExportOptions model = {};
  /// Also write the gradients of the parameters, those of the outputs being ones.
  bool output_grad = false;
};

namespace detail {

using ModelCall = std::function<Variables(std::span<const Variable>)>;

inline Variables as_variables(Variable y) { return Variables(std::move(y)); }
inline Variables as_variables(Variables ys) { return ys; }
inline Variables as_variables(std::pair<Variable, Variable> ys) {
  return Variables(std::move(ys.first), std::move(ys.second));
}
inline Variables as_variables(const std::vector<Variable>& ys) {
  Variables all;
  for (const Variable& y : ys) all.push_back(y);
  return all;
}

template <class T>
concept ModelResult = requires(T result) {
  as_variables(std::move(result));
};

template <size_t>
using NthInput = const Variable&;

template <class F, size_t... kIndex>
bool call_with_count(F& f, std::span<const Variable> xs, Variables& ys, std::index_sequence<kIndex...>) {
  if constexpr (std::is_invocable_v<F&, NthInput<kIndex>...>) {
    if constexpr (ModelResult<std::invoke_result_t<F&, NthInput<kIndex>...>>) {
      if (xs.size() != sizeof...(kIndex)) return false;
      ys = as_variables(f(xs[kIndex]...));
      return true;
    }
  }
  return false;
}

[[noreturn]] KUSARI_API void throw_input_count(size_t given);

template <class F>
ModelCall model_call(F& f) {
  return [&f](std::span<const Variable> xs) {
    Variables ys;
    const auto attempt = [&]<size_t... kCount>(std::index_sequence<kCount...>) {
      return (call_with_count(f, xs, ys, std::make_index_sequence<kCount + 1>()) || ...);
    };
    if (attempt(std::make_index_sequence<8>())) return ys;
    if constexpr (std::is_invocable_v<F&, std::span<const Variable>>) {
      return as_variables(f(xs));
    } else {
      throw_input_count(xs.size());
    }
  };
}

template <class F>
Link* link_of(F& f) {
  if constexpr (std::derived_from<F, Link>) {
    return const_cast<std::remove_const_t<F>*>(&f);  // its lists of members are not const
  } else {
    static_cast<void>(f);
    return nullptr;
  }
}

KUSARI_API void export_model(const ModelCall& call, Link* link, std::span<const Variable> inputs,
                             const std::string& path, const ExportOptions& options);
KUSARI_API void export_testcase(const ModelCall& call, Link* link, std::span<const Variable> inputs,
                                const std::string& folder, const TestcaseOptions& options);

}  // namespace detail

/// Calls a model with `inputs`, config.train being options.train, and writes the functions that it applied as an ONNX
/// model: `onnx::export_model(net, {x}, "net.onnx", {.dynamic_batch = true})`. `model`: a link, or anything that can be
/// called with that many variables, or with a span of them, and gives a Variable, a pair or several. The parameter
/// /conv1/W is the initializer "conv1.W", as in .safetensors files. The file appears whole or not at all.
///
/// Throws ValueError naming every function that has no ONNX operator, or none in that opset, and for options out of
/// range; StateError where numbers that depend on an input were computed outside of functions and read by one, or read
/// on the host, because they would become constants; IoError when the file cannot be written. onnx_chainer.export.
template <class Model>
void export_model(Model&& model, std::initializer_list<Variable> inputs, const std::string& path,
                  const ExportOptions& options = {}) {
  detail::export_model(detail::model_call(model), detail::link_of(model),
                       std::span<const Variable>(inputs.begin(), inputs.size()), path, options);
}
template <class Model>
void export_model(Model&& model, std::span<const Variable> inputs, const std::string& path,
                  const ExportOptions& options = {}) {
  detail::export_model(detail::model_call(model), detail::link_of(model), inputs, path, options);
}

/// The same to `folder`/model.onnx, with inputs and outputs in `folder`/test_data_set_0/input_0.pb, output_0.pb, ...,
/// the layout of ONNX's own tests; and with output_grad the parameters' gradients in gradient_0.pb, ... in the order of
/// Link::namedparams(). Makes the folders. onnx_chainer.export_testcase.
template <class Model>
void export_testcase(Model&& model, std::initializer_list<Variable> inputs, const std::string& folder,
                     const TestcaseOptions& options = {}) {
  detail::export_testcase(detail::model_call(model), detail::link_of(model),
                          std::span<const Variable>(inputs.begin(), inputs.size()), folder, options);
}

/// The same with any number of inputs.
template <class Model>
void export_testcase(Model&& model, std::span<const Variable> inputs, const std::string& folder,
                     const TestcaseOptions& options = {}) {
  detail::export_testcase(detail::model_call(model), detail::link_of(model), inputs, folder, options);
}

}  // namespace kusari::onnx
