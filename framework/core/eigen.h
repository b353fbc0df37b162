#pragma once

// Not part of kusari.h: a program that includes this header has Eigen 3.3 or newer.

#include <string>

#include <Eigen/Core>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/error.h"

namespace kusari {

template <>
struct DtypeOf<Eigen::half> {
  static constexpr Dtype value = Dtype::float16;
};
#if EIGEN_VERSION_AT_LEAST(3, 4, 0)
template <>
struct DtypeOf<Eigen::bfloat16> {
  static constexpr Dtype value = Dtype::bfloat16;
};
#endif

template <class T>
using EigenMatrixMap = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, Eigen::Unaligned,
                                  Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>;
template <class T>
using EigenVectorMap =
    Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>, Eigen::Unaligned, Eigen::InnerStride<Eigen::Dynamic>>;

namespace detail {

inline void check_eigen(const Array& array, Dtype dtype, int ndim, const char* call) {
  if (!array.is_defined()) throw ValueError(std::string(call) + ": the array is undefined");
  const auto expect = [&](bool holds, const std::string& what) {
    if (!holds) throw TypeError(std::string(call) + ": the array has " + what);
  };
  expect(array.dtype() == dtype, std::string("dtype ") + name(array.dtype()) + ": it must be " + name(dtype));
  expect(array.ndim() == ndim, "shape " + to_string(array.shape()) + ": it must have " + std::to_string(ndim) +
                                   (ndim == 1 ? " axis" : " axes"));
  if (!array.device().is_cpu()) {
    throw DeviceError(std::string(call) + ": the array is on " + array.device().name() + ": it must be on the CPU");
  }
  for (int64_t stride : array.strides()) {  // Eigen asserts this
    expect(stride >= 0, "strides " + to_string(array.strides()) + ": Eigen has no negative ones, take contiguous()");
  }
}

}  // namespace detail

/// The elements of an array with two axes as an Eigen matrix (row, column), without copying; writing to it writes to
/// the array, which must outlive it. T is the array's element type (Eigen::half for float16). Throws TypeError for
/// another dtype, number of axes or negative strides, DeviceError off the CPU.
template <class T>
EigenMatrixMap<T> eigen_matrix(const Array& array) {
  detail::check_eigen(array, dtype_of<T>, 2, "eigen_matrix");
  array.expose();
  return {array.template data<T>(), array.shape()[0], array.shape()[1], {array.strides()[0], array.strides()[1]}};
}

/// The same for an array with one axis, as a column vector.
template <class T>
EigenVectorMap<T> eigen_vector(const Array& array) {
  detail::check_eigen(array, dtype_of<T>, 1, "eigen_vector");
  array.expose();
  return {array.template data<T>(), array.shape()[0], Eigen::InnerStride<Eigen::Dynamic>(array.strides()[0])};
}

/// A new array with the coefficients of any Eigen expression: shape (rows, columns), or (size) for a vector type.
template <class Derived>
Array from_eigen(const Eigen::DenseBase<Derived>& values) {
  using T = typename Derived::Scalar;
  if constexpr (Derived::IsVectorAtCompileTime) {
    const Array array = empty({values.size()}, dtype_of<T>);
    auto to = eigen_vector<T>(array);
    if constexpr (Derived::ColsAtCompileTime == 1) {
      to = values.derived();
    } else {
      to = values.derived().transpose();
    }
    return array;
  } else {
    const Array array = empty({values.rows(), values.cols()}, dtype_of<T>);
    eigen_matrix<T>(array) = values.derived();
    return array;
  }
}

}  // namespace kusari
