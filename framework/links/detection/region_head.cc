#include "kusari/framework/links/detection/region_head.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pooling/roi_average_align_2d.h"
#include "kusari/framework/initializers/he.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {
namespace {

namespace F = functions;

/// The regions of one level, and their places among all.
struct LevelRegions {
  std::vector<Box> bbox;
  std::vector<int64_t> image, place;
};

std::vector<LevelRegions> by_level(const std::vector<std::vector<Box>>& regions, int64_t levels) {
  std::vector<LevelRegions> result(static_cast<size_t>(levels));
  int64_t place = 0;
  for (size_t i = 0; i < regions.size(); ++i) {
    for (const Box& region : regions[i]) {
      LevelRegions& level = result[static_cast<size_t>(level_of_region(region, levels))];
      level.bbox.push_back(region);
      level.image.push_back(static_cast<int64_t>(i));
      level.place.push_back(place++);
    }
  }
  return result;
}

Array indices(const std::vector<int64_t>& values, const Device& device) {
  return array(values, {static_cast<int64_t>(values.size())}).to_device(device);
}

}  // namespace

int64_t level_of_region(const Box& region, int64_t levels) {
  const double side = std::sqrt(static_cast<double>(region.area()));
  const double level = std::floor(4 + std::log2(side / 224) + 1e-6) - static_cast<double>(RegionHead::kFirstLevel);
  const double most = static_cast<double>(argument::positive("L::level_of_region", "levels", levels) - 1);
  return level > 0 ? static_cast<int64_t>(std::min(level, most)) : 0;
}

RegionHead::RegionHead(int64_t channels, int64_t outputs, int64_t units)
    : fc6{*this,
          "fc6",
          size_times("L::RegionHead", "channels", channels, kBins * kBins),
          units,
          {.initial_w = initializers::HeNormal()}},
      fc7{*this, "fc7", units, units, {.initial_w = initializers::HeNormal()}},
      loc{*this,
          "loc",
          units,
          size_times("L::RegionHead", "outputs", outputs, 4),
          {.initial_w = initializers::Normal(0.001)}},
      conf{*this, "conf", units, outputs, {.initial_w = initializers::Normal(0.01)}} {}

std::pair<Variable, Variable> RegionHead::operator()(std::span<const Variable> maps,
                                                     const std::vector<std::vector<Box>>& regions) const {
  if (maps.empty() || static_cast<int64_t>(regions.size()) != maps[0].shape()[0]) {
    throw ValueError("L::RegionHead: there are " + std::to_string(maps.size()) + " maps and regions of " +
                     std::to_string(regions.size()) + " images: it must be those of the maps");
  }
  const LinkCall call(*this);
  const Device device = maps[0].device();
  std::vector<Variable> pooled_levels;
  std::vector<int64_t> place_of;  // among all regions, of each that is pooled
  const std::vector<LevelRegions> levels = by_level(regions, static_cast<int64_t>(maps.size()));
  for (size_t k = 0; k < levels.size(); ++k) {
    const LevelRegions& level = levels[k];
    if (level.bbox.empty()) continue;
    pooled_levels.push_back(pooled(maps, k, bbox_array(level.bbox).to_device(device), indices(level.image, device)));
    place_of.insert(place_of.end(), level.place.begin(), level.place.end());
  }
  if (pooled_levels.empty()) throw ValueError("L::RegionHead: there is no region: it must be one at least");
  const Variable h = hidden(F::concat(pooled_levels, 0));
  std::vector<int64_t> order(place_of.size());
  for (size_t k = 0; k < order.size(); ++k) order[static_cast<size_t>(place_of[k])] = static_cast<int64_t>(k);
  const Array rows = indices(order, device);
  return {F::get_item(loc(h), rows), F::get_item(conf(h), rows)};
}

std::pair<Variable, Variable> RegionHead::operator()(std::span<const Variable> maps, const Array& rois,
                                                     const Array& image) const {
  if (!rois.is_defined() || rois.ndim() != 3 || rois.shape(0) != static_cast<int64_t>(maps.size()) || maps.empty()) {
    throw ValueError("L::RegionHead: there are " + std::to_string(maps.size()) + " maps and rois " +
                     (rois.is_defined() ? "has shape " + to_string(rois.shape()) : "is undefined") +
                     ": it must be (maps, regions, 4)");
  }
  const LinkCall call(*this);
  Variable sum = pooled(maps, 0, rois.at(0), image);
  for (size_t k = 1; k < maps.size(); ++k) sum = sum + pooled(maps, k, rois.at(static_cast<int64_t>(k)), image);
  const Variable h = hidden(sum);
  return {loc(h), conf(h)};
}

Variable RegionHead::pooled(std::span<const Variable> maps, size_t level, const Array& rois, const Array& image) const {
  // Places need float32 at least: float16 has steps of half a pixel from 512 on.
  const Dtype dtype = maps[level].dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32;
  return F::roi_average_align_2d(maps[level], Variable(rois.astype(dtype), false), Variable(image, false), kBins,
                                 std::exp2(-static_cast<double>(level) - static_cast<double>(kFirstLevel)), kSamples);
}

Variable RegionHead::hidden(const Variable& x) const { return F::relu(fc7(F::relu(fc6(x)))); }

}  // namespace kusari::links
