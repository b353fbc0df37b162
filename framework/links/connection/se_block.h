#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/link.h"

namespace kusari::links {

/// What lies between the two affine maps of an SEBlock.
enum class SEActivation : uint8_t { relu, swish };

struct SEBlockOptions {
  int64_t ratio = 16;    ///< the channels between are in channels / ratio
  int64_t squeezed = 0;  ///< or as many as this
  SEActivation activation = SEActivation::relu;
  Initializer initial_w = {};  ///< default: LeCunNormal
};

/// Squeeze and excitation: each channel times a number between 0 and 1 that follows from the means of all channels,
/// y = x sigmoid(up(relu(down(mean of x)))).
/// x: (N, channels, H, W), floating. Returns y like x. Throws ValueError when no channel would be left between, and
/// what F::linear throws. Hu et al. 2018; chainercv.links.SEBlock.
class KUSARI_API SEBlock : public Chain {
 public:
  using Options = SEBlockOptions;
  explicit SEBlock(int64_t channels, const Options& options = {});
  Variable operator()(const Variable& x) const;

  Child<Linear> down, up;

 private:
  SEActivation activation_;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
