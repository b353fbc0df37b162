#include "kusari/optimizers/loss_scale.h"

#include <cstddef>

#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/kernels/optimizer_step.h"

namespace kusari {

using kernels::LossScaleState;

namespace {
constexpr int64_t kNumbers = sizeof(LossScaleState) / sizeof(double);
constexpr int64_t kScale = offsetof(LossScaleState, scale) / sizeof(double);
constexpr int64_t kSkipped = offsetof(LossScaleState, skipped) / sizeof(double);
}  // namespace

LossScale::LossScale(const kernels::LossScaleRule& rule, double initial)
    : rule_{rule}, known_{.scale = initial, .growth_tracker = 0, .skipped = 0, .overflowed = 0, .finite = 1} {}

LossScaleState LossScale::state() const {
  if (!is_known()) {
    array_.device().backend().copy_to_host(array_.device().index(), &known_, array_.raw_data(), sizeof(known_));
    known_at_ = written();
  }
  return known_;
}

void LossScale::settle_on(const Device& device) {
  if (array_.is_defined() && array_.device() == device) return;
  const ScopedGraphCapture once(nullptr);
  const bool was_known = is_known();
  array_ = array_.is_defined() ? array_.to_device(device) : from_host(&known_, {kNumbers}, Dtype::float64, device);
  known_at_ = was_known ? written() : written() - 1;
}

Array LossScale::element_on(const Device& device, int64_t index) {
  if (!array_.is_defined()) settle_on(device);
  return array_.at(index).to_device(device);
}

Array LossScale::scale_on(const Device& device) { return element_on(device, kScale); }
Array LossScale::skipped_on(const Device& device) { return element_on(device, kSkipped); }

void LossScale::set_state(const LossScaleState& state) {
  known_ = state;
  if (!array_.is_defined()) return;
  array_.device().backend().copy_from_host(array_.device().index(), array_.raw_data(), &known_, sizeof(known_));
  array_.mark_written();
  known_at_ = written();
}

void LossScale::set(double scale) {
  const bool was_known = is_known();
  known_.scale = scale;
  if (!array_.is_defined()) return;
  array_.at(kScale).fill(scale);
  if (was_known) known_at_ = written();
}

void LossScale::update(const Array& squared_norm) {
  settle_on(squared_norm.device());
  launch<kernels::LossScaleUpdate>(array_.device(), squared_norm, rule_, array_);
}

void LossScale::serialize(Serializer& serializer) {
  LossScaleState now = state();
  serialize_number(serializer, "loss_scale", now.scale, EntryRange::positive);
  bool overflowed = now.overflowed != 0;  // a boolean in the files of earlier versions
  if (serializer.is_writer() || serializer.contains("loss_scale_overflowed")) {
    serializer("loss_scale_overflowed", overflowed);
  }
  now.overflowed = overflowed ? 1 : 0;
  if (serializer.is_writer() || serializer.contains("loss_scale_growth_tracker")) {
    serialize_number(serializer, "loss_scale_growth_tracker", now.growth_tracker, EntryRange::not_negative);
  }
  if (!serializer.is_writer()) set_state(now);
}

}  // namespace kusari
