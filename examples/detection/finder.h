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

// detector.predict({image})[0], part by part. Network: the call, on images of equal sizes; not used where a detector
// looks twice: its time is that of both looks, with the boxes.
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
  if (looks_twice(detector)) {
    Detections found = detector.find(Variable(x, false), {prepared})[0];
    times.network = watch.lap();
    return found;
  }
  const auto [locs, confs] = network(Variable(x, false));
  const auto on_host = [](const Variable& y) { return y.array().at(0).astype(Dtype::float32).to_device(Device()); };
  const Array loc = on_host(locs), conf = on_host(confs);
  times.network = watch.lap();
  L::AnchorDecodeOptions options = detector.decoding;  // boxes in the image, not in what it was filled up with
  options.height = static_cast<double>(prepared.image.shape(1));
  options.width = static_cast<double>(prepared.image.shape(2));
  Detections found = detector.coder(x.shape(2), x.shape(3)).decode(loc, conf, options);
  const auto y_factor = static_cast<float>(1 / prepared.y_scale), x_factor = static_cast<float>(1 / prepared.x_scale);
  for (Box& box : found.bbox) {
    box = {box.y_min * y_factor, box.x_min * x_factor, box.y_max * y_factor, box.x_max * x_factor};
  }
  times.boxes = watch.lap();
  return found;
}
