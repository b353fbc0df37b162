#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/intrusive_ptr.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/links/home.h"
#include "kusari/framework/links/live_object.h"

namespace kusari {

class Array;
class Link;
class LinkHook;
class Parameter;
class Serializer;
KUSARI_API std::string to_string(Link& link);

/// A size that the first batch decides: `Child<L::Linear> l1{*this, "l1", kInfer, 100}`.
inline constexpr int64_t kInfer = -1;
/// As the only size of a parameter: a whole shape that the first batch decides.
inline constexpr int64_t kInferShape = -2;

/// What a copy of a model does with its parameters: share the arrays, copy them, or draw new ones from the
/// initializers.
enum class CopyMode : uint8_t { share, copy, init };

/// Options of Link::to(Dtype).
struct ToDtypeOptions {
  bool keep_float32 = true;  ///< false: 16 bits also for links that keeps_float32()
};

template <class T>
concept LinkType = std::is_base_of_v<Link, T>;

namespace detail {

enum class MemberKind : uint8_t { parameter, persistent, integer, real, boolean, text, state, link };

/// A class that declares registered members.
struct LinkClass {
  const std::type_info* type;
  size_t size;
};
template <class T>
const LinkClass* link_class() {
  static const LinkClass info{&typeid(T), sizeof(T)};
  return &info;
}

/// A member as its parent knows it: by its distance, which the compiler's own copy and move keep. One that was added at
/// run time lies on the heap.
struct LinkMember {
  std::string name;
  MemberKind kind;
  int32_t size;
  ptrdiff_t offset;        // from the parent's Link
  const LinkClass* owner;  // null for one that was added at run time
  void* added = nullptr;
};

/// What a few links have: hooks, and members that were added at run time.
struct LinkExtras;

/// Grows whenever any model anywhere changes its structure, its place or its update rules: lists of parameters made
/// before are stale.
KUSARI_API uint64_t structure_version() noexcept;
KUSARI_API void change_structure_version() noexcept;

/// How Parameter copies behave in this thread, for the life of the object.
class KUSARI_API CopyScope {
 public:
  explicit CopyScope(CopyMode mode) noexcept;
  CopyScope(const CopyScope&) = delete;
  CopyScope& operator=(const CopyScope&) = delete;
  ~CopyScope();
  static CopyMode current() noexcept;

 private:
  CopyMode previous_;
};

struct LinkAccess;
struct LinkWalk;

}  // namespace detail

class LinkCall;

/// A building block of models: an object with parameters, persistent values and child links as members.
///
/// A link is an ordinary value. Its members register themselves by name where they are declared (see Parameter and
/// Child). Copying gives an independent model without optimizer state; assigning writes the values in place and keeps
/// the parameters that optimizers know; moving keeps everything, and what was moved from throws StateError when it is
/// called, and when its parameters are asked for.
///
/// A link's operator() is best const, as those of nearly all links of this library are: then a function may take the
/// model as a const reference. What a call makes when it is the first (parameters of sizes that the batch decides) and
/// what it counts (running statistics) does not count as a change of the model. That of a link with State is not const.
/// chainer.Link.
class KUSARI_API Link {
 public:
  virtual ~Link();

  // --- parameters: own before the children's, sorted by name ------------------------------------------------------

  /// Parameters with paths such as "/l1/W". `include_uninit`: also those whose shape is not known yet.
  std::vector<std::pair<std::string, Parameter*>> namedparams(bool include_uninit = true);
  std::vector<Parameter*> params(bool include_uninit = true);
  /// This link ("/") and all links below with their paths.
  std::vector<std::pair<std::string, Link*>> namedlinks(bool skip_self = false);
  std::vector<Link*> links(bool skip_self = false);
  std::vector<Link*> children();
  /// Number of parameter elements; a warning names parameters without a shape, which do not count.
  int64_t count_params();
  /// The parameter at a path such as "/l1/W". Throws KeyError listing what there is.
  Parameter& param(const std::string& path);

  /// Forgets the gradients of all parameters.
  void cleargrads();
  /// Copies the values of a link with the same parameter paths; its persistent values too unless `copy_persistent` is
  /// false.
  void copyparams(Link& source, bool copy_persistent = true);
  /// Adds the gradients of a link with the same parameter paths.
  void addgrads(Link& source);
  /// Lets optimizers update the parameters of this link and the links below, or keeps them from it: see
  /// Parameter::disable_update. Parameters that are added later are not concerned.
  void enable_update();
  void disable_update();
  /// Whether an optimizer updates any of them.
  bool update_enabled();

  // --- members added at run time ------------------------------------------------------------------------------------

  /// Adds a parameter that is no member of the class; lists, copies, optimizers and snapshots know it as the others.
  /// Throws ValueError for a bad name and for one that is taken. chainer.Link.add_param.
  Parameter& add_param(const std::string& name, Parameter parameter);
  /// The same for an array that is no parameter. chainer.Link.add_persistent.
  Array& add_persistent(const std::string& name, const Array& value);
  /// Removes what add_param or add_persistent added. Throws KeyError when there is no such member, StateError for a
  /// member of the class.
  void remove_member(const std::string& name);

  // --- hooks --------------------------------------------------------------------------------------------------------

  /// Lets a hook see each call of this link, under its name() or another one. The link owns the hook; copies of the
  /// link have copies of it. Returns the link. Throws KeyError when the name is taken. chainer.Link.add_hook.
  template <class Hook>
  Link& add_hook(Hook hook, std::string hook_name = {});
  /// Throws KeyError when there is no hook of that name.
  void delete_hook(const std::string& hook_name);
  /// The hooks of this link in the order of their addition.
  std::vector<std::pair<std::string, LinkHook*>> local_link_hooks();

  /// Moves parameters, gradients, persistent values and optimizer state.
  Link& to(const Device& device);
  const Device& device() const noexcept { return device_; }
  /// Converts parameters (whose gradients go) and floating persistent values of this link and the links below. Those
  /// of links that keeps_float32() become float32 when `dtype` is a 16-bit one, unless options say otherwise.
  Link& to(Dtype dtype, const ToDtypeOptions& options = {});
  /// Whether 16-bit training leaves this link's parameters and statistics in float32: that of normalizations.
  virtual bool keeps_float32() const noexcept { return false; }

  /// What identifies the link in to_string: {{"in_size", "784"}, {"out_size", "100"}}.
  virtual std::vector<std::pair<std::string, std::string>> printable_specs() const { return {}; }

  /// Visits parameters and persistent values under Chainer's names: "l1/W".
  virtual void serialize(Serializer& serializer);

  /// Follows this link when it is moved.
  const IntrusivePtr<Home>& home();

  /// The link that stands in the tree of parameters for this one: another one only for wrappers such as AnyLink.
  virtual Link& self() noexcept { return *this; }

 protected:
  Link();
  Link(const Link& other);
  Link(Link&& other) noexcept;
  Link& operator=(const Link& other);
  Link& operator=(Link&& other) noexcept;

  /// Children that are no members: those of a list.
  virtual size_t list_size() const noexcept { return 0; }
  virtual Link& list_item(size_t index);
  /// Its name: by default the number.
  virtual std::string list_name(size_t index) const { return std::to_string(index); }
  /// How to_string shows them.
  virtual std::vector<std::pair<std::string, std::string>> printable_list();
  /// To be called when such children are added or removed.
  static void structure_changed() noexcept { detail::change_structure_version(); }
  /// The class that the members belong to; Child<T> answers T.
  virtual const std::type_info& link_type() const noexcept { return typeid(*this); }

  /// Called by to(device) of this link or one above it, when all registered members have moved. State that a class
  /// keeps in plain arrays and variables moves here: `mask_ = mask_.to_device(device);`. A variable that is shared with
  /// a copied model becomes another one by assignment, as in `h = Variable(h.array().to_device(device))`.
  virtual void moved_to(const Device& /*device*/) {}
  /// The same for to(dtype); `dtype` is what this link's own parameters have now.
  virtual void converted_to(Dtype /*dtype*/) {}

  /// Bytes of the object, as far as its holder knows them; 0: it does not.
  virtual size_t object_size() const noexcept { return 0; }
  /// The same for a child of a list.
  virtual size_t list_item_size(size_t) const noexcept { return 0; }
  /// Whether the members have been moved away, and nothing has been assigned since.
  bool is_moved_from() const noexcept { return moved_size_ != 0; }

 private:
  friend struct detail::LinkAccess;
  friend struct detail::LinkWalk;
  friend class LinkCall;
  friend KUSARI_API std::string to_string(Link& link);

  using CloneHook = std::shared_ptr<LinkHook> (*)(const LinkHook& hook);
  void insert_hook(std::shared_ptr<LinkHook> hook, CloneHook clone, std::string hook_name);
  void insert_member(detail::LinkMember member);
  detail::LinkExtras& extras();
  void take_members(const Link& other);
  uint32_t take_size() noexcept;

  std::vector<detail::LinkMember> members_;  // by kind, then by name
  IntrusivePtr<Home> home_;
  Owned<detail::LinkExtras> extras_;
  Device device_;
  uint32_t moved_size_ = 0;  // bytes in which the members were that have been moved away, 1 where there were none
  detail::LiveObject<Link> live_{*this};  // behind what those read who find the link by it
  std::atomic<bool> members_checked_{false};
};

/// The tree of links as Chainer prints it:
/// Mlp(
///   (l1): Linear(in_size=784, out_size=100, nobias=False),
/// )
KUSARI_API std::string to_string(Link& link);

/// Chainer's name for a link with child links.
class KUSARI_API Chain : public Link {
 protected:
  Chain() = default;
  Chain(const Chain&) = default;
  Chain(Chain&&) noexcept = default;
  Chain& operator=(const Chain&) = default;
  Chain& operator=(Chain&&) noexcept = default;
};

namespace detail {

struct KUSARI_API LinkAccess {
  /// Registers the object at `member` with its parent. Throws ValueError for a bad name, and StateError when the object
  /// does not lie inside the parent.
  template <LinkType Parent>
  static void add(Parent& parent, std::string_view name, MemberKind kind, const void* member, size_t size) {
    static_assert(!std::is_same_v<Parent, Link> && !std::is_same_v<Parent, Chain>,
                  "pass *this of the class that declares the member");
    const char* at = static_cast<const char*>(member);
    const char* begin = reinterpret_cast<const char*>(&parent);
    const bool inside = at >= begin && at + size <= begin + sizeof(Parent);
    add_at(parent, name, kind, at - reinterpret_cast<const char*>(static_cast<Link*>(&parent)), size,
           link_class<Parent>(), inside);
  }
  /// Throws StateError when members lie outside an object of `size` bytes: what is left of a sliced model.
  static void check_inside(Link& link, const void* object, size_t size);

 private:
  friend class kusari::Link;
  friend struct LinkWalk;
  friend KUSARI_API std::string kusari::to_string(Link& link);
  static void add_at(Link& parent, std::string_view name, MemberKind kind, ptrdiff_t offset, size_t size,
                     const LinkClass* owner, bool inside);
  /// Throws StateError for a sliced model and for a link that was moved from.
  static void check_members(Link& link);
};

template <class Options, class... Args>
inline constexpr bool kEndsWith = false;
template <class Options, class Last>
inline constexpr bool kEndsWith<Options, Last> = std::is_same_v<Options, std::remove_cvref_t<Last>>;
template <class Options, class First, class Second, class... Rest>
inline constexpr bool kEndsWith<Options, First, Second, Rest...> = kEndsWith<Options, Second, Rest...>;

template <class T>
struct OptionsOf {
  using type = void;
};
template <class T>
requires requires { typename T::Options; }
struct OptionsOf<T> {
  using type = typename T::Options;
};

}  // namespace detail

namespace detail {
template <LinkType Parent, LinkType T>
void enter_child(Parent& parent, std::string_view name, T& child) {
  static_assert(std::is_nothrow_move_constructible_v<T>, "a link's move constructor must be noexcept");
  LinkAccess::add(parent, name, MemberKind::link, static_cast<Link*>(&child), sizeof(Link));
}
}  // namespace detail

/// A member that is a child link: a T that registers itself under a name with the link it is a member of.
/// `Child<L::Linear> l1{*this, "l1", 784, 100, {.nobias = true}}`: after the name, the arguments of T's constructor.
///
/// A plain member of type T runs as well, but no list, optimizer or snapshot knows it. Optimizers warn when one gets a
/// gradient, but not of links on the heap: those of a std::vector or behind a pointer.
///
/// A child has one parent and one name. To use it in two places, call it in both: gradients add up. Where other code
/// must share its numbers, let that take them as arguments (`F::linear(h, embed.W)`). Copies made with CopyMode::share
/// share arrays, not gradients: each is trained, or not, for itself.
template <class T>
class Child : public T {
  static_assert(std::is_base_of_v<Link, T>, "Child<T> needs a Link; Parameter and Persistent register themselves");

 public:
  // The arguments' long names keep clear of T's members, which -Wshadow would report.
  template <LinkType Parent, class... Args>
  requires(!detail::kEndsWith<typename detail::OptionsOf<T>::type, Args...>)
      Child(Parent& child_parent, std::string_view child_name, Args&&... child_args)
      : T(std::forward<Args>(child_args)...) {
    detail::enter_child(child_parent, child_name, static_cast<T&>(*this));
  }
  // Options in braces have no type that the constructor above could deduce.
  template <LinkType Parent, class U = T>
  Child(Parent& child_parent, std::string_view child_name, typename U::Options child_options)
      : T(std::move(child_options)) {
    detail::enter_child(child_parent, child_name, static_cast<T&>(*this));
  }
  template <LinkType Parent, class A0, class U = T>
  Child(Parent& child_parent, std::string_view child_name, A0&& child_arg0, typename U::Options child_options)
      : T(std::forward<A0>(child_arg0), std::move(child_options)) {
    detail::enter_child(child_parent, child_name, static_cast<T&>(*this));
  }
  template <LinkType Parent, class A0, class A1, class U = T>
  Child(Parent& child_parent, std::string_view child_name, A0&& child_arg0, A1&& child_arg1,
        typename U::Options child_options)
      : T(std::forward<A0>(child_arg0), std::forward<A1>(child_arg1), std::move(child_options)) {
    detail::enter_child(child_parent, child_name, static_cast<T&>(*this));
  }
  template <LinkType Parent, class A0, class A1, class A2, class U = T>
  Child(Parent& child_parent, std::string_view child_name, A0&& child_arg0, A1&& child_arg1, A2&& child_arg2,
        typename U::Options child_options)
      : T(std::forward<A0>(child_arg0), std::forward<A1>(child_arg1), std::forward<A2>(child_arg2),
          std::move(child_options)) {
    detail::enter_child(child_parent, child_name, static_cast<T&>(*this));
  }
  template <LinkType Parent, class A0, class A1, class A2, class A3, class U = T>
  Child(Parent& child_parent, std::string_view child_name, A0&& child_arg0, A1&& child_arg1, A2&& child_arg2,
        A3&& child_arg3, typename U::Options child_options)
      : T(std::forward<A0>(child_arg0), std::forward<A1>(child_arg1), std::forward<A2>(child_arg2),
          std::forward<A3>(child_arg3), std::move(child_options)) {
    detail::enter_child(child_parent, child_name, static_cast<T&>(*this));
  }

  Child(const Child&) = default;
  Child(Child&&) noexcept = default;
  Child& operator=(const Child&) = default;
  Child& operator=(Child&&) noexcept = default;
  /// The values of a T.
  Child& operator=(const T& other) {
    T::operator=(other);
    return *this;
  }

 protected:
  const std::type_info& link_type() const noexcept override { return typeid(T); }
  size_t object_size() const noexcept override {
    const size_t held = T::object_size();
    return held != 0 ? held : sizeof(T);
  }
};

/// A copy of a model whose parameters share their arrays with it, are copies, or are drawn anew. Gradients and update
/// rules are never shared: to tie parameters, use one link twice (see Child). chainer.Link.copy.
template <LinkType T>
T copy(const T& link, CopyMode mode = CopyMode::share) {
  const detail::CopyScope scope(mode);
  return T(link);
}

}  // namespace kusari
