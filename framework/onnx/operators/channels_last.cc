#include "kusari/framework/onnx/operators/channels_last.h"

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/transpose.h"

namespace kusari::onnx {

namespace F = functions;

namespace {

void expect_image(const Variable& x) {
  if (x.ndim() < 3)
    throw TypeError("an image has shape " + kusari::to_string(x.shape()) + ": it must have at least 3 axes");
}

}  // namespace

Variable channels_first(const Variable& x) {
  expect_image(x);
  return F::moveaxis(x, -1, 1);
}
Variable channels_last(const Variable& x) {
  expect_image(x);
  return F::moveaxis(x, 1, -1);
}

Operation on_channels_last(const Operation& operation, const std::vector<size_t>& images) {
  return [=](const Call& call) -> Values {
    Values inputs;
    for (size_t i = 0; i < call.size(); ++i) inputs.push_back(call.value(i));
    for (const size_t i : images) {
      if (call.has(i)) inputs[i] = call.inner(channels_first(call[i]));
    }
    Values results = operation(call.with(inputs));
    results[0] = call.inner(channels_last(call.with(results)[0]));
    return results;
  };
}

}  // namespace kusari::onnx
