#include "kusari/framework/links/connection/filters.h"

#include "kusari/framework/core/error.h"
#include "kusari/framework/links/link.h"

namespace kusari::links {

int64_t channels_of_group(const char* call, const char* argument, int64_t channels, int64_t groups) {
  if (groups < 1 || (channels != kInfer && channels % groups != 0)) {
    throw ValueError(std::string(call) + ": " + argument + " is " + std::to_string(channels) + " but groups is " +
                     std::to_string(groups) + ": it must be a multiple of groups");
  }
  return channels == kInfer ? kInfer : channels / groups;
}

Shape filter_shape(const char* call, int ndim, int64_t first, int64_t second, const PerAxis& ksize) {
  Shape shape = {first, second};
  for (const int64_t size : ksize.resolve(ndim, call, "ksize")) shape.push_back(size);
  return shape;
}

std::string channels_text(int64_t channels, int64_t groups) {
  return channels == kInfer ? "None" : std::to_string(channels * groups);
}

std::string kernel_text(const Shape& filters) {
  bool is_uniform = true;
  for (int axis = 3; axis < filters.ndim(); ++axis) is_uniform = is_uniform && filters[axis] == filters[2];
  return is_uniform ? std::to_string(filters[2]) : to_string(Dims(filters.begin() + 2, filters.end()));
}

}  // namespace kusari::links
