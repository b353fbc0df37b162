#include "kusari/framework/core/shape.h"

#include <algorithm>
#include <ostream>
#include <string>

#include "kusari/framework/core/error.h"

namespace kusari {

void Dims::throw_too_many() {
  throw ValueError("Shape: there are too many sizes: an array has at most " + std::to_string(kMaxNdim) + " axes");
}

void Dims::insert(int at, int64_t value) {
  push_back(0);
  for (int i = ndim_ - 1; i > at; --i) values_[i] = values_[i - 1];
  values_[at] = value;
}

void Dims::erase(int at) {
  for (int i = at; i + 1 < ndim_; ++i) values_[i] = values_[i + 1];
  --ndim_;
}

Strides contiguous_strides(const Shape& shape) {
  Strides strides;
  strides.assign_contiguous_strides(shape);
  return strides;
}

Strides channels_last_strides(const Shape& shape) {
  if (shape.ndim() < 3) return contiguous_strides(shape);
  Strides strides = shape;
  strides[1] = 1;
  int64_t step = std::max<int64_t>(shape[1], 1);
  for (int i = shape.ndim() - 1; i >= 2; --i) {
    strides[i] = step;
    step *= std::max<int64_t>(shape[i], 1);
  }
  strides[0] = step;
  return strides;
}

void detail::throw_impossible_shape(const Shape& shape, int64_t itemsize, const char* call) {
  const std::string what = std::string(call) + ": shape is " + to_string(shape) + ": ";
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    if (shape[axis] >= 0) continue;
    throw ValueError(what + "no size of it may be negative (axis " + std::to_string(axis) + " has " +
                     std::to_string(shape[axis]) + ")");
  }
  int64_t count = 1;
  for (const int64_t size : shape) {
    if (__builtin_mul_overflow(count, size == 0 ? 1 : size, &count)) {
      throw ValueError(what + "it must hold less than 2^63 elements");
    }
  }
  throw ValueError(what + "its elements of " + std::to_string(itemsize) + " bytes must take less than 2^63 bytes");
}

std::string to_string(const Dims& dims) {
  std::string text = "(";
  for (int i = 0; i < dims.ndim(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + (dims.ndim() == 1 ? ",)" : ")");
}

std::ostream& operator<<(std::ostream& stream, const Dims& dims) { return stream << to_string(dims); }

Shape broadcast_shapes(const Shape& a, const Shape& b, const char* call) {
  const Shape& longer = a.ndim() >= b.ndim() ? a : b;
  const Shape& shorter = a.ndim() >= b.ndim() ? b : a;
  Shape result = longer;
  const int skip = longer.ndim() - shorter.ndim();
  for (int i = 0; i < shorter.ndim(); ++i) {
    const int64_t x = longer[i + skip], y = shorter[i];
    if (x != y && x != 1 && y != 1) {
      throw TypeError(std::string(call) + ": shapes " + to_string(a) + " and " + to_string(b) +
                      " do not broadcast: axis " + std::to_string(i + skip) + " has sizes " + std::to_string(x) +
                      " and " + std::to_string(y));
    }
    result[i + skip] = x == 1 ? y : x;
  }
  return result;
}

int normalize_axis(int64_t axis, int ndim, const char* call) {
  if (axis < -ndim || axis >= ndim) {
    throw IndexError(std::string(call) + ": axis " + std::to_string(axis) + " is out of range for " +
                     std::to_string(ndim) + " axes");
  }
  return static_cast<int>(axis < 0 ? axis + ndim : axis);
}

}  // namespace kusari
