#include "kusari/framework/autograd/function_hook.h"

#include <algorithm>

#include "kusari/framework/core/error.h"

namespace kusari {

constinit thread_local FunctionHook* detail::t_function_hooks = nullptr;

FunctionHook::~FunctionHook() = default;

ScopedFunctionHook::ScopedFunctionHook(FunctionHook& hook) : hook_{&hook} {
  if (hook.installed_) throw StateError("ScopedFunctionHook: this hook is installed already");
  FunctionHook** end = &detail::t_function_hooks;
  while (*end != nullptr) end = &(*end)->next_;
  *end = &hook;
  hook.installed_ = true;
}

ScopedFunctionHook::~ScopedFunctionHook() {
  FunctionHook** link = &detail::t_function_hooks;
  while (*link != nullptr && *link != hook_) link = &(*link)->next_;
  if (*link != nullptr) *link = hook_->next_;
  hook_->next_ = nullptr;
  hook_->installed_ = false;
}

void detail::LocalHooksDelete::operator()(LocalHooks* hooks) const noexcept { delete hooks; }

void FunctionNode::add_hook(std::shared_ptr<FunctionHook> hook, const std::string& hook_name) {
  if (!hook) throw ValueError(std::string("FunctionNode::add_hook: no hook is given for ") + name());
  if (!local_hooks_) local_hooks_.reset(new detail::LocalHooks());
  for (const auto& [known, other] : local_hooks_->hooks) {
    if (known == hook_name) {
      throw KeyError(std::string("FunctionNode::add_hook: ") + name() + " has a hook '" + hook_name + "' already");
    }
  }
  local_hooks_->hooks.emplace_back(hook_name, std::move(hook));
}

void FunctionNode::delete_hook(const std::string& hook_name) {
  if (local_hooks_) {
    auto& hooks = local_hooks_->hooks;
    const auto found =
        std::find_if(hooks.begin(), hooks.end(), [&](const auto& one) { return one.first == hook_name; });
    if (found != hooks.end()) return void(hooks.erase(found));
  }
  throw KeyError(std::string("FunctionNode::delete_hook: ") + name() + " has no hook '" + hook_name + "'");
}

std::vector<std::pair<std::string, std::shared_ptr<FunctionHook>>> FunctionNode::local_function_hooks() const {
  return local_hooks_ ? local_hooks_->hooks : std::vector<std::pair<std::string, std::shared_ptr<FunctionHook>>>();
}

}  // namespace kusari
