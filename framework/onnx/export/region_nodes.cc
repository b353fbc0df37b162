#include "kusari/framework/onnx/export/region_nodes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace kusari::onnx::exporting {
namespace {

using links::FasterRCNN;
using links::RegionHead;

constexpr float kCounts = kDropped / 2;  // scores above it do

/// The least area that is seen on map `level` or a higher one.
float least_area(int64_t level) {
  uint32_t low = 0, high = std::bit_cast<uint32_t>(std::numeric_limits<float>::max());
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const Box region{0, 0, 1, std::bit_cast<float>(middle)};
    if (links::level_of_region(region, FasterRCNN::kPooledLevels) >= level) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return std::bit_cast<float>(low);
}

class RegionNodes {
 public:
  RegionNodes(const DetectionNodes& nodes, const FasterRCNN& model, int64_t height, int64_t width)
      : n_{nodes}, graph_{nodes.graph()}, trace_{graph_.trace()}, model_{model}, height_{height}, width_{width} {
    images_ = result(0).array.shape()[0];
  }

  /// Boxes (R, 4), and the images that they are in, (R): image by image, the best first.
  void propose() {
    const links::AnchorCoder coder = model_.coder(height_, width_);
    const links::ProposalOptions& options = model_.proposals;
    const std::string scores =
        n_.make("Sigmoid", {n_.make("Reshape", {result_name(1), graph_.integers({images_, -1})})});
    Names best, anchors;
    std::vector<int64_t> counts;
    int64_t begin = 0, total = 0;
    for (const int64_t count : coder.level_counts()) {
      counts.push_back(std::min(count, options.test_candidates));
      if (count > 0) {
        const auto [value, order] = n_.top(n_.slice(scores, 1, begin, begin + count), graph_.integers({counts.back()}));
        best.push_back(value);
        anchors.push_back(begin == 0 ? order : n_.make("Add", {order, graph_.integers({begin})}));
      }
      begin += count;
      total += counts.back();
    }
    const std::string score = n_.make("Concat", best, {{"axis", int64_t{1}}});
    const std::string anchor = n_.make("Concat", anchors, {{"axis", int64_t{1}}});
    const std::string codes =
        n_.make("GatherND", {result_name(0), n_.unsqueeze(anchor, 2)}, {{"batch_dims", int64_t{1}}});
    const DetectionNodes::Places all = n_.places(coder.anchors());
    const DetectionNodes::Places own{n_.make("Gather", {all.centres, anchor}), n_.make("Gather", {all.sizes, anchor})};
    const std::string boxes = n_.corners(codes, own, coder.variance(), height_, width_);
    const std::string counting = n_.kept(score, n_.squeeze(n_.are_large(boxes, options.min_size), -1));
    const std::string by_level = n_.kept(n_.unsqueeze(counting, 1), level_table(counts, total));
    const float overlap = std::min(static_cast<float>(options.nms_thresh), 1.F);
    const std::string rows = n_.selected(boxes, by_level, options.test_limit, overlap, kCounts);
    Names of_images, places;
    for (int64_t i = 0; i < images_; ++i) {
      const Names found = n_.best_of_image(rows, boxes, by_level, i, images_, 0, options.test_limit);
      of_images.push_back(found[0]);
      places.push_back(found[3]);
    }
    regions_ = joined(of_images);
    image_ = joined(places);
  }

  /// Codes (R, 4 outputs) and scores (R, outputs), in float32.
  std::pair<std::string, std::string> look_again() {
    const std::string low = n_.slice(regions_, 1, 0, 2), size = n_.make("Sub", {n_.slice(regions_, 1, 2, 4), low});
    const std::string area = n_.squeeze(n_.make("Mul", {n_.slice(size, 1, 0, 1), n_.slice(size, 1, 1, 2)}), 1);
    const std::string turned = n_.make("Gather", {regions_, graph_.integers({1, 0, 3, 2})}, {{"axis", int64_t{1}}});
    Names pooled, places;
    std::string reaches;  // this level
    for (int64_t level = 0; level < FasterRCNN::kPooledLevels; ++level) {
      std::string is_own = reaches;
      if (level + 1 < FasterRCNN::kPooledLevels) {
        const std::string higher = n_.make("GreaterOrEqual", {area, n_.number(least_area(level + 1))});
        is_own = n_.make("Not", {higher});
        if (!reaches.empty()) is_own = n_.make("And", {reaches, is_own});
        reaches = higher;
      }
      const std::string place = n_.squeeze(n_.make("NonZero", {is_own}), 0);
      pooled.push_back(align(level, n_.make("Gather", {turned, place}), n_.make("Gather", {image_, place})));
      places.push_back(place);
    }
    // What was pooled level by level, in the order of the regions.
    const std::string place = joined(places), order = graph_.fresh("detection/order");
    n_.add("TopK", {place, n_.make("Shape", {place})}, {graph_.fresh("detection/place"), order},
           {{"axis", int64_t{0}}, {"largest", int64_t{0}}});
    const std::string rows = n_.make("Gather", {joined(pooled), order});
    const RegionHead& head = model_.head;
    const std::string hidden = rectified(head.fc7, rectified(head.fc6, n_.make("Flatten", {rows})));
    return {linear(head.loc, hidden), linear(head.conf, hidden)};
  }

  std::vector<Names> find(const std::string& locs, const std::string& confs) {
    const links::AnchorDecodeOptions& options = model_.decoding;
    const int64_t classes = model_.n_classes();
    const std::string soft = n_.make("Softmax", {confs}, {{"axis", int64_t{1}}});
    std::string scores = n_.slice(soft, 1, 1, classes + 1);
    scores = n_.kept_from(scores, options.score_thresh, options.best_class_only, classes);
    const std::string codes = n_.make("Reshape", {locs, graph_.integers({0, classes + 1, 4})});
    const links::AnchorCoder coder = model_.region_coder({}, height_, width_);
    const std::string boxes = n_.corners(n_.slice(codes, 1, 1, classes + 1), n_.places(n_.unsqueeze(regions_, 1)),
                                         coder.variance(), height_, width_);
    scores = n_.kept(scores, n_.squeeze(n_.are_large(boxes, options.min_size), -1));
    // Each class has boxes of its own: to NonMaxSuppression classes are images, and images classes.
    const std::string own_boxes = n_.make("Transpose", {boxes}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
    scores = n_.unsqueeze(n_.make("Transpose", {scores}, {{"perm", std::vector<int64_t>{1, 0}}}), 1);
    if (images_ > 1) {
      std::vector<int64_t> numbers;
      for (int64_t i = 0; i < images_; ++i) numbers.push_back(i);
      const std::string each = n_.unsqueeze(graph_.integers(numbers), 1);
      scores = n_.kept(scores, n_.make("Equal", {each, n_.unsqueeze(image_, 0)}));
    }
    scores = best_of_images(scores);
    const int64_t most = options.limit > 0 ? options.limit : model_.proposals.test_limit;
    const std::string rows =
        n_.selected(own_boxes, scores, most, below(options.nms_thresh), below(std::max(options.score_thresh, 0.0)));
    std::vector<Names> found;
    for (int64_t i = 0; i < images_; ++i) {
      found.push_back(n_.best_of_image(rows, own_boxes, scores, i, images_, 1, options.limit));
    }
    return found;
  }

 private:
  const Value& result(size_t i) const { return graph_.value(trace_.results[i]); }
  /// In float32.
  std::string result_name(size_t i) const {
    return n_.cast(graph_.name_of(trace_.results[i]), result(i).array.dtype());
  }
  std::string joined(const Names& parts) const {
    return parts.size() == 1 ? parts[0] : n_.make("Concat", parts, {{"axis", int64_t{0}}});
  }

  /// Which of the candidates, `counts` of each level one after another, are of which level: (levels, candidates).
  std::string level_table(const std::vector<int64_t>& counts, int64_t total) const {
    const auto levels = static_cast<int64_t>(counts.size());
    std::vector<uint8_t> is_own(static_cast<size_t>(levels * total));
    int64_t begin = 0;
    for (size_t k = 0; k < counts.size(); ++k) {
      const auto row = is_own.begin() + static_cast<ptrdiff_t>(k) * total;
      std::fill_n(row + begin, counts[k], uint8_t{1});
      begin += counts[k];
    }
    return graph_.constant(from_host(is_own.data(), {levels, total}, Dtype::bool_));
  }

  std::string align(int64_t level, const std::string& regions, const std::string& images) const {
    Attributes attributes{{"output_height", RegionHead::kBins},
                          {"output_width", RegionHead::kBins},
                          {"sampling_ratio", RegionHead::kSamples},
                          {"spatial_scale", std::exp2(-static_cast<double>(level + RegionHead::kFirstLevel))}};
    // Before opset 16 there is no other mode.
    if (graph_.opset() >= 16) attributes.set("coordinate_transformation_mode", std::string("output_half_pixel"));
    return n_.make("RoiAlign", {result_name(static_cast<size_t>(level) + 2), regions, images}, attributes);
  }

  std::string linear(const links::Linear& layer, const std::string& x) const {
    const Dtype dtype = layer.W.array().dtype();
    const std::string y = n_.make(
        "Gemm", {n_.cast(x, Dtype::float32, dtype), graph_.constant(layer.W.array()), graph_.constant(layer.b.array())},
        {{"transB", int64_t{1}}});
    return n_.cast(y, dtype);
  }
  std::string rectified(const links::Linear& layer, const std::string& x) const {
    return n_.make("Relu", {linear(layer, x)});
  }

  /// Of each image's scores (classes, images, R) decoding.candidates.
  std::string best_of_images(const std::string& scores) const {
    const int64_t most = model_.decoding.candidates;
    if (most == 0) return scores;
    const std::string of_image = n_.make("Transpose", {scores}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
    const std::string flat = n_.make("Flatten", {of_image});
    const std::string size = n_.slice(n_.make("Shape", {flat}), 0, 1, 2);
    const std::string best = n_.top(flat, n_.make("Min", {size, graph_.integers({most})}))[0];
    const std::string worst = n_.slice(best, 1, -1, std::numeric_limits<int64_t>::max());
    return n_.kept(scores, n_.make("GreaterOrEqual", {scores, n_.unsqueeze(worst, 0)}));
  }

  const DetectionNodes& n_;
  GraphBuilder& graph_;
  const Trace& trace_;
  const FasterRCNN& model_;
  int64_t height_, width_, images_;
  std::string regions_, image_;
};

}  // namespace

Variables first_look(const FasterRCNN& model, const Variable& x) {
  const FasterRCNN::FirstLook seen = model.look(x);
  Variables results(seen.locs, seen.confs);
  for (size_t k = 0; k < FasterRCNN::kPooledLevels; ++k) results.push_back(seen.maps[k]);
  return results;
}

std::vector<Names> find_in_regions(const DetectionNodes& nodes, const FasterRCNN& model, int64_t height,
                                   int64_t width) {
  RegionNodes regions(nodes, model, height, width);
  regions.propose();
  const auto [locs, confs] = regions.look_again();
  return regions.find(locs, confs);
}

}  // namespace kusari::onnx::exporting
