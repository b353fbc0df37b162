#include "kusari/framework/functions/pooling/roi.h"

#include <sstream>
#include <string>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {
namespace {

using kernels::Roi;
using kernels::RoiKind;

/// The constants of one call, which its gradients share.
struct Regions {
  Roi roi;
  Array rois;     // (R, 4)
  Array indices;  // (R)
  Array argmax;   // undefined for averages

  Shape bins(const Shape& x) const { return {rois.shape()[0], x[1], roi.out[0], roi.out[1]}; }
};

void describe_roi(const Regions& regions, Attributes& options) {
  const Roi& roi = regions.roi;
  options.set("outsize", Dims(roi.out, roi.out + 2));
  options.set("spatial_scale", roi.spatial_scale);
  options.set("sampling_ratio", Dims(roi.sampling_ratio, roi.sampling_ratio + 2));
  options.set("least_size", roi.least_size);
  options.set("includes_last_pixel", roi.includes_last_pixel);
  options.set("by_pixel", roi.by_pixel);
}

Variable pick(const Variable& x, const Regions& regions);

// The gradient of x: linear in gy.
class RoiGrad final : public FunctionNode {
 public:
  RoiGrad(const Regions& regions, const Shape& shape) : regions_{regions}, shape_{shape} {}
  const char* name() const override { return "roi_grad"; }
  void describe(Attributes& options) const override {
    describe_roi(regions_, options);
    options.set("shape", shape_);
  }

 private:
  Arrays forward(const ArrayRefs& in) override {
    const Array& gy = in[0];
    const Array gx = empty_channels_last(shape_, gy.dtype(), gy.device());
    launch<kernels::RoiGrad>(gy.device(), regions_.roi, gy, regions_.rois, regions_.indices, regions_.argmax, gx);
    return {gx};
  }
  Variables backward(const Variables& ggx) override { return {pick(ggx[0], regions_)}; }

  Regions regions_;
  Shape shape_;
};

// The bins for an argmax that is known: linear in x.
class RoiPick final : public FunctionNode {
 public:
  explicit RoiPick(const Regions& regions) : regions_{regions} {}
  const char* name() const override { return "roi_pick"; }
  void describe(Attributes& options) const override { describe_roi(regions_, options); }

 private:
  Arrays forward(const ArrayRefs& in) override {
    const Array& x = in[0];
    const Array y = empty_channels_last(regions_.bins(x.shape()), x.dtype(), x.device());
    const auto& [roi, rois, indices, argmax] = regions_;
    if (argmax.is_defined()) {
      launch<kernels::RoiPick>(x.device(), roi, x, rois, indices, argmax, y);
    } else {
      launch<kernels::RoiForward>(x.device(), roi, x, rois, indices, y, argmax);
    }
    return {y};
  }
  Variables backward(const Variables& gy) override { return {apply<RoiGrad>({gy[0]}, regions_, input_shape(0))}; }

  Regions regions_;
};

Variable pick(const Variable& x, const Regions& regions) { return apply<RoiPick>({x}, regions); }

class RoiBins final : public FunctionNode {
 public:
  RoiBins(const char* call, const Roi& roi) : call_{call} { regions_.roi = roi; }
  const char* name() const override { return call_ + 3; }
  void describe(Attributes& options) const override { describe_roi(regions_, options); }

 private:
  bool is_optional(size_t input) const noexcept override { return input == 2; }
  void check(const TypeCheck& c) const override {
    const auto [x, rois, roi_indices] = c.args("x", "rois", "roi_indices");
    c.expect(x.is_floating(), x.ndim() == 4, rois.ndim() == 2, rois.shape(1) == (roi_indices.is_given() ? 4 : 5));
    const bool is_half = (x.dtype() == Dtype::float16).holds || (x.dtype() == Dtype::bfloat16).holds;
    const bool has_exact_rois = is_half && (rois.dtype() == Dtype::float32).holds;
    if (!has_exact_rois) c.expect(x.dtype() == rois.dtype());
    if (roi_indices.is_given()) {
      c.expect(roi_indices.is_integral(), roi_indices.ndim() == 1, rois.shape(0) == roi_indices.shape(0));
    }
  }

  Arrays forward(const ArrayRefs& in) override {
    const Array& x = in[0];
    if (in[2].is_defined()) {
      regions_.rois = in[1];
      regions_.indices = in[2];
    } else {
      split(in[1]);
    }
    const bool is_max = regions_.roi.kind == RoiKind::max_pooling || regions_.roi.kind == RoiKind::max_align;
    const Shape shape = regions_.bins(x.shape());
    const Array y = empty_channels_last(shape, x.dtype(), x.device());
    if (is_max) regions_.argmax = empty_channels_last(shape, Dtype::int32, x.device());
    try {
      launch<kernels::RoiForward>(x.device(), regions_.roi, x, regions_.rois, regions_.indices, y, regions_.argmax);
    } catch (const IndexError& e) {  // the kernel knows the values, not the call
      throw IndexError(std::string(call_) + ": " + e.what());
    } catch (const ValueError& e) {
      throw ValueError(std::string(call_) + ": " + e.what());
    }
    return {y};
  }

  // (image, x_min, y_min, x_max, y_max) as (y_min, x_min, y_max, x_max) and images.
  void split(const Array& rows) {
    regions_.indices = rows.slice(1, 0, 1).squeeze(1).astype(Dtype::int64);
    regions_.rois = empty({rows.shape()[0], 4}, rows.dtype(), rows.device());
    constexpr int64_t kColumns[] = {2, 1, 4, 3};
    for (int64_t i = 0; i < 4; ++i) regions_.rois.slice(1, i, 1).copy_from(rows.slice(1, kColumns[i], 1));
  }

  Variables backward(const Variables& gy) override {
    Variables gradients(input_count());
    if (needs_grad(0)) gradients[0] = apply<RoiGrad>({gy[0]}, regions_, input_shape(0));
    return gradients;
  }

  const char* call_;
  Regions regions_;
};

[[noreturn]] void throw_value(const char* call, const std::string& what, const std::string& rule) {
  throw ValueError(std::string(call) + ": " + what + ": " + rule);
}

}  // namespace

Roi make_roi(const char* call, RoiKind kind, const PerAxis& outsize, double spatial_scale,
             const PerAxis& sampling_ratio) {
  const Dims bins = outsize.resolve(2, call, "outsize"), samples = sampling_ratio.resolve(2, call, "sampling_ratio");
  if (bins[0] < 1 || bins[1] < 1) throw_value(call, "outsize is " + to_string(bins), "it must be at least 1");
  if (samples[0] < 0 || samples[1] < 0) {
    throw_value(call, "sampling_ratio is " + to_string(samples), "it must be at least 1, or 0 for one per pixel");
  }
  // Far more samples than there are pixels change nothing but the time, which grows with their square.
  constexpr int64_t kMostSamples = 1024;
  if (samples[0] > kMostSamples || samples[1] > kMostSamples) {
    throw_value(call, "sampling_ratio is " + to_string(samples), "it must be at most " + std::to_string(kMostSamples));
  }
  if (!(spatial_scale > 0)) {
    std::ostringstream what;
    what << "spatial_scale is " << spatial_scale;
    throw_value(call, what.str(), "it must be positive");
  }
  Roi roi;
  roi.kind = kind;
  roi.spatial_scale = spatial_scale;
  for (int i = 0; i < 2; ++i) {
    roi.out[i] = bins[i];
    roi.sampling_ratio[i] = samples[i];
  }
  return roi;
}

Variable roi_bins(const char* call, const Roi& roi, const Variable& x, const Variable& rois,
                  const Variable& roi_indices) {
  if (std::string_view(call) != "F::roi_pooling_2d") expect_given(roi_indices, call, "roi_indices");
  return apply<RoiBins>({x, rois, roi_indices}, call, roi);
}

}  // namespace kusari::functions
