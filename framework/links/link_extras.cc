#include "kusari/framework/links/link_extras.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace kusari::detail {

namespace {

// As a Persistent does.
void assign_in_place(Array& own, const Array& other) {
  if (own.is_defined() && other.is_defined() && own.shape() == other.shape()) {
    own.copy_from(other);
  } else {
    own = other.is_defined() ? other.copy() : Array();
  }
}

}  // namespace

LinkExtras::LinkExtras(const LinkExtras& other) {
  copy_hooks(other);
  for (const Member& member : other.members) {
    Member& own = members.emplace_back();
    own.name = member.name;
    if (member.parameter) {
      own.parameter = std::make_unique<Parameter>(*member.parameter);
    } else {
      const bool shares = !member.persistent->is_defined() || CopyScope::current() == CopyMode::share;
      own.persistent = std::make_unique<Array>(shares ? *member.persistent : member.persistent->copy());
    }
  }
}

void LinkExtras::assign(const LinkExtras* other) {
  const LinkExtras none;
  const LinkExtras& source = other != nullptr ? *other : none;
  copy_hooks(source);
  std::erase_if(members, [&](const Member& member) {
    return std::none_of(source.members.begin(), source.members.end(), [&](const Member& theirs) {
      return theirs.name == member.name && (theirs.parameter == nullptr) == (member.parameter == nullptr);
    });
  });
  for (const Member& theirs : source.members) {
    if (Member* const own = find(theirs.name)) {
      if (own->parameter) {
        *own->parameter = *theirs.parameter;
      } else {
        assign_in_place(*own->persistent, *theirs.persistent);
      }
      continue;
    }
    Member& own = members.emplace_back();
    own.name = theirs.name;
    if (theirs.parameter) {
      own.parameter = std::make_unique<Parameter>(*theirs.parameter);
    } else {
      own.persistent = std::make_unique<Array>();
      assign_in_place(*own.persistent, *theirs.persistent);
    }
  }
}

LinkExtras::Member* LinkExtras::find(const std::string& name) noexcept {
  for (Member& member : members) {
    if (member.name == name) return &member;
  }
  return nullptr;
}

uint64_t LinkExtras::next_id() noexcept {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void LinkExtras::copy_hooks(const LinkExtras& other) {
  std::vector<Hook> copies;
  for (const Hook& hook : other.hooks) copies.push_back({hook.name, hook.clone(*hook.hook), hook.clone});
  hooks = std::move(copies);
}

}  // namespace kusari::detail
