#pragma once

#include <algorithm>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/optimizer_step.h"
#include "kusari/optimizers/optimizer_access.h"

namespace kusari::detail {

/// Tensors to be converted from one dtype to another and multiplied by a factor, in one launch for each device.
struct Conversions {
  struct Batch {
    GradientScale scale;
    std::vector<Array> from, to;  // of one device and one dtype
  };
  std::vector<Batch> batches;

  /// to = from / scale.
  void add(const Array& from, const Array& to, const GradientScale& scale) {
    const auto alike = [&](const Batch& batch) {
      return batch.from[0].device() == from.device() && batch.from[0].dtype() == from.dtype() &&
             batch.to[0].dtype() == to.dtype() && batch.scale == scale;
    };
    auto found = std::find_if(batches.begin(), batches.end(), alike);
    if (found == batches.end()) found = batches.insert(found, Batch{scale, {}, {}});
    found->from.push_back(from);
    found->to.push_back(to);
  }
  void run() const {
    for (const Batch& batch : batches) {
      const Device& device = batch.from[0].device();
      const Array scale = batch.scale.device.is_defined() ? batch.scale.device.to_device(device) : Array();
      launch<kernels::ConvertTensors>(device, Params<double>(1 / batch.scale.host), scale, InList(batch.from),
                                      InOutList(batch.to));
    }
  }
};

}  // namespace kusari::detail
