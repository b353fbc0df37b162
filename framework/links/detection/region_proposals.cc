#include "kusari/framework/links/detection/region_proposals.h"

#include <cmath>
#include <limits>

#include "kusari/framework/core/config.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/links/detection/head_outputs.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {
RegionProposalHead::RegionProposalHead(int64_t channels, int64_t at_place)
    : conv{*this, "conv", channels, channels, 3, {.pad = 1, .initial_w = initializers::Normal(0.01), .relu = true}},
      loc{*this,    "loc",
          channels, size_times("L::RegionProposalHead", "at_place", at_place, 4),
          1,        {.initial_w = initializers::Normal(0.01)}},
      conf{*this, "conf", channels, at_place, 1, {.initial_w = initializers::Normal(0.01)}} {}

std::pair<Variable, Variable> RegionProposalHead::operator()(std::span<const Variable> maps) const {
  const LinkCall call(*this);
  std::vector<Variable> locs, confs;
  for (const Variable& map : maps) {
    const Variable h = conv(map);
    locs.push_back(detail::by_anchor(loc(h), 4));
    confs.push_back(detail::by_anchor(conf(h), 1));
  }
  return detail::joined_levels(locs, confs);
}

std::vector<std::vector<Box>> propose_regions(const AnchorCoder& coder, const Variable& locs, const Variable& confs,
                                              std::span<const ImageExtent> extents, const ProposalOptions& options) {
  const bool trains = config().train;
  // What is dropped from the threshold on is dropped here above it.
  const float above = std::nextafter(static_cast<float>(options.nms_thresh), std::numeric_limits<float>::infinity());
  AnchorDecodeOptions decoding{.score_thresh = 0,
                               .candidates = trains ? options.train_candidates : options.test_candidates,
                               .min_size = options.min_size,
                               .nms_thresh = static_cast<double>(above),
                               .nms_by_level = true,
                               .limit = trains ? options.train_limit : options.test_limit};
  const Array loc = detail::on_host(locs), conf = detail::on_host(confs);
  std::vector<std::vector<Box>> regions;
  for (size_t i = 0; i < extents.size(); ++i) {
    decoding.height = extents[i].height;
    decoding.width = extents[i].width;
    const auto at = static_cast<int64_t>(i);
    regions.push_back(coder.decode(loc.at(at), conf.at(at), decoding).bbox);
  }
  return regions;
}

}  // namespace kusari::links
