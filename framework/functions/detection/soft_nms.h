#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/detection/box.h"

namespace kusari::functions {

/// By what a score is multiplied for a better box whose IoU with it is u.
enum class SoftNmsDecay : uint8_t {
  gaussian,  ///< exp(-u^2 / sigma)
  linear,    ///< 1 - u where u is at least `thresh`, else 1
};

struct SoftNmsOptions {
  SoftNmsDecay decay = SoftNmsDecay::gaussian;
  double sigma = 0.5;                           ///< of the Gaussian decay, positive
  double thresh = 0.3;                          ///< IoU from which the linear decay begins
  double score_thresh = 0.001;                  ///< boxes whose score has fallen to this or below are dropped
  std::optional<int64_t> limit = std::nullopt;  ///< no more than so many stay
};

/// What soft_nms keeps, best first.
struct SoftNmsResult {
  std::vector<int64_t> index;  ///< of each box
  std::vector<float> score;    ///< and what became of its score
};

/// Lowers the scores of boxes that lie on better ones instead of dropping these: takes the box with the highest score
/// (of equal ones the lower index), multiplies the scores of those that are left by the decay, and so on.
/// Boxes whose score is NaN are left out. On the host, in float32. Throws ValueError for options out of range and when
/// there are not as many scores as boxes. Bodla et al. 2017.
KUSARI_API SoftNmsResult soft_nms(std::span<const Box> bbox, std::span<const float> score,
                                  const SoftNmsOptions& options = {});

}  // namespace kusari::functions
