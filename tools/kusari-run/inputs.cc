#include <algorithm>
#include <sstream>

#include "kusari/framework/core/error.h"
#include "kusari/framework/initializers/random_array.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/serializers/npy_file.h"
#include "kusari/tools/kusari-run/commands.h"

namespace run {

using namespace kusari;

namespace {

/// What stands behind each name: "NAME=VALUE".
std::map<std::string, std::string> by_name(const std::vector<std::string>& pairs, const char* option,
                                           const onnx::Model& model) {
  std::map<std::string, std::string> result;
  for (const std::string& pair : pairs) {
    const size_t equals = pair.find('=');
    const std::string name = pair.substr(0, equals);
    const auto is_input = [&](const onnx::Argument& input) { return input.name == name; };
    if (equals == std::string::npos || std::none_of(model.inputs().begin(), model.inputs().end(), is_input)) {
      std::string known;
      for (const onnx::Argument& input : model.inputs()) known += (known.empty() ? "" : ", ") + input.name;
      throw ValueError(std::string(option) + " " + pair +
                       ": it must be NAME=..., with one of the model's inputs: " + known);
    }
    result[name] = pair.substr(equals + 1);
  }
  return result;
}

Shape parse_shape(const std::string& text) {
  Shape shape;
  std::istringstream stream(text);
  std::string part;
  while (std::getline(stream, part, ',')) {
    size_t used = 0;
    int64_t size = -1;
    try {
      size = std::stoll(part, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != part.size() || size < 0)
      throw ValueError("--shape: '" + text + "' is no shape such as 1,3,224,224");
    shape.push_back(size);
  }
  return shape;
}

/// Sizes that the file leaves open are 1, the first one the batch.
Shape drawn_shape(const onnx::Argument& input, int64_t batch) {
  Shape shape;
  if (!input.shape) return {batch};
  for (size_t i = 0; i < input.shape->size(); ++i)
    shape.push_back((*input.shape)[i] >= 0 ? (*input.shape)[i] : i == 0 ? batch : 1);
  return shape;
}

Array drawn(const Shape& shape, Dtype dtype) {
  if (is_floating(dtype)) return random::uniform(shape, {.dtype = Dtype::float32}).astype(dtype);
  // Few values, so that they are indices of whatever they are looked up in.
  return (random::uniform(shape, {.dtype = Dtype::float32}) * 2).astype(Dtype::int64).astype(dtype);
}

}  // namespace

std::vector<Array> inputs_of(const onnx::Model& model, const Options& options) {
  const auto files = by_name(options.inputs, "--input", model), shapes = by_name(options.shapes, "--shape", model);
  std::vector<Array> result;
  for (const onnx::Argument& input : model.inputs()) {
    if (const auto file = files.find(input.name); file != files.end()) {
      result.push_back(serializers::load_npy(file->second));
    } else if (options.random || shapes.contains(input.name)) {
      const auto given = shapes.find(input.name);
      const Shape shape = given != shapes.end() ? parse_shape(given->second) : drawn_shape(input, options.batch);
      result.push_back(drawn(shape, input.dtype.value_or(Dtype::float32)));
    } else {
      throw ValueError("the input '" + input.name + "' is missing: --input " + input.name + "=FILE.npy, or --random");
    }
  }
  return result;
}

}  // namespace run
