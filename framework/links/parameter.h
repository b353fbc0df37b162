#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/initializers/initializer.h"
#include "kusari/framework/links/first_call.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/live_object.h"
#include "kusari/framework/links/update_rule.h"

namespace kusari {

/// A variable that is trained: a leaf of every graph, with an initializer and, under an optimizer, an update rule.
///
/// Unlike a Variable it is a value: a copy is another parameter with the same numbers. Until the first cleargrad() its
/// gradient is NaN, so that a forgotten one shows.
///
/// A link trains and saves those of its members that were made with it, `w{*this, "w", ...}`. Optimizers warn of
/// another one inside the model's object when it gets a gradient. chainer.Parameter.
class KUSARI_API Parameter : public Variable {
 public:
  /// With these numbers, and no gradient.
  explicit Parameter(const Array& array);
  /// Initialised now, or, when an axis is kInfer or the shape is {kInferShape}, later (see infer and initialize). The
  /// dtype is the initializer's, else `dtype`, else config.dtype.
  explicit Parameter(const Shape& shape, Initializer initializer = {}, std::optional<Dtype> dtype = std::nullopt);
  /// A member of a link: `W{*this, "W", {out_size, in_size}, initial_w}`.
  template <LinkType Parent>
  Parameter(Parent& parent, std::string_view name, const Shape& shape, Initializer initializer = {},
            std::optional<Dtype> dtype = std::nullopt)
      : Parameter(shape, std::move(initializer), dtype) {
    enter(parent, name);
  }
  template <LinkType Parent>
  Parameter(Parent& parent, std::string_view name, const Array& array) : Parameter(array) {
    enter(parent, name);
  }

  /// Another parameter with the same numbers, without gradient and update rule.
  Parameter(const Parameter& other);
  Parameter(Parameter&& other) noexcept;
  /// Writes the numbers in place, converting dtype and device; gradient, update rule and graph stay. A parameter of
  /// another shape gets a new array.
  Parameter& operator=(const Parameter& other);
  /// Becomes the other parameter: its array, gradient, graph and update rule.
  Parameter& operator=(Parameter&& other) noexcept;
  ~Parameter();

  bool is_initialized() const noexcept {
    return is_defined() && (made_.is_set() ? Variable::array().is_defined() : look());
  }
  /// Gives an axis declared as kInfer its size, and the parameter its first numbers once all sizes are known. Does
  /// nothing to a parameter that has them. Returns the parameter: `F::linear(x, W.infer(1, x.shape(1)), b)`. Of several
  /// threads that call it at the same time one draws the numbers. It is const, as links' operator() are: what the first
  /// call decides is no change of the model.
  const Parameter& infer(int axis, int64_t size) const {
    if (!is_initialized()) [[unlikely]]
      infer_axis(axis, size);
    return *this;
  }
  /// Gives the parameter its shape and first numbers. Throws ValueError when the shape contradicts the declared one,
  /// StateError when the parameter was moved from.
  void initialize(const Shape& shape) const;
  /// New numbers from the initializer.
  void reinitialize();
  /// From now on its arrays have their channels innermost in memory, as far as config.channels_last wants it: for
  /// filters, which convolution reads so. Gradients and the state of optimizers follow.
  void keep_channels_last();
  /// The declared shape, kInfer where nothing is known yet.
  const Shape& declared_shape() const noexcept { return declared_; }
  const Initializer& initializer() const noexcept { return initializer_; }
  /// Where the parameter is, or will be.
  const Device& device() const noexcept { return device_; }

  /// Throws StateError while the shape is unknown and the gradient has not been cleared.
  Array grad() const;
  /// Forgets the gradient, and the loss scale that it carried.
  void cleargrad();

  /// Copies numbers in place; either one may be uninitialised. chainer.Variable.copydata.
  void copydata(const Parameter& source);
  /// Adds the gradient of another parameter, if it has one.
  void addgrad(const Parameter& source);
  /// Moves the array, the gradient and the update rule's state.
  void to(const Device& device);
  /// Converts the numbers; the gradient goes. Under an optimizer, its state follows at the next step.
  void to(Dtype dtype);
  /// None in a snapshot while uninitialised; initialised from a stored array.
  void serialize(Serializer& serializer, const std::string& name);

  bool has_update_rule() const noexcept { return rule_ != nullptr; }
  /// Throws StateError when no optimizer was set up with the parameter.
  UpdateRule& update_rule() const {
    if (rule_ == nullptr) throw_no_rule();
    return *rule_;
  }
  /// The rule is as enabled as the parameter was.
  void set_update_rule(std::unique_ptr<UpdateRule> rule);

  /// Freezes the parameter: optimizers leave it, its state and its clock alone. It stays frozen when an optimizer is
  /// set up, and so do copies; with an update rule it is the rule's `enabled`.
  void disable_update() noexcept { set_update_enabled(false); }
  void enable_update() noexcept { set_update_enabled(true); }
  /// True for a parameter without an update rule, too, unless it was frozen.
  bool update_enabled() const noexcept { return rule_ != nullptr ? rule_->enabled : update_enabled_; }
  /// Whether a backward pass or set_grad has given it a gradient since cleargrad(): false for the NaN of the beginning.
  bool has_gradient() const noexcept;

 protected:
  /// Undefined unless `present`.
  Parameter(bool present, const Shape& shape, Initializer initializer, std::optional<Dtype> dtype);
  template <class Parent>
  void enter(Parent& parent, std::string_view name) {
    detail::LinkAccess::add(parent, name, detail::MemberKind::parameter, static_cast<Parameter*>(this),
                            sizeof(Parameter));
    set_name(std::string(name));
  }

 private:
  friend struct detail::LinkWalk;
  void infer_axis(int axis, int64_t size) const;
  bool look() const noexcept;
  void make(const Shape& shape) const;
  Array generate(const Shape& shape) const;
  Array in_layout(const Array& array) const { return channels_last_ ? array.channels_last() : array; }
  void mark_gradient() const;
  void set_update_enabled(bool enabled) noexcept;
  [[noreturn]] void throw_no_rule() const;
  [[noreturn]] static void throw_moved_from();

  mutable Shape declared_;
  Initializer initializer_;
  Owned<UpdateRule> rule_;
  Device device_;
  Dtype dtype_ = Dtype::float32;
  bool channels_last_ = false;
  bool update_enabled_ = true;  // while there is no rule
  bool is_moved_from_ = false;
  mutable bool grad_is_marked_ = false;  // uninitialised, and not cleared since
  mutable uint64_t mark_ = 0;            // id of the mark's storage
  mutable detail::MadeFlag made_;
  bool is_noted_ = false;  // an optimizer has its address until structure_version() changes
  detail::LiveObject<Parameter> live_{*this};
};

/// A parameter that may be left out: an absent one is undefined, neither registered nor saved, and a function takes it
/// as an argument not given.
class KUSARI_API OptionalParameter : public Parameter {
 public:
  template <LinkType Parent>
  OptionalParameter(Parent& parent, std::string_view name, const Shape& shape, Initializer initializer, bool present,
                    std::optional<Dtype> dtype = std::nullopt)
      : Parameter(present, shape, std::move(initializer), dtype) {
    if (present) enter(parent, name);
  }
};

/// An array of a link that is no parameter, yet belongs to snapshots and copies: running statistics. A copy has its own
/// elements; assignment from a Persistent writes them in place, from an Array replaces the array.
class KUSARI_API Persistent : public Array {
 public:
  template <LinkType Parent>
  Persistent(Parent& parent, std::string_view name, Array array = {}) : Array(std::move(array)) {
    detail::LinkAccess::add(parent, name, detail::MemberKind::persistent, static_cast<Array*>(this), sizeof(Array));
  }
  Persistent(const Persistent& other);
  Persistent(Persistent&& other) noexcept = default;
  Persistent& operator=(const Persistent& other);
  Persistent& operator=(Persistent&& other) noexcept = default;
  Persistent& operator=(const Array& array) noexcept {
    Array::operator=(array);
    return *this;
  }
};

/// A number, truth value or text of a link that belongs to snapshots and copies:
/// `PersistentScalar<int64_t> N{*this, "N", 0}`.
template <class T = int64_t>
class PersistentScalar {
  static_assert(std::is_same_v<T, int64_t> || std::is_same_v<T, double> || std::is_same_v<T, bool> ||
                std::is_same_v<T, std::string>);

 public:
  template <LinkType Parent>
  PersistentScalar(Parent& parent, std::string_view name, std::type_identity_t<T> value = {})
      : value_{std::move(value)} {
    constexpr auto kKind = std::is_same_v<T, int64_t>  ? detail::MemberKind::integer
                           : std::is_same_v<T, double> ? detail::MemberKind::real
                           : std::is_same_v<T, bool>   ? detail::MemberKind::boolean
                                                       : detail::MemberKind::text;
    detail::LinkAccess::add(parent, name, kKind, &value_, sizeof(T));
  }
  PersistentScalar& operator=(T value) noexcept {
    value_ = std::move(value);
    return *this;
  }
  operator const T&() const noexcept { return value_; }
  /// Beside a variable or an array it is a number.
  operator Scalar() const noexcept requires std::is_arithmetic_v<T> { return value_; }

 private:
  T value_;
};

}  // namespace kusari
