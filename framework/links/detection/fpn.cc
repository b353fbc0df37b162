#include "kusari/framework/links/detection/fpn.h"

#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/array/resize_images.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pooling/max_pooling_nd.h"
#include "kusari/framework/initializers/lecun.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {
namespace {

namespace F = functions;

const char* const kFPN = "L::FPN";

LinkList<Convolution2D> make_convs(const std::vector<int64_t>& in_channels, const FPNOptions& o, int64_t ksize,
                                   int64_t stride) {
  LinkList<Convolution2D> convs;
  const Initializer initial_w = o.initial_w ? o.initial_w : initializers::LeCunUniform();
  for (const int64_t channels : in_channels) {
    convs.append(
        Convolution2D(channels, o.channels, ksize, {.stride = stride, .pad = ksize / 2, .initial_w = initial_w}));
  }
  return convs;
}

std::vector<int64_t> equal_channels(size_t n, const FPNOptions& o) { return std::vector<int64_t>(n, o.channels); }

const std::vector<int64_t>& checked(const std::vector<int64_t>& in_channels, const FPNOptions& o) {
  argument::count(kFPN, "in_channels.size()", static_cast<int64_t>(in_channels.size()));
  argument::positive(kFPN, "channels", o.channels);
  return in_channels;
}

}  // namespace

FPN::FPN(const std::vector<int64_t>& in_channels, Options o)
    : inner{*this, "inner", make_convs(checked(in_channels, o), o, 1, 1)},
      outer{*this, "outer", make_convs(equal_channels(in_channels.size(), o), o, 3, 1)},
      above{*this, "above", make_convs(equal_channels(o.top == FPNTop::convolutions ? 2 : 0, o), o, 3, 2)},
      top_{o.top} {}

Variables FPN::operator()(std::span<const Variable> xs) const {
  if (xs.size() != inner.size()) {
    throw ValueError(std::string(kFPN) + ": there are " + std::to_string(xs.size()) + " maps: it must be " +
                     std::to_string(inner.size()));
  }
  const LinkCall call(*this);
  Variables sums(xs.size()), maps;
  for (size_t i = xs.size(); i-- > 0;) {
    const Variable map = inner[i](xs[i]);
    if (i + 1 == xs.size()) {
      sums[i] = map;
      continue;
    }
    const Dims size{map.shape()[2], map.shape()[3]};
    sums[i] = map + F::resize_images(sums[i + 1], size, {.mode = F::ResizeMode::nearest});
  }
  for (size_t i = 0; i < xs.size(); ++i) maps.push_back(outer[i](sums[i]));
  if (top_ == FPNTop::pool) {
    maps.push_back(F::max_pooling_2d(maps[maps.size() - 1], 1, {.stride = 2, .cover_all = false}));
  } else if (top_ == FPNTop::convolutions) {
    maps.push_back(above[0](maps[maps.size() - 1]));
    maps.push_back(above[1](F::relu(maps[maps.size() - 1])));
  }
  return maps;
}

}  // namespace kusari::links
