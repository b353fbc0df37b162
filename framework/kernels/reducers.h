#pragma once

#include "kusari/framework/kernels/math.h"

// Reducers: an identity, a map of each element, a combination of two partial results and a finish that knows how many
// elements were reduced. T is float, double or int64_t; half types and small integers are widened first. kIntegers:
// also for int64_t. kReadsPacks: a device may have a kernel of its own for each dtype, because this one is called much.
namespace kusari::kernels {

struct Sum {
  static constexpr const char* kName = "sum";
  static constexpr bool kReadsPacks = true;
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T identity() const {
    return T(0);
  }
  template <class T>
  KUSARI_HOST_DEVICE T map(T x) const {
    return x;
  }
  template <class T>
  KUSARI_HOST_DEVICE T combine(T a, T b) const {
    return a + b;
  }
  template <class T>
  KUSARI_HOST_DEVICE T finish(T a, T) const {
    return a;
  }
};

/// The sum of what is not NaN.
struct NanSum {
  static constexpr const char* kName = "nansum";
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T identity() const {
    return T(0);
  }
  template <class T>
  KUSARI_HOST_DEVICE T map(T x) const {
    return x == x ? x : T(0);
  }
  template <class T>
  KUSARI_HOST_DEVICE T combine(T a, T b) const {
    return a + b;
  }
  template <class T>
  KUSARI_HOST_DEVICE T finish(T a, T) const {
    return a;
  }
};

struct Mean {
  static constexpr const char* kName = "mean";
  static constexpr bool kReadsPacks = true;
  template <class T>
  KUSARI_HOST_DEVICE T identity() const {
    return T(0);
  }
  template <class T>
  KUSARI_HOST_DEVICE T map(T x) const {
    return x;
  }
  template <class T>
  KUSARI_HOST_DEVICE T combine(T a, T b) const {
    return a + b;
  }
  template <class T>
  KUSARI_HOST_DEVICE T finish(T a, T count) const {
    return a / count;
  }
};

struct SquareSum {
  static constexpr const char* kName = "square_sum";
  static constexpr bool kReadsPacks = true;
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T identity() const {
    return T(0);
  }
  template <class T>
  KUSARI_HOST_DEVICE T map(T x) const {
    return x * x;
  }
  template <class T>
  KUSARI_HOST_DEVICE T combine(T a, T b) const {
    return a + b;
  }
  template <class T>
  KUSARI_HOST_DEVICE T finish(T a, T) const {
    return a;
  }
};

struct SumOfAbs {
  static constexpr const char* kName = "sum_of_abs";
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T identity() const {
    return T(0);
  }
  template <class T>
  KUSARI_HOST_DEVICE T map(T x) const {
    return km::abs(x);
  }
  template <class T>
  KUSARI_HOST_DEVICE T combine(T a, T b) const {
    return a + b;
  }
  template <class T>
  KUSARI_HOST_DEVICE T finish(T a, T) const {
    return a;
  }
};

struct Prod {
  static constexpr const char* kName = "prod";
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T identity() const {
    return T(1);
  }
  template <class T>
  KUSARI_HOST_DEVICE T map(T x) const {
    return x;
  }
  template <class T>
  KUSARI_HOST_DEVICE T combine(T a, T b) const {
    return a * b;
  }
  template <class T>
  KUSARI_HOST_DEVICE T finish(T a, T) const {
    return a;
  }
};

/// NaN if any element is NaN.
struct Max {
  static constexpr const char* kName = "max";
  static constexpr bool kReadsPacks = true;
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T identity() const {
    return km::lowest<T>();
  }
  template <class T>
  KUSARI_HOST_DEVICE T map(T x) const {
    return x;
  }
  template <class T>
  KUSARI_HOST_DEVICE T combine(T a, T b) const {
    return km::max(b, a);
  }
  template <class T>
  KUSARI_HOST_DEVICE T finish(T a, T) const {
    return a;
  }
};

/// NaN if any element is NaN.
struct Min {
  static constexpr const char* kName = "min";
  static constexpr bool kReadsPacks = true;
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T identity() const {
    return km::highest<T>();
  }
  template <class T>
  KUSARI_HOST_DEVICE T map(T x) const {
    return x;
  }
  template <class T>
  KUSARI_HOST_DEVICE T combine(T a, T b) const {
    return km::min(b, a);
  }
  template <class T>
  KUSARI_HOST_DEVICE T finish(T a, T) const {
    return a;
  }
};

/// Whether every element is nonzero, as 1 or 0.
struct All {
  static constexpr const char* kName = "all";
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T identity() const {
    return T(1);
  }
  template <class T>
  KUSARI_HOST_DEVICE T map(T x) const {
    return x != T(0) ? T(1) : T(0);
  }
  template <class T>
  KUSARI_HOST_DEVICE T combine(T a, T b) const {
    return km::min(a, b);
  }
  template <class T>
  KUSARI_HOST_DEVICE T finish(T a, T) const {
    return a;
  }
};

/// Whether some element is nonzero, as 1 or 0.
struct Any {
  static constexpr const char* kName = "any";
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T identity() const {
    return T(0);
  }
  template <class T>
  KUSARI_HOST_DEVICE T map(T x) const {
    return x != T(0) ? T(1) : T(0);
  }
  template <class T>
  KUSARI_HOST_DEVICE T combine(T a, T b) const {
    return km::max(a, b);
  }
  template <class T>
  KUSARI_HOST_DEVICE T finish(T a, T) const {
    return a;
  }
};

/// The number of NaN and infinite elements.
struct CountNonfinite {
  static constexpr const char* kName = "count_nonfinite";
  template <class T>
  KUSARI_HOST_DEVICE T identity() const {
    return T(0);
  }
  template <class T>
  KUSARI_HOST_DEVICE T map(T x) const {
    return km::isfinite(x) ? T(0) : T(1);
  }
  template <class T>
  KUSARI_HOST_DEVICE T combine(T a, T b) const {
    return a + b;
  }
  template <class T>
  KUSARI_HOST_DEVICE T finish(T a, T) const {
    return a;
  }
};

}  // namespace kusari::kernels

#define KUSARI_REDUCTIONS(V) \
  V(Sum)                     \
  V(NanSum)                  \
  V(Mean)                    \
  V(SquareSum)               \
  V(SumOfAbs)                \
  V(Prod)                    \
  V(Max)                     \
  V(Min)                     \
  V(All)                     \
  V(Any)                     \
  V(CountNonfinite)
