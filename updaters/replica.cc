#include "kusari/updaters/replica.h"

#include <algorithm>

#include "kusari/framework/core/profiler.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/threads.h"
#include "kusari/optimizers/optimizer_impl.h"

namespace kusari::updaters {

using detail::LinkWalk;
using detail::MemberKind;
using Entry = LinkWalk::Entry;

namespace {

Parameter& parameter_at(const Entry& entry) { return *static_cast<Parameter*>(entry.at); }
Array& array_at(const Entry& entry) { return *static_cast<Array*>(entry.at); }

/// The array of a parameter or a persistent value; undefined for other members, and while there is none.
Array value_of(const Entry& entry) {
  if (entry.kind == MemberKind::parameter) return parameter_at(entry).array();
  return entry.kind == MemberKind::persistent ? array_at(entry) : Array();
}

void adapt_parameter(const Parameter& main, Parameter& replica) {
  if (!main.is_initialized()) return;
  if (replica.is_initialized() && replica.dtype() != main.dtype()) replica.to(main.dtype());
  // An assignment, because initializing it would draw random numbers.
  if (!replica.is_initialized() || replica.shape() != main.shape()) replica = main;
}

void adapt_array(const Array& main, Array& replica, const Device& device) {
  const bool fits = main.is_defined() && replica.is_defined() && main.shape() == replica.shape() &&
                    main.dtype() == replica.dtype() && replica.device() == device;
  if (!fits) replica = main.is_defined() ? main.copy().to_device(device) : Array();
}

/// Observers are known by the address of the whole object.
const void* identity(Link& link) { return dynamic_cast<const void*>(&link); }

}  // namespace

SentValues::SentValues(std::span<const Entry> entries) {
  for (const Entry& entry : entries) {
    Array value = value_of(entry);
    if (value.is_defined()) arrays_.push_back(std::move(value));
  }
  if (!arrays_.empty()) device_ = arrays_.front().device();
}

void SentValues::pack() {
  if (layout_) return;
  layout_.emplace(arrays_);
  blocks_ = layout_->pack(arrays_);
}

std::vector<Array> SentValues::arrays_on(const Device& device) const {
  return layout_->views(to_device(blocks_, device));
}

Replica::Replica(std::string name, const Device& device, Ref<Link> model)
    : name_{std::move(name)}, device_{device}, owner_{std::move(model)}, home_{owner_->home()} {}

std::vector<Entry> Replica::match(Link& main) {
  return LinkWalk::matching_entries("ParallelUpdater", main, model(), entries_);
}

void Replica::prepare(std::span<const Entry> main, SentValues& values) {
  values_.clear();
  for (size_t i = 0; i < main.size(); ++i) {
    switch (main[i].kind) {
      case MemberKind::parameter:
        adapt_parameter(parameter_at(main[i]), parameter_at(entries_[i]));
        break;
      case MemberKind::persistent:
        adapt_array(array_at(main[i]), array_at(entries_[i]), device_);
        break;
      case MemberKind::integer:
        *static_cast<int64_t*>(entries_[i].at) = *static_cast<const int64_t*>(main[i].at);
        break;
      case MemberKind::real:
        *static_cast<double*>(entries_[i].at) = *static_cast<const double*>(main[i].at);
        break;
      case MemberKind::boolean:
        *static_cast<bool*>(entries_[i].at) = *static_cast<const bool*>(main[i].at);
        break;
      case MemberKind::text:
        *static_cast<std::string*>(entries_[i].at) = *static_cast<const std::string*>(main[i].at);
        break;
      case MemberKind::state:
      case MemberKind::link:
        break;
    }
    if (value_of(main[i]).is_defined()) values_.push_back(value_of(entries_[i]));
  }
  if (device_ == values.device()) {
    copy_arrays(values.arrays(), values_);  // now: main changes its statistics while the replicas run
  } else {
    values.pack();
  }
}

void Replica::report_to(Reporter* reporter, Link& main) {
  reports_ = reporter != nullptr;
  observed_.clear();
  if (!reports_) return;
  const uint64_t version = reporter->observers_version();
  if (reporter_ != nullptr && version == reporter_version_) return;
  const auto originals = main.namedlinks(), copies = model().namedlinks();
  std::vector<std::pair<const void*, const void*>> pairs;
  for (size_t i = 0; i < std::min(originals.size(), copies.size()); ++i) {  // models of one's own may differ in links
    if (originals[i].first != copies[i].first) break;
    pairs.emplace_back(identity(*originals[i].second), identity(*copies[i].second));
  }
  reporter_ = std::make_unique<Reporter>();
  reporter_->add_observers(*reporter, pairs);
  reporter_version_ = version;
}

void Replica::run(const ReplicaContext& context) noexcept {
  try {
    const profiler::Range range(profiler::is_on() ? "replica " + name_ : std::string());
    context.config.install();
    const random::LocalStream stream(part_.seed);
    std::optional<SingleThreaded> alone;
    if (context.is_single_threaded) alone.emplace();
    std::optional<ReportScope> reports;
    if (reports_) reports.emplace(*reporter_, observed_);
    receive(context.values);
    differentiate(context);
    collect_gradients(context.values.device());
  } catch (...) {
    error_ = std::current_exception();
  }
  part_ = {};
}

void Replica::receive(const SentValues& values) {
  if (device_ != values.device()) copy_arrays(values.arrays_on(device_), values_);
  values_.clear();
}

void Replica::differentiate(const ReplicaContext& context) {
  const auto recording = force_backprop_mode();
  Link& link = model();
  link.cleargrads();
  const auto lossfun = [&] {
    std::optional<amp::Autocast> autocast;
    if (context.autocast) autocast.emplace(*context.autocast);
    std::vector<Variable> inputs;
    for (const Array& array : part_.inputs) inputs.push_back(Variable(array, false));
    part_.inputs.clear();
    const Variable loss = context.loss_func
                              ? context.loss_func(link, inputs, context.keys)
                              : detail::OptimizerAccess::call(context.optimizer, link, {inputs, context.keys});
    link.cleargrads();  // what the loss function may have left
    return loss;
  };
  detail::OptimizerAccess::accumulate(context.optimizer, lossfun, part_.weight, part_.scale);
}

void Replica::collect_gradients(const Device& main) {
  differentiated_.clear();
  std::vector<Array> gradients;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].kind != MemberKind::parameter) continue;
    Parameter& parameter = parameter_at(entries_[i]);
    if (!parameter.is_initialized()) continue;
    const detail::VariableNode* const gradient = parameter.node()->grad;
    if (gradient == nullptr) continue;
    differentiated_.push_back(i);
    gradients.push_back(gradient->array);
  }
  if (device_ == main) {
    gradients_ = std::move(gradients);
  } else {
    layout_.emplace(gradients);
    blocks_ = layout_->pack(gradients);
  }
}

void Replica::add_gradients(std::span<const Entry> main, const Device& device) {
  std::vector<Array> from, to;
  const std::vector<Array> gradients =
      layout_ ? layout_->views(to_device(blocks_, device)) : std::exchange(gradients_, {});
  for (size_t k = 0; k < differentiated_.size(); ++k) {
    Parameter& own = parameter_at(main[differentiated_[k]]);
    if (!own.is_initialized()) {  // main's part had no use for it
      own.cleargrad();
      own.initialize(gradients[k].shape());
    }
    const detail::VariableNode* const held = own.node()->grad;
    if (held == nullptr) {
      const Parameter& replica = parameter_at(entries_[differentiated_[k]]);
      own.set_grad(gradients[k].copy());
      const Array scale = replica.device_loss_scale();
      own.node()->saved_state().loss_scale = replica.loss_scale();
      own.node()->saved_state().device_loss_scale = scale.is_defined() ? scale.to_device(device) : Array();
      continue;
    }
    if (!held->array.is_dense() || !held->array.is_unique()) own.set_grad(held->array.copy());
    from.push_back(gradients[k]);
    to.push_back(own.node()->grad->array);
  }
  add_arrays(from, to);
  layout_.reset();
  blocks_.clear();
}

}  // namespace kusari::updaters
