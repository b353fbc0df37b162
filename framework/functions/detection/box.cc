#include "kusari/framework/functions/detection/box.h"

#include "kusari/framework/core/error.h"

namespace kusari {

static_assert(sizeof(Box) == 4 * sizeof(float), "arrays are copied as they lie");

Array bbox_array(std::span<const Box> bbox) {
  return from_host(bbox.data(), {static_cast<int64_t>(bbox.size()), 4}, Dtype::float32);
}

std::vector<Box> boxes_of(const Array& bbox) {
  if (!bbox.is_defined()) throw TypeError("boxes_of: bbox is an undefined array");
  if (bbox.ndim() != 2 || bbox.shape(1) != 4) {
    throw TypeError("boxes_of: bbox has shape " + to_string(bbox.shape()) + ": it must be (boxes, 4)");
  }
  const std::vector<float> values = bbox.to_vector<float>();
  std::vector<Box> boxes;
  boxes.reserve(values.size() / 4);
  for (size_t i = 0; i + 4 <= values.size(); i += 4) {
    boxes.push_back({values[i], values[i + 1], values[i + 2], values[i + 3]});
  }
  return boxes;
}

}  // namespace kusari
