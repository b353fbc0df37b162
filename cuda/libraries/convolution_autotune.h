#pragma once

#include <functional>

#include "kusari/cuda/libraries/cudnn_route.h"
#include "kusari/cuda/runtime/context.h"

namespace kusari::cuda {

/// The plan that is fastest by measuring, once for each key; the choices are shared with snapshots (core/tuning.h).
/// While the stream is captured nothing can be measured: then it is the route's first plan. The route has one.
const ConvolutionPlan& timed_plan(Context& context, ConvolutionRoute& route, const ConvolutionPointers& pointers);

/// Whether timed_plan answers without measuring.
bool is_timed(const ConvolutionRoute& route);

/// Whether the kernel of a route that computes several things, which `fused` runs, takes less time than `parts`: by
/// measuring once for each key, as timed_plan does.
bool pays_off(Context& context, ConvolutionRoute& route, const std::function<void()>& fused,
              const std::function<void()>& parts);

}  // namespace kusari::cuda
