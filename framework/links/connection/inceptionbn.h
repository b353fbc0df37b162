#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/normalization/batch_normalization.h"

namespace kusari::links {

/// Numbers of channels of L::InceptionBN, and its other options.
struct InceptionBNOptions {
  int64_t out1 = 0;                                 ///< of the 1x1 convolution; 0: there is none
  int64_t proj3 = 0;                                ///< of the projection before the single 3x3 convolution
  int64_t out3 = 0;                                 ///< of the single 3x3 convolution
  int64_t proj33 = 0;                               ///< of the projection before the two 3x3 convolutions
  int64_t out33 = 0;                                ///< of each of the two 3x3 convolutions
  std::string pooltype = "max";                     ///< or "avg"
  std::optional<int64_t> proj_pool = std::nullopt;  ///< of the projection behind the pooling; nullopt: there is none
  int64_t stride = 1;                               ///< of the last convolution of each branch and of the pooling
  Initializer conv_init = {};                       ///< of filters; default: LeCunNormal
  std::optional<Dtype> dtype = std::nullopt;        ///< of the normalizations; default: config.dtype
};

/// Inception with batch normalization behind each convolution, two 3x3 convolutions in the place of one of 5x5, and a
/// choice of pooling. x: (N, in_channels, H, W); returns (N, out1 + out3 + out33 + proj_pool, H / stride, W / stride),
/// in_channels in place of proj_pool where that is absent. Throws ValueError for another pooltype, and when there is a
/// 1x1 convolution although stride is not 1 or there is no proj_pool. Ioffe and Szegedy 2015;
/// chainer.links.InceptionBN.
class KUSARI_API InceptionBN : public Chain {
 public:
  using Options = InceptionBNOptions;
  /// in_channels may be kInfer.
  InceptionBN(int64_t in_channels, const Options& options);

  Variable operator()(const Variable& x) const;

  Child<Convolution2D> proj3, conv3, proj33, conv33a, conv33b;
  Child<BatchNormalization> proj3n, conv3n, proj33n, conv33an, conv33bn;
  std::optional<Child<Convolution2D>> conv1, poolp;  ///< absent with out1 = 0, without proj_pool
  std::optional<Child<BatchNormalization>> conv1n, poolpn;

 private:
  bool is_max_;
  int64_t stride_;
};

}  // namespace kusari::links
