#include "kusari/framework/amp/initialize.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/optimizers/loss_scale.h"
#include "kusari/optimizers/optimizer.h"
#include "kusari/optimizers/optimizer_access.h"

namespace kusari::amp {
namespace {

constexpr double kInitialScale = 65536, kGrowthInterval = 2000;
constexpr double kLeastScale = std::numeric_limits<float>::min();

std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

[[noreturn]] void refuse(const std::string& what) { throw ValueError("amp::initialize: " + what); }

struct Properties {
  bool cast_model = false;
  bool patch_functions = false;
  bool keep_batchnorm_fp32 = true;
  bool master_weights = false;
  bool is_dynamic = false;
  double loss_scale = 1;
};

Properties level_properties(std::string_view opt_level, Dtype dtype) {
  const bool is_dynamic = dtype == Dtype::float16;
  if (opt_level == "O0") return {};
  if (opt_level == "O1") return {.patch_functions = true, .is_dynamic = is_dynamic};
  if (opt_level == "O2") return {.cast_model = true, .master_weights = true, .is_dynamic = is_dynamic};
  if (opt_level == "O3") return {.cast_model = true, .keep_batchnorm_fp32 = false};
  refuse("opt_level is '" + std::string(opt_level) +
         "' but must be O0, O1, O2 or O3 (the letter O, not the number zero)");
}

// The contradictions are those that apex refuses.
Properties properties_of(std::string_view opt_level, const InitializeOptions& options) {
  if (!is_half(options.dtype)) {
    refuse(std::string("dtype is ") + name(options.dtype) + ": it must be float16 or bfloat16");
  }
  Properties properties = level_properties(opt_level, options.dtype);
  const bool is_o1 = opt_level == "O1";
  if (options.cast_model) {
    if (is_o1 && *options.cast_model) {
      refuse(
          "cast_model is true but O1 converts the inputs of functions and leaves the model in float32; use O2 or O3");
    }
    properties.cast_model = *options.cast_model;
  }
  if (options.patch_functions) {
    if (!is_o1 && *options.patch_functions) refuse("patch_functions is true but only O1 may convert inputs; use O1");
    properties.patch_functions = *options.patch_functions;
  }
  if (options.keep_batchnorm_fp32) {
    if (is_o1) {
      refuse("keep_batchnorm_fp32 is " + text_of(*options.keep_batchnorm_fp32) +
             " but with O1 normalizations always stay in float32; do not set it");
    }
    properties.keep_batchnorm_fp32 = *options.keep_batchnorm_fp32;
  }
  if (options.master_weights) {
    if (is_o1) {
      refuse("master_weights is " + text_of(*options.master_weights) +
             " but with O1 the parameters themselves are float32; do not set it");
    }
    properties.master_weights = *options.master_weights;
  }
  if (options.loss_scale) {
    properties.is_dynamic = options.loss_scale->is_dynamic();
    if (!properties.is_dynamic) properties.loss_scale = options.loss_scale->scale();
  }
  const double least = options.min_loss_scale.value_or(kLeastScale), most = options.max_loss_scale;
  if (!(least > 0 && least <= most)) {
    refuse("min_loss_scale is " + text_of(least) + " and max_loss_scale is " + text_of(most) +
           " but they must be positive and in this order");
  }
  return properties;
}

// For models of 16-bit parameters: whatever meets one of those follows it, and losses want float32.
const PrecisionLists& half_model_lists() {
  static const PrecisionLists lists = [] {
    PrecisionLists result = autocast_lists();
    result.refused.clear();
    result.narrowest.merge(result.low);
    result.low.clear();
    result.full = {"absolute_error",
                   "contrastive",
                   "crf1d",
                   "gaussian_nll",
                   "hinge",
                   "huber_loss",
                   "mean_absolute_error",
                   "mean_squared_error",
                   "negative_sampling",
                   "sigmoid_cross_entropy",
                   "softmax_cross_entropy",
                   "squared_error",
                   "triplet",
                   "bernoulli_nll",
                   "connectionist_temporal_classification",
                   "gaussian_kl_divergence"};
    return result;
  }();
  return lists;
}

void check_model(Link& model) {
  for (const auto& [path, parameter] : model.namedparams(false)) {
    if (parameter->dtype() == Dtype::float32) continue;
    throw TypeError("amp::initialize: parameter " + path + " is " + name(parameter->dtype()) +
                    " but must be float32; initialize converts the model itself");
  }
}

void check_optimizer(const Optimizer& optimizer) {
  if (!optimizer.has_target()) {
    throw StateError(std::string("amp::initialize: this ") + optimizer.name() +
                     " has no target; call optimizer.setup(model) first");
  }
  if (optimizer.has_loss_scaling()) {
    throw StateError(std::string("amp::initialize: this ") + optimizer.name() +
                     " scales the loss already; call its no_loss_scaling() first, and initialize() once");
  }
}

}  // namespace

LossScaleChoice::LossScaleChoice(double scale) : scale_{scale} {
  if (scale > 0 && std::isfinite(scale)) return;
  throw ValueError("amp::LossScaleChoice: scale is " + general_text(scale) + " but must be positive and finite");
}

LossScaleChoice::LossScaleChoice(std::string_view text) {
  if (text == "dynamic") return;
  double scale = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, scale);
  if (result.ec != std::errc() || result.ptr != end) {
    throw ValueError("amp::LossScaleChoice: text is '" + std::string(text) + "' but must be 'dynamic' or a number");
  }
  *this = LossScaleChoice(scale);
}

Session::~Session() {
  if (region_ == nullptr || thread_ == detail::this_thread()) return;
  log::error("amp::Session: it ended on another thread than it began on, where functions are still converted");
  static_cast<void>(region_.release());  // to end it here would change this thread's regions
}

Session initialize(std::span<Link* const> models, std::span<Optimizer* const> optimizers, std::string_view opt_level,
                   const InitializeOptions& options) {
  if (!options.enabled) return {};
  const Properties properties = properties_of(opt_level, options);
  for (Link* const model : models) check_model(*model);
  for (const Optimizer* const optimizer : optimizers) check_optimizer(*optimizer);

  if (properties.cast_model) {
    for (Link* const model : models) model->to(options.dtype, {.keep_float32 = properties.keep_batchnorm_fp32});
  }
  for (Optimizer* const optimizer : optimizers) {
    if (properties.master_weights) optimizer->use_fp32_update();
    if (properties.is_dynamic) {
      const double least = options.min_loss_scale.value_or(kLeastScale), most = options.max_loss_scale;
      optimizer->loss_scaling({.interval = kGrowthInterval,
                               .growth = LossScaleGrowth::stepwise,
                               .initial_scale = std::clamp(kInitialScale, least, most)});
      LossScale& scale = *detail::OptimizerAccess::loss_scale(*optimizer);
      kernels::LossScaleRule rule = scale.rule();
      rule.min = least;
      rule.max = most;
      scale.set_rule(rule);
    } else if (properties.loss_scale != 1) {
      optimizer->loss_scaling({.scale = properties.loss_scale});
    }
  }
  if (properties.patch_functions) return Session(AutocastOptions{.dtype = options.dtype});
  if (properties.cast_model) return Session(AutocastOptions{.dtype = options.dtype, .lists = &half_model_lists()});
  return {};
}

void ScaledLoss::backward(const BackwardOptions& options) const {
  BackwardOptions scaled = options;
  if (scale_.is_defined()) scaled.device_loss_scale = scale_;
  loss_.backward(scaled);
}

ScaledLoss scale_loss(const Variable& loss, std::span<Optimizer* const> optimizers) {
  Array scale;
  for (Optimizer* const optimizer : optimizers) {
    const Array own = detail::OptimizerAccess::seed(*optimizer, loss);
    if (!own.is_defined()) continue;
    scale = scale.is_defined() ? pointwise(kernels::Minimum{}, scale, own) : own;
  }
  return {loss, scale};
}

Session initialize(std::initializer_list<Link*> models, std::initializer_list<Optimizer*> optimizers,
                   std::string_view opt_level, const InitializeOptions& options) {
  return initialize(std::span<Link* const>(models.begin(), models.size()),
                    std::span<Optimizer* const>(optimizers.begin(), optimizers.size()), opt_level, options);
}

Session initialize(Link& model, Optimizer& optimizer, std::string_view opt_level, const InitializeOptions& options) {
  return initialize({&model}, {&optimizer}, opt_level, options);
}

ScaledLoss scale_loss(const Variable& loss, std::initializer_list<Optimizer*> optimizers) {
  return scale_loss(loss, std::span<Optimizer* const>(optimizers.begin(), optimizers.size()));
}

ScaledLoss scale_loss(const Variable& loss, Optimizer& optimizer) { return scale_loss(loss, {&optimizer}); }

}  // namespace kusari::amp
