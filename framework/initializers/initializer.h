#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shared.h"

namespace kusari {

/// How a parameter gets its first values: a number, an array to copy, one of initializers::, or any callable that fills
/// the Array it is given. Copies share the callable. chainer.Initializer.
class KUSARI_API Initializer {
 public:
  /// Undefined: whoever uses it has a default (a Parameter: LeCunNormal).
  Initializer() noexcept = default;
  /// Every element is `value`.
  template <class T>
  requires std::is_arithmetic_v<T> Initializer(T value) : Initializer(make_constant(value)) {}
  /// A copy of `values`, broadcast to the parameter's shape.
  template <std::same_as<Array> T>
  Initializer(const T& values) : Initializer(make_array(values)) {}
  /// Calls fill(array), whose elements are undefined before. `fill.dtype`, if it has that, is the dtype of the array.
  template <class F>
  requires(std::invocable<const F&, const Array&> && !std::is_base_of_v<Initializer, F>) Initializer(F fill)
      : Initializer(std::make_shared<const Model<F>>(std::move(fill))) {}

  explicit operator bool() const noexcept { return fill_ != nullptr; }
  /// The dtype that it asks for, if any.
  std::optional<Dtype> dtype() const { return fill_ ? fill_->dtype() : std::nullopt; }
  /// Overwrites the elements.
  void operator()(const Array& array) const;

 private:
  struct Fill {
    virtual ~Fill() = default;
    virtual void fill(const Array& array) const = 0;
    virtual std::optional<Dtype> dtype() const { return std::nullopt; }
  };
  template <class F>
  struct Model final : Fill {
    explicit Model(F f) : function{std::move(f)} {}
    void fill(const Array& array) const override { function(array); }
    std::optional<Dtype> dtype() const override {
      if constexpr (requires(const F& f) { std::optional<Dtype>(f.dtype); }) return function.dtype;
      return std::nullopt;
    }
    F function;
  };
  explicit Initializer(Shared<const Fill> fill) noexcept : fill_{std::move(fill)} {}
  static Initializer make_constant(Scalar value);
  static Initializer make_array(const Array& values);

  Shared<const Fill> fill_;
};

namespace initializers {

/// A new array filled by `initializer` (LeCunNormal if undefined), of the initializer's dtype, else `dtype`, else
/// config.dtype. Throws ValueError when the first two are there and differ. chainer.initializers.generate_array.
KUSARI_API Array generate_array(const Initializer& initializer, const Shape& shape,
                                std::optional<Dtype> dtype = std::nullopt, const Device& device = Device());

/// The numbers of inputs and outputs of one unit of a weight of that shape (out, in, k...): in * prod(k) and
/// out * prod(k). Throws ValueError below 2 axes and for a shape that no array has. chainer.initializers.get_fans.
struct Fans {
  int64_t in;
  int64_t out;
};
KUSARI_API Fans get_fans(const Shape& shape);

}  // namespace initializers

}  // namespace kusari
