// Says what is in photos, by any classifier of images in an ONNX file:
//
//   classify resnet50.onnx --labels imagenet.txt cat.jpg dog.png
//
// Prints a line for each photo, with the five likeliest classes and their probabilities.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <kusari/framework/inference/inference_session.h>
#include <kusari/framework/onnx/load.h>
#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/inference/classifier.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  std::string model =
      text("model", "", "An ONNX file of a classifier with one input, (N, C, H, W) or (N, H, W, C)", required());
  std::vector<std::string> photos = value<std::vector<std::string>>("photos", {}, "JPEG and PNG files", required());
  std::string labels = text("--labels", "", "A file whose line i names class i");
  int64_t top = count("--top", 5, "Classes to print");
  int64_t size = number("--size", 0, "Height and width of the input (0: the model's, or 224)", not_negative());
  int64_t resize = number(
      "--resize", 0, "Shorter side of the photo before its middle is cut out (0: 256/224 of the size)", not_negative());
  std::vector<double> mean = value<std::vector<double>>(
      "--mean", {}, "Mean of each channel of pixels 0 .. 1 (default: ImageNet's; 0 for grey)");
  std::vector<double> deviation = value<std::vector<double>>(
      "--std", {}, "Standard deviation of each channel (default: ImageNet's; 1 for grey)", positive());
  int64_t batch = number("-b,--batch", 0, "Photos in one call (0: the model's number, or 1)", not_negative());
  int64_t threads = number("--threads", 0, "Threads to compute with (0: as many as there are cores)", not_negative());
  std::string dtype = choice("--dtype", {"float32", "float16", "bfloat16"}, "float32", "Compute in");
  bool skip_broken = flag("--skip-broken", "Say so of a photo that cannot be read, and go on, instead of ending");
};

Preparation preparation_for(const ImageInput& input, const Arguments& args) {
  const auto side = [&](int64_t fixed) { return args.size > 0 ? args.size : fixed > 0 ? fixed : 224; };
  Preparation result;
  result.size = {side(input.height), side(input.width)};
  if (args.size > 0 &&
      ((input.height > 0 && input.height != args.size) || (input.width > 0 && input.width != args.size))) {
    throw ValueError("--size is " + std::to_string(args.size) + ", but the model takes photos of " +
                     std::to_string(input.height) + " x " + std::to_string(input.width));
  }
  const int64_t larger = std::max(result.size.height, result.size.width);
  result.shorter =
      args.resize > 0 ? args.resize : static_cast<int64_t>(std::lround(static_cast<double>(larger) * 256 / 224));
  if (result.shorter < larger) {
    throw ValueError("--resize is " + std::to_string(args.resize) + ": it must be at least " + std::to_string(larger));
  }
  const auto numbers = [&](const std::vector<double>& given, std::vector<double> colours, double grey,
                           const char* name) {
    if (given.empty()) return input.channels == 3 ? std::move(colours) : std::vector<double>{grey};
    if (given.size() == 1 || static_cast<int64_t>(given.size()) == input.channels) return given;
    throw ValueError(std::string(name) + " has " + std::to_string(given.size()) + " numbers: it must have one, or " +
                     std::to_string(input.channels) + ", one for each channel");
  };
  result.mean = numbers(args.mean, {0.485, 0.456, 0.406}, 0, "--mean");
  result.deviation = numbers(args.deviation, {0.229, 0.224, 0.225}, 1, "--std");
  return result;
}

class Classifier {
 public:
  explicit Classifier(const Arguments& args) : args_{args} {
    onnx::Model model = onnx::load(args.model);
    if (model.inputs().size() != 1) {
      throw ValueError(args.model + " has " + std::to_string(model.inputs().size()) + " inputs: it must have one");
    }
    input_ = image_input(model.inputs()[0]);
    preparation_ = preparation_for(input_, args);
    if (!args.labels.empty()) labels_ = read_labels(args.labels);
    if (args.batch > 0 && input_.batch > 0 && args.batch != input_.batch) {
      throw ValueError("--batch is " + std::to_string(args.batch) + ", but the model takes " +
                       std::to_string(input_.batch) + " photos at a time");
    }
    batch_ = args.batch > 0 ? args.batch : std::max<int64_t>(input_.batch, 1);
    InferenceSessionOptions options{.name = args.model, .batch_sizes = {batch_}};
    if (args.dtype != "float32") options.dtype = dtype_from_name(args.dtype);
    session_.emplace(std::move(model), std::move(options));
  }

  // Classifies all photos; returns how many cannot be read.
  int64_t run() {
    int64_t broken = 0;
    for (const std::string& path : args_.photos) {
      try {
        images_.push_back(prepared_photo(path, input_, preparation_));
        paths_.push_back(path);
      } catch (const std::exception& error) {
        if (!args_.skip_broken) throw;
        classify();  // so that lines come in the order of the photos
        std::printf("%s: %s\n", path.c_str(), error.what());
        ++broken;
      }
      if (static_cast<int64_t>(images_.size()) == batch_) classify();
    }
    classify();
    return broken;
  }

 private:
  void classify() {
    if (images_.empty()) return;
    const Array scores = session_->run({xp::stack(images_)})[0];
    const auto photos = static_cast<int64_t>(images_.size());
    if (scores.ndim() < 2 || scores.shape(0) != photos || !scores.is_floating()) {
      throw ValueError("the model gives " + to_string(scores.dtype()) + " of shape " + to_string(scores.shape()) +
                       " for " + std::to_string(photos) + " photos: it must be scores of classes for each photo");
    }
    const auto classes = static_cast<size_t>(scores.size() / photos);
    const std::vector<float> values = scores.to_vector<float>();
    for (size_t i = 0; i < paths_.size(); ++i) {
      std::string line;
      for (const Guess& guess : likeliest({values.data() + i * classes, classes}, static_cast<size_t>(args_.top))) {
        char number[32];
        std::snprintf(number, sizeof(number), " %.4f", guess.probability);
        line += (line.empty() ? "" : ", ") + name_of(guess.label) + number;
      }
      std::printf("%s: %s\n", paths_[i].c_str(), line.c_str());
    }
    images_.clear();
    paths_.clear();
  }

  std::string name_of(int64_t label) const {
    const auto index = static_cast<size_t>(label);
    return index < labels_.size() && !labels_[index].empty() ? labels_[index] : "class " + std::to_string(label);
  }

  const Arguments& args_;
  ImageInput input_;
  Preparation preparation_;
  std::vector<std::string> labels_;
  int64_t batch_ = 1;
  std::optional<InferenceSession> session_;
  std::vector<Array> images_;  // of the next call
  std::vector<std::string> paths_;
};

int classify_all(const Arguments& args) {
  if (args.threads > 0) set_num_threads(static_cast<int>(args.threads));
  return Classifier(args).run() == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: what is in photos, by a classifier in an ONNX file",
                                classify_all);
}
