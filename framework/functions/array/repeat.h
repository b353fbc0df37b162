#pragma once

#include <initializer_list>
#include <optional>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Every element several times in succession: [a, b] becomes [a, a, b, b].
/// x: any shape and dtype. repeats: how often, one number for all or one for each element of the axis. axis: negative
/// ones count from the end; without one, x is flattened first. Throws ValueError for negative numbers and when there
/// are neither one nor as many as elements, IndexError for an axis that x does not have. Differentiable to any order.
/// chainer.functions.repeat.
KUSARI_API Variable repeat(const Variable& x, int64_t repeats, std::optional<int64_t> axis = std::nullopt);
KUSARI_API Variable repeat(const Variable& x, std::span<const int64_t> repeats,
                           std::optional<int64_t> axis = std::nullopt);
inline Variable repeat(const Variable& x, std::initializer_list<int64_t> repeats,
                       std::optional<int64_t> axis = std::nullopt) {
  return repeat(x, std::span<const int64_t>(repeats.begin(), repeats.size()), axis);
}

}  // namespace kusari::functions
