#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "../scratch_directory.h"
#include "export_reader.h"
#include "kusari/framework/kusari.h"
#include "kusari/framework/onnx/export_model.h"
#include "kusari/framework/onnx/load.h"

// Files whose inputs have axes of any size, compared with the models.
namespace kusari::testing {

using Texts = std::vector<std::string>;
using AxisNames = std::map<std::string, std::map<int, std::string>>;

// Exports a model and compares what was read with it, for inputs of other sizes.
template <class Model>
OnnxFile expect_same(Model& model, const std::vector<Variable>& given, const std::vector<std::vector<Variable>>& others,
                     const onnx::ExportOptions& options) {
  const ScratchDirectory folder;
  const auto mode = using_config(&Config::train, false);
  onnx::export_model(model, std::span<const Variable>(given), folder / "net.onnx", options);
  const onnx::Model read = onnx::load(folder / "net.onnx");
  for (const std::vector<Variable>& inputs : others) {
    CAPTURE(to_string(inputs[0].shape()));
    const Array expected = [&] {
      if constexpr (std::is_invocable_v<Model&, const Variable&>) {
        return model(inputs[0]).array();
      } else {
        return model(inputs[0], inputs[1]).array();
      }
    }();
    const Array found = read.call(std::span<const Variable>(inputs))[0].array();
    REQUIRE(found.shape() == expected.shape());
    const std::vector<double> x = found.to_vector<double>(), y = expected.to_vector<double>();
    double error = 0, largest = 1;
    for (size_t i = 0; i < x.size(); ++i) {
      error = std::max(error, std::abs(x[i] - y[i]));
      largest = std::max(largest, std::abs(y[i]));
    }
    CHECK(error <= 1e-5 * largest);
  }
  return OnnxFile(folder / "net.onnx");
}

}  // namespace kusari::testing
