#include "kusari/framework/links/stray_links.h"

#include <algorithm>
#include <functional>
#include <string>

#include "kusari/framework/autograd/undefined_input.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/link_walk.h"
#include "kusari/framework/links/live_link.h"

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

template <class Visit>
void for_each_live_link(const Visit& visit) {
  LiveLink::for_each([](void* context, Link& link) { (*static_cast<const Visit*>(context))(link); },
                     const_cast<void*>(static_cast<const void*>(&visit)));
}

struct Surveyed {
  std::vector<Extent> extents;
  std::vector<const Link*> known;  // registered links, and the wrappers around them
};

// `size`: of the object that holds `found`.
void survey(Link& found, size_t size, Surveyed& result) {
  Link& link = found.self();
  result.known.push_back(&found);
  if (&link != &found) {
    result.known.push_back(&link);
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
  for_each_live_link([&](Link& link) { is_found = is_found || LinkWalk::has_lost(link, address); });
  if (is_found) throw StateError(std::string(function) + ": the link of an input" + kMovedFrom);
}

[[maybe_unused]] const bool is_explainer_set = (set_undefined_input_explainer(explain_moved_parameter), true);

}  // namespace

std::vector<StrayLink> find_stray_links(Link& root, size_t size) {
  Surveyed surveyed;
  survey(root, size, surveyed);
  std::vector<Extent>& extents = surveyed.extents;
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return a.begin != b.begin ? std::less<>()(a.begin, b.begin) : std::less<>()(b.end, a.end);
  });
  std::sort(surveyed.known.begin(), surveyed.known.end(), std::less<>());
  // Of extent i and those around it, the innermost that reaches `end`.
  const auto innermost = [&](ptrdiff_t i, const char* end) {
    while (i >= 0 && extents[static_cast<size_t>(i)].end < end) i = extents[static_cast<size_t>(i)].outer;
    return i;
  };
  for (size_t i = 1; i < extents.size(); ++i) {
    extents[i].outer = innermost(static_cast<ptrdiff_t>(i) - 1, extents[i].end);
  }
  const auto holder_of = [&](const char* at) -> Link* {
    const auto next = std::upper_bound(extents.begin(), extents.end(), at,
                                       [](const char* address, const Extent& e) { return address < e.begin; });
    const ptrdiff_t i = innermost(next - extents.begin() - 1, at + sizeof(Link));
    return i >= 0 ? extents[static_cast<size_t>(i)].link : nullptr;
  };
  std::vector<StrayLink> strays;
  for_each_live_link([&](Link& link) {
    const char* const at = reinterpret_cast<const char*>(&link);
    if (std::binary_search(surveyed.known.begin(), surveyed.known.end(), &link, std::less<>())) return;
    if (Link* const holder = holder_of(at)) strays.push_back({&link, holder});
  });
  std::erase_if(strays, [](const StrayLink& stray) { return LinkWalk::has_lost_all(stray.link->self()); });
  std::vector<const Link*> below;
  for (const StrayLink& stray : strays) {
    LinkWalk::links(*stray.link, "", [&](const std::string& path, Link& link) {
      if (!path.empty() || &link != stray.link) below.push_back(&link);
    });
  }
  std::erase_if(
      strays, [&](const StrayLink& stray) { return std::find(below.begin(), below.end(), stray.link) != below.end(); });
  // In the order of their declaration.
  std::sort(strays.begin(), strays.end(),
            [](const StrayLink& a, const StrayLink& b) { return std::less<>()(a.link, b.link); });
  return strays;
}

void throw_moved_from(Link& link) { throw StateError(class_name(link) + ": the link" + kMovedFrom); }

}  // namespace kusari::detail
