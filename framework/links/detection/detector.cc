#include "kusari/framework/links/detection/detector.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/kernels/image_resampling.h"
#include "kusari/framework/links/detection/head_outputs.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/model/rgb_bytes.h"

namespace kusari::links {
namespace {

const char* const kPrepare = "Detector::prepare";

struct PictureSize {
  int64_t height, width;
};

void check_preparation(const DetectorPreparation& p) {
  argument::positive(kPrepare, "preparation.size", p.size);
  argument::positive(kPrepare, "preparation.max_size", p.max_size);
  argument::positive(kPrepare, "preparation.divisor", p.divisor);
  for (size_t i = 0; i < 3; ++i) {
    argument::finite(kPrepare, "preparation.mean[i]", p.mean[i]);
    argument::finite_positive(kPrepare, "preparation.deviation[i]", p.deviation[i]);
  }
}

PictureSize fitted(const PictureSize& image, const DetectorPreparation& p) {
  if (p.fit == DetectorFit::stretch) return {p.size, p.size};
  const auto smaller = static_cast<double>(std::min(image.height, image.width));
  const auto larger = static_cast<double>(std::max(image.height, image.width));
  double scale = static_cast<double>(p.size) / larger;
  double most = static_cast<double>(p.size);
  if (p.fit == DetectorFit::shorter_side) {
    most = static_cast<double>(std::max(p.size, p.max_size));
    scale = std::min(static_cast<double>(p.size) / smaller, static_cast<double>(p.max_size) / larger);
  }
  const auto scaled = [&](int64_t side) {
    return static_cast<int64_t>(std::clamp(static_cast<double>(side) * scale, 1.0, most));
  };
  return {scaled(image.height), scaled(image.width)};
}

/// (x - mean) / deviation of every byte, by channel.
class ByteTable {
 public:
  explicit ByteTable(const DetectorPreparation& p) {
    for (size_t c = 0; c < 3; ++c) {
      for (size_t byte = 0; byte < 256; ++byte) {
        values_[c][byte] = static_cast<float>((static_cast<double>(byte) - p.mean[c]) / p.deviation[c]);
      }
    }
  }
  void convert(const uint8_t* from, float* to, int64_t pixels) const {
    for (int64_t i = 0; i < pixels; ++i, from += 3, to += 3) {
      to[0] = values_[0][from[0]];
      to[1] = values_[1][from[1]];
      to[2] = values_[2][from[2]];
    }
  }

 private:
  float values_[3][256];
};

int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

}  // namespace

/// The anchors of the sizes met last.
struct Detector::Coders {
  struct Entry {
    int64_t height, width;
    AnchorCoder coder;
  };
  static constexpr size_t kMost = 8;
  ForkSafeMutex mutex;
  std::vector<Entry> entries;
};

Detector::Detector(Plan plan, const DetectorPreparation& image_preparation)
    : preparation{image_preparation},
      decoding{plan.visualize},
      plan_{std::move(plan)},
      coders_{std::make_shared<Coders>()} {
  argument::require(plan_.n_classes >= 1 && plan_.n_classes <= 1'000'000, "Detector", "n_classes", plan_.n_classes,
                    "be in [1, 1000000]");
  check_preparation(preparation);
}

std::pair<Variable, Variable> Detector::operator()(const Variable& x) const {
  const LinkCall call(*this);
  return forward(x);
}

void Detector::use_preset(const std::string& preset) {
  if (preset == "visualize") {
    decoding = plan_.visualize;
  } else if (preset == "evaluate") {
    decoding = plan_.evaluate;
  } else {
    throw ValueError("Detector::use_preset: preset is '" + preset + "': it must be visualize or evaluate");
  }
}

AnchorCoder Detector::coder(int64_t height, int64_t width) const {
  const std::lock_guard lock(coders_->mutex);
  std::vector<Coders::Entry>& entries = coders_->entries;
  for (const Coders::Entry& entry : entries) {
    if (entry.height == height && entry.width == width) return entry.coder;
  }
  if (entries.size() == Coders::kMost) entries.erase(entries.begin());
  entries.push_back({height, width, AnchorCoder(plan_.grid, height, width, plan_.coding)});
  return entries.back().coder;
}

PreparedImage Detector::prepare(const Array& image) const {
  check_preparation(preparation);
  Array picture = rgb_bytes(kPrepare, image);
  const PictureSize old{picture.shape(1), picture.shape(2)}, size = fitted(old, preparation);
  if (size.height != old.height || size.width != old.width) {
    picture = resample_image(picture, size.height, size.width, Interpolation::bilinear);
  }
  const Array values = empty_strided({3, size.height, size.width}, {1, size.width * 3, 3}, Dtype::float32);
  ByteTable(preparation).convert(picture.data<uint8_t>(), values.data<float>(), size.height * size.width);
  return {values, static_cast<double>(size.height) / static_cast<double>(old.height),
          static_cast<double>(size.width) / static_cast<double>(old.width)};
}

Array Detector::batch_of(const std::vector<PreparedImage>& images) const {
  if (images.empty()) throw ValueError("Detector::batch_of: there are no images");
  check_preparation(preparation);
  PictureSize size{0, 0};
  for (const PreparedImage& image : images) {
    if (!image.image.is_defined() || image.image.ndim() != 3 || image.image.shape(0) != 3) {
      throw ValueError("Detector::batch_of: an image is not one that was prepared: it must be (3, height, width)");
    }
    size = {std::max(size.height, image.image.shape(1)), std::max(size.width, image.image.shape(2))};
  }
  if (preparation.fit == DetectorFit::longer_side) {
    size = {std::max(size.height, preparation.size), std::max(size.width, preparation.size)};
  } else if (preparation.fit == DetectorFit::shorter_side) {
    size = {rounded_up(size.height, preparation.divisor), rounded_up(size.width, preparation.divisor)};
  }
  const Array batch =
      empty_channels_last({static_cast<int64_t>(images.size()), 3, size.height, size.width}, Dtype::float32);
  batch.fill(0);
  for (size_t i = 0; i < images.size(); ++i) {
    const Array& image = images[i].image;
    batch.at(static_cast<int64_t>(i)).slice(1, 0, image.shape(1)).slice(2, 0, image.shape(2)).copy_from(image);
  }
  return batch.astype(get_dtype()).to_device(device());
}

std::vector<Detections> Detector::predict(const std::vector<Array>& images) const {
  if (images.empty()) return {};
  std::vector<PreparedImage> prepared;
  for (const Array& image : images) prepared.push_back(prepare(image));
  return find(Variable(batch_of(prepared), false), prepared);
}

std::vector<Detections> Detector::find(const Variable& x, const std::vector<PreparedImage>& images) const {
  if (x.shape()[0] != static_cast<int64_t>(images.size())) {
    throw ValueError("Detector::find: x has shape " + to_string(x.shape()) + " and there are " +
                     std::to_string(images.size()) + " images: there must be as many");
  }
  const auto evaluation = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  std::vector<ImageExtent> extents;
  for (const PreparedImage& image : images) {
    extents.push_back({static_cast<double>(image.image.shape(1)), static_cast<double>(image.image.shape(2))});
  }
  std::vector<Detections> found = detect(x, extents);
  for (size_t i = 0; i < images.size(); ++i) {
    const auto y = static_cast<float>(1 / images[i].y_scale), x_factor = static_cast<float>(1 / images[i].x_scale);
    for (Box& box : found[i].bbox) {
      box = {box.y_min * y, box.x_min * x_factor, box.y_max * y, box.x_max * x_factor};
    }
  }
  return found;
}

std::vector<Detections> Detector::detect(const Variable& x, std::span<const ImageExtent> extents) const {
  const auto [locs, confs] = (*this)(x);
  const Array loc = detail::on_host(locs), conf = detail::on_host(confs);
  const AnchorCoder anchors = coder(x.shape()[2], x.shape()[3]);
  std::vector<Detections> found;
  for (size_t i = 0; i < extents.size(); ++i) {
    AnchorDecodeOptions options = decoding;
    options.height = extents[i].height;
    options.width = extents[i].width;
    const auto at = static_cast<int64_t>(i);
    found.push_back(anchors.decode(loc.at(at), conf.at(at), options));
  }
  return found;
}

}  // namespace kusari::links
