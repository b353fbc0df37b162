#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/link.h"

namespace kusari::links {

/// What a pyramid has above the maps that it is given.
enum class FPNTop : uint8_t {
  none,
  convolutions,  ///< two more: a 3x3 convolution with stride 2 of the last, and one of its ReLU: RetinaNet's P6, P7
  pool,          ///< one more: every second place of the last: Faster R-CNN's P6
};

struct FPNOptions {
  int64_t channels = 256;
  FPNTop top = FPNTop::convolutions;
  Initializer initial_w = {};  ///< default: LeCunUniform, as torchvision's with its a = 1
};

/// Feature pyramid: 1x1 convolutions of a network's maps, to each of which the next smaller one is added, enlarged by
/// its nearest places, and a 3x3 convolution of each sum. Lin et al. 2017; chainercv.links.FPN.
class KUSARI_API FPN : public Chain {
 public:
  using Options = FPNOptions;
  /// in_channels: of the maps, from the largest; kInfer where unknown.
  explicit FPN(const std::vector<int64_t>& in_channels, Options options = {});
  /// xs: as many maps (N, C, H, W), from the largest. Returns (N, channels, H, W) of the same sizes, then the top's.
  /// Throws ValueError for another number of maps.
  Variables operator()(std::span<const Variable> xs) const;

  Child<LinkList<Convolution2D>> inner, outer, above;

 private:
  FPNTop top_;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
