#pragma once

#include <limits>
#include <optional>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/initializers/scale_options.h"

namespace kusari::initializers {

struct ConstantOptions {
  double fill_value = std::numeric_limits<double>::quiet_NaN();  ///< required
  std::optional<Dtype> dtype = std::nullopt;                     ///< of the array; default: the parameter's
};

/// Every element is `fill_value`. chainer.initializers.Constant.
struct KUSARI_API Constant : ConstantOptions {
  explicit Constant(const ConstantOptions& options) : ConstantOptions{options} {}
  explicit Constant(double value, std::optional<Dtype> array_dtype = std::nullopt)
      : ConstantOptions{value, array_dtype} {}
  void operator()(const Array& array) const;
};

/// chainer.initializers.Zero.
struct KUSARI_API Zero : Constant {
  explicit Zero(std::optional<Dtype> array_dtype = std::nullopt) : Constant(0, array_dtype) {}
};

/// chainer.initializers.One.
struct KUSARI_API One : Constant {
  explicit One(std::optional<Dtype> array_dtype = std::nullopt) : Constant(1, array_dtype) {}
};

/// chainer.initializers.NaN.
struct KUSARI_API NaN : Constant {
  explicit NaN(std::optional<Dtype> array_dtype = std::nullopt);
};

/// `scale` times the identity matrix. Throws ValueError for anything but a square matrix.
/// chainer.initializers.Identity.
struct KUSARI_API Identity : ScaleOptions {
  explicit Identity(const ScaleOptions& options = {}) : ScaleOptions{options} {}
  explicit Identity(double factor, std::optional<Dtype> array_dtype = std::nullopt)
      : ScaleOptions{factor, array_dtype} {}
  void operator()(const Array& array) const;
};

}  // namespace kusari::initializers
