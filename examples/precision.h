#pragma once

// The flags --dtype and --loss-scale of the examples: which precision a training runs in.

#include <map>
#include <string>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

struct PrecisionFlags {
  std::string dtype = {};       // of parameters and batches; that of KUSARI_DTYPE when empty
  std::string loss_scale = {};  // a number, "dynamic" or "none"; when empty, dynamic for float16 and none for others
  bool use_fp32_update = true;  // 16-bit parameters are updated in float32
};

inline const std::map<std::string, kusari::DtypePolicy> kDtypes{
    {"float16", kusari::Dtype::float16}, {"bfloat16", kusari::Dtype::bfloat16}, {"float32", kusari::Dtype::float32},
    {"float64", kusari::Dtype::float64}, {"mixed16", kusari::mixed16},          {"mixed_bf16", kusari::mixed_bf16}};

inline void add_precision_flags(CLI::App& parser, PrecisionFlags& precision) {
  parser.add_option("--dtype", precision.dtype, "dtype of the model and its inputs (default: that of KUSARI_DTYPE)")
      ->check(CLI::IsMember(&kDtypes));
  parser
      .add_option("--loss-scale", precision.loss_scale,
                  "Factor of the loss, dynamic or none (default: dynamic for float16, otherwise none)")
      ->check(CLI::IsMember({"dynamic", "none"}) | CLI::PositiveNumber);
  parser.add_flag("!--no-fp32-update", precision.use_fp32_update, "Update 16-bit parameters in 16 bits");
}

// To be called before the model is made.
inline void set_dtype(const PrecisionFlags& precision) {
  if (!precision.dtype.empty()) kusari::global_config().dtype = kDtypes.at(precision.dtype);
}

// To be called after the optimizer's setup.
inline void set_up_precision(const PrecisionFlags& precision, kusari::Optimizer& optimizer) {
  using namespace kusari;
  if (is_half(get_dtype()) && precision.use_fp32_update) optimizer.use_fp32_update();
  if (precision.loss_scale == "dynamic" || (precision.loss_scale.empty() && get_dtype() == Dtype::float16)) {
    optimizer.loss_scaling();
  } else if (!precision.loss_scale.empty() && precision.loss_scale != "none") {
    optimizer.set_loss_scale(std::stod(precision.loss_scale));
  }
}
