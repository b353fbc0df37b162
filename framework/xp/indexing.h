#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/array/index.h"
#include "kusari/framework/kernels/array_operators.h"

// Elements of arrays by NumPy's indexing. Negative indices count from the end; one out of range throws IndexError (on
// the CPU; elsewhere it reads 0 and writes nothing). An undefined array throws StateError.
namespace kusari::xp {

/// x[slices]: xp::get_item(x, {Slice{1, 3}, 0, kNewAxis, kEllipsis}).
/// slices: one entry per axis from the first, later axes taken whole; integer arrays broadcast together, bool arrays
/// mean the places of their true elements. Returns a view of x unless an array is among the indices. Throws IndexError
/// for too many indices, ValueError for a step of 0, TypeError for an index array that is floating.
KUSARI_API Array get_item(const Array& x, std::span<const Index> slices);
KUSARI_API Array get_item(const Array& x, std::initializer_list<Index> slices);

/// x[slices] = value, in place: every array that shares x's elements sees it. value broadcasts to what get_item gives
/// and is converted to x's dtype; of several values for one element the last one stays. Throws what get_item throws,
/// TypeError when value does not broadcast, DeviceError on devices without that kernel when integer arrays are among
/// the indices.
KUSARI_API void set_item(const Array& x, std::span<const Index> slices, const Array& value);
KUSARI_API void set_item(const Array& x, std::span<const Index> slices, Scalar value);
KUSARI_API void set_item(const Array& x, std::initializer_list<Index> slices, const Array& value);
KUSARI_API void set_item(const Array& x, std::initializer_list<Index> slices, Scalar value);

/// What x[...] is in Python: it can be read as an array and assigned to.
class KUSARI_API Items {
 public:
  Items(Array x, std::vector<Index> slices) : x_{std::move(x)}, slices_{std::move(slices)} {}
  Items(const Items&) = default;

  Array array() const;
  operator Array() const { return array(); }

  const Items& operator=(const Array& value) const { return set(value); }
  const Items& operator=(Scalar value) const { return set(value); }
  const Items& operator=(const Items& other) const { return set(other.array()); }
  const Items& operator=(const Items& other) { return set(other.array()); }
  template <class Operand>
  const Items& operator+=(const Operand& value) const {
    return set(array() + value);
  }
  template <class Operand>
  const Items& operator-=(const Operand& value) const {
    return set(array() - value);
  }
  template <class Operand>
  const Items& operator*=(const Operand& value) const {
    return set(array() * value);
  }
  template <class Operand>
  const Items& operator/=(const Operand& value) const {
    return set(array() / value);
  }

 private:
  const Items& set(const Array& value) const;
  const Items& set(Scalar value) const;

  Array x_;
  std::vector<Index> slices_;
};

/// Python's x[i, j, ...]: `Array row = xp::at(x, 0, Slice{1, 3})`, `xp::at(x, x < 0) = 0`, `xp::at(x, kEllipsis, 2) +=
/// y`. See get_item and set_item.
template <class... Indices>
Items at(const Array& x, const Indices&... indices) {
  return Items(x, std::vector<Index>{Index(indices)...});
}

/// Slices of x along an axis, or elements of the flattened array without one, at integer indices of any shape, which
/// takes the axis's place. Throws TypeError for indices that are no integers. numpy.take.
KUSARI_API Array take(const Array& x, const Array& indices, std::optional<int64_t> axis = std::nullopt);
/// Writes values, repeated as often as needed, to the given places of the flattened array, in place; of several values
/// for one element the last one stays. Throws ValueError where there are indices but no values. numpy.put.
KUSARI_API void put(const Array& x, const Array& indices, const Array& values);
/// One element for each index: y[i, j] = x[i, indices[i, j]] for axis 1. numpy.take_along_axis.
KUSARI_API Array take_along_axis(const Array& x, const Array& indices, int64_t axis);
/// The places of the elements that are not 0, an int64 array for each axis. The host waits. numpy.nonzero.
KUSARI_API Arrays nonzero(const Array& x);
/// The same as the rows of one array: (count, ndim). numpy.argwhere.
KUSARI_API Array argwhere(const Array& x);
/// The elements at true places of a bool array, which has the shape of x or of its first axes. x[condition].
KUSARI_API Array compress(const Array& condition, const Array& x);

}  // namespace kusari::xp
