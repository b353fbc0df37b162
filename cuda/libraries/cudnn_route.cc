#include "kusari/cuda/libraries/cudnn_route.h"

#include <utility>

#include "kusari/cuda/plans/folded_convolution.h"

namespace kusari::cuda {
namespace {

constexpr int64_t kPackOfHalves = 8;

bool uses_tensor_cores(const std::optional<ConvolutionPlan>& plan) {
  return plan && plan->has_note(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}

ConvolutionRoute first_plan(const ConvolutionKey& key, const PlanTarget& target) {
  PlanSearch search(key, target);
  ConvolutionRoute route;
  route.key = key;
  route.plan = search.next();
  if (!route.plan) route.reason = search.report();
  return route;
}

// The same convolution of images and weights with zeros behind their last channels.
ConvolutionKey with_channels(ConvolutionKey key, int64_t channels) {
  key.x[1] = key.w[1] = channels;
  set_channels_last_strides(key.x, static_cast<int>(key.ndim) + 2, key.x_strides);
  return key;
}

bool can_be_folded(const ConvolutionKey& key) {
  return key.ndim == 2 && key.x[1] <= kMostFoldedChannels && key.has_load == 0 && key.stride[0] == 2 &&
         key.stride[1] == 2 && key.dilate[0] == 1 && key.dilate[1] == 1;
}

// The same convolution of folded images and weights.
ConvolutionKey folded(ConvolutionKey key) {
  key.x[1] = key.w[1] = folded_channels(key.x[1]);
  for (int i = 0; i < 2; ++i) {
    const FoldedAxis axis = folded_axis(key.w[i + 2], key.pad[i], key.y[i + 2]);
    key.x[i + 2] = axis.pixels;
    key.w[i + 2] = axis.taps;
    key.stride[i] = 1;
    key.pad[i] = 0;
  }
  set_channels_last_strides(key.x, static_cast<int>(key.ndim) + 2, key.x_strides);
  return key;
}

}  // namespace

ConvolutionRoute find_route(const ConvolutionKey& key, const PlanTarget& target) {
  ConvolutionRoute route = first_plan(key, target);
  const int64_t missing = (kPackOfHalves - key.x[1] % kPackOfHalves) % kPackOfHalves;
  const bool could_add = is_half(key.element()) && missing != 0 && key.groups() == 1 &&
                         key.pass != ConvolutionPass::data_grad && key.allows_tensor_cores != 0;
  // Kernels that load a channel or two at a time take longer than widening a few channels: three times, for the first
  // convolution of ResNet-50 on an H100.
  const bool is_narrow = key.x[1] < kPackOfHalves;
  if (!could_add || (uses_tensor_cores(route.plan) && !is_narrow)) return route;
  if (can_be_folded(key)) {
    ConvolutionRoute other = first_plan(folded(key), target);
    other.is_folded = uses_tensor_cores(other.plan) || (other.plan && key.has_sums != 0);  // see allows_fused_engines
    if (other.is_folded) return other;
  }
  ConvolutionRoute wider = first_plan(with_channels(key, key.x[1] + missing), target);
  if (!uses_tensor_cores(wider.plan)) return route;
  wider.added_channels = missing;
  return wider;
}

std::shared_ptr<ConvolutionRoute> RouteCache::add(const ConvolutionKey& key, ConvolutionRoute route) {
  constexpr size_t kMost = 4096;  // a program whose shapes never repeat shall not keep all their plans
  if (routes_.size() >= kMost) routes_.clear();
  return routes_.insert_or_assign(key, std::make_shared<ConvolutionRoute>(std::move(route))).first->second;
}

}  // namespace kusari::cuda
