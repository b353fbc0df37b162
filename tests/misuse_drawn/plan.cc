#include "plan.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace kusari::misuse_drawn {
namespace {

std::string name_of(const std::string& call) {
  std::string name = call.substr(0, call.find('('));
  if (name.starts_with("F::") || name.starts_with("L::")) name.erase(0, 3);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

bool is_one_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Dims prefixed(std::initializer_list<int64_t> first, const Dims& rest) {
  Dims dims(first);
  for (const int64_t size : rest) dims.push_back(size);
  return dims;
}

}  // namespace

bool Plan::calls(std::initializer_list<const char*> parts) const {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return function.find(part) != std::string::npos; });
}

Plan::Plan(const char* call, Random& random) : function{name_of(call)} {
  nasty = random.of({0.0, 0.0, 0.0, 0.08, 0.08, 0.25, 0.25, 0.7});
  batch = random.of<int64_t>({1, 2, 2, 3, 3, 4, 0});
  groups = random.of<int64_t>({1, 1, 1, 2, 4});
  channels = groups * random.of<int64_t>({1, 2, 3, 4, 16});
  outputs = groups * random.of<int64_t>({1, 2, 3, 5, 16});
  classes = random.between(1, 6);
  steps = random.between(1, 4);
  real = random.of({Dtype::float32, Dtype::float32, Dtype::float32, Dtype::float32, Dtype::float64, Dtype::float16,
                    Dtype::bfloat16});
  label = random.of({Dtype::int32, Dtype::int32, Dtype::int32, Dtype::int64, Dtype::int8, Dtype::uint8});

  int ndim = static_cast<int>(random.below(3));
  if (calls({"1d"})) ndim = 1;
  if (calls({"2d", "_2d", "resize", "spatial", "depth", "response", "roi", "inception", "shift", "googlenet", "resnet",
             "mobilenet", "residual", "separable", "cifar", "discriminative", "grid_sample", "cutmix"})) {
    ndim = 2;
  }
  if (calls({"3d"})) ndim = 3;
  if (calls({"_nd", "nd", "im2col", "col2im"}) && !calls({"1d", "2d", "3d"}) && ndim == 0) ndim = 2;
  if (calls({"crf1d", "linear", "bilinear", "embed", "black", "negative", "hierarchical", "hinge", "connectionist",
             "covariance", "decov", "contrastive", "triplet", "normalize", "layer_norm", "layernorm", "highway",
             "maxout", "dropconnect"}) &&
      random.chance(0.85)) {
    ndim = 0;
  }
  for (int i = 0; i < ndim; ++i) {
    spatial.push_back(random.between(1, 9));
    ksize.push_back(random.of<int64_t>({1, 2, 3, 3, 4}));
    stride.push_back(random.of<int64_t>({1, 1, 1, 2, 3}));
    pad.push_back(random.of<int64_t>({0, 0, 1, 2}));
    dilate.push_back(random.of<int64_t>({1, 1, 1, 2}));
  }
  if (calls({"googlenet", "resnet", "mobilenet", "cifar"})) {
    batch = 1;
    channels = 3;
    spatial = Dims{32, 32};
  }
  x = prefixed({batch, channels}, spatial);
  if (ndim == 0 && !calls({"normal", "linear", "hinge"})) {
    if (random.chance(0.15)) x = Shape{batch};
    if (random.chance(0.1)) x = Shape{};
  }
  if (is_one_of(function,
                {"det", "batch_det", "inv", "batch_inv", "cholesky", "sparse_matmul", "solve", "slogdet", "eigh"})) {
    x = calls({"batch"}) || (!calls({"sparse"}) && random.chance(0.3)) ? Shape{batch, channels, channels}
                                                                       : Shape{channels, channels};
  }
  if (function == "squeeze") x = Shape{1, channels, 1, 1};
  if (calls({"backward"}) || function == "grad") x = random.chance(0.5) ? Shape{} : Shape{1};
  if (calls({"to_coo"}) && x.ndim() < 2) x = Shape{batch, channels};
}

Shape Plan::shape_of(const std::string& a, Random& random) const {
  const int64_t units = x.ndim() > 1 ? numel(x) / std::max<int64_t>(x[0], 1) : 1;
  const Dims kernel = ksize;
  if (calls({"spatial_transformer_grid"})) return {batch, 2, 3};
  if (calls({"grid_sample"}) && a == "grid") {
    Shape shape = prefixed({batch}, spatial);
    shape.push_back(spatial.ndim());
    return shape;
  }
  if (a == "grid") return prefixed({batch, 2}, spatial);
  if (calls({"_elements"})) return x;
  if (calls({"gather_nd", "scatter_nd"}) && a != "x") {
    Shape shape{steps};
    if (a == "indices") return {steps, 1};
    for (int i = 1; i < x.ndim(); ++i) shape.push_back(x[i]);
    return shape;
  }
  if (a == "ids") return {x.empty() ? batch : x[0]};
  if (a == "lengths" && x.ndim() > 1) return {x[1]};
  if (a == "rois") return {steps, calls({"roi_pooling"}) ? 5 : 4};
  if (a == "roi_indices") return {steps};
  if (calls({"convolution"}) || calls({"inception"})) {
    if (a == "offset") {
      Shape shape{batch, 2 * numel(kernel)};
      for (int i = 0; i < spatial.ndim(); ++i) {
        shape.push_back(std::max<int64_t>((spatial[i] + 2 * pad[i] - ksize[i]) / stride[i] + 1, 0));
      }
      return shape;
    }
    if (a == "W") {
      if (calls({"deconvolution"})) return prefixed({channels, outputs / groups}, kernel);
      if (calls({"depthwise"})) return prefixed({steps, channels}, kernel);
      if (calls({"local"})) {
        Shape shape{outputs};
        for (int i = 0; i < spatial.ndim(); ++i) {
          shape.push_back(std::max<int64_t>((spatial[i] - ksize[i]) / stride[i] + 1, 0));
        }
        shape.push_back(channels);
        for (const int64_t size : kernel) shape.push_back(size);
        return shape;
      }
      return prefixed({outputs, channels / groups}, kernel);
    }
    if (a == "b" && calls({"local"})) {
      const Shape filters = shape_of("W", random);
      return {filters[0], filters[1], filters[2]};
    }
    if (a == "b") return {calls({"depthwise"}) ? steps * channels : outputs};
  }
  if (a == "row" || (a == "col" && !calls({"col2im"})) || a == "data") return {steps};
  if (a == "col") return prefixed({batch, channels}, prefixed({ksize[0], ksize[ksize.ndim() - 1]}, spatial));
  if (calls({"bilinear"}) && !calls({"sample"})) {
    if (a == "e2") return {batch, steps};
    if (a == "W") return {units, steps, outputs};
    if (a == "V1") return {units, outputs};
    if (a == "V2") return {steps, outputs};
    if (a == "b") return {outputs};
  }
  if (calls({"embed", "black_out", "blackout", "negative_sampling", "negativesampling"}) && a == "W") {
    return {classes, channels};
  }
  if (calls({"hierarchical"}) && a == "W") return {classes, units};
  if (calls({"linear", "dropconnect"})) {
    if (a == "W") return {outputs, units};
    if (a == "b") return {outputs};
    if (a == "mask") return random.chance(0.5) ? Shape{batch, outputs, units} : Shape{outputs, units};
  }
  if (calls({"prelu"}) && a == "W") return x.ndim() > 1 && random.chance(0.7) ? Shape{channels} : Shape{};
  if (calls({"normalized_fusion"}) && a == "w") return {steps};
  if (a == "paths" || a == "codes") return {classes, steps};
  if (a == "samples") return {batch, steps};
  if (a == "cost") return {classes, classes};
  if (calls({"crf"}) && a == "xs") return {batch, classes};
  if (calls({"crf"}) && a == "ys") return {batch};
  if (calls({"connectionist", "ctc_"})) {
    if (a == "x") return {batch, classes};
    if (a == "scores") return {steps, batch, classes};
    if (a == "t") return {batch, steps};
    return {batch};
  }
  if (is_one_of(a, {"gamma", "beta", "mean", "var", "running_mean", "running_var", "initial_gamma", "class_weight"}) &&
      calls({"normalization", "softmax", "swish", "renorm"})) {
    if (calls({"decorrelated"})) return {groups, channels / groups};
    return calls({"layer"}) ? Shape{units} : Shape{channels};
  }
  if (is_one_of(a, {"projection", "running_projection"})) return {groups, channels / groups, channels / groups};
  if (is_one_of(a, {"t", "labels", "truth"}) &&
      calls({"softmax_cross", "accuracy", "select_item", "hinge", "negative", "black", "hierarchical", "contrastive",
             "f1_score", "fbeta", "precision", "recall", "classification", "confusion"}) &&
      !calls({"average_precision"})) {
    Shape shape = x;
    if (shape.ndim() > 1) shape.erase(1);
    return shape;
  }
  if (a == "labels") return prefixed({batch}, spatial);
  if (a == "t" && calls({"mixup", "cutmix"})) return {batch};
  if (a == "y" && calls({"contrastive"})) return {batch};
  if (calls({"matmul"}) && x.ndim() >= 2) {
    Shape shape = x;
    if (a == "b" && random.chance(0.8)) std::swap(shape[shape.ndim() - 1], shape[shape.ndim() - 2]);
    return shape;
  }
  if (is_one_of(a, {"indices", "repeats", "places"})) return {std::max<int64_t>(batch, 1)};
  if (a == "indexes") {
    Shape shape = x;
    return shape;
  }
  if (a == "images" || a == "image") return {3, random.between(1, 40), random.between(1, 40)};
  // One more try at what fits: the same shape, one that broadcasts to it, the channels.
  switch (random.below(calls({"linear_interpolate", "triplet", "gaussian", "zoneout"}) ? 40 : 20)) {
    case 0:
      return {};
    case 1:
      return x.ndim() > 1 ? Shape{x[1]} : x;
    case 2: {
      Shape shape = x;
      if (!shape.empty()) shape[static_cast<int>(random.below(shape.size()))] = 1;
      return shape;
    }
    default:
      return x;
  }
}

Dtype Plan::dtype_of(const std::string& a, Random& random) const {
  if (calls({"embed"}) && a == "x") return label;
  if (is_one_of(a, {"t", "labels", "ys", "roi_indices", "indices", "samples", "indexes", "paths", "input_length",
                    "label_length", "row", "col", "places", "n", "lengths", "ids"}) &&
      !calls({"col2im", "mean_", "huber", "absolute_error", "squared"})) {
    return label;
  }
  if (a == "y" && calls({"contrastive"})) return label;
  if (calls({"bitwise_", "left_shift", "right_shift"})) return label;
  if (a == "condition" || (a == "mask" && calls({"masked_fill"}))) return Dtype::bool_;
  if (a == "t" && calls({"binary_accuracy", "sigmoid_cross"})) return Dtype::int32;
  if (a == "codes") return Dtype::float32;
  if (calls({"array"}) && random.chance(0.3)) return random.of({Dtype::int32, Dtype::uint8, Dtype::bool_});
  return real;
}

int64_t Plan::integer_of(const std::string& a, Random& random) const {
  const int64_t units = x.ndim() > 1 ? numel(x) / std::max<int64_t>(x[0], 1) : 1;
  if (is_one_of(a, {"axis", "axis1", "axis2", "start", "source", "destination", "a", "b", "axes"})) {
    return x.empty() ? 0 : random.between(-x.ndim(), x.ndim() - 1);
  }
  if (is_one_of(a, {"in_channels", "size"})) return random.chance(0.1) ? -1 : channels;
  if (is_one_of(a, {"in_size", "in_out_size", "left_size"})) return random.chance(0.1) ? -1 : units;
  if (a == "right_size") return steps;
  if (is_one_of(a, {"out_channels", "out_size"})) return outputs;
  if (is_one_of(a, {"groups", "group_count"})) return groups;
  if (is_one_of(a, {"n_label", "label_num", "n_classes", "n_segments"})) return classes;
  if (a == "ndim") return spatial.ndim();
  if (a == "time_axis" || a == "batch_dims") return 0;
  if (a == "batch_axis") return 1;
  if (a == "n_batch_axes") return random.between(1, 2);
  if (a == "pool_size" || a == "r") return random.between(1, 3);
  if (a == "image_size") return 32;
  if (is_one_of(a, {"length", "ldnz", "n"})) return random.between(0, 40);
  return random.between(0, 5);
}

int64_t Plan::count_of(const std::string& a, Random& random) const {
  if (random.chance(0.03)) return random.of<int64_t>({0, 9, 40, 300});
  if (is_one_of(a, {"axes", "reps", "scales"})) return x.ndim();
  if (a == "roi") return 2 * x.ndim();
  if (a == "subscripts") return x.ndim();
  if (is_one_of(a, {"probs", "counts", "word_counts"})) return classes;
  if (is_one_of(a, {"x", "xs", "ys"})) return calls({"fft"}) ? 2 : steps;
  if (a == "values") return numel(x);
  if (a == "operands") return random.between(1, 3);
  return random.between(1, 3);
}

Dims Plan::dims_of(const std::string& a, Random& random) const {
  if (is_one_of(a, {"outsize", "output_shape"})) {
    if (calls({"deconvolution", "unpooling", "upsampling"}) && random.chance(0.4)) return {};
    Dims dims;
    const int ndim = calls({"resize", "grid"}) ? 2 : spatial.ndim();
    for (int i = 0; i < ndim; ++i) dims.push_back(random.between(1, 12));
    return dims;
  }
  if (a == "sizes") {
    Dims dims;
    for (int i = 0; i < x.ndim(); ++i) dims.push_back(random.between(1, 12));
    return dims;
  }
  if (a == "axis") return random.chance(0.5) ? Dims{} : Dims{0, random.between(1, 3)};
  if (a == "strides") return contiguous_strides(x);
  if (a == "w_shape" || a == "bias_shape" || calls({"prelu", "swish", "normalization"})) {
    return random.chance(0.8) ? Dims{channels} : Dims{};
  }
  switch (random.below(5)) {
    case 0:
      return {-1};
    case 1: {
      Dims dims = x;
      if (!dims.empty()) std::swap(dims[0], dims[dims.ndim() - 1]);
      return dims;
    }
    case 2:
      return x.ndim() < kMaxNdim ? prefixed({random.between(1, 3)}, x) : x;
    default:
      return x;
  }
}

bool Plan::needs(const std::string& member) const {
  return is_one_of(member, {"paths", "codes", "x", "subscripts", "outh", "outw", "groups", "stride", "pad", "dilate",
                            "sizes", "n_classes"}) ||
         (member.starts_with("out") && calls({"inception"})) || (member.starts_with("proj") && calls({"inception"})) ||
         (member.starts_with("running") && calls({"renorm"}));
}

}  // namespace kusari::misuse_drawn
