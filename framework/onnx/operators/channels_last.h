#pragma once

#include <vector>

#include "kusari/framework/onnx/operators/node_reader.h"

namespace kusari::onnx {

/// (N, spatial..., C) as (N, C, spatial...), and back.
Variable channels_first(const Variable& x);
Variable channels_last(const Variable& x);

/// The operation for images whose channels are the last axis: of the inputs `images`, where they are given, and of the
/// first output.
Operation on_channels_last(const Operation& operation, const std::vector<size_t>& images);

}  // namespace kusari::onnx
