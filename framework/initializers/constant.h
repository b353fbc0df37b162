#pragma once

#include <optional>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::initializers {

/// Every element is `fill_value`. chainer.initializers.Constant.
struct KUSARI_API Constant {
  double fill_value;
  std::optional<Dtype> dtype;
  explicit Constant(double value, std::optional<Dtype> array_dtype = std::nullopt)
      : fill_value{value}, dtype{array_dtype} {}
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
struct KUSARI_API Identity {
  double scale;
  std::optional<Dtype> dtype;
  explicit Identity(double factor = 1, std::optional<Dtype> array_dtype = std::nullopt)
      : scale{factor}, dtype{array_dtype} {}
  void operator()(const Array& array) const;
};

}  // namespace kusari::initializers
