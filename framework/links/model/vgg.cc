#include "kusari/framework/links/model/vgg.h"

#include <utility>

#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/activation/softmax.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/functions/pooling/max_pooling_nd.h"
#include "kusari/framework/initializers/normal.h"

namespace kusari::links {
namespace {

namespace F = functions;

// Of Caffe's models; in the order blue, green, red.
constexpr ImagePreparation kVGGPreparation = {.size = 224, .bgr = true, .mean = {103.939, 116.779, 123.68}};

ImagePreparation preparation_for(const VGGLayersOptions& o) {
  ImagePreparation preparation = kVGGPreparation;
  preparation.size = o.image_size;
  return preparation;
}

Initializer weights(const VGGLayersOptions& o) { return o.initial_w ? o.initial_w : initializers::Normal(0.01); }

ConvolutionOptions same_size(const VGGLayersOptions& o) { return {.pad = 1, .initial_w = weights(o)}; }

// Five poolings halve the size, rounding up.
int64_t pooled_pixels(int64_t size) {
  for (int i = 0; i < 5; ++i) size = (size + 1) / 2;
  return size * size;
}

// The kinds of layers. A member belongs to either class.
template <class Model, class T>
const T& member_of(const VisionModel& model, T Model::*member) {
  return static_cast<const Model&>(model).*member;
}
template <auto conv>
Variable conv_relu(const VisionModel& model, const Variable& h) {
  return F::relu(member_of(model, conv)(h));
}
template <auto fc>
Variable fc_relu_dropout(const VisionModel& model, const Variable& h) {
  return F::dropout(F::relu(member_of(model, fc)(h)));
}
Variable last_fc(const VisionModel& model, const Variable& h) { return member_of(model, &VGGLayers::fc8)(h); }
Variable halve(const VisionModel&, const Variable& h) { return F::max_pooling_2d(h, 2); }
Variable probabilities(const VisionModel&, const Variable& h) { return F::softmax(h); }

}  // namespace

VGGLayers::VGGLayers(Options o)
    : VisionModel(preparation_for(o)),
      conv1_1{*this, "conv1_1", 3, 64, 3, same_size(o)},
      conv1_2{*this, "conv1_2", 64, 64, 3, same_size(o)},
      conv2_1{*this, "conv2_1", 64, 128, 3, same_size(o)},
      conv2_2{*this, "conv2_2", 128, 128, 3, same_size(o)},
      conv3_1{*this, "conv3_1", 128, 256, 3, same_size(o)},
      conv3_2{*this, "conv3_2", 256, 256, 3, same_size(o)},
      conv3_3{*this, "conv3_3", 256, 256, 3, same_size(o)},
      conv4_1{*this, "conv4_1", 256, 512, 3, same_size(o)},
      conv4_2{*this, "conv4_2", 512, 512, 3, same_size(o)},
      conv4_3{*this, "conv4_3", 512, 512, 3, same_size(o)},
      conv5_1{*this, "conv5_1", 512, 512, 3, same_size(o)},
      conv5_2{*this, "conv5_2", 512, 512, 3, same_size(o)},
      conv5_3{*this, "conv5_3", 512, 512, 3, same_size(o)},
      fc6{*this, "fc6", 512 * pooled_pixels(o.image_size), 4096, {.initial_w = weights(o)}},
      fc7{*this, "fc7", 4096, 4096, {.initial_w = weights(o)}},
      fc8{*this, "fc8", 4096, o.n_classes, {.initial_w = weights(o)}} {}

VGG19Layers::VGG19Layers(Options o)
    : VGGLayers(o),
      conv3_4{*this, "conv3_4", 256, 256, 3, same_size(o)},
      conv4_4{*this, "conv4_4", 512, 512, 3, same_size(o)},
      conv5_4{*this, "conv5_4", 512, 512, 3, same_size(o)} {}

VisionModel::LayerTable VGG16Layers::layer_table() const {
  static const Layer layers[] = {{"conv1_1", conv_relu<&VGG16Layers::conv1_1>},
                                 {"conv1_2", conv_relu<&VGG16Layers::conv1_2>},
                                 {"pool1", halve},
                                 {"conv2_1", conv_relu<&VGG16Layers::conv2_1>},
                                 {"conv2_2", conv_relu<&VGG16Layers::conv2_2>},
                                 {"pool2", halve},
                                 {"conv3_1", conv_relu<&VGG16Layers::conv3_1>},
                                 {"conv3_2", conv_relu<&VGG16Layers::conv3_2>},
                                 {"conv3_3", conv_relu<&VGG16Layers::conv3_3>},
                                 {"pool3", halve},
                                 {"conv4_1", conv_relu<&VGG16Layers::conv4_1>},
                                 {"conv4_2", conv_relu<&VGG16Layers::conv4_2>},
                                 {"conv4_3", conv_relu<&VGG16Layers::conv4_3>},
                                 {"pool4", halve},
                                 {"conv5_1", conv_relu<&VGG16Layers::conv5_1>},
                                 {"conv5_2", conv_relu<&VGG16Layers::conv5_2>},
                                 {"conv5_3", conv_relu<&VGG16Layers::conv5_3>},
                                 {"pool5", halve},
                                 {"fc6", fc_relu_dropout<&VGG16Layers::fc6>},
                                 {"fc7", fc_relu_dropout<&VGG16Layers::fc7>},
                                 {"fc8", last_fc},
                                 {"prob", probabilities}};
  return {layers, "fc8", "fc7"};
}

VisionModel::LayerTable VGG19Layers::layer_table() const {
  static const Layer layers[] = {{"conv1_1", conv_relu<&VGG19Layers::conv1_1>},
                                 {"conv1_2", conv_relu<&VGG19Layers::conv1_2>},
                                 {"pool1", halve},
                                 {"conv2_1", conv_relu<&VGG19Layers::conv2_1>},
                                 {"conv2_2", conv_relu<&VGG19Layers::conv2_2>},
                                 {"pool2", halve},
                                 {"conv3_1", conv_relu<&VGG19Layers::conv3_1>},
                                 {"conv3_2", conv_relu<&VGG19Layers::conv3_2>},
                                 {"conv3_3", conv_relu<&VGG19Layers::conv3_3>},
                                 {"conv3_4", conv_relu<&VGG19Layers::conv3_4>},
                                 {"pool3", halve},
                                 {"conv4_1", conv_relu<&VGG19Layers::conv4_1>},
                                 {"conv4_2", conv_relu<&VGG19Layers::conv4_2>},
                                 {"conv4_3", conv_relu<&VGG19Layers::conv4_3>},
                                 {"conv4_4", conv_relu<&VGG19Layers::conv4_4>},
                                 {"pool4", halve},
                                 {"conv5_1", conv_relu<&VGG19Layers::conv5_1>},
                                 {"conv5_2", conv_relu<&VGG19Layers::conv5_2>},
                                 {"conv5_3", conv_relu<&VGG19Layers::conv5_3>},
                                 {"conv5_4", conv_relu<&VGG19Layers::conv5_4>},
                                 {"pool5", halve},
                                 {"fc6", fc_relu_dropout<&VGG19Layers::fc6>},
                                 {"fc7", fc_relu_dropout<&VGG19Layers::fc7>},
                                 {"fc8", last_fc},
                                 {"prob", probabilities}};
  return {layers, "fc8", "fc7"};
}

}  // namespace kusari::links
