#include "kusari/tools/kusari-run/commands.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/inference/inference_session.h"
#include "kusari/framework/onnx/load.h"
#include "kusari/framework/serializers/npy_file.h"

namespace run {

using namespace kusari;
namespace fs = std::filesystem;

namespace {

std::string text_of(const onnx::Argument& argument) {
  std::string text = argument.name + ": " + (argument.dtype ? to_string(*argument.dtype) : std::string("?"));
  if (!argument.shape) return text;
  text += " (";
  for (size_t i = 0; i < argument.shape->size(); ++i) {
    const int64_t size = (*argument.shape)[i];
    const std::string& name = argument.axis_names[i];
    text += (i > 0 ? ", " : "") + (size >= 0 ? std::to_string(size) : name.empty() ? "?" : name);
  }
  return text + ")";
}

/// "Conv" of "node 'conv1' (#3): Conv (opset 13)".
std::string operator_of(const std::string& place) {
  const size_t begin = place.find("): ") + 3;
  return place.substr(begin, place.find(" (opset", begin) - begin);
}

/// A model and inputs, converted and on the device that the options name.
struct Prepared {
  explicit Prepared(const Options& options) : model{onnx::load(options.file)} {
    const Device device = get_device(options.device);
    for (const Array& input : inputs_of(model, options)) {
      Array x = input.to_device(device);
      if (!options.dtype.empty() && x.is_floating()) x = x.astype(dtype_from_name(options.dtype));
      inputs.emplace_back(x, false);
    }
    if (!options.dtype.empty()) model.to(dtype_from_name(options.dtype));
    model.to(device);
  }

  Variables call() const {
    const auto no_graph = no_backprop_mode();
    const auto no_training = using_config(&Config::train, false);
    return model.call(inputs);
  }

  onnx::Model model;
  Variables inputs;
};

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// A file name for an output, whatever its name is.
std::string file_name(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

}  // namespace

int describe(const Options& options) {
  onnx::Model model = onnx::load(options.file);
  for (const onnx::Argument& input : model.inputs()) std::printf("input %s\n", text_of(input).c_str());
  for (const onnx::Argument& output : model.outputs()) std::printf("output %s\n", text_of(output).c_str());
  std::map<std::string, int> counts;
  for (const std::string& place : model.operations()) ++counts[operator_of(place)];
  for (const auto& [op, count] : counts) std::printf("operator %s: %d\n", op.c_str(), count);
  std::printf("parameters: %lld in %zu arrays\n", static_cast<long long>(model.count_params()), model.params().size());
  return 0;
}

int run(const Options& options) {
  const Prepared prepared(options);
  const Variables outputs = prepared.call();
  if (!options.output_dir.empty()) fs::create_directories(options.output_dir);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = prepared.model.outputs()[i].name;
    Array y = outputs[i].array();
    if (!options.dtype.empty() && y.is_floating()) y = y.astype(Dtype::float32);
    std::printf("%s: %s %s\n", name.c_str(), to_string(y.dtype()).c_str(), to_string(y.shape()).c_str());
    if (!options.output_dir.empty()) {
      serializers::save_npy((fs::path(options.output_dir) / (file_name(name) + ".npy")).string(), y);
    }
  }
  return 0;
}

int bench(const Options& options) {
  if (options.threads > 0) set_num_threads(options.threads);
  Options drawing = options;
  drawing.random = true;
  Stopwatch watch;
  onnx::Model model = onnx::load(options.file);
  const double load = watch.seconds();
  const Device device = get_device(options.device);
  Arrays inputs;
  for (const Array& input : inputs_of(model, drawing)) inputs.push_back(input.to_device(device));
  model.to(device);

  watch = Stopwatch();
  InferenceSessionOptions settings;
  if (!options.dtype.empty()) settings.dtype = dtype_from_name(options.dtype);
  settings.cache = options.cache;
  const InferenceSession session(std::move(model), settings);
  const Arrays outputs = session.run(inputs);
  synchronize(device);
  const double first = watch.seconds();
  std::vector<double> samples;
  for (const Stopwatch all; all.seconds() < options.seconds || samples.size() < 5;) {
    const Stopwatch one;
    session.run(inputs, outputs);
    synchronize(device);
    samples.push_back(one.seconds());
  }
  std::sort(samples.begin(), samples.end());
  const nlohmann::ordered_json line = {{"bench", "kusari-run"},
                                       {"file", fs::path(options.file).filename().string()},
                                       {"batch", options.batch},
                                       {"threads", num_threads()},
                                       {"dtype", options.dtype.empty() ? "as in the file" : options.dtype},
                                       {"unit", "ms"},
                                       {"load", load * 1000},
                                       {"first", first * 1000},
                                       {"median", samples[samples.size() / 2] * 1000},
                                       {"min", samples.front() * 1000},
                                       {"samples", samples.size()}};
  std::printf("%s\n", line.dump().c_str());
  if (options.summary) std::printf("%s\n", session.summary().c_str());
  return 0;
}

}  // namespace run
