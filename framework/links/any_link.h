#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/links/call_model.h"
#include "kusari/framework/links/link.h"

namespace kusari {

namespace detail {

/// A link or another callable of variables, on the heap and copied by value.
struct KUSARI_API AnyCallable {
  virtual ~AnyCallable();
  virtual Owned<AnyCallable> clone() const = 0;
  /// Assigns an object of the same type; returns false for another type.
  virtual bool assign(const AnyCallable& other) = 0;
  virtual Variable call(std::span<const Variable> inputs) = 0;
  /// Null for a callable that is no link.
  virtual Link* link() noexcept = 0;
  /// Bytes of the callable.
  virtual size_t size() const noexcept = 0;
};

template <class F>
struct AnyCallableOf final : AnyCallable {
  explicit AnyCallableOf(F f) : object{std::move(f)} {}
  Owned<AnyCallable> clone() const override { return Owned<AnyCallable>(new AnyCallableOf(object)); }
  bool assign(const AnyCallable& other) override {
    if (typeid(other) != typeid(*this)) return false;
    if constexpr (std::is_copy_assignable_v<F>) {
      object = static_cast<const AnyCallableOf&>(other).object;
      return true;
    } else {
      return false;  // a lambda with captures
    }
  }
  Variable call(std::span<const Variable> inputs) override { return call_spread(object, {inputs}, "the layer"); }
  Link* link() noexcept override {
    if constexpr (LinkType<F>) {
      return &object;
    } else {
      return nullptr;
    }
  }
  size_t size() const noexcept override { return sizeof(F); }
  F object;
};

}  // namespace detail

/// Any link that can be called with variables, held on the heap by value: copies copy the link. In the tree of
/// parameters it is the link it holds.
class KUSARI_API AnyLink : public Link {
 public:
  /// Holds nothing.
  AnyLink() = default;
  template <class T>
  requires(LinkType<T> && !std::is_base_of_v<AnyLink, T>) AnyLink(T link)
      : held_{new detail::AnyCallableOf<T>(std::move(link))} {
    static_assert(detail::kIsModel<T>, "AnyLink needs a link that gives a Variable when it is called with Variables");
  }
  AnyLink(const AnyLink& other);
  AnyLink(AnyLink&& other) noexcept = default;
  /// In place where both hold the same type of link, else with a copy of the other's.
  AnyLink& operator=(const AnyLink& other);
  AnyLink& operator=(AnyLink&& other) noexcept = default;

  bool has_value() const noexcept { return held_ != nullptr; }
  /// The link as a T, or null when it is none.
  template <class T>
  T* get() noexcept {
    return held_ ? dynamic_cast<T*>(held_->link()) : nullptr;
  }
  template <class T>
  const T* get() const noexcept {
    return held_ ? dynamic_cast<const T*>(held_->link()) : nullptr;
  }
  /// Throws StateError when it holds nothing, TypeError when the link takes another number of variables.
  /// The link that is held may have an operator() that is not const.
  Variable call(std::span<const Variable> inputs) const;
  template <std::same_as<Variable>... Rest>
  Variable operator()(const Variable& first, const Rest&... rest) const {
    const Variable inputs[] = {first, rest...};
    return call(inputs);
  }

  Link& self() noexcept override { return held_ ? held_->link()->self() : *this; }

 protected:
  size_t object_size() const noexcept override;

 private:
  Owned<detail::AnyCallable> held_;
};

}  // namespace kusari
