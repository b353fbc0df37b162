#pragma once

#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/onnx/format.h"
#include "kusari/framework/onnx/load.h"
#include "kusari/tests/onnx/model_builder.h"

// Models of one node, for tests of operators.

/// What a node is but for its inputs.
struct NodeForm {
  size_t outputs = 1;
  int64_t opset = 20;
  std::string domain = {};
  std::set<size_t> constants = {};  ///< inputs that the file holds
};

/// The file of one node with these inputs, an undefined one left out, and those that it is called with.
inline std::pair<std::string, kusari::Variables> file_of(const std::string& op,
                                                         const std::vector<kusari::Array>& inputs,
                                                         const ModelBuilder::Attributes& attributes,
                                                         const NodeForm& form) {
  ModelBuilder model(form.opset);
  ModelBuilder::Names names, results;
  kusari::Variables given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_defined()) {
      names.emplace_back();
      continue;
    }
    names.push_back("in" + std::to_string(i));
    if (form.constants.contains(i)) {
      model.initializer(names.back(), inputs[i]);
      continue;
    }
    std::vector<std::variant<int64_t, std::string>> shape(inputs[i].shape().begin(), inputs[i].shape().end());
    model.input(names.back(), shape, kusari::onnx::type_of(inputs[i].dtype()));
    given.push_back(kusari::Variable(inputs[i], false));
  }
  for (size_t i = 0; i < form.outputs; ++i) results.push_back("out" + std::to_string(i));
  model.node(op, names, results, attributes, form.domain);
  for (const std::string& name : results) model.output(name);
  return {model.bytes(), given};
}

inline kusari::Variables outputs_of(const std::string& op, const std::vector<kusari::Array>& inputs,
                                    const ModelBuilder::Attributes& attributes, const NodeForm& form) {
  const auto [bytes, given] = file_of(op, inputs, attributes, form);
  return kusari::onnx::load_bytes(bytes).call(given);
}

inline kusari::Array floats(const std::vector<float>& values, const kusari::Shape& shape) {
  return kusari::from_host(values.data(), shape, kusari::Dtype::float32);
}
inline kusari::Array int_vector(const std::vector<int64_t>& values) {
  return kusari::from_host(values.data(), {static_cast<int64_t>(values.size())}, kusari::Dtype::int64);
}

/// Numbers between -1 and 1 that a script makes as well: element i is ((7 i + 13 seed) mod 17 - 8) / 8.
inline kusari::Array pattern(const kusari::Shape& shape, int64_t seed) {
  std::vector<float> values;
  for (int64_t i = 0; i < kusari::numel(shape); ++i) {
    values.push_back(static_cast<float>((7 * i + 13 * seed) % 17 - 8) / 8);
  }
  return floats(values, shape);
}
/// The same as integers from `first` on: element i is first + (7 i + 13 seed) mod 17 * step.
inline kusari::Array integer_pattern(const kusari::Shape& shape, int64_t seed, kusari::Dtype dtype, int64_t first,
                                     int64_t step) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < kusari::numel(shape); ++i) values.push_back(first + (7 * i + 13 * seed) % 17 * step);
  return kusari::from_host(values.data(), shape, kusari::Dtype::int64).astype(dtype);
}

inline void expect_equal(const kusari::Array& found, const kusari::Array& expected, double tolerance = 1e-5) {
  REQUIRE(found.shape() == expected.shape());
  CHECK(found.dtype() == expected.dtype());
  const std::vector<double> x = found.to_vector<double>(), y = expected.to_vector<double>();
  for (size_t i = 0; i < x.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(x[i] - y[i]) <= tolerance);
  }
}
