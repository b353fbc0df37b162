#include "kusari/framework/links/connection/inceptionbn.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/small_vector.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/pooling/average_pooling_nd.h"
#include "kusari/framework/functions/pooling/max_pooling_nd.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {
namespace {

ConvolutionOptions convolution(const InceptionBNOptions& o, int64_t pad, int64_t stride = 1) {
  return {.stride = stride, .pad = pad, .nobias = true, .initial_w = o.conv_init};
}

int64_t bn_channels(const char* option, int64_t count) {
  return argument::not_negative("L::InceptionBN", option, count);
}

BatchNormalizationOptions normalization(const InceptionBNOptions& o) { return {.dtype = get_dtype(o.dtype)}; }

}  // namespace

InceptionBN::InceptionBN(int64_t in_channels, const Options& o)
    : proj3{*this,
            "proj3",
            size_or_infer("L::InceptionBN", "in_channels", in_channels),
            bn_channels("proj3", o.proj3),
            1,
            convolution(o, 0)},
      conv3{*this, "conv3", o.proj3, bn_channels("out3", o.out3), 3, convolution(o, 1, o.stride)},
      proj33{*this, "proj33", in_channels, bn_channels("proj33", o.proj33), 1, convolution(o, 0)},
      conv33a{*this, "conv33a", o.proj33, bn_channels("out33", o.out33), 3, convolution(o, 1)},
      conv33b{*this, "conv33b", o.out33, o.out33, 3, convolution(o, 1, o.stride)},
      proj3n{*this, "proj3n", o.proj3, normalization(o)},
      conv3n{*this, "conv3n", o.out3, normalization(o)},
      proj33n{*this, "proj33n", o.proj33, normalization(o)},
      conv33an{*this, "conv33an", o.out33, normalization(o)},
      conv33bn{*this, "conv33bn", o.out33, normalization(o)},
      is_max_{o.pooltype == "max"},
      stride_{o.stride} {
  if (!is_max_ && o.pooltype != "avg") {
    throw ValueError("L::InceptionBN: pooltype is '" + o.pooltype + "': it must be 'max' or 'avg'");
  }
  if (bn_channels("out1", o.out1) > 0) {
    if (o.stride != 1 || !o.proj_pool) {
      throw ValueError("L::InceptionBN: out1 is " + std::to_string(o.out1) +
                       ": a 1x1 convolution needs stride 1 and a proj_pool");
    }
    conv1.emplace(*this, "conv1", in_channels, o.out1, 1, convolution(o, 0));
    conv1n.emplace(*this, "conv1n", o.out1, normalization(o));
  }
  if (o.proj_pool) {
    poolp.emplace(*this, "poolp", in_channels, bn_channels("proj_pool", *o.proj_pool), 1, convolution(o, 0));
    poolpn.emplace(*this, "poolpn", *o.proj_pool, normalization(o));
  }
}

Variable InceptionBN::operator()(const Variable& x) const {
  const LinkCall call(*this);
  SmallVector<Variable, 4> parts;
  if (conv1) parts.push_back(conv1n->relu((*conv1)(x)));
  parts.push_back(conv3n.relu(conv3(proj3n.relu(proj3(x)))));
  parts.push_back(conv33bn.relu(conv33b(conv33an.relu(conv33a(proj33n.relu(proj33(x)))))));
  const Variable pooled = is_max_ ? functions::max_pooling_2d(x, 3, {.stride = stride_, .pad = 1, .cover_all = false})
                                  : functions::average_pooling_2d(x, 3, {.stride = stride_, .pad = 1});
  parts.push_back(poolp ? poolpn->relu((*poolp)(pooled)) : pooled);
  return functions::concat(std::span<const Variable>(parts.data(), parts.size()));
}

}  // namespace kusari::links
