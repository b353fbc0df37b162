#pragma once

#include "kusari/framework/kernels/math_basic.h"

namespace kusari::kernels {

/// The magnitudes at which a floating dtype ends.
struct ValueRange {
  double zero;      // the largest that is rounded to zero
  double normal;    // the smallest that is not subnormal
  double infinite;  // the smallest that is rounded to infinity
};

/// A ValueRange in the arithmetic of T.
template <class T>
struct ValueClasses {
  T zero, normal, infinite;

  KUSARI_HOST_DEVICE static ValueClasses of(const ValueRange& range) {
    return {static_cast<T>(range.zero), static_cast<T>(range.normal), static_cast<T>(range.infinite)};
  }
  /// Counts one value. A NaN is none of the others.
  KUSARI_HOST_DEVICE void count(T value, km::u32& zeros, km::u32& subnormals, km::u32& infinities, km::u32& nans,
                                T& smallest, T& largest) const {
    const T magnitude = km::abs(value), present = magnitude > 0 ? magnitude : km::Real<T>::kInfinity;
    const T known = finite(value);
    zeros += magnitude <= zero ? 1 : 0;
    subnormals += magnitude > zero && magnitude < normal ? 1 : 0;
    infinities += magnitude >= infinite ? 1 : 0;
    nans += magnitude != magnitude ? 1 : 0;
    smallest = present < smallest ? present : smallest;
    largest = known > largest ? known : largest;
  }
  /// The magnitude; 0 for what is infinite or NaN.
  KUSARI_HOST_DEVICE T finite(T value) const {
    const T magnitude = km::abs(value);
    return magnitude < infinite ? magnitude : T(0);
  }
};

/// What the values of a tensor are: float64 numbers, so that a row of an array holds them.
struct ValueCounts {
  double zeros, subnormals, infinities, nans;  // how many
  double smallest;                             // magnitude that is not 0; infinite when there is none
  double largest;                              // finite magnitude
  double sum;                                  // of the finite magnitudes
  double size;                                 // number of values

  KUSARI_HOST_DEVICE static ValueCounts none() { return {0, 0, 0, 0, km::Real<double>::kInfinity, 0, 0, 0}; }
  KUSARI_HOST_DEVICE void merge(const ValueCounts& other) {
    zeros += other.zeros;
    subnormals += other.subnormals;
    infinities += other.infinities;
    nans += other.nans;
    smallest = km::min(smallest, other.smallest);
    largest = km::max(largest, other.largest);
    sum += other.sum;
    size += other.size;
  }
};

}  // namespace kusari::kernels
