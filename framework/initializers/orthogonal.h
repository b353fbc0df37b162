#pragma once

#include <cstdint>
#include <optional>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::initializers {

/// Which matrices Orthogonal accepts: embedding has rows >= columns, projection rows <= columns, basis as many of both.
enum class OrthogonalMode : uint8_t { automatic, embedding, projection, basis };

struct OrthogonalOptions {
  double scale = 1.1;
  OrthogonalMode mode = OrthogonalMode::automatic;
  std::optional<Dtype> dtype = std::nullopt;  ///< of the array; default: the parameter's
};

/// `scale` times a random matrix, of shape (shape[0], the product of the other sizes), whose rows are orthonormal, or
/// its columns where there are more rows. Throws ValueError for an empty array and when the shape does not fit the
/// mode. Saxe et al. 2014; chainer.initializers.Orthogonal.
struct KUSARI_API Orthogonal : OrthogonalOptions {
  explicit Orthogonal(const OrthogonalOptions& options = {}) : OrthogonalOptions{options} {}
  explicit Orthogonal(double factor, OrthogonalMode matrix_mode = OrthogonalMode::automatic,
                      std::optional<Dtype> array_dtype = std::nullopt)
      : OrthogonalOptions{factor, matrix_mode, array_dtype} {}
  void operator()(const Array& array) const;
};

}  // namespace kusari::initializers
