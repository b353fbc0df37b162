#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/optimizers/optimizer_impl.h"
#include "kusari/optimizers/step.h"
#include "kusari/optimizers/step_launch.h"

// The launches of a step: one for all parameters that agree in dtype, device, clock and hyperparameters.
namespace kusari {

using detail::GradientScale;

namespace detail {

void DeviceNumbers::write(const Device& device, const double* values, size_t n) {
  const bool is_fresh = make_on(device);
  if (!is_fresh && is_written && std::memcmp(values, written.data(), n * sizeof(double)) == 0) return;
  std::copy(values, values + n, written.begin());
  is_written = true;
  device.backend().copy_from_host(device.index(), array.raw_data(), written.data(), n * sizeof(double));
  array.mark_written();
}

const Array& DeviceNumbers::to_be_computed(const Device& device) {
  make_on(device);
  is_written = false;
  return array;
}

bool DeviceNumbers::make_on(const Device& device) {
  if (array.is_defined() && array.device() == device) return false;
  const ScopedGraphCapture once(nullptr);
  array = empty({static_cast<int64_t>(kCapacity)}, Dtype::float64, device);
  return true;
}

}  // namespace detail

namespace {

void keep(Array& slot, const Array& array) {
  if (!slot.is_same(array)) slot = array;
}

}  // namespace

Optimizer::Impl::Group& Optimizer::Step::group(size_t index) {
  std::vector<Group>& groups = impl_.groups;
  const Entry& entry = entries_[index];
  const Array &array = updated(index), &gradient = this->gradient(index);
  const detail::StepClock& steps = entry.rule->clock;
  const Dtype copy_dtype = entry.stepped != entry.parameter ? entry.parameter->dtype() : array.dtype();
  const bool has_scale = !entry.has_zero_gradient;
  for (size_t i = 0; i < group_count_; ++i) {
    Group& g = groups[i];
    if (g.device == array.device() && g.dtype == array.dtype() && g.gradient_dtype == gradient.dtype() &&
        g.copy_dtype == copy_dtype && g.t == steps.t_and_skipped() && g.source == steps.source() &&
        g.overrides == entry.rule->overrides.get() && (!has_scale || !g.has_scale || g.scale == entry.scale)) {
      if (has_scale && !g.has_scale) {
        g.scale = entry.scale;
        g.has_scale = true;
      }
      return g;
    }
  }
  if (group_count_ == groups.size()) groups.emplace_back();
  Group& g = groups[group_count_++];
  g.device = array.device();
  g.dtype = array.dtype();
  g.gradient_dtype = gradient.dtype();
  g.copy_dtype = copy_dtype;
  g.t = steps.t_and_skipped();
  g.source = steps.source();
  g.overrides = entry.rule->overrides.get();
  g.scale = has_scale ? entry.scale : GradientScale();
  g.has_scale = has_scale;
  g.members.clear();
  if (!g.numbers) g.numbers = std::make_shared<Impl::GroupNumbers>();
  return g;
}

void Optimizer::Step::launch_groups() {
  const size_t states = self_.state_names().size();
  for (Group& group : impl_.groups) {
    Impl::GroupNumbers& numbers = *group.numbers;
    const size_t n = group.members.size();
    group.gradients.resize(n);
    group.arrays.resize(n * (1 + states));
    group.copies.resize(group.copy_dtype != group.dtype ? n : 0);
    for (size_t i = 0; i < n; ++i) {
      const size_t member = group.members[i];
      group.gradients[i] = gradient(member);
      keep(group.arrays[i], updated(member));
      for (size_t k = 0; k < states; ++k) keep(group.arrays[(1 + k) * n + i], entries_[member].rule->states[k]);
      if (!group.copies.empty()) keep(group.copies[i], copy(member));
    }
    const detail::StepMethod method =
        impl_.write_numbers(numbers, group.device, group.t, group.overrides, group.source != nullptr);
    if (method.is_scheduled()) {
      method.launch_numbers({group.device, numbers.schedule.array, group.source->skipped_on(group.device),
                             numbers.numbers.to_be_computed(group.device)});
    }
    const Array local_guard = guard_.is_defined() ? guard_.to_device(group.device) : Array();
    Array scale;
    if (group.scale.device.is_defined()) {
      scale = group.scale.device.to_device(group.device);
    } else if (group.scale.host != 1) {
      numbers.host_scale.write(group.device, &group.scale.host, 1);
      scale = numbers.host_scale.array.at(0);
    }
    method.launch(self_, {group.device, numbers.numbers.array, local_guard, scale, InList(group.gradients),
                          InOutList(group.arrays), InOutList(group.copies)});
    for (Array& gradient : group.gradients) gradient = Array();
  }
  if (record_ != nullptr) record_->add_groups(*this);
}

detail::StepMethod Optimizer::Impl::write_numbers(GroupNumbers& to, const Device& device, int64_t t,
                                                  const Hyperparameters* overrides, bool is_counted_on_device) const {
  // The optimizer's own members stand in for the parameter's while the numbers are computed.
  struct Saved : std::vector<std::pair<double*, double>> {
    ~Saved() {
      for (const auto& [own, value] : *this) *own = value;
    }
  } saved;
  if (overrides != nullptr) {
    Hyperparameters own_numbers = *overrides;
    own_numbers.for_each([&](const char* field, const std::optional<double>& value) {
      if (!value) return;
      double& own = self->hyperparameter(field);
      saved.emplace_back(&own, own);
      own = *value;
    });
  }
  detail::StepMethod method = self->method();
  if (!is_counted_on_device) method.advance_to(t);
  if (!std::all_of(method.numbers, method.numbers + method.count, [](double value) { return std::isfinite(value); })) {
    self->check_hyperparameters();  // names the one that is not, if that is the reason
  }
  if (method.is_scheduled()) {
    method.numbers[method.count++] = static_cast<double>(t);
    to.schedule.write(device, method.numbers, method.count);
  } else {
    to.numbers.write(device, method.numbers, method.count);
  }
  return method;
}

}  // namespace kusari
