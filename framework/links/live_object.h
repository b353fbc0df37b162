#pragma once

#include "kusari/framework/core/export.h"

namespace kusari {

class Link;
class Parameter;

namespace detail {

/// Keeps a link or a parameter in the list of all that there are, for messages about those that are not where they
/// should be.
template <class T>
class KUSARI_API LiveObject {
 public:
  explicit LiveObject(T& object) noexcept;
  LiveObject(const LiveObject&) = delete;
  LiveObject& operator=(const LiveObject&) = delete;
  ~LiveObject();

  /// Calls visit(context, object) for each, the newest first. Other threads' objects may be half made or half
  /// destroyed: only their addresses are known.
  static void for_each(void (*visit)(void* context, T& object), void* context);

 private:
  template <class>
  friend struct LiveObjects;
  T& object_;
  LiveObject* previous_ = nullptr;
  LiveObject* next_ = nullptr;
};

extern template class LiveObject<Link>;
extern template class LiveObject<Parameter>;

}  // namespace detail
}  // namespace kusari
