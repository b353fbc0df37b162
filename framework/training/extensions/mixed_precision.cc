#include "kusari/framework/training/extensions/mixed_precision.h"

#include <algorithm>
#include <exception>
#include <memory>

#include <nlohmann/json.hpp>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/optimizers/hooks/gradient_clipping.h"
#include "kusari/optimizers/loss_scale.h"
#include "kusari/optimizers/optimizer.h"
#include "kusari/optimizers/optimizer_access.h"
#include "kusari/optimizers/optimizer_impl.h"

namespace kusari::training::extensions {
namespace {

constexpr const char* kClipHook = "MixedPrecision";

detail::KernelRule* rule_of(const Parameter& parameter) {
  return parameter.has_update_rule() ? dynamic_cast<detail::KernelRule*>(&parameter.update_rule()) : nullptr;
}

/// A parameter as it was in float32, and the rule that keeps these numbers, for snapshots as well.
struct Wide {
  const Parameter* parameter;
  detail::KernelRule* rule;
  Array array;
};

std::vector<Wide> wide_parameters(const std::vector<Link*>& models) {
  std::vector<Wide> result;
  for (Link* const model : models) {
    for (const Parameter* const parameter : model->params(false)) {
      detail::KernelRule* const rule = rule_of(*parameter);
      if (rule != nullptr && !rule->part) result.push_back({parameter, rule, parameter->array()});
    }
  }
  return result;
}

/// Makes the numbers of before the float32 copy of a parameter that is a 16-bit one now: steps would make it from the
/// rounded ones, and for a frozen parameter none at all. A copy that a snapshot brought stays where the parameter is
/// this copy, rounded.
void keep_wide(const Wide& wide) {
  const Array narrow = wide.parameter->array();
  if (!is_half(narrow.dtype())) return;
  detail::KernelRule& rule = *wide.rule;
  if (rule.master != nullptr && rule.master->shape() == narrow.shape()) {
    const Array kept = rule.master->array().to_device(narrow.device());
    const Array rounded = kept.astype(narrow.dtype()).astype(Dtype::float32);
    rule.master = std::make_unique<Parameter>(
        pointwise(kernels::Where{}, pointwise(kernels::Equal{}, rounded, wide.array), kept, wide.array));
  } else {
    rule.master = std::make_unique<Parameter>(wide.array.is_unique() ? wide.array : wide.array.copy());
  }
  rule.rounded = detail::WrittenState::of(narrow);
}

/// Makes a 16-bit model float32 again, with the numbers of its float32 copies.
void restore_float32(Link& model) {
  std::vector<std::pair<Parameter*, Array>> masters;
  for (Parameter* const parameter : model.params(false)) {
    if (!parameter->has_update_rule()) continue;
    detail::KernelRule* const rule = rule_of(*parameter);
    if (rule != nullptr && rule->master != nullptr && !rule->part && is_half(parameter->dtype())) {
      detail::master_of(*rule, parameter->array());  // follows who has written to the parameter
    }
    const Array master = parameter->update_rule().state("fp32_param");
    if (master.is_defined()) masters.emplace_back(parameter, master);
  }
  model.to(Dtype::float32);
  for (const auto& [parameter, master] : masters) parameter->array().copy_from(master);
}

}  // namespace

MixedPrecision::MixedPrecision(MixedPrecisionOptions options) : options_{options} {
  if (options_.clip && !(*options_.clip > 0)) {
    throw ValueError("MixedPrecision: clip is " + general_text(*options_.clip) + " but must be positive");
  }
}

MixedPrecision::MixedPrecision(MixedPrecision&&) noexcept = default;
MixedPrecision::~MixedPrecision() = default;

void MixedPrecision::initialize(Trainer& trainer) {
  Optimizers all = trainer.updater().get_all_optimizers();
  std::vector<Link*> models;
  std::vector<Optimizer*> optimizers;
  for (const auto& [name, optimizer] : all) {
    models.push_back(&optimizer->target());
    optimizers.push_back(optimizer);
  }
  const bool is_16_bit = options_.recipe == MixedPrecisionRecipe::to_fp16;
  const std::vector<Wide> wide = is_16_bit ? wide_parameters(models) : std::vector<Wide>();
  session_ = std::make_unique<amp::Session>(amp::initialize(
      models, optimizers, is_16_bit ? "O2" : "O1", {.loss_scale = options_.loss_scale, .dtype = options_.dtype}));
  std::for_each(wide.begin(), wide.end(), keep_wide);
  optimizers_ = std::move(all);
  for (const auto& [name, optimizer] : optimizers_) {
    if (options_.clip) optimizer->add_hook(optimizer_hooks::GradientClipping(*options_.clip), kClipHook);
    LossScale* const scale = detail::OptimizerAccess::loss_scale(*optimizer);
    if (options_.loss_scale && !options_.loss_scale->is_dynamic()) continue;  // as it was given
    for (const auto& [of, state] : scales_) {
      if (of == name && scale != nullptr) scale->set_state(state);
    }
  }
}

void MixedPrecision::operator()(Trainer& trainer) {
  for (const auto& [name, optimizer] : optimizers_) {
    if (!optimizer->has_loss_scaling()) continue;
    const std::string prefix = optimizers_.size() > 1 ? name + "/" : "";
    trainer.observation().set(prefix, "loss_scale", optimizer->loss_scale());
    trainer.observation().set(prefix, "skipped_steps", optimizer->skipped_steps());
  }
}

void MixedPrecision::remember_scales() {
  if (session_ == nullptr) return;
  scales_.clear();
  for (const auto& [name, optimizer] : optimizers_) {
    const LossScale* const scale = detail::OptimizerAccess::loss_scale(*optimizer);
    if (scale == nullptr) continue;
    scales_.emplace_back(name, scale->state());
    scales_.back().second.skipped = 0;  // the optimizer has counted them
  }
}

void MixedPrecision::finalize() {
  if (session_ == nullptr) return;
  remember_scales();
  // After an error on this rank the others are not there to be asked.
  const bool is_asked = std::current_exception() == nullptr && options_.recipe == MixedPrecisionRecipe::to_fp16;
  std::exception_ptr error;
  for (const auto& [name, optimizer] : optimizers_) {
    if (options_.clip) optimizer->remove_hook(kClipHook);
    optimizer->no_loss_scaling();
    if (options_.recipe != MixedPrecisionRecipe::to_fp16) continue;
    try {
      if (is_asked && !error) detail::OptimizerAccess::gather_state(*optimizer, true);
    } catch (...) {
      error = std::current_exception();
    }
    restore_float32(optimizer->target());
    optimizer->use_fp32_update(false);
  }
  optimizers_.clear();
  session_ = nullptr;
  if (error) std::rethrow_exception(error);
}

void MixedPrecision::serialize(Serializer& serializer) {
  remember_scales();
  nlohmann::json names = nlohmann::json::array();
  for (const auto& [name, state] : scales_) names.push_back(name);
  std::string text = names.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);  // names may be no UTF-8
  serializer("_optimizers", text);
  if (!serializer.is_writer()) {
    names = nlohmann::json::parse(text, nullptr, false);
    scales_.clear();
    if (!names.is_array()) throw ValueError(serializer.place("_optimizers") + "is not a list of names: " + text);
    for (const auto& name : names) {
      if (!name.is_string()) throw ValueError(serializer.place("_optimizers") + "is not a list of names: " + text);
      scales_.emplace_back(name, kernels::LossScaleState());
    }
  }
  for (auto& [name, state] : scales_) {
    LossScale scale({1, 1, 1, 0, 1, 0}, 1);  // only its state is read and written
    scale.set_state(state);
    scale.serialize(*serializer.child(name));
    if (!serializer.is_writer()) state = scale.state();
  }
}

}  // namespace kusari::training::extensions
