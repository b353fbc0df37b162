#include "kusari/framework/links/model/segnet_basic.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/minmax.h"
#include "kusari/framework/functions/normalization/local_response_normalization.h"
#include "kusari/framework/functions/pooling/max_pooling_nd.h"
#include "kusari/framework/functions/pooling/upsampling_2d.h"
#include "kusari/framework/initializers/he.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {
namespace {

namespace F = functions;

constexpr int64_t kSegNetChannels = 64;

ConvolutionOptions segnet_conv(const SegNetBasicOptions& o) {
  return {.pad = 3, .nobias = true, .initial_w = o.initial_w ? o.initial_w : initializers::HeNormal()};
}

ConvolutionOptions segnet_classifier(const SegNetBasicOptions& o) {
  return {.initial_w = o.initial_w ? o.initial_w : initializers::HeNormal()};
}

BatchNormalizationOptions segnet_bn() { return {.initial_beta = 0.001}; }

/// Where the maxima of a pooling were.
struct Pooled {
  Array indexes;
  Dims size;  // of what was pooled
};

Variable pool(const Variable& h, Pooled& pooled) {
  pooled.size = {h.shape(2), h.shape(3)};
  auto [y, indexes] = F::max_pooling_2d_with_indices(h, 2);
  pooled.indexes = std::move(indexes);
  return y;
}

Variable unpool(const Variable& h, const Pooled& pooled) {
  return F::upsampling_2d(h, pooled.indexes, 2, {.outsize = pooled.size});
}

}  // namespace

SegNetBasic::SegNetBasic(int64_t n_class, const Options& o)
    : conv1{*this, "conv1", kInfer, kSegNetChannels, 7, segnet_conv(o)},
      conv1_bn{*this, "conv1_bn", kSegNetChannels, segnet_bn()},
      conv2{*this, "conv2", kSegNetChannels, kSegNetChannels, 7, segnet_conv(o)},
      conv2_bn{*this, "conv2_bn", kSegNetChannels, segnet_bn()},
      conv3{*this, "conv3", kSegNetChannels, kSegNetChannels, 7, segnet_conv(o)},
      conv3_bn{*this, "conv3_bn", kSegNetChannels, segnet_bn()},
      conv4{*this, "conv4", kSegNetChannels, kSegNetChannels, 7, segnet_conv(o)},
      conv4_bn{*this, "conv4_bn", kSegNetChannels, segnet_bn()},
      conv_decode4{*this, "conv_decode4", kSegNetChannels, kSegNetChannels, 7, segnet_conv(o)},
      conv_decode4_bn{*this, "conv_decode4_bn", kSegNetChannels, segnet_bn()},
      conv_decode3{*this, "conv_decode3", kSegNetChannels, kSegNetChannels, 7, segnet_conv(o)},
      conv_decode3_bn{*this, "conv_decode3_bn", kSegNetChannels, segnet_bn()},
      conv_decode2{*this, "conv_decode2", kSegNetChannels, kSegNetChannels, 7, segnet_conv(o)},
      conv_decode2_bn{*this, "conv_decode2_bn", kSegNetChannels, segnet_bn()},
      conv_decode1{*this, "conv_decode1", kSegNetChannels, kSegNetChannels, 7, segnet_conv(o)},
      conv_decode1_bn{*this, "conv_decode1_bn", kSegNetChannels, segnet_bn()},
      conv_classifier{
          *this, "conv_classifier",   kSegNetChannels, argument::count("L::SegNetBasic", "n_class", n_class),
          1,     segnet_classifier(o)} {}

Variable SegNetBasic::operator()(const Variable& x) const {
  const LinkCall call(*this);
  Pooled pooled[4];
  Variable h = F::local_response_normalization(x, {.n = 5, .k = 1, .alpha = 1e-4 / 5, .beta = 0.75});
  h = pool(conv1_bn.relu(conv1(h)), pooled[0]);
  h = pool(conv2_bn.relu(conv2(h)), pooled[1]);
  h = pool(conv3_bn.relu(conv3(h)), pooled[2]);
  h = pool(conv4_bn.relu(conv4(h)), pooled[3]);
  h = conv_decode4_bn(conv_decode4(unpool(h, pooled[3])));
  h = conv_decode3_bn(conv_decode3(unpool(h, pooled[2])));
  h = conv_decode2_bn(conv_decode2(unpool(h, pooled[1])));
  h = conv_decode1_bn(conv_decode1(unpool(h, pooled[0])));
  return conv_classifier(h);
}

std::vector<Array> SegNetBasic::predict(const std::vector<Array>& images) const {
  const auto test_mode = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  const Dtype dtype = conv_classifier.W.array().dtype();
  std::vector<Array> labels;
  for (size_t begin = 0, end = 0; begin < images.size(); begin = end) {
    const Shape& shape = images[begin].shape();
    if (shape.size() != 3) {
      throw TypeError("L::SegNetBasic::predict: images[" + std::to_string(begin) + "] has shape " + to_string(shape) +
                      ": it must be (C, H, W)");
    }
    while (end < images.size() && images[end].shape() == shape) ++end;
    const Array batch =
        empty_channels_last({static_cast<int64_t>(end - begin), shape[0], shape[1], shape[2]}, dtype, device());
    for (size_t i = begin; i < end; ++i) batch.at(static_cast<int64_t>(i - begin)).copy_from(images[i]);
    const Array best = F::argmax((*this)(Variable(batch, false)), 1).array().to_device(Device());
    for (size_t i = begin; i < end; ++i)
      labels.push_back(best.at(static_cast<int64_t>(i - begin)).astype(Dtype::int32));
  }
  return labels;
}

}  // namespace kusari::links
