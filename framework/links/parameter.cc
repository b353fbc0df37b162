#include "kusari/framework/links/parameter.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/random_replay.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/links/sizes_on_trial.h"

namespace kusari {

namespace {

bool is_known(const Shape& shape) {
  for (const int64_t size : shape) {
    if (size < 0) return false;
  }
  return true;
}

bool fits(const Shape& declared, const Shape& shape) {
  if (!is_known(shape)) return false;
  if (declared == Shape{kInferShape}) return true;
  bool fits = shape.ndim() == declared.ndim();
  for (int i = 0; fits && i < shape.ndim(); ++i) fits = declared[i] < 0 || declared[i] == shape[i];
  return fits;
}

std::string label(const Parameter& parameter) {
  return !parameter.is_defined() || parameter.name().empty() ? "the parameter" : "'" + parameter.name() + "'";
}

}  // namespace

Parameter::Parameter(const Array& array)
    : Variable(array), declared_{array.shape()}, initializer_{array}, device_{array.device()}, dtype_{array.dtype()} {}

Parameter::Parameter(const Shape& shape, Initializer initializer, std::optional<Dtype> dtype)
    : Parameter(true, shape, std::move(initializer), dtype) {}

Parameter::Parameter(bool present, const Shape& shape, Initializer initializer, std::optional<Dtype> dtype)
    : Variable(present ? Variable(Array(), true) : Variable()),
      declared_{shape},
      initializer_{std::move(initializer)},
      dtype_{initializer_.dtype().value_or(get_dtype(dtype))},
      grad_is_marked_{present} {
  for (const int64_t size : shape) {
    if (size >= 0 || size == kInfer || shape == Shape{kInferShape}) continue;
    throw ValueError("Parameter: shape is " + to_string(shape) +
                     ": a size must not be negative unless it is kInfer (-1)");
  }
  if (present && is_known(shape)) initialize(shape);
}

Parameter::Parameter(const Parameter& other)
    : Variable(),
      declared_{other.declared_},
      initializer_{other.initializer_},
      device_{other.device_},
      dtype_{other.dtype_},
      channels_last_{other.channels_last_},
      update_enabled_{other.update_enabled()},
      is_moved_from_{other.is_moved_from_} {
  if (!other.is_defined()) return;
  const CopyMode mode = detail::CopyScope::current();
  Array copied;
  if (other.is_initialized()) {
    const Array& array = other.array();
    copied = mode == CopyMode::share ? array : mode == CopyMode::copy ? array.copy() : other.generate(array.shape());
  }
  Variable::operator=(Variable(copied, other.requires_grad()));
  if (!other.name().empty()) set_name(other.name());
}

void Parameter::throw_moved_from() {
  throw StateError(
      "Parameter: it was moved from, with its link: use the model that it was moved to, or assign a model to this one");
}

// Optimizers must not keep the rule that changes its owner or goes.
Parameter::Parameter(Parameter&& other) noexcept
    : Variable(std::move(other)),
      declared_{other.declared_},
      initializer_{std::move(other.initializer_)},
      rule_{std::move(other.rule_)},
      device_{other.device_},
      dtype_{other.dtype_},
      channels_last_{other.channels_last_},
      update_enabled_{other.update_enabled_},
      is_moved_from_{std::exchange(other.is_moved_from_, other.is_moved_from_ || is_defined())},
      grad_is_marked_{other.grad_is_marked_},
      mark_{other.mark_} {
  detail::change_structure_version();
}

Parameter& Parameter::operator=(Parameter&& other) noexcept {
  if (this == &other) return *this;
  Variable::operator=(std::move(other));
  declared_ = other.declared_;
  initializer_ = std::move(other.initializer_);
  rule_ = std::move(other.rule_);
  device_ = other.device_;
  dtype_ = other.dtype_;
  channels_last_ = other.channels_last_;
  update_enabled_ = other.update_enabled_;
  is_moved_from_ = std::exchange(other.is_moved_from_, other.is_moved_from_ || is_defined());
  grad_is_marked_ = other.grad_is_marked_;
  mark_ = other.mark_;
  detail::change_structure_version();
  return *this;
}

Parameter& Parameter::operator=(const Parameter& other) {
  if (this == &other) return *this;
  if (!is_defined() || !other.is_defined()) return *this = Parameter(other);
  initializer_ = other.initializer_;
  if (is_initialized() && other.is_initialized() && shape() == other.shape()) {
    array().copy_from(other.array());
    return *this;
  }
  Variable::cleargrad();
  declared_ = other.declared_;
  dtype_ = other.dtype_;
  set_array(other.is_initialized() ? in_layout(other.array().copy().to_device(device_)) : Array());
  return *this;
}

Parameter::~Parameter() {
  if (is_noted_) detail::change_structure_version();
}

void Parameter::infer_axis(int axis, int64_t size) const {
  if (!is_defined()) return;
  const detail::FirstCall alone;
  if (axis < 0 || axis >= declared_.ndim()) {
    throw IndexError("Parameter::infer: " + label(*this) + " of shape " + to_string(declared_) + " has no axis " +
                     std::to_string(axis));
  }
  if (look()) return;  // another thread was first
  Shape shape = declared_;
  if (shape[axis] < 0) shape[axis] = size;
  if (is_known(shape)) return make(shape);
  detail::SizesOnTrial::keep([this, declared = declared_] { declared_ = declared; });
  declared_ = shape;
}

// Numbers may come beside initialize(), through set_array: the flag only spares those who ask the lock.
bool Parameter::look() const noexcept {
  const detail::FirstCall alone;
  if (!Variable::array().is_defined()) return false;
  if (!detail::SizesOnTrial::is_open()) made_.set();
  return true;
}

// An initializer may have a dtype of its own, which to(Dtype) has overruled.
Array Parameter::generate(const Shape& shape) const {
  const random::UnrecordedDraws once;
  const std::optional<Dtype> dtype = initializer_.dtype() ? std::nullopt : std::optional(dtype_);
  return in_layout(initializers::generate_array(initializer_, shape, dtype, device_).astype(dtype_));
}

void Parameter::initialize(const Shape& shape) const {
  if (is_moved_from_) throw_moved_from();
  const detail::FirstCall alone;
  make(shape);
}

void Parameter::make(const Shape& shape) const {
  if (!fits(declared_, shape)) {
    throw ValueError("Parameter::initialize: " + label(*this) + " was declared with shape " + to_string(declared_) +
                     ", which " + to_string(shape) + " does not fit");
  }
  const auto guard = no_backprop_mode();
  const ScopedGraphCapture once(nullptr);
  Variable same = *this;
  if (!is_known(declared_)) {
    detail::SizesOnTrial::keep([this, declared = declared_, marked = grad_is_marked_] {
      Variable made = *this;
      made.cleargrad();
      made.set_array(Array());
      declared_ = declared;
      grad_is_marked_ = marked;
    });
  }
  same.set_array(generate(shape));
  declared_ = shape;
  if (grad_is_marked_) mark_gradient();
  grad_is_marked_ = false;
  if (!detail::SizesOnTrial::is_open()) made_.set();
}

void Parameter::reinitialize() {
  if (is_initialized()) {
    const ScopedGraphCapture once(nullptr);
    array().copy_from(generate(shape()));
  }
}

void Parameter::keep_channels_last() {
  channels_last_ = true;
  if (is_initialized()) set_array(in_layout(array()));
}

// One NaN seen under the parameter's shape: the mark costs no memory.
void Parameter::mark_gradient() const {
  const Array nan = full({}, std::numeric_limits<double>::quiet_NaN(), dtype(), device_);
  mark_ = nan.storage().id;
  Variable same = *this;
  same.set_grad(nan.broadcast_to(shape()));
}

bool Parameter::has_gradient() const noexcept {
  return is_initialized() && node()->grad != nullptr && node()->grad->array.storage().id != mark_;
}

Array Parameter::grad() const {
  if (!is_initialized() && grad_is_marked_) {
    throw StateError("Parameter::grad: " + label(*this) + " has no shape yet; use it once, or call cleargrad() first");
  }
  return Variable::grad();
}

void Parameter::cleargrad() {
  if (!is_defined()) return;
  grad_is_marked_ = false;
  Variable::cleargrad();
}

void Parameter::copydata(const Parameter& source) {
  if (!source.is_initialized()) return;
  if (!is_initialized()) initialize(source.shape());
  array().copy_from(source.array());
}

void Parameter::addgrad(const Parameter& source) {
  if (!source.is_initialized()) return;
  Array other = source.grad();
  if (!other.is_defined()) return;
  if (!is_initialized()) {
    cleargrad();
    initialize(source.shape());
  }
  other = other.to_device(device_);
  const Array own = grad();
  set_grad(own.is_defined() ? pointwise(kernels::Add{}, own, other) : other.copy());
}

void Parameter::to(const Device& device) {
  device_ = device;
  if (rule_ != nullptr) rule_->to(device);
  if (!is_initialized() || array().device() == device) return;
  const Array gradient = Variable::grad();
  const bool is_mark = !has_gradient();
  set_grad(Array());  // its loss scale stays
  set_array(array().to_device(device));
  if (!gradient.is_defined()) return;
  set_grad(gradient.to_device(device));
  if (is_mark) mark_ = node()->grad->array.storage().id;
}

void Parameter::to(Dtype dtype) {
  if (!is_floating(dtype)) {
    throw TypeError(std::string("Parameter::to: dtype is ") + kusari::name(dtype) + " but must be floating");
  }
  dtype_ = dtype;
  if (!is_initialized() || array().dtype() == dtype) return;
  cleargrad();
  set_array(in_layout(array().astype(dtype)));
}

void Parameter::serialize(Serializer& serializer, const std::string& name) {
  Array stored = array();
  serializer(name, stored);
  if (serializer.restores() && !stored.is_defined()) {
    // What was read meanwhile may have given it a shape.
    std::vector<int64_t> declared(declared_.begin(), declared_.end());
    serializer(name + "/declared", declared);
    if (serializer.is_writer() || !is_initialized()) return;
    Variable::cleargrad();
    set_array(Array());
    declared_ = Shape(declared.begin(), declared.end());
    grad_is_marked_ = true;
    return;
  }
  if (serializer.is_writer() || is_initialized() || !stored.is_defined()) return;
  if (!fits(declared_, stored.shape())) {
    return serializer.mismatch(name, "has shape " + to_string(stored.shape()) +
                                         " but the parameter was declared with " + to_string(declared_));
  }
  if (!stored.is_floating() && is_floating(dtype_)) stored = stored.astype(dtype_);
  initialize(stored.shape());
  array().copy_from(stored);
}

void Parameter::set_update_rule(std::unique_ptr<UpdateRule> rule) {
  update_enabled_ = update_enabled();
  rule_ = std::move(rule);
  if (rule_ != nullptr) rule_->enabled = rule_->enabled && update_enabled_;
  detail::change_structure_version();
}

void Parameter::set_update_enabled(bool enabled) noexcept {
  update_enabled_ = enabled;
  if (rule_ != nullptr) rule_->enabled = enabled;
}

void Parameter::throw_no_rule() const {
  throw StateError("Parameter::update_rule: " + label(*this) + " has none; call optimizer.setup(model) first");
}

Persistent::Persistent(const Persistent& other) : Array(other) {
  if (is_defined() && detail::CopyScope::current() != CopyMode::share) Array::operator=(other.copy());
}

Persistent& Persistent::operator=(const Persistent& other) {
  if (this == &other) return *this;
  if (is_defined() && other.is_defined() && shape() == other.shape()) {
    copy_from(other);
  } else {
    Array::operator=(other.is_defined() ? other.copy() : Array());
  }
  return *this;
}

}  // namespace kusari
