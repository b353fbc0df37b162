#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "kusari/framework/autograd/array_refs.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

// Rules about the inputs of a function that are cheap to test and explain themselves when broken:
//
//   const auto [x, W] = c.args("x", "W");
//   c.expect(x.ndim() == 2, x.shape(1) == W.shape(1), x.is_floating());
//
// A rule holds names and numbers; text is made only when it is broken.

namespace kusari {

namespace type_check {

/// A number that a rule speaks of: "x.ndim", "W.shape[1]", "x.size" or a plain one.
struct Number {
  enum class Kind : uint8_t { constant, ndim, shape, size };
  int64_t value;
  const char* name = nullptr;  // of the argument; "xs[i]" speaks of the i-th input
  const Array* array = nullptr;
  Kind kind = Kind::constant;
  int axis = 0;
  bool exists = true;  // false: the array has no such axis

  Number(int64_t constant) noexcept : value{constant} {}
  Number(int64_t v, const char* n, const Array* a, Kind k, int at, bool e) noexcept
      : value{v}, name{n}, array{a}, kind{k}, axis{at}, exists{e} {}
};

struct Type {
  Dtype value;
  const char* name = nullptr;
  const Array* array = nullptr;
  Type(Dtype constant) noexcept : value{constant} {}
  Type(Dtype v, const char* n, const Array* a) noexcept : value{v}, name{n}, array{a} {}
};

struct AllSizes {
  const char* name;
  const Array* array;
};

/// "left RELATION right" about numbers.
struct NumberRule {
  bool holds;
  const char* relation;  // "equal", "be at least", ...
  Number left, right;
};

/// Something about one argument, or about two of them. Small: the common rules of the smallest functions.
struct PairRule {
  enum class Kind : uint8_t { dtypes, shapes, floating, integral };
  bool holds;
  Kind kind;
  Dtype dtype;  // the right side when it is a plain dtype
  const char* left_name;
  const char* right_name;  // null: there is no second argument
  const Array* left;
  const Array* right;
};

inline NumberRule compare(bool holds, const char* relation, const Number& a, const Number& b) noexcept {
  return {holds && a.exists && b.exists, relation, a, b};
}
inline NumberRule operator==(const Number& a, const Number& b) noexcept {
  return compare(a.value == b.value, "equal", a, b);
}
inline NumberRule operator!=(const Number& a, const Number& b) noexcept {
  return compare(a.value != b.value, "differ from", a, b);
}
inline NumberRule operator>=(const Number& a, const Number& b) noexcept {
  return compare(a.value >= b.value, "be at least", a, b);
}
inline NumberRule operator<=(const Number& a, const Number& b) noexcept {
  return compare(a.value <= b.value, "be at most", a, b);
}
inline NumberRule operator>(const Number& a, const Number& b) noexcept {
  return compare(a.value > b.value, "be greater than", a, b);
}
inline NumberRule operator<(const Number& a, const Number& b) noexcept {
  return compare(a.value < b.value, "be less than", a, b);
}
inline PairRule operator==(const Type& a, const Type& b) noexcept {
  return {a.value == b.value, PairRule::Kind::dtypes, b.value, a.name, b.name, a.array, b.array};
}
inline PairRule operator==(const AllSizes& a, const AllSizes& b) noexcept {
  return {a.array->shape() == b.array->shape(), PairRule::Kind::shapes, {}, a.name, b.name, a.array, b.array};
}

/// An argument under its name. Every member but is_given throws TypeError when the argument was not given:
/// "F::linear: W is not given: it is required".
class KUSARI_API Argument {
 public:
  Argument() = default;
  Argument(const char* function, const char* name, const Array* array, bool* asked = nullptr) noexcept
      : function_{function}, name_{name}, array_{array}, asked_{asked} {}

  /// Whether an optional argument was given. Rules about an absent one must not be made.
  bool is_given() const noexcept {
    if (asked_ != nullptr) [[unlikely]]
      *asked_ = true;
    return array_->is_defined();
  }
  Number ndim() const { return {array().ndim(), name_, array_, Number::Kind::ndim, 0, true}; }
  Number size() const { return {array().size(), name_, array_, Number::Kind::size, 0, true}; }
  /// Negative axes count from the end.
  Number shape(int axis) const {
    const int k = axis < 0 ? axis + array().ndim() : axis;
    const bool exists = k >= 0 && k < array().ndim();
    return {exists ? array().shape()[k] : 0, name_, array_, Number::Kind::shape, axis, exists};
  }
  AllSizes shape() const { return {name_, &array()}; }
  Type dtype() const { return {array().dtype(), name_, array_}; }
  PairRule is_floating() const {
    return {kusari::is_floating(array().dtype()), PairRule::Kind::floating, {}, name_, nullptr, array_, nullptr};
  }
  PairRule is_integral() const {
    return {kusari::is_integral(array().dtype()), PairRule::Kind::integral, {}, name_, nullptr, array_, nullptr};
  }
  const Array& array() const {
    if (!array_->is_defined()) [[unlikely]] {
      throw_absent();
    }
    return *array_;
  }

 private:
  [[noreturn]] void throw_absent() const;

  const char* function_ = nullptr;
  const char* name_ = nullptr;
  const Array* array_ = nullptr;
  bool* asked_ = nullptr;  // set when is_given() is called
};

}  // namespace type_check

/// The inputs of one call, to be given names and tested.
class KUSARI_API TypeCheck {
 public:
  TypeCheck(const char* function, const ArrayRefs& inputs) noexcept : function_{function}, inputs_{&inputs} {}
  /// What the rules say of one input.
  struct Answer {
    size_t input;
    const char* name = nullptr;  // null: nothing
    bool is_optional = false;    // they ask whether it is given
  };
  /// For asking the rules that.
  TypeCheck(const char* function, const ArrayRefs& inputs, Answer& answer) noexcept
      : function_{function}, inputs_{&inputs}, answer_{&answer} {}

  size_t size() const noexcept { return inputs_->size(); }
  template <class... Names>
  std::array<type_check::Argument, sizeof...(Names)> args(Names... names) const {
    size_t i = 0;
    if (sizeof...(Names) > inputs_->size() || answer_ != nullptr) [[unlikely]]
      return {make(names, i++)...};
    return {type_check::Argument(function_, names, &(*inputs_)[i++])...};
  }
  /// Argument i of a function with any number of them; `name` must outlive the check.
  type_check::Argument arg(const char* name, size_t i) const { return make(name, i); }

  /// Throws TypeError for the first rule that does not hold:
  /// "F::linear: x has shape (32, 784) but W has shape (10, 100): x.shape[1] must equal W.shape[1] (784 != 100)"
  template <class... Rules>
  void expect(const Rules&... rules) const {
    ((rules.holds ? void() : fail(rules)), ...);
  }

 private:
  type_check::Argument make(const char* name, size_t i) const;
  std::string with_index(std::string text, const Array* spoken_of) const;
  [[noreturn]] void fail(const type_check::NumberRule& rule) const;
  [[noreturn]] void fail(const type_check::PairRule& rule) const;

  const char* function_;
  const ArrayRefs* inputs_;
  Answer* answer_ = nullptr;
};

}  // namespace kusari
