#include "kusari/framework/links/stray_links.h"

#include <algorithm>
#include <functional>
#include <string>

#include "kusari/framework/autograd/undefined_input.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/link_walk.h"
#include "kusari/framework/links/live_object.h"

namespace kusari::detail {
namespace {

constexpr const char* kMovedFrom =
    " was moved from: its parameters are in the model that it was moved to; use that one, or assign a model to this "
    "one";

/// The object of a link of the model.
struct Extent {
  const char* begin;
  const char* end;
  Link* link;
  ptrdiff_t outer = -1;  // the number of the one around it
};

template <class T, class Visit>
void for_each_live(const Visit& visit) {
  LiveObject<T>::for_each([](void* context, T& object) { (*static_cast<const Visit*>(context))(object); },
                          const_cast<void*>(static_cast<const void*>(&visit)));
}

/// Sorted addresses.
class Addresses {
 public:
  void add(const void* address) { addresses_.push_back(address); }
  void sort() { std::sort(addresses_.begin(), addresses_.end(), std::less<>()); }
  bool contain(const void* address) const {
    return std::binary_search(addresses_.begin(), addresses_.end(), address, std::less<>());
  }

 private:
  std::vector<const void*> addresses_;
};

struct Surveyed {
  std::vector<Extent> extents;
  Addresses known;  // registered links, and the wrappers around them
};

// `size`: of the object that holds `found`.
void survey(Link& found, size_t size, Surveyed& result) {
  Link& link = found.self();
  result.known.add(&found);
  if (&link != &found) {
    result.known.add(&link);
    size = 0;
  }
  const char* const begin = static_cast<const char*>(dynamic_cast<const void*>(&link));
  size = LinkWalk::object_size(found, size);
  result.extents.push_back({begin, begin + std::max(size, LinkWalk::members_size(link)), &link});
  LinkWalk::children_with_sizes(link, [&](Link& child, size_t child_size) { survey(child, child_size, result); });
}

// A function was given an undefined input: perhaps a parameter of a link that was moved from.
void explain_moved_parameter(const char* function, const Variable& input) {
  const auto address = reinterpret_cast<uintptr_t>(&input);
  bool is_found = false;
  for_each_live<Link>([&](Link& link) { is_found = is_found || LinkWalk::has_lost(link, address); });
  if (is_found) throw StateError(std::string(function) + ": the link of an input" + kMovedFrom);
}

[[maybe_unused]] const bool is_explainer_set = (set_undefined_input_explainer(explain_moved_parameter), true);

}  // namespace

StrayMembers find_stray_members(Link& root, size_t size) {
  Surveyed surveyed;
  survey(root, size, surveyed);
  std::vector<Extent>& extents = surveyed.extents;
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return a.begin != b.begin ? std::less<>()(a.begin, b.begin) : std::less<>()(b.end, a.end);
  });
  surveyed.known.sort();
  // Of extent i and those around it, the innermost that reaches `end`.
  const auto innermost = [&](ptrdiff_t i, const char* end) {
    while (i >= 0 && extents[static_cast<size_t>(i)].end < end) i = extents[static_cast<size_t>(i)].outer;
    return i;
  };
  for (size_t i = 1; i < extents.size(); ++i) {
    extents[i].outer = innermost(static_cast<ptrdiff_t>(i) - 1, extents[i].end);
  }
  const auto holder_of = [&](const auto& member) -> Link* {
    const char* const at = reinterpret_cast<const char*>(&member);
    const auto next = std::upper_bound(extents.begin(), extents.end(), at,
                                       [](const char* address, const Extent& e) { return address < e.begin; });
    const ptrdiff_t i = innermost(next - extents.begin() - 1, at + sizeof member);
    return i >= 0 ? extents[static_cast<size_t>(i)].link : nullptr;
  };
  StrayMembers strays;
  for_each_live<Link>([&](Link& link) {
    if (surveyed.known.contain(&link)) return;
    if (Link* const holder = holder_of(link)) strays.links.push_back({&link, holder});
  });
  std::erase_if(strays.links, [](const StrayLink& stray) { return LinkWalk::has_lost_all(stray.link->self()); });
  Addresses below, of_links;
  const auto note_parameters = [&](Link& link) {
    LinkWalk::parameters(link, [&](Parameter& parameter) { of_links.add(&parameter); });
  };
  note_parameters(root);
  for (const StrayLink& stray : strays.links) {
    LinkWalk::each(*stray.link, [&](Link& link) {
      if (&link != stray.link) below.add(&link);
    });
    note_parameters(*stray.link);
  }
  below.sort();
  of_links.sort();
  std::erase_if(strays.links, [&](const StrayLink& stray) { return below.contain(stray.link); });
  for_each_live<Parameter>([&](Parameter& parameter) {
    if (of_links.contain(&parameter)) return;
    if (Link* const holder = holder_of(parameter)) strays.parameters.push_back({&parameter, holder});
  });
  for (const StrayParameter& stray : strays.parameters) LinkWalk::note(*stray.parameter);
  // In the order of their declaration.
  std::reverse(strays.links.begin(), strays.links.end());
  std::reverse(strays.parameters.begin(), strays.parameters.end());
  return strays;
}

void throw_moved_from(Link& link) { throw StateError(class_name(link) + ": the link" + kMovedFrom); }

}  // namespace kusari::detail
