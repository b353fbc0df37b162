#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/cifar/small.h"
#include "kusari/examples/cifar/vgg.h"

using MakeModel = std::function<kusari::AnyLink(int64_t classes)>;

// The networks that the flag --model offers, all for images of 32x32.
inline const std::map<std::string, MakeModel> kModels{
    {"small", [](int64_t classes) { return Small(classes); }},
    {"vgg", [](int64_t classes) { return Vgg(classes); }},
    {"cnn", [](int64_t classes) { return kusari::L::CifarCnn({.n_classes = classes}); }},
    {"resnet18",
     [](int64_t classes) { return kusari::L::ResNet18({.n_classes = classes, .stem = kusari::L::ResNetStem::cifar}); }},
    {"resnet50",
     [](int64_t classes) { return kusari::L::ResNet50({.n_classes = classes, .stem = kusari::L::ResNetStem::cifar}); }},
    {"mobilenetv2",
     [](int64_t classes) {
       return kusari::L::MobileNetV2({.n_classes = classes, .stem = kusari::L::MobileNetV2Stem::cifar});
     }},
};
