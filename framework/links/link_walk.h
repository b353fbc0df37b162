#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

// For what the library does to all members of a model.
namespace kusari::detail {

/// "Mlp" of an examples::Mlp, "Classifier" of a links::Classifier<Mlp>.
KUSARI_API std::string class_name(Link& link);

/// Visits what lies in a tree of links, own members before the children's.
struct LinkWalk {
  static void* at(Link& link, const LinkMember& member) {
    return member.added != nullptr ? member.added : reinterpret_cast<char*>(&link) + member.offset;
  }
  static Parameter& parameter(Link& link, const LinkMember& member) {
    return *static_cast<Parameter*>(at(link, member));
  }
  static Link& child(Link& link, const LinkMember& member) { return *static_cast<Link*>(at(link, member)); }

  /// visit(member, link) for the members of one link; a parameter that was moved away is none.
  template <class Visit>
  static void members(Link& link, const Visit& visit) {
    LinkAccess::check_members(link);
    for (const LinkMember& member : link.members_) {
      if (member.kind == MemberKind::link) continue;
      if (member.kind == MemberKind::parameter && !parameter(link, member).is_defined()) continue;
      visit(member);
    }
  }

  /// visit(name, child) for the children of one link; `name` costs a string only for lists.
  template <class Visit>
  static void children(Link& link, const Visit& visit) {
    LinkAccess::check_members(link);
    for (const LinkMember& member : link.members_) {
      if (member.kind == MemberKind::link) visit(member.name, child(link, member));
    }
    for (size_t i = 0; i < link.list_size(); ++i) visit(link.list_name(i), link.list_item(i));
  }

  /// visit(path, link) for a link and all below; paths are "" and "/l1".
  template <class Visit>
  static void links(Link& root, const std::string& path, const Visit& visit) {
    Link& link = root.self();
    visit(path, link);
    children(link, [&](const std::string& name, Link& below) { links(below, path + "/" + name, visit); });
  }

  /// The same without paths.
  template <class Visit>
  static void each(Link& root, const Visit& visit) {
    Link& link = root.self();
    visit(link);
    LinkAccess::check_members(link);
    for (const LinkMember& member : link.members_) {
      if (member.kind == MemberKind::link) each(child(link, member), visit);
    }
    for (size_t i = 0; i < link.list_size(); ++i) each(link.list_item(i), visit);
  }

  template <class Visit>
  static void parameters(Link& root, const Visit& visit) {
    each(root, [&](Link& link) {
      members(link, [&](const LinkMember& member) {
        if (member.kind == MemberKind::parameter) visit(parameter(link, member));
      });
    });
  }

  template <class Visit>
  static void states(Link& root, const Visit& visit) {
    each(root, [&](Link& link) {
      members(link, [&](const LinkMember& member) {
        if (member.kind == MemberKind::state) visit(*static_cast<Variable*>(at(link, member)));
      });
    });
  }

  /// visit(child, bytes of its object as far as they are known) for the children of one link.
  template <class Visit>
  static void children_with_sizes(Link& link, const Visit& visit) {
    LinkAccess::check_members(link);
    for (const LinkMember& member : link.members_) {
      if (member.kind == MemberKind::link) visit(child(link, member), 0);
    }
    for (size_t i = 0; i < link.list_size(); ++i) visit(link.list_item(i), link.list_item_size(i));
  }
  /// Bytes of the object that holds a link; `otherwise` where it does not know itself.
  static size_t object_size(const Link& link, size_t otherwise) noexcept {
    const size_t size = link.object_size();
    return size != 0 ? size : otherwise;
  }
  /// The same by the classes of the link's members: at least that.
  static size_t members_size(const Link& link) noexcept {
    size_t size = sizeof(Link);
    for (const LinkMember& member : link.members_) {
      if (member.owner != nullptr) size = std::max(size, member.owner->size);
    }
    return size;
  }
  /// Lets structure_version() change when the parameter goes.
  static void note(Parameter& parameter) noexcept { parameter.is_noted_ = true; }
  /// Whether the address is among those of members that have been moved away.
  static bool has_lost(const Link& link, uintptr_t address) noexcept {
    const auto begin = reinterpret_cast<uintptr_t>(&link);
    return address >= begin && address < begin + link.moved_size_;
  }
  /// Whether the members have been moved away and none came since: then there is nothing to walk.
  static bool has_lost_all(const Link& link) noexcept {
    return link.moved_size_ != 0 && link.members_.empty() && link.list_size() == 0;
  }

  /// Numbers of the hooks of one link, each of its own for ever.
  KUSARI_API static std::vector<uint64_t> hook_ids(const Link& link);

  static const std::type_info& type(const Link& link) noexcept { return link.link_type(); }
  static void set_device(Link& link, const Device& device) { link.device_ = device; }

  struct Entry {
    std::string path;
    MemberKind kind;
    void* at;
  };
  /// Parameters and persistent values with their paths.
  static std::vector<Entry> entries(Link& root) {
    std::vector<Entry> found;
    links(root, "", [&](const std::string& path, Link& link) {
      members(link, [&](const LinkMember& member) {
        found.push_back({path + "/" + member.name, member.kind, at(link, member)});
      });
    });
    return found;
  }
  static std::vector<Entry> matching_entries(const char* call, Link& a, Link& b, std::vector<Entry>& of_b) {
    std::vector<Entry> of_a = entries(a);
    of_b = entries(b);
    const size_t common = std::min(of_a.size(), of_b.size());
    for (size_t i = 0; i < common; ++i) {
      if (of_a[i].path != of_b[i].path || of_a[i].kind != of_b[i].kind) {
        throw KeyError(std::string(call) + ": this link has " + of_a[i].path + " where the other has " + of_b[i].path);
      }
    }
    if (of_a.size() != of_b.size()) {
      throw KeyError(std::string(call) + ": only one of the links has " +
                     (of_a.size() > common ? of_a : of_b)[common].path);
    }
    return of_a;
  }
};

}  // namespace kusari::detail
