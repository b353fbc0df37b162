#pragma once

#include <cstdint>
#include <optional>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::initializers {

/// Which matrices Orthogonal accepts: embedding has rows >= columns, projection rows <= columns, basis as many of both.
enum class OrthogonalMode : uint8_t { automatic, embedding, projection, basis };

/// `scale` times a random matrix, of shape (shape[0], the product of the other sizes), whose rows are orthonormal, or
/// its columns where there are more rows. Throws ValueError for an empty array and when the shape does not fit the
/// mode. Saxe et al. 2014; chainer.initializers.Orthogonal.
struct KUSARI_API Orthogonal {
  double scale;
  OrthogonalMode mode;
  std::optional<Dtype> dtype;
  explicit Orthogonal(double factor = 1.1, OrthogonalMode matrix_mode = OrthogonalMode::automatic,
                      std::optional<Dtype> array_dtype = std::nullopt)
      : scale{factor}, mode{matrix_mode}, dtype{array_dtype} {}
  void operator()(const Array& array) const;
};

}  // namespace kusari::initializers
