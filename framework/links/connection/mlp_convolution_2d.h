#pragma once

#include <cstdint>
#include <vector>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/connection/convolution_2d.h"

namespace kusari::links {

/// Options of L::MLPConvolution2D.
struct MLPConvolutionOptions {
  PerAxis stride = 1;                                                ///< of the first convolution
  PerAxis pad = 0;                                                   ///< of the first convolution
  Callable<Variable(const Variable&)> activation = functions::relu;  ///< between the convolutions
  Initializer conv_init = {};                                        ///< of filters; default: LeCunNormal
  Initializer bias_init = 0;                                         ///< of biases
};

/// A convolution followed by 1x1 convolutions, with an activation between them: a small perceptron at each position.
/// x: (N, in_channels, H, W); returns (N, the last of out_channels, out_h, out_w). The convolutions are children "0",
/// "1", ... Throws ValueError when out_channels is empty, and what F::convolution_2d throws. Lin et al. 2013;
/// chainer.links.MLPConvolution2D.
class KUSARI_API MLPConvolution2D : public ChainList<Convolution2D> {
 public:
  using Options = MLPConvolutionOptions;
  /// in_channels may be kInfer. out_channels: of each convolution. ksize: of the first.
  MLPConvolution2D(int64_t in_channels, const std::vector<int64_t>& out_channels, const PerAxis& ksize,
                   Options options = {});

  Variable operator()(const Variable& x) const;

  Callable<Variable(const Variable&)> activation;
};

}  // namespace kusari::links
