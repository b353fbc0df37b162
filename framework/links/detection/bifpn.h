#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/separable_convolution_2d.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct BiFPNOptions {
  int64_t channels = 64;
  int64_t repeats = 3;  ///< cells, one after the other
  int64_t levels = 5;   ///< maps that a cell has: those that are given, and smaller ones made of the last
};

/// A 1x1 convolution with a bias, and a normalization: how maps get the channels of a BiFPN.
class KUSARI_API BiFPNProjection : public Chain {
 public:
  BiFPNProjection(int64_t in_channels, int64_t channels);
  Variable operator()(const Variable& x) const;

  Child<Convolution2D> conv;
  Child<BatchNormalization> bn;
};

/// A node: bn(conv(swish(sum_i relu(w_i) x_i / (sum_j relu(w_j) + 1e-4)))), conv being a separable 3x3 convolution.
/// xs: maps of one size, as many as w.
class KUSARI_API BiFPNNode : public Chain {
 public:
  BiFPNNode(int64_t inputs, int64_t channels);
  Variable operator()(std::span<const Variable> xs) const;

  Parameter w;  ///< (inputs), 1 at first
  Child<SeparableConvolution2D> conv;
  Child<BatchNormalization> bn;
};

/// Nodes from the smallest map down to the largest, of a map and the node before, enlarged by nearest places; then back
/// up, of the map, the first node of the level and the node before, made smaller by max pooling. The first cell has
/// projections, two for each map that two nodes take.
class KUSARI_API BiFPNCell : public Chain {
 public:
  /// in_channels: of the maps that need projections, from the largest; none: all have `channels`.
  BiFPNCell(const std::vector<int64_t>& in_channels, const BiFPNOptions& options);
  Variables operator()(std::span<const Variable> xs) const;

  Child<LinkList<BiFPNProjection>> down, up;  ///< of the maps for the two ways; `up` but for the first map and the last
  Child<LinkList<BiFPNProjection>> top;       ///< one, of the first map that is made
  Child<LinkList<BiFPNNode>> nodes;           ///< in the order of their computation

 private:
  int64_t levels_;
};

/// Bidirectional feature pyramid of EfficientDet: three maps become five of the same channels, which see each other
/// several times. Tan et al. 2020.
class KUSARI_API BiFPN : public Chain {
 public:
  using Options = BiFPNOptions;
  /// in_channels: of the maps that are given, from the largest. Throws ValueError for options out of range.
  explicit BiFPN(const std::vector<int64_t>& in_channels, const Options& options = {});
  /// xs: as many maps (N, C, H, W), each half as large as the one before, rounded up. Returns `levels` maps of
  /// `channels`. Throws ValueError for another number of maps.
  Variables operator()(std::span<const Variable> xs) const;

  Child<LinkList<BiFPNCell>> cells;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
