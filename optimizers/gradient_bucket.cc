#include "kusari/optimizers/gradient_bucket.h"

#include <cmath>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"
#include "kusari/optimizers/conversions.h"
#include "kusari/optimizers/hooks/fused.h"
#include "kusari/optimizers/optimizer_impl.h"

namespace kusari {

using detail::GradientScale;
using detail::WrittenState;

namespace {

/// A gradient, and what it was multiplied by, which set_grad does not know.
void replace_gradient(Variable& parameter, const Array& gradient, const GradientScale& scale) {
  parameter.set_grad(gradient);
  if (scale == GradientScale()) return;
  auto& saved = parameter.node()->saved_state();
  saved.loss_scale = scale.host;
  saved.device_loss_scale = scale.device;
}

WrittenState written_state(const Variable& parameter) {
  const detail::VariableNode* const gradient = parameter.node()->grad;
  return gradient == nullptr ? WrittenState{0, 0, parameter.dtype()} : WrittenState::of(gradient->array);
}

}  // namespace

GradientBucket::GradientBucket(std::vector<Parameter*> members, Dtype wire, std::string text)
    : members_{std::move(members)}, wire_{wire}, detail_{std::move(text)} {
  for (const Parameter* const parameter : members_) size_ += parameter->size();
}

GradientBucket::GradientBucket(GradientBucket&&) noexcept = default;
GradientBucket& GradientBucket::operator=(GradientBucket&&) noexcept = default;
GradientBucket::~GradientBucket() = default;

int GradientBucket::operations() const { return AllReduce::operations(size_, wire_); }

void GradientBucket::start(collectives::Group& group, const ScaleOf& scale_of, int64_t number) {
  if (group.checks_calls()) warn_of_non_finite(group);
  host_ = pack(scale_of).to_device(Device());
  reduction_ = std::make_unique<AllReduce>(
      group, host_, AllReduceOptions{.detail = detail_, .first_number = number, .awaits_weights = true});
}

void GradientBucket::start_on(DeviceGroup& group, const ScaleOf& scale_of, const Array& inverse_weight) {
  group.start_all_reduce(pack(scale_of, {.device = inverse_weight}));
  on_device_ = &group;
}

const Array& GradientBucket::pack(const ScaleOf& scale_of, const GradientScale& divisor) {
  buffer_ = empty({size_}, wire_, members_[0]->device());
  detail::Conversions conversions;
  int64_t at = 0;
  for (Parameter* const parameter : members_) {
    detail::make_dense(*parameter);
    const Array& array = parameter->array();
    views_.push_back(buffer_.slice(0, at, array.size()).as_strided(array.shape(), array.strides()));
    at += array.size();
    parameters_.push_back(*parameter);
    const WrittenState written = written_state(*parameter);
    if (written.storage == 0) {
      views_.back().fill(0);
      sent_.push_back({scale_of(array.device()), written});
    } else {
      conversions.add(detail::conform(detail::gradient_of(*parameter), array), views_.back(), divisor);
      sent_.push_back({{parameter->device_loss_scale(), parameter->loss_scale()}, written});
    }
  }
  conversions.run();
  return buffer_;
}

void GradientBucket::warn_of_non_finite(const collectives::Group& group) const {
  for (Parameter* const parameter : members_) {
    const Array sum = optimizer_hooks::gradient_square_sum({&parameter, 1});
    if (!sum.is_defined() || std::isfinite(sum.item<double>())) continue;
    log::warn("the gradient of '" + parameter->name() + "' (" + detail_ + ") of " + group.describe(group.rank()) +
              " is not finite");
  }
}

double GradientBucket::finish(const std::vector<double>& weights, Use use) {
  double waited = 0;
  if (on_device_ != nullptr) {
    std::exchange(on_device_, nullptr)->join();
  } else {
    reduction_->set_weights(weights);
    waited = reduction_->wait();
    reduction_ = nullptr;
    if (!buffer_.device().is_cpu()) buffer_.copy_from(host_);
    host_ = Array();
  }
  if (use != Use::none) adopt(use);
  return waited;
}

void GradientBucket::adopt(Use use) {
  detail::Conversions unpack;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    Variable& parameter = parameters_[i];
    if (use == Use::unchanged && !(written_state(parameter) == sent_[i].written)) {
      throw StateError("Optimizer::update: the gradient of '" + parameter.name() + "' (" + detail_ +
                       ") has changed after it was sent to the other processes: leave out `overlap` for such models");
    }
    if (wire_ == parameter.dtype()) {
      replace_gradient(parameter, views_[i], sent_[i].scale);
      continue;
    }
    const Array gradient = empty_like(parameter.array());
    unpack.add(views_[i], gradient, GradientScale());
    replace_gradient(parameter, gradient, sent_[i].scale);
  }
  unpack.run();
}

}  // namespace kusari
