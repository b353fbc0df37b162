#include <algorithm>
#include <memory>

#include "kusari/framework/core/error.h"
#include "kusari/optimizers/step.h"

// Steps of which each rank takes a part: see StateShards.
namespace kusari {

using detail::gradient_of;
using detail::part_of;
using detail::StateShards;

std::vector<StateShards::Member> Optimizer::Step::shard_members() const {
  std::vector<StateShards::Member> members;
  for (const Entry& entry : entries_) {
    if (entry.rule == nullptr || !entry.parameter->is_initialized()) continue;
    members.push_back({entry.parameter, entry.rule, entry.is_updated()});
  }
  return members;
}

void Optimizer::Step::assign_parts() {
  if (shards_ != nullptr) shards_->assign(shard_members(), self_.is_elementwise());
}

// Hooks see the parameters that are stepped, all of them whole.
void Optimizer::Step::find_whole_masters() {
  const auto has_post = [](const Entry& entry) {
    return entry.rule != nullptr && entry.rule->hooks.has(HookTiming::post);
  };
  if (impl_.hooks.has(HookTiming::post) || std::any_of(entries_.begin(), entries_.end(), has_post)) {
    throw StateError(
        std::string(self_.name()) +
        "::update: a hook runs after the update of float32 copies of which each rank has a part: leave out "
        "use_fp32_update, shard_optimizer, or the hook");
  }
  std::vector<Array> arrays;
  for (Entry& entry : entries_) {
    if (entry.rule == nullptr || !entry.parameter->is_initialized()) continue;
    Array& whole = arrays.emplace_back();
    if (!is_half(entry.parameter->dtype()) || !entry.is_updated() || !entry.rule->part) continue;
    whole = empty_like(entry.parameter->array(), Dtype::float32);
    const detail::ParameterPart& part = *entry.rule->part;
    if (part.size() > 0) part_of(whole, part).copy_from(entry.rule->master->array());
    entry.stepped = whole_masters_.emplace_back(std::make_unique<Parameter>(whole)).get();
  }
  impl_.exchange->count_wait(shards_->gather(arrays));
}

void Optimizer::Step::take_parts(size_t i) {
  const Entry& entry = entries_[i];
  const auto own = [&](const Array& array) { return entry.rule->part ? part_of(array, *entry.rule->part) : array; };
  const Array copy = own(entry.parameter->array());
  parts_[i] = {.updated = entry.stepped != entry.parameter ? entry.rule->master->array() : copy,
               .gradient = divided_ != nullptr ? divided_->of(*entry.parameter)->gradient
                                               : own(gradient_of(*entry.differentiated)),
               .copy = copy};
}

void Optimizer::Step::gather_parameters() {
  std::vector<Array> arrays;
  for (const StateShards::Member& member : shard_members()) {
    arrays.push_back(member.is_updated ? member.parameter->array() : Array());
  }
  impl_.exchange->count_wait(shards_->gather(arrays));
  parts_.clear();
}

}  // namespace kusari
