#pragma once

// The flags --dtype, --amp and --loss-scale of the examples: which precision a training runs in.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"

struct PrecisionFlags {
  std::string dtype = {};    // of parameters and batches (that of KUSARI_DTYPE when empty), or a recipe's 16-bit dtype
  std::string amp = "none";  // a recipe that makes a float32 model mixed
  std::string loss_scale = {};  // a number, "dynamic" or "none"; when empty, dynamic for float16 and none for others
  bool use_fp32_update = true;  // 16-bit parameters are updated in float32
};

inline const std::map<std::string, kusari::DtypePolicy> kDtypes{
    {"float16", kusari::Dtype::float16}, {"bfloat16", kusari::Dtype::bfloat16}, {"float32", kusari::Dtype::float32},
    {"float64", kusari::Dtype::float64}, {"mixed16", kusari::mixed16},          {"mixed_bf16", kusari::mixed_bf16}};

inline void set_dtype(const PrecisionFlags& precision) {
  using namespace kusari;
  if (precision.amp != "none") {
    global_config().dtype = Dtype::float32;  // recipes begin with that
  } else if (!precision.dtype.empty()) {
    global_config().dtype = kDtypes.at(precision.dtype);
  }
}

// The flags, the last ones of a program: `PrecisionFlags precision = precision_flags(*this);`. The dtype of the model
// is set when they are read.
inline PrecisionFlags precision_flags(Flags& flags) {
  PrecisionFlags precision;
  precision.dtype = flags.text(
      "--dtype", "", "dtype of the model and its inputs (default: that of KUSARI_DTYPE), or with --amp the 16-bit one",
      Flags::key_of(kDtypes));
  precision.amp = flags.choice("--amp", {"none", "autocast", "O1", "O2", "O3", "rewrite", "to_fp16"}, "none",
                               "Recipe for mixed precision of a float32 model");
  precision.loss_scale = flags.text(
      "--loss-scale", "", "Factor of the loss, dynamic or none (default: dynamic for float16, otherwise none)",
      Flags::positive_or({"dynamic", "none"}));
  precision.use_fp32_update = flags.flag("!--no-fp32-update", "Update 16-bit parameters in 16 bits");
  if (Flags::is_read()) set_dtype(precision);
  return precision;
}

// The flag of programs that do not train: `std::string dtype = dtype_flag(*this);`.
inline std::string dtype_flag(Flags& flags) {
  PrecisionFlags precision;
  precision.dtype =
      flags.text("--dtype", "", "dtype of the network (default: that of KUSARI_DTYPE)", Flags::key_of(kDtypes));
  if (Flags::is_read()) set_dtype(precision);
  return precision.dtype;
}

inline void set_loss_scale(const PrecisionFlags& precision, kusari::Dtype dtype, kusari::Optimizer& optimizer,
                           const kusari::LossScalingOptions& dynamic = {}) {
  const std::string& scale = precision.loss_scale;
  if (scale == "dynamic" || (scale.empty() && dtype == kusari::Dtype::float16)) {
    optimizer.loss_scaling(dynamic);
  } else if (!scale.empty() && scale != "none") {
    optimizer.set_loss_scale(std::stod(scale));
  }
}

// Applies the recipe. To be called after the optimizer's setup; the result must live as long as the training.
[[nodiscard]] inline kusari::amp::Session set_up_precision(const PrecisionFlags& precision,
                                                           kusari::Optimizer& optimizer) {
  using namespace kusari;
  if (precision.amp == "none") {
    if (is_half(get_dtype()) && precision.use_fp32_update) optimizer.use_fp32_update();
    set_loss_scale(precision, get_dtype(), optimizer);
    return {};
  }
  const Dtype dtype = precision.dtype.empty() ? Dtype::float16 : kDtypes.at(precision.dtype).dtype();
  if (precision.amp == "autocast") {
    optimizer.set_forward_scope([=] { return std::make_shared<amp::Autocast>(amp::AutocastOptions{.dtype = dtype}); });
    set_loss_scale(precision, dtype, optimizer,
                   {.interval = 2000, .growth = LossScaleGrowth::stepwise});  // GradScaler's
  } else if (precision.amp == "rewrite") {
    if (!precision.loss_scale.empty()) throw ValueError("--loss-scale: --amp rewrite chooses its own");
    amp::auto_mixed_precision(optimizer, {.dtype = dtype});
  } else if (precision.amp == "to_fp16") {
    amp::to_fp16(optimizer.target(), dtype);
    global_config().dtype = dtype;  // of the batches
    optimizer.use_fp32_update();
    set_loss_scale(precision, dtype, optimizer);
  } else {
    amp::InitializeOptions options{.dtype = dtype};
    if (precision.loss_scale == "none") {
      options.loss_scale = 1.0;
    } else if (!precision.loss_scale.empty()) {
      options.loss_scale = amp::LossScaleChoice(precision.loss_scale);
    }
    return amp::initialize(optimizer.target(), optimizer, precision.amp, options);
  }
  return {};
}
