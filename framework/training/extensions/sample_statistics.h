#pragma once

#include <span>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::training::extensions {

/// numpy.mean; NaN of nothing.
KUSARI_API double mean(std::span<const double> values);
/// numpy.std: of the whole population.
KUSARI_API double standard_deviation(std::span<const double> values);
/// numpy.min and numpy.max: NaN when there is one. `values` is not empty.
KUSARI_API double minimum(std::span<const double> values);
KUSARI_API double maximum(std::span<const double> values);
/// numpy.percentile, which interpolates linearly: a number for each of `percents`, all NaN when there is a NaN among
/// the values. `values` is not empty.
KUSARI_API std::vector<double> percentiles(std::span<const double> values, std::span<const double> percents);

/// The gradient of a variable as numbers in C order, without the loss scale that it carries; empty when there is none.
KUSARI_API std::vector<double> gradient_values(const Variable& variable);

}  // namespace kusari::training::extensions
