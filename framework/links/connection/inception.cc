#include "kusari/framework/links/connection/inception.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/pooling/max_pooling_nd.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {
namespace {

ConvolutionOptions with_pad(const InceptionOptions& o, int64_t pad) {
  return {.pad = pad, .initial_w = o.conv_init, .initial_bias = o.bias_init};
}

int64_t inception_channels(const char* option, int64_t count) {
  return argument::not_negative("L::Inception", option, count);
}

}  // namespace

Inception::Inception(int64_t in_channels, const Options& o)
    : conv1{*this,
            "conv1",
            size_or_infer("L::Inception", "in_channels", in_channels),
            inception_channels("out1", o.out1),
            1,
            with_pad(o, 0)},
      proj3{*this, "proj3", in_channels, inception_channels("proj3", o.proj3), 1, with_pad(o, 0)},
      conv3{*this, "conv3", o.proj3, inception_channels("out3", o.out3), 3, with_pad(o, 1)},
      proj5{*this, "proj5", in_channels, inception_channels("proj5", o.proj5), 1, with_pad(o, 0)},
      conv5{*this, "conv5", o.proj5, inception_channels("out5", o.out5), 5, with_pad(o, 2)},
      projp{*this, "projp", in_channels, inception_channels("proj_pool", o.proj_pool), 1, with_pad(o, 0)} {}

Variable Inception::operator()(const Variable& x) const {
  const LinkCall call(*this);
  const Variable parts[] = {conv1(x), conv3(functions::relu(proj3(x))), conv5(functions::relu(proj5(x))),
                            projp(functions::max_pooling_2d(x, 3, {.stride = 1, .pad = 1}))};
  return functions::relu(functions::concat(parts));
}

}  // namespace kusari::links
