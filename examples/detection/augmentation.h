#pragma once

// How images are changed by chance while a detector is trained, and the targets that are made of their boxes.

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/detection/detectors.h"

struct AugmentationFlags {
  std::string augment = {};  // that of the model's paper when empty
  double min_scale = 0.5, max_scale = 1.5;
  bool flip_vertical = false;
};

inline AugmentationFlags augmentation_flags(Flags& flags) {
  AugmentationFlags read;
  read.augment = flags.text("--augment", "",
                            "none; flip: mirrored; jitter: mirrored and of any scale; ssd: colours, scale, parts, "
                            "mirrored (default: that of the model's paper)",
                            Flags::one_of({"none", "flip", "jitter", "ssd"}));
  read.min_scale = flags.real("--min-scale", read.min_scale,
                              "Of jitter: the smallest scale (EfficientDet's paper: 0.1)", Flags::between(0.01, 10.0));
  read.max_scale = flags.real("--max-scale", read.max_scale, "Of jitter: the largest scale (EfficientDet's paper: 2)",
                              Flags::between(0.01, 10.0));
  read.flip_vertical = flags.flag("--flip-vertical", "Turn images upside down too, where that changes nothing");
  return read;
}

inline std::string augmentation_of(const AugmentationFlags& flags) {
  std::string text = flags.augment;
  if (flags.augment == "jitter") {
    text += " " + std::to_string(flags.min_scale) + " .. " + std::to_string(flags.max_scale);
  }
  return text + (flags.flip_vertical ? ", upside down" : "");
}

using BoxTransform =
    std::function<kusari::datasets::Example(const kusari::datasets::Example&, kusari::datasets::ExampleRandom&)>;

// Images of exactly the size that the detector is trained with.
inline BoxTransform augmentation(const AugmentationFlags& flags, const kusari::L::DetectorPreparation& preparation) {
  using namespace kusari;
  using namespace kusari::transforms;
  const int64_t side = preparation.size;
  std::vector<double> fill;
  for (const double mean : preparation.mean) fill.push_back(std::round(mean));
  const bool stretches = preparation.fit == L::DetectorFit::stretch;
  const ResizeContain contain{.size = side, .fill = fill, .enlarge = true, .centre = false};
  const RandomFlip flip{.horizontal = true, .vertical = flags.flip_vertical};
  if (flags.augment == "ssd") {
    const RandomExpand expand{.fill = fill, .probability = 0.5};
    if (stretches) return on_boxes(RandomDistort{}, expand, RandomBoxCrop{}, Resize{side}, flip);
    return on_boxes(RandomDistort{}, expand, RandomBoxCrop{}, flip, contain);
  }
  if (flags.augment == "jitter") {
    return on_boxes(
        flip, ScaleJitter{.size = side, .min_scale = flags.min_scale, .max_scale = flags.max_scale, .fill = fill});
  }
  if (flags.augment == "flip") {
    if (stretches) return on_boxes(flip, Resize{side});
    return on_boxes(flip, contain);
  }
  if (stretches) return on_boxes(Resize{side});
  return on_boxes(contain);
}

// Examples (image, loc, label) for DetectionTrainChain: all of one shape, so that batches are collected without
// copies, and steps can be static graphs. A detector that looks twice gets (image, bbox, label).
inline std::shared_ptr<kusari::datasets::Dataset> with_targets(const std::shared_ptr<kusari::datasets::Dataset>& data,
                                                               const AugmentationFlags& flags,
                                                               const kusari::L::Detector& detector) {
  using namespace kusari;
  if (looks_twice(detector)) {
    return std::make_shared<datasets::TransformDataset>(data, augmentation(flags, detector.preparation),
                                                        datasets::Keys());
  }
  const int64_t side = detector.preparation.size;
  const auto encode = [change = augmentation(flags, detector.preparation), coder = detector.coder(side, side)](
                          const datasets::Example& example, datasets::ExampleRandom& random) {
    const datasets::Example moved = change(example, random);
    const L::AnchorTargets targets = coder.encode(moved[1], moved[2]);
    return datasets::Example{moved[0], targets.loc, targets.label};
  };
  return std::make_shared<datasets::TransformDataset>(data, encode, datasets::Keys());
}

// With more boxes of label -1: as many as the next multiple of 32, so that batches have few shapes and steps can be
// static graphs.
inline void fill_up(kusari::Array& bbox, kusari::Array& label) {
  using namespace kusari;
  const int64_t images = bbox.shape(0), boxes = bbox.shape(1), all = (boxes + 31) / 32 * 32;
  const Array more_boxes = zeros({images, all, 4}, bbox.dtype(), bbox.device());
  const Array more_labels = full({images, all}, int64_t{-1}, label.dtype(), label.device());
  more_boxes.slice(1, 0, boxes).copy_from(bbox);
  more_labels.slice(1, 0, boxes).copy_from(label);
  bbox = more_boxes;
  label = more_labels;
}

// Makes batches of them: images become numbers on the device, and fewer boxes than in other images of the batch are
// filled up with some of label -1. Boxes are float32 whatever the policy, because 16 bits are too few for places.
inline kusari::datasets::Converter detection_converter(const kusari::L::Detector& detector) {
  using namespace kusari;
  datasets::ImageConverterOptions options{
      .mean = {detector.preparation.mean.begin(), detector.preparation.mean.end()},
      .deviation = {detector.preparation.deviation.begin(), detector.preparation.deviation.end()}};
  if (!looks_twice(detector)) return datasets::image_converter(options);
  options.padding = datasets::Padding(std::vector<std::optional<Scalar>>{std::nullopt, 0, -1});
  const datasets::Converter images = datasets::image_converter(options);
  return datasets::Converter(
      [images](std::span<const datasets::Example> batch, const Device& device) { return images.upload(batch, device); },
      [images](datasets::Example uploaded) {
        const Array bbox = uploaded[1];
        datasets::Example converted = images.finish(std::move(uploaded));
        converted[1] = bbox;
        fill_up(converted[1], converted[2]);
        return converted;
      });
}
