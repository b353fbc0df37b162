#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/vision_model.h"

namespace kusari::links {

struct VGGLayersOptions {
  int64_t n_classes = 1000;
  int64_t image_size = 224;    ///< height and width of the images, which decide the size of fc6
  Initializer initial_w = {};  ///< default: Normal(0.01)
};

/// What VGG16Layers and VGG19Layers share. Parameter names and layers are Chainer's: its .npz files load.
class KUSARI_API VGGLayers : public VisionModel {
 public:
  using Options = VGGLayersOptions;

  Child<Convolution2D> conv1_1, conv1_2, conv2_1, conv2_2, conv3_1, conv3_2, conv3_3, conv4_1, conv4_2, conv4_3;
  Child<Convolution2D> conv5_1, conv5_2, conv5_3;
  Child<Linear> fc6, fc7, fc8;

 protected:
  explicit VGGLayers(Options options);
  VGGLayers(const VGGLayers&) = default;
  VGGLayers(VGGLayers&&) noexcept = default;
  VGGLayers& operator=(const VGGLayers&) = default;
  VGGLayers& operator=(VGGLayers&&) noexcept = default;
};

/// 13 convolutions of 3x3 and 3 affine maps with dropout. Layers: conv1_1, conv1_2, pool1, .., pool5, fc6, fc7, fc8,
/// prob. Simonyan and Zisserman 2014; chainer.links.VGG16Layers.
class KUSARI_API VGG16Layers : public VGGLayers {
 public:
  explicit VGG16Layers(Options options = {}) : VGGLayers(std::move(options)) {}

 protected:
  LayerTable layer_table() const override;
};

/// 16 convolutions of 3x3. chainer.links.VGG19Layers.
class KUSARI_API VGG19Layers : public VGGLayers {
 public:
  explicit VGG19Layers(Options options = {});

  Child<Convolution2D> conv3_4, conv4_4, conv5_4;

 protected:
  LayerTable layer_table() const override;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
