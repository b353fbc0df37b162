#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "kusari/kusari.h"

namespace kusari::misuse_drawn {

/// SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_{seed} {}
  uint64_t bits() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  /// In [0, n).
  uint64_t below(uint64_t n) { return bits() % n; }
  /// In [lowest, highest].
  int64_t between(int64_t lowest, int64_t highest) {
    return lowest + static_cast<int64_t>(below(static_cast<uint64_t>(highest - lowest) + 1));
  }
  double real() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  bool chance(double probability) { return real() < probability; }
  template <class T>
  T of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }

 private:
  uint64_t state_;
};

/// What the arguments of one call are drawn from, so that they fit together.
struct Plan {
  /// `call`: "F::convolution_2d(const Variable& x, ...)".
  Plan(const char* call, Random& random);

  /// The shape that an argument of that name has in a right call; of x where nothing is known.
  Shape shape_of(const std::string& argument, Random& random) const;
  Dtype dtype_of(const std::string& argument, Random& random) const;
  /// A number that an argument of that name may be.
  int64_t integer_of(const std::string& argument, Random& random) const;
  /// How long a list of that name is.
  int64_t count_of(const std::string& argument, Random& random) const;
  /// Sizes, axes or strides.
  Dims dims_of(const std::string& argument, Random& random) const;
  /// Whether a member of options must be there.
  bool needs(const std::string& member) const;
  bool calls(std::initializer_list<const char*> parts) const;

  std::string function;  // in lower case, without namespace and arguments
  double nasty;          // probability that an argument is drawn from anything
  int64_t batch, channels, outputs, groups, classes, steps;
  Dims spatial, ksize, stride, pad, dilate;
  Shape x;  // of the first argument
  Dtype real, label;
};

}  // namespace kusari::misuse_drawn
