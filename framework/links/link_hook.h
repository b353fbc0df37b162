#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"

namespace kusari {

class LinkHook;

namespace detail {

// The hooks of this thread in the order of their installation, linked through LinkHook::next_.
KUSARI_API extern constinit thread_local LinkHook* t_link_hooks __attribute__((tls_model("initial-exec")));

}  // namespace detail

/// Sees the calls of links before and after: those of one link that owns it (Link::add_hook), or those of all links
/// that this thread calls (ScopedLinkHook). A call is seen when the link's operator() opens a LinkCall, as all links
/// of this library do. chainer.LinkHook.
class KUSARI_API LinkHook {
 public:
  LinkHook() = default;
  /// A copy is installed nowhere.
  LinkHook(const LinkHook&) noexcept {}
  LinkHook& operator=(const LinkHook&) noexcept { return *this; }
  virtual ~LinkHook();

  /// Under which a link knows the hook.
  virtual const char* name() const = 0;
  /// The hook was added to a link, or installed by a ScopedLinkHook (null). After an exception it is not added.
  virtual void added(Link* /*link*/) {}
  virtual void deleted(Link* /*link*/) {}
  /// Before the link computes, its parameters having their shapes.
  virtual void forward_preprocess(Link& /*link*/) {}
  /// After that, also when it ended with an exception. The last hook that saw the call begin is the first to see it
  /// end.
  virtual void forward_postprocess(Link& /*link*/) {}

  LinkHook* next() const noexcept { return next_; }

 private:
  friend class ScopedLinkHook;
  LinkHook* next_ = nullptr;
  bool installed_ = false;
};

/// Installs a hook on this thread for the object's life, behind the hooks that are there:
/// `TimerHook timer; { const ScopedLinkHook scope(timer); model(x); }`.
/// Throws StateError when the hook is installed already.
class KUSARI_API ScopedLinkHook {
 public:
  explicit ScopedLinkHook(LinkHook& hook);
  ScopedLinkHook(const ScopedLinkHook&) = delete;
  ScopedLinkHook& operator=(const ScopedLinkHook&) = delete;
  ~ScopedLinkHook();

 private:
  void uninstall() noexcept;
  LinkHook* hook_;
};

namespace detail {

/// Throws StateError about a link whose members have been moved away.
[[noreturn]] KUSARI_API void throw_moved_from(Link& link);

}  // namespace detail

/// The call of a link, for its hooks: `const LinkCall call(*this);` is the first line of an operator(), in a
/// lazy link the one after its parameters got their shapes. Hooks see one call of a link that is called by itself.
/// Throws StateError for a link whose members were moved away.
class KUSARI_API LinkCall {
 public:
  explicit LinkCall(const Link& link) {
    if (link.extras_ != nullptr || detail::t_link_hooks != nullptr || link.moved_size_ != 0) [[unlikely]]
      begin(const_cast<Link&>(link));  // hooks may change what they see
  }
  /// What the constructor does first, for a link that makes more than parameters before.
  static void expect_members(const Link& link) {
    if (link.moved_size_ > 1) [[unlikely]]
      detail::throw_moved_from(const_cast<Link&>(link));
  }
  LinkCall(const LinkCall&) = delete;
  LinkCall& operator=(const LinkCall&) = delete;
  /// Throws what a hook throws unless the call itself ends with an exception.
  ~LinkCall() noexcept(false) {
    if (state_ != nullptr) [[unlikely]]
      end();
  }

 private:
  struct State;
  void begin(Link& link);
  void end();
  State* state_ = nullptr;
};

template <class Hook>
Link& Link::add_hook(Hook hook, std::string hook_name) {
  static_assert(std::is_base_of_v<LinkHook, Hook>, "add_hook takes a LinkHook");
  static_assert(std::is_copy_constructible_v<Hook>, "a hook of a link is copied with the link");
  insert_hook(
      std::make_shared<Hook>(std::move(hook)),
      [](const LinkHook& own) -> std::shared_ptr<LinkHook> {
        return std::make_shared<Hook>(static_cast<const Hook&>(own));
      },
      std::move(hook_name));
  return *this;
}

/// The link with a hook: `Sequential(with_hook(L::Linear(10, 20), link_hooks::SpectralNormalization()), F::relu)`.
template <LinkType T, std::derived_from<LinkHook> Hook>
T with_hook(T link, Hook hook) {
  link.add_hook(std::move(hook));
  return link;
}

}  // namespace kusari
