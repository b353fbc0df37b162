#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/detection/box.h"

namespace kusari::functions {

/// Of boxes that lie on each other the best alone: goes through them by falling score (of equal scores the lower index
/// first; without scores in their order), and drops each whose IoU with a box that stays is `thresh` or more. (Where
/// other libraries drop only those above it, std::nextafter(thresh, 1.f) does.) Boxes whose score is NaN are left out.
/// limit: no more than so many stay. Returns the indices of those that stay, best first. On the host, in float32.
/// Throws ValueError for a NaN as thresh, a negative limit, and when there are not as many scores as boxes.
/// chainercv.utils.non_maximum_suppression.
KUSARI_API std::vector<int64_t> non_maximum_suppression(std::span<const Box> bbox, double thresh,
                                                        std::span<const float> score = {},
                                                        std::optional<int64_t> limit = std::nullopt);

/// The same, where boxes drop those of their own class alone: what one call for each class gives, together by falling
/// score. label: the class of each box, any number. Throws ValueError as well when there are not as many labels.
KUSARI_API std::vector<int64_t> class_wise_suppression(std::span<const Box> bbox, std::span<const int32_t> label,
                                                       double thresh, std::span<const float> score = {},
                                                       std::optional<int64_t> limit = std::nullopt);

}  // namespace kusari::functions
