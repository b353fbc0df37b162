#include <algorithm>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/links/link_walk.h"
#include "kusari/framework/links/stray_links.h"
#include "kusari/optimizers/optimizer_impl.h"

// What an optimizer says about parameters that it cannot, or does not, update.
namespace kusari {

using detail::LinkWalk;

namespace {

std::string shape_text(const std::string& name, const Parameter& parameter) {
  return name + " " + to_string(parameter.shape());
}

bool is_unused(const Parameter& parameter) {
  return !parameter.has_update_rule() && parameter.update_enabled() && parameter.has_gradient();
}

}  // namespace

void Optimizer::Impl::throw_displaced(Link& target) const {
  size_t taken = 0, all = 0;
  std::string first;
  for (const auto& [path, parameter] : target.namedparams()) {
    ++all;
    const detail::KernelRule* const rule = kernel_rule(*parameter);
    if (rule == nullptr || rule->owner == id) continue;
    if (taken++ == 0) first = path;
  }
  throw StateError(std::string(self->name()) + ": another optimizer was set up with this one's parameters and has " +
                   "taken over " + (taken == all ? std::string("all ") : std::to_string(taken) + " of ") +
                   std::to_string(all) + " (the first is " + first +
                   "): call setup(model) again on the optimizer that shall update them, or set up each optimizer with "
                   "parameters of its own");
}

void Optimizer::Impl::warn_of_unused_gradients() {
  UnusedGradients& unused = unused_gradients;
  if (!unused.is_stray_told) warn_of_stray_members();
  if (unused.is_late_told) return;
  const auto is_late = [](const Member& member) { return member.rule == nullptr && is_unused(*member.parameter); };
  if (std::none_of(members.begin(), members.end(), is_late)) return;
  std::string late;
  for (const auto& [path, parameter] : self->target().namedparams()) {
    if (is_unused(*parameter)) late += (late.empty() ? "" : ", ") + shape_text(path, *parameter);
  }
  log::warn(std::string(self->name()) + ": parameters have gradients but no update rule: " + late +
            "; they came to the model after setup: call setup(model) again, or disable_update() if they are to stay");
  unused.is_late_told = true;
}

void Optimizer::Impl::warn_of_unreached_parameters() {
  UnusedGradients& unused = unused_gradients;
  if (unused.is_unreached_told || exchange != nullptr || members.empty()) return;
  // The first one that has a gradient ends the search.
  const auto has_gradient = [](const Member& member) { return member.parameter->has_gradient(); };
  if (std::any_of(members.begin(), members.end(), has_gradient)) return;
  log::warn(std::string(self->name()) + "::update: the loss reaches none of the " + std::to_string(members.size()) +
            " parameters of the target, " + detail::class_name(self->target()) +
            ": all their gradients are zero; is it the loss of another model, or are all of them frozen?");
  unused.is_unreached_told = true;
}

void Optimizer::Impl::warn_of_stray_members() {
  UnusedGradients& unused = unused_gradients;
  if (unused.version != version) {
    unused.strays = detail::find_stray_members(self->target(), target_size);
    unused.version = version;
  }
  std::string strays;
  for (const detail::StrayLink& stray : unused.strays.links) {
    std::string parameters;
    for (const auto& [path, parameter] : stray.link->namedparams()) {
      if (is_unused(*parameter))
        parameters += (parameters.empty() ? "" : ", ") + shape_text(path.substr(1), *parameter);
    }
    if (parameters.empty()) continue;
    const std::string type = detail::class_name(*stray.link);
    strays += (strays.empty() ? "a " : "; a ") + type + " in " + detail::class_name(*stray.holder) + " (" + parameters +
              "), to be declared as Child<" + type + ">";
  }
  for (const detail::StrayParameter& stray : unused.strays.parameters) {
    const Parameter& parameter = *stray.parameter;
    if (!is_unused(parameter)) continue;
    strays += std::string(strays.empty() ? "" : "; ") + "a Parameter of shape " + to_string(parameter.shape()) +
              " in " + detail::class_name(*stray.holder) + ", to be made with {*this, \"name\", ..}";
  }
  if (strays.empty()) return;
  log::warn(std::string(self->name()) +
            ": parameters get gradients but are neither trained nor saved, because plain members are unknown to the "
            "model: " +
            strays + "; if that is meant, keep gradients from them with disable_update() or no_backprop_mode()");
  unused.is_stray_told = true;
}

}  // namespace kusari
