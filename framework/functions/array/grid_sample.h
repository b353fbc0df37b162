#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// How grid_sample reads between the elements of x: bilinear is linear along each axis, bicubic of four elements along
/// each.
enum class GridSampleMode : uint8_t { bilinear, nearest, bicubic };

/// What lies outside of x: zeros, the nearest element (border), or x mirrored at its edges (reflection).
enum class GridSamplePadding : uint8_t { zeros, border, reflection };

struct GridSampleOptions {
  GridSampleMode mode = GridSampleMode::bilinear;
  GridSamplePadding padding = GridSamplePadding::zeros;
  bool align_corners = false;  ///< -1 and 1 are the middles of the first and last elements, not the edges of x
};

/// Images (volumes, lines) read at the places of a grid.
/// x: (N, C, in...), floating, with one to three spatial axes, none of them empty. grid: (N, out..., axes), floating:
/// for each new element its place in x, the last spatial axis (the column) first, from -1 to 1. Returns y: (N, C,
/// out...) in x's dtype; computed in float32 at least. Throws TypeError when the arguments do not fit. Differentiable
/// to any order by x, and by grid unless mode is nearest. Jaderberg et al. 2015; torch.nn.functional.grid_sample,
/// ONNX's GridSample. Chainer's spatial_transformer_sampler has align_corners, and its grids the places as the second
/// axis.
KUSARI_API Variable grid_sample(const Variable& x, const Variable& grid, const GridSampleOptions& options = {});

}  // namespace kusari::functions
