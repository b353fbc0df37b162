#include "kusari/framework/links/detection/faster_rcnn.h"

#include <tuple>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/links/detection/head_outputs.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {
namespace {

const char* const kFasterRCNN = "L::FasterRCNN";
constexpr int64_t kPyramidChannels = 256;

// All levels have as many anchors at a place.
int64_t anchors_of(const FasterRCNNOptions& o) {
  argument::require(o.grid.levels() == 5, kFasterRCNN, "grid.levels()", o.grid.levels(), "be 5: P2 to P6");
  return o.grid.at_place(0);
}

const ProposalOptions& checked(const ProposalOptions& o) {
  argument::positive(kFasterRCNN, "proposals.train_candidates", o.train_candidates);
  argument::positive(kFasterRCNN, "proposals.test_candidates", o.test_candidates);
  argument::positive(kFasterRCNN, "proposals.train_limit", o.train_limit);
  argument::positive(kFasterRCNN, "proposals.test_limit", o.test_limit);
  argument::not_nan(kFasterRCNN, "proposals.nms_thresh", o.nms_thresh);
  argument::finite_not_negative(kFasterRCNN, "proposals.min_size", o.min_size);
  return o;
}

AnchorDecodeOptions found_from(double score_thresh) {
  return {.scores = AnchorScores::softmax, .score_thresh = score_thresh, .candidates = 0, .min_size = 0.01};
}

}  // namespace

FasterRCNN::FasterRCNN(Options o)
    : Detector({.n_classes = o.n_classes,
                .grid = o.grid,
                .coding = {.matching = AnchorMatching::rpn,
                           .samples = o.anchor_samples,
                           .positive_share = 0.5,
                           .ignore_outside = false},
                .visualize = found_from(0.5),
                .evaluate = found_from(0.05),
                .loss = {.delta = 1.0 / 9}},
               o.preparation),
      extractor{*this, "extractor", o.depth, {.fc6 = false, .frozen_bn = o.frozen_bn}},
      fpn{*this, "fpn",
          std::vector<int64_t>{ResNetN::stage_channels(o.depth, 2), ResNetN::stage_channels(o.depth, 3),
                               ResNetN::stage_channels(o.depth, 4), ResNetN::stage_channels(o.depth, 5)},
          FPNOptions{.channels = kPyramidChannels, .top = FPNTop::pool}},
      rpn{*this, "rpn", kPyramidChannels, anchors_of(o)},
      head{*this, "head", kPyramidChannels, o.n_classes + 1},
      proposals{checked(o.proposals)},
      region_coding_{.matching = AnchorMatching::regions, .variance = {0.1, 0.2}, .samples = o.region_samples} {}

FasterRCNN::FirstLook FasterRCNN::look(const Variable& x) const {
  Activations taken = extractor(x, {"res2", "res3", "res4", "res5"});
  const Variable levels[] = {taken["res2"], taken["res3"], taken["res4"], taken["res5"]};
  taken.clear();
  FirstLook seen{fpn(levels), {}, {}};
  std::tie(seen.locs, seen.confs) = rpn({seen.maps.data(), seen.maps.size()});
  return seen;
}

std::pair<Variable, Variable> FasterRCNN::forward(const Variable& x) const {
  const FirstLook seen = look(x);
  return {seen.locs, seen.confs};
}

std::vector<std::vector<Box>> FasterRCNN::propose(const FirstLook& seen, int64_t height, int64_t width,
                                                  std::span<const ImageExtent> extents) const {
  GraphCapture::refuse("L::FasterRCNN::propose",
                       "how many regions of an image are looked at again depends on the numbers in the image");
  if (GraphCapture* const capture = GraphCapture::current()) {  // an export is not refused by that
    capture->host_reads("L::FasterRCNN::propose, whose regions depend on the numbers in the image,",
                        seen.confs.array());
  }
  return propose_regions(coder(height, width), seen.locs, seen.confs, extents, checked(proposals));
}

std::pair<Variable, Variable> FasterRCNN::look_again(const FirstLook& seen,
                                                     const std::vector<std::vector<Box>>& regions) const {
  return head({seen.maps.data(), kPooledLevels}, regions);
}

AnchorCoder FasterRCNN::region_coder(const std::vector<Box>& regions, int64_t height, int64_t width) const {
  return AnchorCoder(regions, height, width, region_coding_);
}

std::vector<Detections> FasterRCNN::detect(const Variable& x, std::span<const ImageExtent> extents) const {
  const LinkCall call(*this);
  return find_again(look(x), x.shape()[2], x.shape()[3], extents);
}

std::vector<Detections> FasterRCNN::find_again(const FirstLook& seen, int64_t height, int64_t width,
                                               std::span<const ImageExtent> extents) const {
  const std::vector<std::vector<Box>> regions = propose(seen, height, width, extents);
  std::vector<Detections> found(regions.size());
  size_t count = 0;
  for (const std::vector<Box>& own : regions) count += own.size();
  if (count == 0) return found;
  const auto [locs, confs] = look_again(seen, regions);
  const Array loc = detail::on_host(locs), conf = detail::on_host(confs);
  int64_t begin = 0;
  for (size_t i = 0; i < regions.size(); ++i) {
    AnchorDecodeOptions options = decoding;
    options.height = extents[i].height;
    options.width = extents[i].width;
    const int64_t end = begin + static_cast<int64_t>(regions[i].size());
    found[i] = region_coder(regions[i], height, width)
                   .decode(loc.slice(0, begin, end - begin), conf.slice(0, begin, end - begin), options);
    begin = end;
  }
  return found;
}

}  // namespace kusari::links
