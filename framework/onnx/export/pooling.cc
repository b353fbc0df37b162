#include <algorithm>
#include <limits>

#include "kusari/framework/onnx/export/graph_builder.h"

namespace kusari::onnx::exporting {
namespace {

struct PoolWindows {
  std::vector<int64_t> ksize, stride, before, behind;
  bool is_ceil = false;  // as many windows as touch the image, where how far they reach depends on its size

  explicit PoolWindows(const NodeWriter& w)
      : ksize{w.options().integers("ksize")},
        stride{w.options().integers("stride")},
        before{w.options().integers("pad")} {
    const bool covers_all = w.options().boolean("cover_all");
    const auto image = [&](const Value& v, size_t i) { return v.sizes(static_cast<int>(i) + 2); };
    for (size_t i = 0; i < ksize.size(); ++i)
      is_ceil = is_ceil || (covers_all && !is_fixed(image(w.input_value(0), i)));
    for (size_t i = 0; i < ksize.size(); ++i) {
      if (covers_all && !is_ceil) {
        const int64_t x = image(w.input_value(0), i)[0], y = image(w.output_value(0), i)[0];
        behind.push_back(std::max<int64_t>((y - 1) * stride[i] + ksize[i] - x - before[i], 0));
        continue;
      }
      if (is_ceil && stride[i] > ksize[i] - before[i]) {
        w.refuse_dynamic("with cover_all a window could lie beside the image");
      }
      behind.push_back(before[i]);
    }
  }
  // Runtimes want pads that are shorter than a window.
  bool has_long_pads() const {
    for (size_t i = 0; i < ksize.size(); ++i) {
      if (std::max(before[i], behind[i]) >= ksize[i]) return true;
    }
    return false;
  }
  std::vector<int64_t> pads() const {
    std::vector<int64_t> all = before;
    all.insert(all.end(), behind.begin(), behind.end());
    return all;
  }
  std::vector<int64_t> pads_of_all_axes() const {
    std::vector<int64_t> all{0, 0};
    all.insert(all.end(), before.begin(), before.end());
    all.insert(all.end(), {0, 0});
    all.insert(all.end(), behind.begin(), behind.end());
    return all;
  }
  Attributes attributes(bool with_pads) const {
    Attributes result;
    result.set("kernel_shape", Attributes::Value(ksize));
    result.set("strides", Attributes::Value(stride));
    if (with_pads) result.set("pads", Attributes::Value(pads()));
    if (is_ceil) result.set("ceil_mode", 1);
    return result;
  }
};

// Whether the window is the whole image, of whatever size.
bool covers_image(const NodeWriter& w) {
  const auto is_whole = [&](const Attributes& options, size_t trace) {
    const std::vector<int64_t>&ksize = options.integers("ksize"), &pad = options.integers("pad");
    for (size_t i = 0; i < ksize.size(); ++i) {
      if (pad[i] != 0 || ksize[i] != w.input_value(0).sizes(static_cast<int>(i) + 2)[trace]) return false;
    }
    return true;
  };
  if (!is_whole(w.call().options, 0)) return false;
  for (size_t i = 0; i < w.call().elsewhere.size(); ++i) {
    if (!is_whole(w.call().elsewhere[i], i + 1)) return false;
  }
  return true;
}

void require_bfloat16(const NodeWriter& w) {
  if (w.output_dtype() == Dtype::bfloat16) w.require_opset(22, "pooling in bfloat16");
}

void write_max_pooling(const NodeWriter& w) {
  require_bfloat16(w);
  if (covers_image(w) && !w.call().changing.empty()) return w.node("GlobalMaxPool", {w.input(0)}, {w.output()});
  const PoolWindows windows(w);
  if (!windows.has_long_pads()) return w.op("MaxPool", windows.attributes(true));
  const std::string lowest = w.scalar(-std::numeric_limits<double>::infinity(), w.input_dtype(0));
  const std::string padded = w.make("Pad", {w.input(0), w.integers(windows.pads_of_all_axes()), lowest});
  w.node("MaxPool", {padded}, {w.output()}, windows.attributes(false));
}

void write_average_pooling(const NodeWriter& w) {
  require_bfloat16(w);
  const std::string divisor = w.options({"ksize", "stride"}).text("divisor");
  if (divisor != "one" && covers_image(w)) return w.op("GlobalAveragePool");
  const PoolWindows windows(w);
  std::string x = w.input(0);
  const bool is_padded = divisor != "inside" && windows.has_long_pads();
  if (is_padded) {
    x = w.make("Pad", {x, w.integers(windows.pads_of_all_axes()), w.scalar(0, w.input_dtype(0))});
  } else if (windows.has_long_pads()) {
    w.refuse("a pad as long as the window, with the elements inside counted, has no ONNX operator");
  }
  Attributes attributes = windows.attributes(!is_padded);
  attributes.set("count_include_pad", divisor == "inside" ? 0 : 1);
  if (divisor != "one") return w.node("AveragePool", {x}, {w.output()}, attributes);
  double size = 1;
  for (const int64_t k : windows.ksize) size *= static_cast<double>(k);
  w.node("Mul", {w.make("AveragePool", {x}, attributes), w.scalar(size, w.input_dtype(0))}, {w.output()});
}

// y = the sum of x over the windows that hold a place: a transposed convolution with ones, channel by channel.
void write_unpooling(const NodeWriter& w) {
  const Attributes& options = w.options({"outsize"});  // which the output's shape says
  if (options.text("divisor") != "one") w.refuse("an average's gradient has no ONNX operator");
  const std::vector<int64_t>&ksize = options.integers("ksize"), &stride = options.integers("stride"),
        &pad = options.integers("pad");
  bool is_resized = true;
  std::vector<float> scales{1, 1};
  std::vector<int64_t> pads = pad, more;
  for (size_t i = 0; i < ksize.size(); ++i) {
    const int axis = static_cast<int>(i) + 2;
    const Sizes x = w.input_value(0).sizes(axis), y = w.output_value(0).sizes(axis);
    is_resized = is_resized && ksize[i] == stride[i] && pad[i] == 0;
    Sizes behind;
    for (size_t k = 0; k < x.size(); ++k) {
      is_resized = is_resized && y[k] == x[k] * stride[i];
      behind.push_back(stride[i] * (x[k] - 1) + ksize[i] - y[k] - pad[i]);
    }
    if (!is_fixed(behind)) w.refuse_dynamic("its output's size is not always as much more than its input's");
    scales.push_back(static_cast<float>(stride[i]));
    pads.push_back(std::max<int64_t>(behind[0], 0));
    more.push_back(std::max<int64_t>(-behind[0], 0));
  }
  if (is_resized) {
    return w.node("Resize", {w.input(0), "", w.constant(array(scales))}, {w.output()},
                  {{"mode", std::string("nearest")},
                   {"coordinate_transformation_mode", std::string("asymmetric")},
                   {"nearest_mode", std::string("floor")}});
  }
  const int64_t channels = w.input_size(0, 1);
  Shape shape{channels, 1};
  for (const int64_t k : ksize) shape.push_back(k);
  Attributes attributes;
  attributes.set("kernel_shape", Attributes::Value(ksize));
  attributes.set("strides", Attributes::Value(stride));
  attributes.set("pads", Attributes::Value(pads));
  attributes.set("group", channels);
  if (std::any_of(more.begin(), more.end(), [](int64_t m) { return m > 0; })) {
    attributes.set("output_padding", Attributes::Value(more));
  }
  w.node("ConvTranspose", {w.input(0), w.constant(ones(shape, w.input_dtype(0)))}, {w.output()}, attributes);
}

// Boxes (x_min, y_min, x_max, y_max) from rows (y_min, x_min, y_max, x_max), and their images.
NodeWriter::Names regions(const NodeWriter& w) {
  if (!w.has_input(2)) w.refuse("rows that begin with the image's number have no ONNX operator");
  const std::vector<int64_t> order{1, 0, 3, 2};
  const std::string boxes = w.make("Gather", {w.input(1), w.integers(order)}, {{"axis", int64_t{1}}});
  return {boxes, w.input(2)};
}

// What RoiAlign reads and is told.
struct RoiAlign {
  std::string rois, images;
  Attributes attributes;
};

RoiAlign roi_align(const NodeWriter& w, const std::vector<int64_t>& outsize, int64_t sampling_ratio, const char* mode) {
  w.require_opset(16, "RoiAlign without a shift of half a pixel");
  const NodeWriter::Names boxes = regions(w);
  const std::string images = w.cast(boxes[1], w.input_dtype(2), Dtype::int64);
  std::string rois = w.cast(boxes[0], w.input_dtype(1), w.input_dtype(0));
  // Only with a shift of half a pixel there are regions less than a pixel long.
  const double scale = w.options().real("spatial_scale");
  const bool half_pixel = w.options().real("least_size") < 1;
  if (half_pixel) rois = w.make("Add", {rois, w.scalar(0.5 / scale, w.input_dtype(0))});
  return {rois,
          images,
          {{"output_height", outsize[0]},
           {"output_width", outsize[1]},
           {"sampling_ratio", sampling_ratio},
           {"spatial_scale", scale},
           {"mode", std::string(mode)},
           {"coordinate_transformation_mode", std::string(half_pixel ? "half_pixel" : "output_half_pixel")}}};
}

void write_whole_align(const NodeWriter& w, const char* mode) {
  const std::vector<int64_t>& ratio = w.options().integers("sampling_ratio");
  if (ratio[0] != ratio[1]) w.refuse("RoiAlign has one sampling_ratio for both axes");
  const RoiAlign align = roi_align(w, w.options().integers("outsize"), ratio[0], mode);
  w.node("RoiAlign", {w.input(0), align.rois, align.images}, {w.output()}, align.attributes);
}

void write_roi_average_align(const NodeWriter& w) { write_whole_align(w, "avg"); }

// RoiAlign's own maximum is that of weighted pixels. Here each sample is a bin of its own, and the maximum is taken of
// those that lie in the image, where RoiAlign finds a one among ones; runtimes give none as their least number.
void write_roi_max_align(const NodeWriter& w) {
  if (w.options().boolean("by_pixel")) return write_whole_align(w, "max");
  const std::vector<int64_t>&outsize = w.options().integers("outsize"), &ratio = w.options().integers("sampling_ratio");
  if (ratio[0] < 1 || ratio[1] < 1) w.refuse("the maximum of as many samples as there are pixels has no ONNX operator");
  const RoiAlign align = roi_align(w, {outsize[0] * ratio[0], outsize[1] * ratio[1]}, 1, "avg");
  const Dtype dtype = w.input_dtype(0);
  const std::string samples = w.make("RoiAlign", {w.input(0), align.rois, align.images}, align.attributes);
  const std::string image = w.constant(ones({1, 1, w.input_size(0, 2), w.input_size(0, 3)}, dtype));
  const std::string first = w.make("Sub", {align.images, align.images});
  const std::string found = w.make("RoiAlign", {image, align.rois, first}, align.attributes);
  const std::string half = w.scalar(0.5, dtype), nothing = w.scalar(-std::numeric_limits<double>::infinity(), dtype);
  const auto largest = [&](const std::string& x) {
    return w.make("MaxPool", {x}, {{"kernel_shape", ratio}, {"strides", ratio}});
  };
  const std::string of_inside = largest(w.make("Where", {w.make("Greater", {found, half}), samples, nothing}));
  w.node("Where", {w.make("Greater", {largest(found), half}), of_inside, nothing}, {w.output()});
}

}  // namespace

void add_pooling_converters(ConverterTable& table) {
  for (const char* const axes : {"nd", "1d", "2d", "3d"}) {
    table[std::string("max_pooling_") + axes] = write_max_pooling;
    table[std::string("max_pooling_") + axes + "_with_indices"] = write_max_pooling;
    table[std::string("average_pooling_") + axes] = write_average_pooling;
    table[std::string("unpooling_") + axes] = write_unpooling;
  }
  table["global_average_pooling_2d"] = write_average_pooling;
  table["roi_average_align_2d"] = write_roi_average_align;
  table["roi_max_align_2d"] = write_roi_max_align;
}

}  // namespace kusari::onnx::exporting
