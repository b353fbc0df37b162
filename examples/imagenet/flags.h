#pragma once

#include <cstdint>
#include <string>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/imagenet/archs.h"
#include "kusari/examples/imagenet/loader.h"
#include "kusari/examples/precision.h"

// What a training of a network on a folder of images is told, but for where.
struct ImagenetFlags : Flags {
  std::string train =
      text("train", "", "Training images: an image-label list file, or a folder or tar of classes", required());
  std::string val = text("val", "", "Validation images, likewise", required());
  std::string arch = text("-a,--arch", "nin", "Convnet architecture", key_of(kArchs));
  int64_t batchsize = count("-B,--batchsize", 32, "Learning minibatch size");
  bool static_graph = flag("--static-graph", "Record a training step once, then replay it");
  int64_t epoch = count("-E,--epoch", 10, "Number of epochs to train");
  std::string initmodel = text("--initmodel", "", "Initialize the model from given file");
  std::string mean = text("-m,--mean", "mean.npy", "Mean file (computed by compute_mean)");
  std::string resume = text("-r,--resume", "", "Initialize the trainer from given file");
  std::string out = text("-o,--out", "result", "Output directory");
  std::string root = text("-R,--root", ".", "Root directory path of the image files of a list");
  int64_t val_batchsize = count("-b,--val_batchsize", 250, "Validation minibatch size");
  bool test = flag("--test", "Validate, log and save at every iteration");
  PrecisionFlags precision = precision_flags(*this);
  LoaderFlags loader = loader_flags(*this);
};
