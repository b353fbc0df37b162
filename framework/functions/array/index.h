#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <type_traits>

#include "kusari/framework/core/array.h"

namespace kusari {

/// Elements start, start + step, ... before stop of an axis, as Python's slice: absent bounds are the ends, negative
/// ones count from the end, all are limited to the axis. Slice{1, 3}, Slice{{}, -1}, Slice{{}, {}, 2}; Slice{} is
/// everything.
struct Slice {
  std::optional<int64_t> start = std::nullopt;
  std::optional<int64_t> stop = std::nullopt;
  std::optional<int64_t> step = std::nullopt;
};

/// Inserts an axis of size 1 (None in Python).
struct NewAxis {};
inline constexpr NewAxis kNewAxis{};

/// As many whole axes as the other indices leave over (... in Python).
struct Ellipsis {};
inline constexpr Ellipsis kEllipsis{};

/// One entry of an index, for one axis or, an array of bools, as many as it has: a number, a Slice, kNewAxis, kEllipsis
/// or an array of integers or bools.
class Index {
 public:
  enum class Kind : uint8_t { integer, slice, new_axis, ellipsis, array };

  template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) Index(T integer)
      : kind_{Kind::integer}, integer_{static_cast<int64_t>(integer)} {}
  Index(const Slice& slice) : kind_{Kind::slice}, slice_{slice} {}
  Index(NewAxis) : kind_{Kind::new_axis} {}
  Index(Ellipsis) : kind_{Kind::ellipsis} {}
  Index(const Array& array) : kind_{Kind::array}, array_{array} {}

  Kind kind() const noexcept { return kind_; }
  int64_t integer() const noexcept { return integer_; }
  const Slice& slice() const noexcept { return slice_; }
  const Array& array() const noexcept { return array_; }

 private:
  Kind kind_;
  int64_t integer_ = 0;
  Slice slice_;
  Array array_;
};

}  // namespace kusari
