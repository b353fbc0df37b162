#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/normalization/batch_normalization.h"

namespace kusari::links {

struct CifarCnnOptions {
  int64_t n_classes = 10;
  Initializer initial_w = {};  ///< of the convolutions; default: HeNormal
};

/// A plain network for images of 32x32: twelve 3x3 convolutions with ReLU, of 128, 256, 256, 256 | 256, 256, 512, 512 |
/// 256, 256, 256, 128 channels, max pooling by 2, 2 and 4 behind the three groups, batch normalization of the 512
/// numbers that are left, an affine map to 512 with ReLU and one to the classes' scores. 9,122,954 parameters and 1,024
/// running statistics.
class KUSARI_API CifarCnn : public Chain {
 public:
  using Options = CifarCnnOptions;
  explicit CifarCnn(Options options = {});
  /// x: (N, 3, 32, 32). Returns (N, n_classes), before softmax.
  Variable operator()(const Variable& x) const;

  Child<LinkList<Convolution2D>> convs;
  Child<BatchNormalization> bn;
  Child<Linear> fc1, fc2;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
