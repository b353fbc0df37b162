#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::links::detail {

/// A head's map (N, A * numbers, H, W) as rows of numbers for each anchor: (N, H * W * A, numbers), without a copy
/// where the channels are innermost in memory.
KUSARI_API Variable by_anchor(const Variable& map, int64_t numbers);

/// What all levels say about boxes and classes, one after the other.
KUSARI_API std::pair<Variable, Variable> joined_levels(std::span<const Variable> locs, std::span<const Variable> confs);

/// Numbers of a network as float32 on the host.
KUSARI_API Array on_host(const Variable& y);

}  // namespace kusari::links::detail
