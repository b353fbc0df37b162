#pragma once

#include "kusari/framework/core/export.h"

namespace kusari {

class Link;

namespace detail {

/// Keeps a link in the list of all that there are, for messages about links that are not where they should be.
class KUSARI_API LiveLink {
 public:
  explicit LiveLink(Link& link) noexcept;
  LiveLink(const LiveLink&) = delete;
  LiveLink& operator=(const LiveLink&) = delete;
  ~LiveLink();

  /// Calls visit(context, link) for each, in no order. Other threads' links may be half made or half destroyed: only
  /// their addresses are known.
  static void for_each(void (*visit)(void* context, Link& link), void* context);

 private:
  friend struct LiveLinks;
  Link& link_;
  LiveLink* previous_ = nullptr;
  LiveLink* next_ = nullptr;
};

}  // namespace detail
}  // namespace kusari
