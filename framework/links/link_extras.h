#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kusari/framework/links/link.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::detail {

/// On the heap: it stays where it is when the link is moved.
struct LinkExtras {
  struct Hook {
    std::string name;
    std::shared_ptr<LinkHook> hook;  // a call that deletes its hook still ends it
    std::shared_ptr<LinkHook> (*clone)(const LinkHook& hook);
    uint64_t id = next_id();  // of no other hook, as its address may be later
  };
  struct Member {
    std::string name;
    std::unique_ptr<Parameter> parameter;
    std::unique_ptr<Array> persistent;  // where there is no parameter
    void* object() const noexcept {
      return parameter ? static_cast<void*>(parameter.get()) : static_cast<void*>(persistent.get());
    }
  };

  LinkExtras() = default;
  /// Own hooks, and members as CopyScope says.
  LinkExtras(const LinkExtras& other);
  LinkExtras& operator=(const LinkExtras&) = delete;
  /// Writes the values of members in place.
  void assign(const LinkExtras* other);
  Member* find(const std::string& name) noexcept;

  std::vector<Hook> hooks;
  std::vector<Member> members;

 private:
  static uint64_t next_id() noexcept;
  void copy_hooks(const LinkExtras& other);
};

}  // namespace kusari::detail
