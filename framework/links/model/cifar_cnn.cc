#include "kusari/framework/links/model/cifar_cnn.h"

#include <utility>

#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/pooling/max_pooling_nd.h"
#include "kusari/framework/initializers/he.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {
namespace {

namespace F = functions;

constexpr size_t kGroup = 4;  // convolutions between poolings
constexpr int64_t kChannels[3][kGroup] = {{128, 256, 256, 256}, {256, 256, 512, 512}, {256, 256, 256, 128}};
constexpr int64_t kPooling[3] = {2, 2, 4};
constexpr int64_t kFeatures = 128 * 2 * 2;

LinkList<Convolution2D> make_convs(const CifarCnnOptions& o) {
  const Initializer weights = o.initial_w ? o.initial_w : initializers::HeNormal();
  LinkList<Convolution2D> convs;
  int64_t in = 3;
  for (const auto& group : kChannels) {
    for (const int64_t out : group) {
      convs.append(Convolution2D(in, out, 3, {.pad = 1, .initial_w = weights, .relu = true}));
      in = out;
    }
  }
  return convs;
}

}  // namespace

CifarCnn::CifarCnn(Options o)
    : convs{*this, "convs", make_convs(o)},
      bn{*this, "bn", kFeatures},
      fc1{*this, "fc1", kFeatures, 512},
      fc2{*this, "fc2", 512, o.n_classes} {}

Variable CifarCnn::operator()(const Variable& x) const {
  const LinkCall call(*this);
  Variable h = x;
  for (size_t i = 0; i < convs.size(); ++i) {
    h = convs[i](h);
    if (i % kGroup == kGroup - 1) h = F::max_pooling_2d(h, kPooling[i / kGroup]);
  }
  return fc2(F::relu(fc1(bn(F::reshape(h, {h.shape(0), -1})))));
}

}  // namespace kusari::links
