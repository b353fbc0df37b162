#include "kusari/framework/links/link_hook.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/links/link_extras.h"
#include "kusari/framework/links/link_walk.h"

namespace kusari {

constinit thread_local LinkHook* detail::t_link_hooks = nullptr;

LinkHook::~LinkHook() = default;

ScopedLinkHook::ScopedLinkHook(LinkHook& hook) : hook_{&hook} {
  if (hook.installed_) throw StateError("ScopedLinkHook: this hook is installed already");
  LinkHook** end = &detail::t_link_hooks;
  while (*end != nullptr) end = &(*end)->next_;
  *end = &hook;
  hook.installed_ = true;
  try {
    hook.added(nullptr);
  } catch (...) {
    uninstall();
    throw;
  }
}

ScopedLinkHook::~ScopedLinkHook() {
  uninstall();
  hook_->deleted(nullptr);
}

void ScopedLinkHook::uninstall() noexcept {
  LinkHook** place = &detail::t_link_hooks;
  while (*place != nullptr && *place != hook_) place = &(*place)->next_;
  if (*place != nullptr) *place = hook_->next_;
  hook_->next_ = nullptr;
  hook_->installed_ = false;
}

struct LinkCall::State {
  explicit State(Link& called) : link{called}, exceptions{std::uncaught_exceptions()} {}
  Link& link;
  State* outer = nullptr;
  int exceptions;
  std::vector<std::shared_ptr<LinkHook>> hooks;  // those that saw the call begin; a thread's hooks are not owned
};

namespace {
thread_local void* t_innermost = nullptr;  // a LinkCall::State
}  // namespace

void LinkCall::begin(Link& link) {
  expect_members(link);
  const bool has_own = link.extras_ != nullptr && !link.extras_->hooks.empty();
  if (!has_own && detail::t_link_hooks == nullptr) return;
  for (const State* outer = static_cast<State*>(t_innermost); outer != nullptr; outer = outer->outer) {
    if (&outer->link == &link) return;
  }
  auto state = std::make_unique<State>(link);
  std::vector<std::shared_ptr<LinkHook>> hooks;
  for (LinkHook* hook = detail::t_link_hooks; hook != nullptr; hook = hook->next()) {
    hooks.emplace_back(std::shared_ptr<LinkHook>(), hook);
  }
  if (has_own) {
    for (const detail::LinkExtras::Hook& entry : link.extras_->hooks) hooks.push_back(entry.hook);
  }
  state->hooks.reserve(hooks.size());
  state->outer = static_cast<State*>(t_innermost);
  state_ = state.release();
  t_innermost = state_;
  try {
    for (std::shared_ptr<LinkHook>& hook : hooks) {
      hook->forward_preprocess(link);
      state_->hooks.push_back(std::move(hook));
    }
  } catch (...) {
    state_->exceptions = -1;  // the destructor of this object does not run
    end();
    throw;
  }
}

void LinkCall::end() {
  const std::unique_ptr<State> state(std::exchange(state_, nullptr));
  t_innermost = state->outer;
  std::exception_ptr error;
  for (size_t i = state->hooks.size(); i-- > 0;) {
    try {
      state->hooks[i]->forward_postprocess(state->link);
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  }
  if (error && std::uncaught_exceptions() == state->exceptions) std::rethrow_exception(error);
}

std::vector<uint64_t> detail::LinkWalk::hook_ids(const Link& link) {
  std::vector<uint64_t> ids;
  if (link.extras_ == nullptr) return ids;
  for (const LinkExtras::Hook& entry : link.extras_->hooks) ids.push_back(entry.id);
  return ids;
}

detail::LinkExtras& Link::extras() {
  if (extras_ == nullptr) extras_ = Owned(new detail::LinkExtras);
  return *extras_;
}

void Link::insert_hook(std::shared_ptr<LinkHook> hook, CloneHook clone, std::string hook_name) {
  Link& link = self();
  if (hook_name.empty()) hook_name = hook->name();
  std::vector<detail::LinkExtras::Hook>& hooks = link.extras().hooks;
  for (const detail::LinkExtras::Hook& entry : hooks) {
    if (entry.name == hook_name) throw KeyError("Link::add_hook: the link has a hook named '" + hook_name + "'");
  }
  hooks.push_back({hook_name, hook, clone});
  structure_changed();
  try {
    hook->added(&link);
  } catch (...) {
    std::erase_if(hooks, [&](const detail::LinkExtras::Hook& entry) { return entry.hook == hook; });
    throw;
  }
}

void Link::delete_hook(const std::string& hook_name) {
  Link& link = self();
  std::string known;
  for (auto& [name, hook] : link.local_link_hooks()) {
    if (name != hook_name) {
      known += " " + name;
      continue;
    }
    std::vector<detail::LinkExtras::Hook>& hooks = link.extras_->hooks;
    const auto place = std::find_if(hooks.begin(), hooks.end(), [&](const auto& entry) { return entry.name == name; });
    const std::shared_ptr<LinkHook> deleted = place->hook;
    hooks.erase(place);
    structure_changed();
    deleted->deleted(&link);
    return;
  }
  throw KeyError("Link::delete_hook: no hook named '" + hook_name + "'; there are" + (known.empty() ? " none" : known));
}

std::vector<std::pair<std::string, LinkHook*>> Link::local_link_hooks() {
  std::vector<std::pair<std::string, LinkHook*>> found;
  Link& link = self();
  if (link.extras_ == nullptr) return found;
  for (const detail::LinkExtras::Hook& entry : link.extras_->hooks) found.emplace_back(entry.name, entry.hook.get());
  return found;
}

}  // namespace kusari
