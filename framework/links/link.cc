#include "kusari/framework/links/link.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/core/type_name.h"
#include "kusari/framework/links/call_model.h"
#include "kusari/framework/links/link_extras.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/link_walk.h"
#include "kusari/framework/links/parameter.h"

namespace kusari {

namespace detail {

namespace {
std::atomic<uint64_t> g_structure_version{1};
thread_local CopyMode t_copy_mode = CopyMode::copy;
}  // namespace

uint64_t structure_version() noexcept { return g_structure_version.load(std::memory_order_relaxed); }
void change_structure_version() noexcept { g_structure_version.fetch_add(1, std::memory_order_relaxed); }

CopyScope::CopyScope(CopyMode mode) noexcept : previous_{std::exchange(t_copy_mode, mode)} {}
CopyScope::~CopyScope() { t_copy_mode = previous_; }
CopyMode CopyScope::current() noexcept { return t_copy_mode; }

void throw_input_count(const char* call, size_t given, std::span<const bool> accepted, bool takes_names) {
  std::string counts;
  for (size_t n = 0; n < accepted.size(); ++n) {
    if (accepted[n]) counts += (counts.empty() ? "" : " or ") + std::to_string(n);
  }
  if (!counts.empty()) counts += " variables";
  if (takes_names) counts += std::string(counts.empty() ? "" : ", or ") + "variables with names (DictVariables)";
  throw TypeError(std::string(call) + " takes " + counts + ", but the batch has " + std::to_string(given) +
                  (takes_names ? " without names: give its data set keys, with a DictDataset" : ""));
}

void LinkAccess::add_at(Link& parent, std::string_view name, MemberKind kind, ptrdiff_t offset, size_t size,
                        const LinkClass* owner, bool inside) {
  const std::string text(name);
  if (!inside) {
    throw StateError("'" + text +
                     "' does not lie inside the link it registers with: only a data member of the link may; links on "
                     "the heap go into a ChainList or an AnyLink");
  }
  parent.insert_member({text, kind, static_cast<int32_t>(size), offset, owner});
}

void LinkAccess::check_members(Link& link) {
  if (link.members_checked_.load(std::memory_order_relaxed)) return;
  if (LinkWalk::has_lost_all(link)) throw_moved_from(link);
  const std::type_info& type = link.link_type();
  for (const LinkMember& member : link.members_) {
    if (member.owner != nullptr && *member.owner->type == type) {
      check_inside(link, &link, member.owner->size);
      break;
    }
  }
  link.members_checked_.store(true, std::memory_order_relaxed);
}

void LinkAccess::check_inside(Link& link, const void* object, size_t size) {
  const char* begin = static_cast<const char*>(object);
  for (const LinkMember& member : link.members_) {
    if (member.added != nullptr) continue;
    const char* at = static_cast<const char*>(LinkWalk::at(link, member));
    if (at < begin || at + member.size > begin + size) {
      throw StateError("the link has no room for its member '" + member.name +
                       "': it is a sliced copy of a derived class; keep links of several classes in AnyLinks");
    }
  }
}

}  // namespace detail

using detail::LinkMember;
using detail::LinkWalk;
using detail::MemberKind;

void Home::throw_gone() {
  throw StateError(
      "the model is gone: it was destroyed, or replaced by a move assignment; set up its optimizer (or make its "
      "extension) again after that");
}

UpdateRule::~UpdateRule() = default;

std::optional<double>& Hyperparameters::operator[](const std::string& name) {
  std::optional<double>* own = nullptr;
  for_each([&](std::string_view known, std::optional<double>& value) {
    if (known == name) own = &value;
  });
  return own != nullptr ? *own : others[name];
}

Link::Link() = default;

Link::Link(const Link& other) : device_{other.device_}, moved_size_{other.moved_size_} {
  if (other.extras_) extras_ = Owned(new detail::LinkExtras(*other.extras_));
  take_members(other);
  structure_changed();
}

Link::Link(Link&& other) noexcept : device_{other.device_}, moved_size_{other.take_size()} {
  members_ = std::move(other.members_);
  home_ = std::move(other.home_);
  extras_ = std::move(other.extras_);
  other.members_.clear();
  if (home_) home_->link_ = this;
  structure_changed();
}

Link& Link::operator=(const Link& other) {
  if (this == &other) return *this;
  // Objects of one class differ in their optional members alone; a part of a larger object keeps what it has.
  const bool same_members = members_.size() == other.members_.size() &&
                            std::equal(members_.begin(), members_.end(), other.members_.begin(),
                                       [](const LinkMember& a, const LinkMember& b) { return a.name == b.name; });
  if (link_type() != other.link_type()) return *this;
  moved_size_ = other.moved_size_;
  members_checked_.store(false, std::memory_order_relaxed);
  if (extras_ != nullptr || other.extras_ != nullptr) extras().assign(other.extras_.get());
  if (!same_members || extras_ != nullptr) {
    take_members(other);
    structure_changed();
  }
  return *this;
}

Link& Link::operator=(Link&& other) noexcept {
  if (this == &other) return *this;
  if (link_type() == other.link_type()) {
    moved_size_ = other.take_size();
    members_checked_.store(false, std::memory_order_relaxed);
    members_ = std::move(other.members_);
    other.members_.clear();
    extras_ = std::move(other.extras_);
  }
  if (home_) home_->link_ = nullptr;
  home_ = std::move(other.home_);
  if (home_) home_->link_ = this;
  device_ = other.device_;
  structure_changed();
  return *this;
}

Link::~Link() {
  if (home_) home_->link_ = nullptr;
  structure_changed();
}

void Link::take_members(const Link& other) {
  members_ = other.members_;
  for (LinkMember& member : members_) {
    if (member.added != nullptr) member.added = extras_->find(member.name)->object();
  }
}

// What moved_size_ is for the link that takes the members; this one is moved from.
uint32_t Link::take_size() noexcept {
  ptrdiff_t size = 1;
  for (const LinkMember& member : members_) {
    if (member.added == nullptr) size = std::max(size, member.offset + member.size);
  }
  members_checked_.store(false, std::memory_order_relaxed);
  return std::exchange(moved_size_, is_moved_from() ? moved_size_ : static_cast<uint32_t>(size));
}

void Link::insert_member(LinkMember member) {
  if (member.name.empty() || member.name.find('/') != std::string::npos) {
    throw ValueError("Link: '" + member.name + "' is no name for a member: it must not be empty or contain '/'");
  }
  for (const LinkMember& other : members_) {
    if (other.name == member.name) throw ValueError("Link: there is already a member named '" + member.name + "'");
  }
  const auto place = std::find_if(members_.begin(), members_.end(), [&](const LinkMember& other) {
    return other.kind != member.kind ? other.kind > member.kind : other.name > member.name;
  });
  members_.insert(place, std::move(member));
  structure_changed();
}

namespace {

// Those of a list are no members.
void check_no_child(Link& link, const std::string& name) {
  LinkWalk::children(link, [&](const std::string& child, Link&) {
    if (child == name) throw ValueError("Link: there is already a member named '" + name + "'");
  });
}

}  // namespace

Parameter& Link::add_param(const std::string& name, Parameter parameter) {
  auto object = std::make_unique<Parameter>(std::move(parameter));
  Parameter& added = *object;
  Link& link = self();
  check_no_child(link, name);
  link.insert_member({name, MemberKind::parameter, sizeof(Parameter), 0, nullptr, &added});
  link.extras().members.push_back({name, std::move(object), nullptr});
  if (!added.is_defined()) return added;
  added.set_name(name);
  added.to(link.device());
  return added;
}

Array& Link::add_persistent(const std::string& name, const Array& value) {
  Link& link = self();
  auto object = std::make_unique<Array>(value.is_defined() ? value.to_device(link.device()) : value);
  Array& added = *object;
  check_no_child(link, name);
  link.insert_member({name, MemberKind::persistent, sizeof(Array), 0, nullptr, &added});
  link.extras().members.push_back({name, nullptr, std::move(object)});
  return added;
}

void Link::remove_member(const std::string& name) {
  Link& link = self();
  const auto place = std::find_if(link.members_.begin(), link.members_.end(),
                                  [&](const LinkMember& member) { return member.name == name; });
  if (place == link.members_.end()) throw KeyError("Link::remove_member: no member named '" + name + "'");
  if (place->added == nullptr) {
    throw StateError("Link::remove_member: '" + name +
                     "' is a member of the class; only what was added can be removed");
  }
  link.members_.erase(place);
  std::erase_if(link.extras().members, [&](const auto& member) { return member.name == name; });
  structure_changed();
}

// Threads may each make a static graph of one model.
const IntrusivePtr<Home>& Link::home() {
  static constinit ForkSafeMutex making;
  const std::scoped_lock lock(making);
  if (!home_) home_ = IntrusivePtr<Home>(new Home(*this));
  return home_;
}

Link& Link::list_item(size_t index) { throw IndexError("Link::list_item: no child number " + std::to_string(index)); }

std::vector<std::pair<std::string, std::string>> Link::printable_list() {
  std::vector<std::pair<std::string, std::string>> entries;
  for (size_t i = 0; i < list_size(); ++i) entries.emplace_back(list_name(i), to_string(list_item(i)));
  return entries;
}

std::string detail::class_name(Link& link) { return type_name(LinkWalk::type(link.self())); }

std::string to_string(Link& root) {
  Link& link = root.self();
  std::string text = detail::class_name(link) + "(";
  const auto specs = link.printable_specs();
  for (size_t i = 0; i < specs.size(); ++i) text += (i == 0 ? "" : ", ") + specs[i].first + "=" + specs[i].second;
  std::vector<std::pair<std::string, std::string>> below;
  detail::LinkAccess::check_members(link);
  for (const LinkMember& member : link.members_) {
    if (member.kind == MemberKind::link) below.emplace_back(member.name, to_string(LinkWalk::child(link, member)));
  }
  for (auto& entry : link.printable_list()) below.push_back(std::move(entry));
  for (const auto& [name, child] : below) {
    std::string indented;
    for (const char c : child) indented += c == '\n' ? std::string("\n  ") : std::string(1, c);
    text += "\n  (" + name + "): " + indented + ",";
  }
  return text + (below.empty() ? ")" : "\n)");
}

std::vector<std::pair<std::string, Parameter*>> Link::namedparams(bool include_uninit) {
  std::vector<std::pair<std::string, Parameter*>> found;
  LinkWalk::links(*this, "", [&](const std::string& path, Link& link) {
    LinkWalk::members(link, [&](const LinkMember& member) {
      if (member.kind != MemberKind::parameter) return;
      Parameter& parameter = LinkWalk::parameter(link, member);
      if (include_uninit || parameter.is_initialized()) found.emplace_back(path + "/" + member.name, &parameter);
    });
  });
  return found;
}

std::vector<Parameter*> Link::params(bool include_uninit) {
  std::vector<Parameter*> found;
  LinkWalk::parameters(*this, [&](Parameter& parameter) {
    if (include_uninit || parameter.is_initialized()) found.push_back(&parameter);
  });
  return found;
}

std::vector<std::pair<std::string, Link*>> Link::namedlinks(bool skip_self) {
  std::vector<std::pair<std::string, Link*>> found;
  LinkWalk::links(*this, "", [&](const std::string& path, Link& link) {
    if (!path.empty()) {
      found.emplace_back(path, &link);
    } else if (!skip_self) {
      found.emplace_back("/", &link);
    }
  });
  return found;
}

std::vector<Link*> Link::links(bool skip_self) {
  std::vector<Link*> found;
  LinkWalk::each(*this, [&](Link& link) { found.push_back(&link); });
  if (skip_self) found.erase(found.begin());
  return found;
}

std::vector<Link*> Link::children() {
  std::vector<Link*> found;
  LinkWalk::children(self(), [&](const std::string&, Link& child) { found.push_back(&child.self()); });
  return found;
}

int64_t Link::count_params() {
  int64_t count = 0;
  for (const auto& [path, parameter] : namedparams()) {
    if (parameter->is_initialized()) {
      count += parameter->size();
    } else {
      log::warn("count_params: " + path + " has no shape yet and is not counted");
    }
  }
  return count;
}

Parameter& Link::param(const std::string& path) {
  std::string known;
  for (const auto& [name, parameter] : namedparams()) {
    if (name == path) return *parameter;
    known += " " + name;
  }
  throw KeyError("Link::param: no parameter " + path + "; there are" + known);
}

void Link::cleargrads() {
  LinkWalk::parameters(*this, [](Parameter& parameter) { parameter.cleargrad(); });
}

void Link::copyparams(Link& source, bool copy_persistent) {
  std::vector<LinkWalk::Entry> from;
  const std::vector<LinkWalk::Entry> to = LinkWalk::matching_entries("Link::copyparams", *this, source, from);
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i].kind != MemberKind::parameter && !copy_persistent) continue;
    switch (to[i].kind) {
      case MemberKind::parameter:
        static_cast<Parameter*>(to[i].at)->copydata(*static_cast<Parameter*>(from[i].at));
        break;
      case MemberKind::persistent: {
        Array& array = *static_cast<Array*>(to[i].at);
        const Array& other = *static_cast<Array*>(from[i].at);
        if (array.is_defined() && other.is_defined()) {
          array.copy_from(other);
        } else {
          array = other.is_defined() ? other.copy() : Array();
        }
        break;
      }
      case MemberKind::integer:
        *static_cast<int64_t*>(to[i].at) = *static_cast<int64_t*>(from[i].at);
        break;
      case MemberKind::real:
        *static_cast<double*>(to[i].at) = *static_cast<double*>(from[i].at);
        break;
      case MemberKind::boolean:
        *static_cast<bool*>(to[i].at) = *static_cast<bool*>(from[i].at);
        break;
      case MemberKind::text:
        *static_cast<std::string*>(to[i].at) = *static_cast<std::string*>(from[i].at);
        break;
      case MemberKind::state:
      case MemberKind::link:
        break;
    }
  }
}

void Link::addgrads(Link& source) {
  std::vector<LinkWalk::Entry> from;
  const std::vector<LinkWalk::Entry> to = LinkWalk::matching_entries("Link::addgrads", *this, source, from);
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i].kind != MemberKind::parameter) continue;
    static_cast<Parameter*>(to[i].at)->addgrad(*static_cast<Parameter*>(from[i].at));
  }
}

void Link::enable_update() {
  LinkWalk::parameters(*this, [](Parameter& parameter) { parameter.enable_update(); });
}

void Link::disable_update() {
  LinkWalk::parameters(*this, [](Parameter& parameter) { parameter.disable_update(); });
}

bool Link::update_enabled() {
  bool enabled = false;
  LinkWalk::parameters(*this, [&](Parameter& parameter) {
    enabled = enabled || (parameter.has_update_rule() && parameter.update_enabled());
  });
  return enabled;
}

Link& Link::to(const Device& device) {
  device_ = device;
  LinkWalk::each(*this, [&](Link& link) {
    LinkWalk::set_device(link, device);
    LinkWalk::members(link, [&](const LinkMember& member) {
      if (member.kind == MemberKind::parameter) {
        LinkWalk::parameter(link, member).to(device);
      } else if (member.kind == MemberKind::persistent) {
        Array& array = *static_cast<Array*>(LinkWalk::at(link, member));
        if (array.is_defined()) array = array.to_device(device);
      } else if (member.kind == MemberKind::state) {
        auto& state = *static_cast<Variable*>(LinkWalk::at(link, member));
        if (state.is_defined()) state = Variable(state.array().to_device(device), false);
      }
    });
  });
  LinkWalk::each(*this, [&](Link& link) { link.moved_to(device); });
  return *this;
}

Link& Link::to(Dtype dtype, const ToDtypeOptions& options) {
  if (!is_floating(dtype)) {
    throw TypeError(std::string("Link::to: dtype is ") + name(dtype) + " but must be floating");
  }
  const auto dtype_of = [&](Link& link) {
    return options.keep_float32 && is_half(dtype) && link.keeps_float32() ? Dtype::float32 : dtype;
  };
  LinkWalk::each(*this, [&](Link& link) {
    const Dtype own = dtype_of(link);
    LinkWalk::members(link, [&](const LinkMember& member) {
      if (member.kind == MemberKind::parameter) {
        LinkWalk::parameter(link, member).to(own);
      } else if (member.kind == MemberKind::persistent) {
        Array& array = *static_cast<Array*>(LinkWalk::at(link, member));
        if (array.is_defined() && array.is_floating()) array = array.astype(own);
      } else if (member.kind == MemberKind::state) {
        auto& state = *static_cast<Variable*>(LinkWalk::at(link, member));
        if (state.is_defined() && is_floating(state.dtype())) state = Variable(state.array().astype(own), false);
      }
    });
  });
  LinkWalk::each(*this, [&](Link& link) { link.converted_to(dtype_of(link)); });
  return *this;
}

void Link::serialize(Serializer& serializer) {
  Link& link = self();
  if (&link != this) return link.serialize(serializer);
  LinkWalk::members(link, [&](const LinkMember& member) {
    void* value = LinkWalk::at(link, member);
    switch (member.kind) {
      case MemberKind::parameter:
        static_cast<Parameter*>(value)->serialize(serializer, member.name);
        break;
      case MemberKind::persistent: {
        Array& array = *static_cast<Array*>(value);
        const Array before = array;
        serializer(member.name, array);
        if (serializer.is_writer()) break;
        if (!array.is_defined() && !serializer.restores()) array = before;  // None leaves a link as it is
        if (array.is_defined()) array = array.to_device(link.device());
        break;
      }
      case MemberKind::integer:
        serializer(member.name, *static_cast<int64_t*>(value));
        break;
      case MemberKind::real:
        serializer(member.name, *static_cast<double*>(value));
        break;
      case MemberKind::boolean:
        serializer(member.name, *static_cast<bool*>(value));
        break;
      case MemberKind::text:
        serializer(member.name, *static_cast<std::string*>(value));
        break;
      case MemberKind::state:
      case MemberKind::link:
        break;
    }
  });
  LinkWalk::children(link, [&](const std::string& name, Link& child) { child.serialize(*serializer.child(name)); });
}

}  // namespace kusari
