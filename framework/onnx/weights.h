#pragma once

#include <set>
#include <string_view>

#include "kusari/framework/onnx/read/messages.h"

namespace kusari::onnx {

/// The initializers of the main graph that training changes: floating ones that a convolution, a product, a
/// normalization, a lookup or a recurrent layer reads as weights, directly or through operators that only move them,
/// and vectors that are added or multiplied.
std::set<std::string_view> trained_initializers(const read::Model& model);

}  // namespace kusari::onnx
