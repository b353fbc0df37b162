#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/framework/datasets/transforms/image.h"

namespace kusari::datasets::transforms {

/// Where a crop is taken: its upper left pixel and its size.
struct Window {
  int64_t top;
  int64_t left;
  Size size;
};

namespace detail {
/// Throws ValueError, naming `call`, unless the window lies inside an image of that size.
KUSARI_API void check_window(const char* call, const Window& window, const Size& image);
}  // namespace detail

/// The pixels inside a window: a view, without a copy. Throws ValueError when the window reaches outside the image.
struct KUSARI_API Crop {
  Window window;
  Array operator()(const Array& image) const;
};

/// The middle of an image: the window at ((H - height) / 2, (W - width) / 2), rounded down. A view.
/// Throws ValueError when the image is smaller. chainercv.transforms.center_crop.
struct KUSARI_API CenterCrop {
  Size size;
  Window window(const Array& image) const;
  /// In an image of that size.
  Window window(const Size& image) const;
  Array operator()(const Array& image) const { return Crop{window(image)}(image); }
};

/// A window of that size at a random place, each with the same chance. A view.
/// Throws ValueError when the image is smaller. chainercv.transforms.random_crop.
struct KUSARI_API RandomCrop {
  Size size;
  /// The place alone, for cropping something else alike.
  Window window(const Array& image, ExampleRandom& random) const;
  /// In an image of that size.
  Window window(const Size& image, ExampleRandom& random) const;
  Array operator()(const Array& image, ExampleRandom& random) const { return Crop{window(image, random)}(image); }
};

}  // namespace kusari::datasets::transforms
