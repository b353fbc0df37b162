#pragma once

// What a detector finds in one image, with the time that each part takes.

#include <chrono>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/detection/detectors.h"

// Milliseconds.
struct FindTimes {
  double decode = 0;   // of the file
  double prepare = 0;  // the image's size and numbers, and its way to the device
  double network = 0;  // where a detector looks twice, of the first look
  double boxes = 0;    // of the network's numbers; and of the second look
};

class Stopwatch {
 public:
  // Milliseconds since the last call, or the beginning.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double passed = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return passed;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// What the network gives for images: codes and scores of anchors, and behind them the maps of a detector that looks
// twice. A function of images alone, for static graphs.
inline kusari::Variables see(const kusari::L::Detector& detector, const kusari::Variable& x) {
  using namespace kusari;
  const auto* const twice = dynamic_cast<const L::FasterRCNN*>(&detector);
  if (twice == nullptr) {
    auto [locs, confs] = detector(x);
    return Variables{locs, confs};
  }
  const L::FasterRCNN::FirstLook seen = twice->look(x);
  Variables all{seen.locs, seen.confs};
  for (const Variable& map : seen.maps) all.push_back(map);
  return all;
}

// Boxes of what see() gives for one image.
inline kusari::Detections boxes_in(const kusari::L::Detector& detector, const kusari::Variables& seen, int64_t height,
                                   int64_t width, const kusari::L::ImageExtent& extent) {
  using namespace kusari;
  if (const auto* const twice = dynamic_cast<const L::FasterRCNN*>(&detector)) {
    L::FasterRCNN::FirstLook first{{}, seen[0], seen[1]};
    for (size_t k = 2; k < seen.size(); ++k) first.maps.push_back(seen[k]);
    return twice->find_again(first, height, width, {&extent, 1})[0];
  }
  L::AnchorDecodeOptions options = detector.decoding;  // boxes in the image, not in what it was filled up with
  options.height = extent.height;
  options.width = extent.width;
  return detector.coder(height, width).decode(seen[0].array().at(0), seen[1].array().at(0), options);
}

// detector.predict({image})[0], part by part. network: see(), perhaps replayed, on images of equal sizes.
template <class Network>
kusari::Detections find_objects(const kusari::L::Detector& detector, Network&& network, const kusari::Array& image,
                                FindTimes& times) {
  using namespace kusari;
  const auto test_mode = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  Stopwatch watch;
  const L::PreparedImage prepared = detector.prepare(image);
  const Array x = detector.batch_of({prepared});
  times.prepare = watch.lap();
  Variables seen = network(Variable(x, false));
  for (size_t k = 0; k < 2; ++k) {  // on the host, so that the network is done
    seen[k] = Variable(seen[k].array().astype(Dtype::float32).to_device(Device()), false);
  }
  times.network = watch.lap();
  const L::ImageExtent extent{static_cast<double>(prepared.image.shape(1)),
                              static_cast<double>(prepared.image.shape(2))};
  Detections found = boxes_in(detector, seen, x.shape(2), x.shape(3), extent);
  const auto y_factor = static_cast<float>(1 / prepared.y_scale), x_factor = static_cast<float>(1 / prepared.x_scale);
  for (Box& box : found.bbox) {
    box = {box.y_min * y_factor, box.x_min * x_factor, box.y_max * y_factor, box.x_max * x_factor};
  }
  times.boxes = watch.lap();
  return found;
}
