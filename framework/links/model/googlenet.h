#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/inception.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/vision_model.h"

namespace kusari::links {

struct GoogLeNetOptions {
  int64_t n_classes = 1000;
  Initializer initial_w = {};  ///< outside the Inception modules; default: LeCunUniform
};

/// Inception v1 for images of 224x224. Layers: conv1, pool1, conv2_reduce, conv2, pool2, inception_3a, ..,
/// inception_5b, pool5, loss3_fc (the scores), prob; loss1_fc2 and loss2_fc2 are the auxiliary scores, for training.
/// Parameter names and layers are Chainer's: its .npz files load. Szegedy et al. 2014; chainer.links.GoogLeNet.
class KUSARI_API GoogLeNet : public VisionModel {
 public:
  using Options = GoogLeNetOptions;
  explicit GoogLeNet(Options options = {});

  Child<Convolution2D> conv1, conv2_reduce, conv2;
  Child<Inception> inc3a, inc3b, inc4a, inc4b, inc4c, inc4d, inc4e, inc5a, inc5b;
  Child<Linear> loss3_fc;
  Child<Convolution2D> loss1_conv;
  Child<Linear> loss1_fc1, loss1_fc2;
  Child<Convolution2D> loss2_conv;
  Child<Linear> loss2_fc1, loss2_fc2;

 protected:
  LayerTable layer_table() const override;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
