#pragma once

#include "kusari/framework/core/array.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/kernels/reduce.h"

// Arrays as elements in an order of their axes, whatever their dtypes and strides.
namespace kusari::cpu {

/// The order of axes with those of the mask behind the others.
inline Dims behind(int ndim, AxisMask mask) {
  Dims axes;
  for (const bool masked : {false, true}) {
    for (int axis = 0; axis < ndim; ++axis) {
      if (mask.contains(axis) == masked) axes.push_back(axis);
    }
  }
  return axes;
}

inline Array permuted(const Array& x, const Dims& axes) {
  return x.transpose(std::span<const int64_t>(axes.begin(), axes.size()));
}

/// The elements in an order of the axes, read as the type T: in place, or else through buffers.
template <class T>
class OrderedInput {
 public:
  OrderedInput() = default;
  OrderedInput(const Array& x, const Dims& axes) : elements_{permuted(x, axes).contiguous()} {
    if (elements_.dtype() != dtype_of<T>) convert_ = convert_loop(elements_.dtype(), dtype_of<T>);
  }
  bool is_defined() const { return elements_.is_defined(); }
  bool is_direct() const { return convert_ == nullptr; }
  /// n elements from number `first`; `buffer`, for as many, may be null where the input is direct.
  const T* read(int64_t first, int64_t n, T* buffer) const {
    const char* const from = elements_.data<char>() + first * itemsize(elements_.dtype());
    if (convert_ == nullptr) return reinterpret_cast<const T*>(from);
    convert_(from, buffer, n);
    return buffer;
  }

 private:
  Array elements_;
  ConvertLoop convert_ = nullptr;
};

/// An array that is computed in an order of the axes, as the type T, wherever its elements are to go.
template <class T>
class OrderedResult {
 public:
  OrderedResult(const Array& array, const Dims& axes) {
    if (!array.is_defined()) return;
    target_ = permuted(array, axes);
    computed_ = target_.is_contiguous() ? target_ : empty(target_.shape(), target_.dtype());
    if (computed_.dtype() != dtype_of<T>) convert_ = convert_loop(dtype_of<T>, computed_.dtype());
  }
  bool is_defined() const { return computed_.is_defined(); }
  bool is_direct() const { return convert_ == nullptr; }
  /// Where the elements from number `first` are to be computed: in place, or else in `buffer`, for write() to fetch.
  T* place(int64_t first, T* buffer) const { return convert_ == nullptr ? computed_.data<T>() + first : buffer; }
  void write(int64_t first, int64_t n, const T* buffer) const {
    if (convert_ == nullptr) return;
    convert_(buffer, computed_.data<char>() + first * itemsize(computed_.dtype()), n);
  }
  void finish() const {
    if (computed_.is_defined() && !computed_.is_same(target_)) target_.copy_from(computed_);
  }

 private:
  Array target_, computed_;
  ConvertLoop convert_ = nullptr;
};

}  // namespace kusari::cpu
