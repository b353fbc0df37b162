#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/onnx/load.h"
#include "kusari/tools/kusari-run/commands.h"

namespace run {

using namespace kusari;
namespace fs = std::filesystem;

namespace {

// ONNX's own tolerances.
constexpr double kRelative = 1e-3, kAbsolute = 1e-7;

/// input_0.pb, input_1.pb, ... of a folder.
std::vector<Array> tensors(const fs::path& folder, const std::string& name) {
  std::vector<Array> result;
  for (int i = 0; fs::exists(folder / (name + "_" + std::to_string(i) + ".pb")); ++i) {
    const fs::path file = folder / (name + "_" + std::to_string(i) + ".pb");
    result.push_back(fs::file_size(file) == 0 ? Array() : onnx::load_tensor(file.string()));
  }
  return result;
}

void compare(const Array& found, const Array& expected, const std::string& name) {
  if (found.shape() != expected.shape()) {
    throw ValueError(name + " has shape " + to_string(found.shape()) + ", expected " + to_string(expected.shape()));
  }
  if (found.dtype() != expected.dtype()) {
    throw ValueError(name + " has dtype " + to_string(found.dtype()) + ", expected " + to_string(expected.dtype()));
  }
  const std::vector<double> x = found.to_vector<double>(), y = expected.to_vector<double>();
  // The last bit of 16-bit numbers is more than that.
  const double relative = expected.dtype() == Dtype::bfloat16 ? 1e-2 : kRelative;
  const double absolute = expected.dtype() == Dtype::float16 || expected.dtype() == Dtype::bfloat16 ? 1e-3 : kAbsolute;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool equal = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])) ||
                       std::abs(x[i] - y[i]) <= absolute + relative * std::abs(y[i]);
    if (!equal) {
      throw ValueError(name + " is " + std::to_string(x[i]) + " at place " + std::to_string(i) + ", expected " +
                       std::to_string(y[i]));
    }
  }
}

void check_case(const fs::path& folder) {
  const onnx::Model model = onnx::load((folder / "model.onnx").string());
  for (int set = 0; fs::exists(folder / ("test_data_set_" + std::to_string(set))); ++set) {
    const fs::path data = folder / ("test_data_set_" + std::to_string(set));
    Variables inputs;
    for (const Array& input : tensors(data, "input"))
      inputs.push_back(input.is_defined() ? Variable(input, false) : Variable());
    inputs.resize(model.inputs().size());
    const auto inference = no_backprop_mode();
    const auto no_training = using_config(&Config::train, false);
    const Variables outputs = model.call(inputs);
    const std::vector<Array> expected = tensors(data, "output");
    if (outputs.size() < expected.size())
      throw ValueError("it has " + std::to_string(outputs.size()) + " outputs, expected " +
                       std::to_string(expected.size()));
    for (size_t i = 0; i < expected.size(); ++i) {
      if (!outputs[i].is_defined()) throw ValueError("output " + std::to_string(i) + " was not computed");
      compare(outputs[i].array(), expected[i], "output " + std::to_string(i));
    }
  }
}

}  // namespace

int check(const Options& options) {
  int failed = 0;
  for (const std::string& folder : options.folders) {
    const std::string name = fs::path(folder).filename().string();
    try {
      check_case(folder);
      std::printf("PASS %s\n", name.c_str());
    } catch (const std::exception& error) {
      ++failed;
      std::printf("FAIL %s: %s\n", name.c_str(), error.what());
    }
    std::fflush(stdout);
  }
  std::printf("%zu passed, %d failed\n", options.folders.size() - static_cast<size_t>(failed), failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace run
