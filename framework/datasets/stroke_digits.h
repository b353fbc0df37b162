#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/tuple_dataset.h"

namespace kusari::datasets {

struct StrokeDigitsOptions {
  int64_t n_train = 60000;
  int64_t n_test = 10000;
  uint64_t seed = 0;
  int ndim = 1;        ///< shape of an image: 1 (784), 2 (28, 28), 3 (1, 28, 28)
  double scale = 1.0;  ///< of the brightest pixel
};

/// Digits that look handwritten, made on the spot: MNIST's shapes without its files, for trying things out and for
/// tests without a network. These are not MNIST and no person wrote them; accuracies say nothing about handwriting.
/// Each image draws one of a few pen paths of its digit with random wobble, slant, size, place, thickness, ink and
/// noise. Returns float32 images in 0 .. scale and int32 labels 0 .. 9, drawn with equal chance. The same seed gives
/// the same images whatever the number of threads; image i does not depend on the sizes. Throws ValueError for negative
/// sizes or another ndim.
KUSARI_API TrainTest get_stroke_digits(const StrokeDigitsOptions& options = {});

}  // namespace kusari::datasets
