#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/imagenet/alex.h"
#include "kusari/examples/imagenet/googlenet.h"
#include "kusari/examples/imagenet/nin.h"

// A network for images of 1000 classes: the size of the images that it takes, and a link that gives the loss of images
// and labels and whose only child, "predictor", is the network itself.
struct Arch {
  int64_t insize;
  std::function<kusari::AnyLink()> make;
};

template <class Network>
kusari::AnyLink classifier_of() {
  return kusari::L::classifier(Network());
}

inline const std::map<std::string, Arch> kArchs{
    {"alex", {Alex::kInsize, classifier_of<Alex>}},
    {"googlenet", {224, [] { return GoogLeNetClassifier(); }}},
    {"mobilenetv2", {224, classifier_of<kusari::L::MobileNetV2>}},
    {"nin", {Nin::kInsize, classifier_of<Nin>}},
    {"resnet18", {224, classifier_of<kusari::L::ResNet18>}},
    {"resnet50", {224, classifier_of<kusari::L::ResNet50>}},
    {"vgg16", {224, classifier_of<kusari::L::VGG16Layers>}},
};
