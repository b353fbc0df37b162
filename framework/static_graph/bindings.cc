#include "kusari/framework/static_graph/bindings.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/links/link_walk.h"
#include "kusari/framework/static_graph/instance.h"

namespace kusari::graphs {

using kusari::detail::LinkMember;
using kusari::detail::LinkWalk;
using kusari::detail::MemberKind;
using kusari::detail::VariableNode;

namespace {

// Everything about a model whose change makes pointers into it, or into its parameters, doubtful, or what its links do.
std::vector<uint64_t> parts_of(Link& model) {
  std::vector<uint64_t> result;
  const auto add = [&](const void* address) { result.push_back(reinterpret_cast<uintptr_t>(address)); };
  LinkWalk::each(model, [&](Link& link) {
    add(&link);
    const std::vector<uint64_t> hooks = LinkWalk::hook_ids(link);
    result.insert(result.end(), hooks.begin(), hooks.end());
    LinkWalk::members(link, [&](const LinkMember& member) {
      add(LinkWalk::at(link, member));
      if (member.kind == MemberKind::parameter) add(LinkWalk::parameter(link, member).node());
    });
  });
  return result;
}

/// Views that recordings have of memory that was there before: one of each storage, which counts one reference for
/// them.
class SharedViews {
 public:
  [[gnu::noinline]] std::shared_ptr<const Array> of(const Array& array) {
    const uint64_t id = array.storage().id;
    const std::scoped_lock lock(mutex_);
    std::erase_if(views_, [](const Known& known) { return known.view.expired(); });
    for (const Known& known : views_) {
      if (known.storage_id != id) continue;
      if (std::shared_ptr<const Array> view = known.view.lock()) return view;
    }
    auto view = std::make_shared<const Array>(array.as_strided(array.shape(), array.strides()));
    views_.push_back({id, view});
    return view;
  }

 private:
  struct Known {
    uint64_t storage_id;
    std::weak_ptr<const Array> view;
  };
  ForkSafeMutex mutex_;
  std::vector<Known> views_;
};
constinit Lazy<SharedViews> shared_views;

// Whether only recordings have the storage of `view`, which is shared_views'.
bool is_alone(const Array& view) noexcept { return view.storage().references.load(std::memory_order_acquire) == 1; }

std::string quoted(const VariableNode& node) {
  return node.saved == nullptr || node.saved->name.empty() ? "a parameter" : "parameter '" + node.saved->name + "'";
}

}  // namespace

std::string replaced_text(const VariableNode& leaf) {
  return quoted(leaf) + " got another array between a call and its backward";
}

Anatomy::Anatomy(Link* model) : version_{kusari::detail::structure_version()}, knows_model_{model != nullptr} {
  if (model != nullptr) parts_ = parts_of(*model);
}

bool Anatomy::holds(Link* model) {
  const uint64_t version = kusari::detail::structure_version();
  if (version == version_) [[likely]]
    return true;
  if (!knows_model_ || model == nullptr || parts_of(*model) != parts_) return false;
  version_ = version;
  return true;
}

Bindings::Bindings(Recording& recording, Link* model, Anatomy anatomy)
    : leaves_{std::move(recording.leaves)},
      requirements_{std::move(recording.requirements)},
      anatomy_{std::move(anatomy)},
      needs_anatomy_{model != nullptr || !recording.kept.empty()} {
  for (const Recording::Leaf& leaf : leaves_) {
    devices_.push_back(leaf.node->array.device());
    int32_t first = 0;
    while (leaves_[static_cast<size_t>(first)].view.slot != leaf.view.slot) ++first;
    first_of_slot_.push_back(first);
  }
  for (Recording::External& external : recording.externals) {
    std::shared_ptr<const Array> view = shared_views->of(external.array);
    external.array = Array();
    const bool is_ours = external.is_constant || is_alone(*view);
    externals_.push_back({std::move(view), external.slot, is_ours, false});
  }
  recording.externals.clear();
  std::unordered_set<SlotIndex> written;
  for (const Step& step : recording.program.steps) {
    for_each_write(step, [&](const View& view) { written.insert(view.slot); });
  }
  for (size_t i = 0; i < externals_.size(); ++i) {
    if (written.contains(externals_[i].slot)) written_externals_.push_back(i);
  }
  for (size_t i = 0; i < leaves_.size(); ++i) {
    if (written.contains(leaves_[i].view.slot)) written_leaves_.push_back(i);
  }
  for (const Recording::Report& report : recording.reports) needs_anatomy_ |= report.observer != nullptr;
  if (model != nullptr) find_members(model);
}

void Bindings::find_members(Link* model) {
  LinkWalk::each(*model, [&](Link& link) {
    LinkWalk::members(link, [&](const LinkMember& member) {
      if (member.kind == MemberKind::parameter) {
        const Parameter& parameter = LinkWalk::parameter(link, member);
        for (const Recording::Leaf& leaf : leaves_) {
          if (leaf.node.get() == parameter.node()) members_.push_back({&parameter, parameter.node(), nullptr, 0});
        }
      } else if (member.kind == MemberKind::persistent) {
        const auto& array = *static_cast<const Array*>(LinkWalk::at(link, member));
        if (!array.is_defined()) return;
        for (External& external : externals_) {
          if (&external.array->storage() != &array.storage()) continue;
          members_.push_back({nullptr, nullptr, &array, array.storage().id});
          external.is_member = true;
        }
      }
    });
  });
}

std::string Bindings::leaf_changed(size_t index) const {
  const Recording::Leaf& leaf = leaves_[index];
  const VariableNode& node = *leaf.node;
  if (node.handles() == 0) return quoted(node) + " is gone";
  if (!node.requires_grad || !node.is_leaf()) return quoted(node) + " is no parameter any more";
  const Array& array = node.array;
  if (!array.is_defined()) return quoted(node) + " has no numbers";
  if (array.dtype() != leaf.view.dtype) return quoted(node) + " has another dtype";
  if (array.shape() != leaf.view.shape) return quoted(node) + " has another shape";
  if (array.strides() != leaf.view.strides) return quoted(node) + " lies in another order in memory";
  if (array.device() != devices_[index]) return quoted(node) + " is on another device";
  const auto& storage = array.storage();
  if (storage.stale != nullptr) return quoted(node) + " holds an array that was overwritten";
  if (static_cast<const char*>(array.raw_data()) - static_cast<const char*>(storage.data) != leaf.view.offset) {
    return quoted(node) + " lies elsewhere in its memory";
  }
  if (&leaves_[static_cast<size_t>(first_of_slot_[index])].node->array.storage() != &storage) {
    return quoted(node) + " no longer shares its memory with another one";
  }
  return {};
}

std::string Bindings::changed(Link* model) {
  for (const auto& requirement : requirements_) {
    if (!requirement()) return "what the call depends on has changed";
  }
  if (needs_anatomy_ && !anatomy_.holds(model)) return "a model was moved, copied or changed";
  for (const Member& member : members_) {
    if (member.parameter != nullptr) {
      if (member.parameter->node() != member.node) return quoted(*member.node) + " was replaced";
    } else if (!member.persistent->is_defined() || member.persistent->storage().id != member.storage_id) {
      return "a persistent array was replaced";
    }
  }
  for (size_t i = 0; i < leaves_.size(); ++i) {
    if (std::string change = leaf_changed(i); !change.empty()) return change;
  }
  for (const External& external : externals_) {
    if (external.is_member || external.is_held_by_us_alone) continue;
    if (is_alone(*external.array)) return "an array that the call used is gone";
  }
  return {};
}

bool Bindings::watches_arrays() const noexcept {
  return std::any_of(externals_.begin(), externals_.end(),
                     [](const External& external) { return !external.is_member && !external.is_held_by_us_alone; });
}

bool Bindings::writes_into(std::span<const Variable> inputs) const noexcept {
  if (written_externals_.empty() && written_leaves_.empty()) return false;
  return std::any_of(inputs.begin(), inputs.end(), [&](const Variable& input) {
    if (!input.is_defined()) return false;
    const auto* const storage = &input.array().storage();
    return std::any_of(written_externals_.begin(), written_externals_.end(),
                       [&](size_t i) { return &externals_[i].array->storage() == storage; }) ||
           std::any_of(written_leaves_.begin(), written_leaves_.end(),
                       [&](size_t i) { return &leaves_[i].node->array.storage() == storage; });
  });
}

void Bindings::bind_externals(Instance& instance) const {
  for (const External& external : externals_) instance.bind(external.slot, *external.array);
}

const Recording::Leaf* Bindings::replaced_leaf(const Instance& instance) const {
  for (const Recording::Leaf& leaf : leaves_) {
    const Array& array = leaf.node->array;  // none if its owner dropped it
    if (array.is_defined() && &array.storage() != &instance.array_of(leaf.view).storage()) return &leaf;
  }
  return nullptr;
}

void Bindings::bind_leaves(Instance& instance) const {
  for (size_t i = 0; i < leaves_.size(); ++i) {
    if (first_of_slot_[i] == static_cast<int32_t>(i)) instance.bind(leaves_[i].view.slot, leaves_[i].node->array);
  }
}

}  // namespace kusari::graphs
