#include "kusari/framework/links/normalization/batch_statistics.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/random_replay.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {
namespace {

bool is_known(const Shape& size) {
  return std::all_of(size.begin(), size.end(), [](int64_t n) { return n >= 0; });
}

const Shape& sizes_or_infer(const char* call, const Shape& shape) {
  for (const int64_t size : shape) size_or_infer(call, "size", size);
  return shape;
}

std::string short_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}  // namespace

BatchStatistics::BatchStatistics(const char* call, const Shape& size, Start start)
    : decay{start.decay},
      eps{start.eps},
      gamma{*this,
            "gamma",
            sizes_or_infer(call, size),
            std::move(start.initial_gamma),
            start.use_gamma,
            get_dtype(start.dtype, Dtype::float32)},
      beta{*this, "beta", size, std::move(start.initial_beta), start.use_beta, get_dtype(start.dtype, Dtype::float32)},
      avg_mean{*this, "avg_mean"},
      avg_var{*this, "avg_var"},
      N{*this, "N", 0},
      call_{call},
      size_{size},
      axis_{start.axis},
      dtype_{get_dtype(start.dtype, Dtype::float32)},
      initial_avg_mean_{std::move(start.initial_avg_mean)},
      initial_avg_var_{std::move(start.initial_avg_var)} {
  if (is_known(size)) make_averages(size, Device());
}

void BatchStatistics::make_averages(const Shape& size, const Device& device) const {
  const ScopedGraphCapture once(nullptr);
  const random::UnrecordedDraws unrecorded;
  avg_mean = initializers::generate_array(initial_avg_mean_, size, dtype_, device);
  avg_var = initializers::generate_array(initial_avg_var_, size, dtype_, device);
}

void BatchStatistics::serialize(Serializer& serializer) {
  const bool takes_size = !avg_mean.is_defined();
  Link::serialize(serializer);
  if (serializer.is_writer() || serializer.restores()) return;
  // What a link of unknown size takes must fit together.
  const auto text = [](const Array& array) {
    return array.is_defined() ? to_string(array.shape()) + " and dtype " + name(array.dtype()) : "None";
  };
  for (const auto& [key, average] : {std::pair{"avg_mean", &avg_mean}, std::pair{"avg_var", &avg_var}}) {
    if (!average->is_defined() && !avg_mean.is_defined()) continue;
    if (!average->is_defined() || !avg_mean.is_defined() || !average->is_floating() ||
        average->shape() != avg_mean.shape()) {
      throw TypeError(serializer.place(key) + "has shape " + text(*average) +
                      ": it must be floating, and of the shape of avg_mean, which has " + text(avg_mean));
    }
    for (const OptionalParameter* parameter : {&gamma, &beta}) {
      if (!parameter->is_defined()) continue;
      if (!parameter->is_initialized() || parameter->shape() != average->shape()) {
        throw TypeError(serializer.place(key) + "has shape " + text(*average) + " but " + parameter->name() + " has " +
                        text(parameter->array()));
      }
      dtype_ = parameter->dtype();  // to(Dtype) may have changed it
    }
    if (takes_size && average->dtype() != dtype_) *average = average->astype(dtype_);
  }
}

void BatchStatistics::prepare(const Variable& x) const {
  if (has_averages_.is_set() && avg_mean.is_defined()) return;
  LinkCall::expect_members(*this);
  const detail::FirstCall alone;
  if (avg_mean.is_defined()) return has_averages_.set();
  functions::expect_floating(x, call_, "x");
  Shape size = size_;
  for (int axis = axis_.empty() ? 1 : 0, i = 0; i < size.ndim() && axis < x.ndim(); ++axis) {
    const bool aggregated =
        std::any_of(axis_.begin(), axis_.end(), [&](int64_t a) { return a == axis || a + x.ndim() == axis; });
    if (aggregated) continue;
    if (size[i] < 0) size[i] = x.shape()[axis];
    ++i;
  }
  if (!is_known(size)) {
    throw TypeError(std::string(call_) + ": x has shape " + to_string(x.shape()) +
                    ": it must have an axis for each size that is to be inferred");
  }
  for (const OptionalParameter* parameter : {&gamma, &beta}) {
    if (!parameter->is_defined()) continue;
    if (!parameter->is_initialized()) parameter->initialize(size);
    dtype_ = parameter->dtype();  // to(Dtype) may have changed it
  }
  make_averages(size, x.device());
  has_averages_.set();
}

Variable BatchStatistics::scale() const { return or_constant(gamma, 1); }
Variable BatchStatistics::shift() const { return or_constant(beta, 0); }

Variable BatchStatistics::or_constant(const Variable& parameter, double constant) const {
  if (parameter.is_defined()) return parameter;
  return Variable(full(avg_mean.shape(), constant, avg_mean.dtype(), avg_mean.device()), false);
}

double BatchStatistics::count(const BatchNormalizationCall& call) const {
  if (!call.finetune) return decay;
  GraphCapture::refuse("L.BatchNormalization", "it counts its calls while it finetunes");
  if (!config().in_recomputing) N = N + 1;
  return 1 - 1 / static_cast<double>(N);
}

std::vector<std::pair<std::string, std::string>> BatchStatistics::printable_specs() const {
  const auto flag = [](bool value) { return value ? "True" : "False"; };
  return {{"size", size_.empty() || size_[0] < 0 ? "None" : std::to_string(size_[0])},
          {"decay", short_text(decay)},
          {"eps", short_text(eps)},
          {"dtype", name(dtype_)},
          {"use_gamma", flag(gamma.is_defined())},
          {"use_beta", flag(beta.is_defined())}};
}

}  // namespace kusari::links
