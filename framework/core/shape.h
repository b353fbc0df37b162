#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <span>
#include <string>

#include "kusari/framework/core/export.h"

namespace kusari {

/// Most axes that an Array may have.
inline constexpr int kMaxNdim = 8;

/// Sizes or strides of the axes of an Array, kept inside the object.
class KUSARI_API Dims {
 public:
  using value_type = int64_t;

  constexpr Dims() noexcept = default;
  Dims(std::initializer_list<int64_t> values) : Dims(values.begin(), values.end()) {}
  /// Of std::vector, std::array or std::span. Not a span alone, which the compiler would try to make of every argument.
  template <class Range>
  requires requires(const Range& range) { range.data() + range.size() - static_cast<const int64_t*>(range.data()); }
  explicit Dims(const Range& range) : Dims(range.data(), range.data() + range.size()) {}
  template <class It>
  Dims(It first, It last) {
    for (; first != last; ++first) push_back(static_cast<int64_t>(*first));
  }
  /// n times `value`.
  static Dims filled(int n, int64_t value) {
    Dims dims;
    for (int i = 0; i < n; ++i) dims.push_back(value);
    return dims;
  }

  int ndim() const noexcept { return ndim_; }
  size_t size() const noexcept { return static_cast<size_t>(ndim_); }
  bool empty() const noexcept { return ndim_ == 0; }
  int64_t operator[](int i) const noexcept { return values_[i]; }
  int64_t& operator[](int i) noexcept { return values_[i]; }
  const int64_t* begin() const noexcept { return values_; }
  const int64_t* end() const noexcept { return values_ + ndim_; }
  int64_t* begin() noexcept { return values_; }
  int64_t* end() noexcept { return values_ + ndim_; }
  int64_t front() const noexcept { return values_[0]; }
  int64_t back() const noexcept { return values_[ndim_ - 1]; }

  /// Throws ValueError past kMaxNdim axes.
  void push_back(int64_t value) {
    if (ndim_ == kMaxNdim) throw_too_many();
    values_[ndim_++] = value;
  }
  void pop_back() noexcept { --ndim_; }
  /// Copies only the axes that exist: the compiler's copy moves the whole object in wide pieces, which stalls when
  /// its parts were written one by one just before.
  void assign(const Dims& other) noexcept {
    ndim_ = other.ndim_;
    for (int i = 0; i < ndim_; ++i) values_[i] = other.values_[i];
  }
  /// Becomes the strides of a C-ordered dense array of that shape.
  void assign_contiguous_strides(const Dims& shape) noexcept {
    ndim_ = shape.ndim_;
    int64_t step = 1;
    for (int i = ndim_ - 1; i >= 0; --i) {
      values_[i] = step;
      step *= shape.values_[i] > 1 ? shape.values_[i] : 1;
    }
  }
  void insert(int at, int64_t value);
  void erase(int at);

  friend bool operator==(const Dims& a, const Dims& b) noexcept {
    if (a.ndim_ != b.ndim_) return false;
    for (int i = 0; i < a.ndim_; ++i) {
      if (a.values_[i] != b.values_[i]) return false;
    }
    return true;
  }

 private:
  [[noreturn]] static void throw_too_many();

  int32_t ndim_ = 0;
  int64_t values_[kMaxNdim];
};

/// Sizes of the axes, Chainer's order. {} is a scalar.
using Shape = Dims;
/// Distance, in elements, between neighbours along each axis. May be zero or negative.
using Strides = Dims;

/// Number of elements of an array, whose shape has been checked.
inline int64_t numel(const Shape& shape) noexcept {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}
namespace detail {
[[noreturn]] KUSARI_API void throw_impossible_shape(const Shape& shape, int64_t itemsize, const char* call);
}  // namespace detail
/// Number of elements of a shape that may be anything. Throws ValueError naming `call` and the shape when a size is
/// negative, or when its elements of `itemsize` bytes would take 2^63 bytes or more, sizes of 0 left aside.
inline int64_t checked_numel(const Shape& shape, int64_t itemsize, const char* call) {
  int64_t count = 1, bytes = 0, all_bits = 0;
  bool is_empty = false, overflows = false;
  for (const int64_t size : shape) {  // without a branch, since every new array comes here
    all_bits |= size;
    is_empty |= size == 0;
    overflows |= __builtin_mul_overflow(count, size | static_cast<int64_t>(size == 0), &count);
  }
  overflows |= __builtin_mul_overflow(count, itemsize, &bytes);
  if (overflows || all_bits < 0) [[unlikely]] {
    detail::throw_impossible_shape(shape, itemsize, call);
  }
  return is_empty ? 0 : count;
}
/// Strides of a C-ordered dense array.
KUSARI_API Strides contiguous_strides(const Shape& shape);
/// Strides of an NC... array whose channels are innermost in memory (N, spatial..., C).
KUSARI_API Strides channels_last_strides(const Shape& shape);
/// "(2, 3)", "(5,)", "()" as Python prints a tuple.
KUSARI_API std::string to_string(const Dims& dims);
KUSARI_API std::ostream& operator<<(std::ostream& stream, const Dims& dims);
/// The shape both broadcast to, by NumPy's rules; throws TypeError naming `call` when they do not.
KUSARI_API Shape broadcast_shapes(const Shape& a, const Shape& b, const char* call = "broadcast_shapes");
/// An axis index in [-ndim, ndim) as one in [0, ndim); throws IndexError naming `call`.
KUSARI_API int normalize_axis(int64_t axis, int ndim, const char* call);

}  // namespace kusari
