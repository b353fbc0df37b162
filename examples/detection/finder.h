#pragma once

// What a detector finds in one image, with the time that each part takes.

#include <algorithm>
#include <chrono>
#include <vector>

#include <kusari/kusari.h>

// Milliseconds.
struct FindTimes {
  double decode = 0;   // of the file
  double prepare = 0;  // the image's size and numbers, and its way to the device
  double network = 0;
  double boxes = 0;  // of the network's numbers
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

// detector.predict({image})[0], part by part. Network: the call, on images of equal sizes.
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
  const auto [locs, confs] = network(Variable(x, false));
  const Array loc = locs.array().at(0).to_device(Device()), conf = confs.array().at(0).to_device(Device());
  times.network = watch.lap();
  Detections found = detector.coder(x.shape(2), x.shape(3)).decode(loc, conf, detector.decoding);
  const auto height = static_cast<float>(image.shape(1)), width = static_cast<float>(image.shape(2));
  const auto y_scale = static_cast<float>(prepared.y_scale), x_scale = static_cast<float>(prepared.x_scale);
  for (Box& box : found.bbox) {
    box = {std::min(box.y_min / y_scale, height), std::min(box.x_min / x_scale, width),
           std::min(box.y_max / y_scale, height), std::min(box.x_max / x_scale, width)};
  }
  times.boxes = watch.lap();
  return found;
}
