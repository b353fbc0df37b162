#include "kusari/framework/training/extensions/model_average.h"

#include <algorithm>
#include <map>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/kernels/optimizer_step.h"
#include "kusari/framework/links/link_walk.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/optimizers/optimizer_impl.h"

namespace kusari::training::extensions {
namespace {

/// An array of a model that has an average.
struct Averaged {
  std::string path;
  Array array;             // the model's
  const Parameter* owner;  // null for a persistent array
};

std::vector<Averaged> averaged_arrays(Link& model, bool persistents) {
  std::vector<Averaged> found;
  for (const auto& entry : detail::LinkWalk::entries(model)) {
    if (entry.kind == detail::MemberKind::parameter) {
      const auto& parameter = *static_cast<const Parameter*>(entry.at);
      if (parameter.is_initialized() && parameter.array().is_floating()) {
        found.push_back({entry.path, parameter.array(), &parameter});
      }
    } else if (entry.kind == detail::MemberKind::persistent && persistents) {
      const auto& array = *static_cast<const Array*>(entry.at);
      if (array.is_defined() && array.is_floating()) found.push_back({entry.path, array, nullptr});
    }
  }
  return found;
}

Dtype average_dtype(const Array& array) { return array.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32; }

/// What is averaged: the float32 copy of a 16-bit parameter, if an optimizer keeps one, or the array itself.
Array exact(const Averaged& averaged) {
  Array array = averaged.array;
  if (averaged.owner != nullptr && is_half(array.dtype()) && averaged.owner->has_update_rule()) {
    const Array wide = averaged.owner->update_rule().state("fp32_param");
    if (wide.is_defined() && wide.shape() == array.shape() && wide.device() == array.device()) array = wide;
  }
  return array.is_dense() ? array : array.contiguous();
}

/// `value` in the memory order of `like` and with an average's dtype.
Array as_average(const Array& value, const Array& like) {
  Array made = empty_like(like, average_dtype(like));
  made.copy_from(value);
  return made;
}

bool fits(const Array& average, const Array& source) {
  return average.dtype() == average_dtype(source) && average.device() == source.device() &&
         detail::same_layout(average, source);
}

/// Arrays of one device and of the same dtypes, for one launch.
struct Group {
  std::vector<Array> values, averages;
};

void launch_groups(const std::vector<Group>& groups, double rate) {
  const std::span<const Array> none;
  for (const Group& group : groups) {
    const Device& device = group.averages.front().device();
    launch<kernels::OptimizerStep<kernels::MovingAverageStep>>(device, from_host(&rate, {1}, Dtype::float64, device),
                                                               Array(), Array(), InList(group.values),
                                                               InOutList(group.averages), InOutList(none));
  }
}

void add_to_group(std::vector<Group>& groups, const Array& value, const Array& average) {
  const auto like = [&](const Group& group) {
    return group.averages.front().device() == average.device() && group.averages.front().dtype() == average.dtype() &&
           group.values.front().dtype() == value.dtype();
  };
  auto found = std::find_if(groups.begin(), groups.end(), like);
  if (found == groups.end()) found = groups.insert(groups.end(), Group());
  found->values.push_back(value);
  found->averages.push_back(average);
}

}  // namespace

struct ModelAverage::State {
  IntrusivePtr<Home> home;
  std::string call;
  bool persistents = true;
  int64_t t = 0;
  std::map<std::string, Array> averages;
  bool is_applied = false;
};

/// What the model had.
struct ModelAverage::Applied::Saved {
  Shared<State> state;
  std::vector<std::pair<std::string, Array>> values;
};

ModelAverage::ModelAverage(Link& model, const char* call, bool persistents) : state_{std::make_shared<State>()} {
  state_->home = model.home();
  state_->call = call;
  state_->persistents = persistents;
}

void ModelAverage::take(double kept) {
  State& state = *state_;
  const std::string call = state.call + "::update";
  if (state.is_applied) throw StateError(call + ": the model has the averages: end what apply() returned");
  GraphCapture::refuse(call.c_str(), "how much a step counts follows from their number");
  std::vector<Group> groups;
  for (const Averaged& averaged : averaged_arrays(state.home->get(), state.persistents)) {
    const Array value = exact(averaged);
    Array& average = state.averages[averaged.path];
    if (!average.is_defined() || average.shape() != value.shape()) {
      average = as_average(value, value);
      continue;
    }
    if (!fits(average, value)) average = as_average(average, value);
    add_to_group(groups, value, average);
  }
  launch_groups(groups, 1 - kept);
  ++state.t;
}

int64_t ModelAverage::t() const noexcept { return state_->t; }

Array ModelAverage::average(const std::string& path) const {
  const auto found = state_->averages.find(path);
  if (found == state_->averages.end()) {
    throw KeyError(state_->call + "::average: there is none of '" + path + "'");
  }
  return found->second;
}

void ModelAverage::copy_to(Link& model) const {
  std::map<std::string, Array> there;
  for (const Averaged& averaged : averaged_arrays(model, true)) there.emplace(averaged.path, averaged.array);
  for (const auto& [path, average] : state_->averages) {
    const auto found = there.find(path);
    if (found == there.end()) {
      throw KeyError(state_->call + "::copy_to: the link has no array of numbers '" + path + "'");
    }
    if (found->second.shape() != average.shape()) {
      throw TypeError(state_->call + "::copy_to: '" + path + "' has shape " + to_string(found->second.shape()) +
                      " but its average has shape " + to_string(average.shape()));
    }
  }
  for (const auto& [path, average] : state_->averages) there.at(path).copy_from(average);
}

ModelAverage::Applied::Applied(std::unique_ptr<Saved> saved) noexcept : saved_{std::move(saved)} {}

ModelAverage::Applied::~Applied() {
  if (saved_ == nullptr) return;
  saved_->state->is_applied = false;
  Link* const model = saved_->state->home->find();
  if (model == nullptr) return;
  std::map<std::string, Array> there;
  for (const Averaged& averaged : averaged_arrays(*model, true)) there.emplace(averaged.path, averaged.array);
  for (const auto& [path, value] : saved_->values) {
    const auto found = there.find(path);
    if (found != there.end() && found->second.shape() == value.shape()) found->second.copy_from(value);
  }
}

ModelAverage::Applied ModelAverage::apply() const { return apply(state_); }

ModelAverage::Applied ModelAverage::apply(const Shared<State>& state) {
  if (state->is_applied) throw StateError(state->call + "::apply: the model already has the averages");
  auto saved = std::make_unique<Applied::Saved>();
  saved->state = state;
  std::vector<std::pair<Array, Array>> copies;  // to, from
  for (const Averaged& averaged : averaged_arrays(state->home->get(), state->persistents)) {
    const auto found = state->averages.find(averaged.path);
    if (found == state->averages.end() || found->second.shape() != averaged.array.shape()) continue;
    saved->values.emplace_back(averaged.path, averaged.array.copy());
    copies.emplace_back(averaged.array, found->second);
  }
  state->is_applied = true;
  Applied applied(std::move(saved));  // gives back what was written if the rest cannot be
  for (const auto& [to, from] : copies) to.copy_from(from);
  return applied;
}

void ModelAverage::serialize(Serializer& serializer) {
  State& state = *state_;
  const auto averages = serializer.child("averages");
  if (serializer.is_writer()) {
    serializer("t", state.t);
    for (auto& [path, average] : state.averages) (*averages)(path.substr(1), average);
    return;
  }
  if (!serializer.contains("t")) {
    if (serializer.restores()) {
      state.t = 0;
      state.averages.clear();
    }
    return;  // a snapshot made without this extension
  }
  std::map<std::string, Array> read;
  for (const auto& entry : detail::LinkWalk::entries(state.home->get())) {
    const std::string name = entry.path.substr(1);
    if (!averages->contains(name)) continue;
    Array average;
    (*averages)(name, average);
    if (!average.is_defined()) continue;
    if (!average.is_floating()) {
      averages->mismatch(name, std::string("has dtype ") + kusari::name(average.dtype()) + ": it must be floating");
      continue;
    }
    read[entry.path] = average;
  }
  int64_t t = 0;
  serialize_count(serializer, "t", t);
  state.t = t;
  state.averages = std::move(read);
}

AveragedExtension::AveragedExtension(const ModelAverage& average, ExtensionRef extension)
    : average_{average.state_},
      extension_{std::move(extension)},
      source_{dynamic_cast<const PictureSource*>(extension_.get())} {}

void AveragedExtension::operator()(Trainer& trainer) {
  extension_->set_name(name());
  const auto applied = ModelAverage::apply(average_);
  (*extension_)(trainer);
}

void AveragedExtension::initialize(Trainer& trainer) {
  extension_->set_name(name());
  extension_->initialize(trainer);
}

void AveragedExtension::on_error(Trainer& trainer, const std::exception& error) {
  if (average_->is_applied) return extension_->on_error(trainer, error);
  const auto applied = ModelAverage::apply(average_);
  extension_->on_error(trainer, error);
}

std::string AveragedExtension::default_name() const {
  return extension_->name().empty() ? extension_->default_name() : extension_->name();
}

const std::vector<ReportPicture>& AveragedExtension::pictures() const noexcept {
  static const std::vector<ReportPicture> kNone;
  return source_ != nullptr ? source_->pictures() : kNone;
}

int64_t AveragedExtension::drawn() const noexcept { return source_ != nullptr ? source_->drawn() : 0; }

}  // namespace kusari::training::extensions
