#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/imagenet/loader.h"

// Where pixels become numbers: for each image, by arithmetic in config.dtype or by a transform in float32; or for the
// whole batch, on the device.
enum class Preprocessing { config_dtype, float32, converter };

// How a training is set up on one step of the ladder.
struct Settings {
  bool has_library_convolutions = false;  // cuDNN's, or oneDNN's and Winograd's algorithm
  bool autotune = false;
  bool use_tf32 = false;
  kusari::DtypePolicy dtype = kusari::Dtype::float32;
  Preprocessing preprocessing = Preprocessing::config_dtype;
  Loader loader = Loader::serial;
  int64_t jobs = 1;
  int64_t prefetch = 0;  // batches that are on their way to the device while it computes
  int64_t batch_size = 1;
  bool static_graph = false;
};

// One change of a program: its name, what it is, the lines that somebody writes for it, and what they do.
struct Step {
  std::string name, title, change;
  void (*apply)(Settings& settings, const Settings& top) = nullptr;  // `top`: jobs, loader and batch size to end at
};

// From the bottom to the top of the ladder on a device. The first is what is changed then.
inline std::vector<Step> ladder_steps(bool is_cpu, const Settings& top) {
  std::vector<Step> steps;
  const auto add = [&](std::string name, std::string title, std::string change, auto apply) {
    steps.push_back({std::move(name), std::move(title), std::move(change), apply});
  };
  const auto library = [](Settings& s, const Settings&) { s.has_library_convolutions = true; };
  const auto autotune = [](Settings& s, const Settings&) { s.autotune = true; };
  if (is_cpu) {
    add("im2col", "copied rows and products of matrices", "KUSARI_CONVOLUTION=im2col",
        [](Settings&, const Settings&) {});
    add("onednn", "oneDNN and Winograd", "unset KUSARI_CONVOLUTION", library);
    add("autotune", "autotune", "global_config().autotune = true;", autotune);
    add("bfloat16", "bfloat16", "global_config().dtype = mixed_bf16;\noptimizer.use_fp32_update();",
        [](Settings& s, const Settings&) { s.dtype = kusari::mixed_bf16; });
  } else {
    add("no_cudnn", "no cuDNN, no TF32", "global_config().use_cudnn = Use::never;\nglobal_config().use_tf32 = false;",
        [](Settings&, const Settings&) {});
    add("cudnn", "cuDNN", "global_config().use_cudnn = Use::automatic;", library);
    add("autotune", "autotune", "global_config().autotune = true;", autotune);
    add("tf32", "TF32", "global_config().use_tf32 = true;", [](Settings& s, const Settings&) { s.use_tf32 = true; });
    add("float16", "float16",
        "global_config().dtype = mixed16;\noptimizer.use_fp32_update();\noptimizer.loss_scaling();",
        [](Settings& s, const Settings&) { s.dtype = kusari::mixed16; });
  }
  add("float32_preprocessing", "preprocessing in float32",
      "transforms::Normalize{mean, deviation}(image)  // was: (image.astype(get_dtype()) - mean) / deviation",
      [](Settings& s, const Settings&) { s.preprocessing = Preprocessing::float32; });
  add("converter", "8-bit batches",
      ".converter = datasets::image_converter({.mean = mean, .deviation = deviation, .random_flip = true})",
      [](Settings& s, const Settings&) { s.preprocessing = Preprocessing::converter; });
  const std::string jobs = std::to_string(top.jobs);
  const auto load = [](Settings& s, const Settings& t) { s.loader = t.loader, s.jobs = t.jobs; };
  if (top.loader == Loader::process) {
    add("workers", jobs + " worker processes",
        "iterators::MultiprocessIterator train_iter(train, batchsize, {.n_processes = " + jobs + "});", load);
  } else if (top.loader == Loader::thread) {
    add("workers", jobs + " worker threads",
        "iterators::MultithreadIterator train_iter(train, batchsize, {.n_threads = " + jobs + "});", load);
  }
  if (!is_cpu) {
    add("prefetch", "prefetch to the device",
        "StandardUpdater(train_iter, optimizer, {.device = device, .prefetch = 2})",
        [](Settings& s, const Settings&) { s.prefetch = 2; });
  }
  const std::string batch_size = std::to_string(top.batch_size);
  add("larger_batch", "batch of " + batch_size, "batchsize = " + batch_size + ";",
      [](Settings& s, const Settings& t) { s.batch_size = t.batch_size; });
  add("static_graph", "static graph", "StandardUpdater(train_iter, optimizer, {.., .static_graph = true})",
      [](Settings& s, const Settings&) { s.static_graph = true; });
  return steps;
}

// The settings of a step and of all that are below it.
inline Settings settings_at(const std::vector<Step>& steps, const std::string& name, const Settings& bottom,
                            const Settings& top) {
  Settings settings = bottom;
  for (const Step& step : steps) {
    step.apply(settings, top);
    if (step.name == name) break;
  }
  return settings;
}
