#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/kusari.h"

// What users may get wrong: calls, each with the error that tells them.
namespace kusari::misuse {

namespace F = functions;
namespace L = links;

struct Misuse {
  void (*call)();
  bool (*is_right)(const std::exception& error);
  const char* text;
};

/// Whether an error is an E, and of no class derived from it.
template <class E>
bool is(const std::exception& error) {
  return typeid(error) == typeid(E);
}

inline void check_misuses(std::initializer_list<Misuse> misuses) {
  for (const Misuse& misuse : misuses) {
    std::string text = "no error";
    bool is_right = true;
    try {
      misuse.call();
    } catch (const std::exception& error) {
      text = error.what();
      is_right = misuse.is_right(error);
    }
    CHECK(text == std::string(misuse.text));
    CHECK_MESSAGE(is_right, "another class of error: ", misuse.text);
  }
}

inline const double kNaN = std::nan(""), kInfinity = std::numeric_limits<double>::infinity();
inline const Variable absent;
inline const std::span<const Variable> kNothing;

// Ones of float32, int32 and float64.
inline Variable real(const Shape& shape) { return ones(shape); }
inline Variable whole(const Shape& shape) { return Variable(ones(shape, Dtype::int32), false); }
inline Variable wide(const Shape& shape) { return ones(shape, Dtype::float64); }

inline Variable image() { return real({2, 3, 4, 4}); }
// A region of interest of it.
inline Variable regions() { return real({1, 4}); }
inline Variable image_indices() { return Variable(zeros({1}, Dtype::int32), false); }

struct Net : Chain {
  Child<L::Linear> l{*this, "l", 3, 2};
  Variable operator()(const Variable& x) { return F::sum(l(x)); }
};

inline datasets::TupleDataset ten_examples() { return datasets::TupleDataset(ones({10, 3}), ones({10}, Dtype::int32)); }

}  // namespace kusari::misuse
