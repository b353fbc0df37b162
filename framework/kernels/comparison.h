#pragma once

#include "kusari/framework/kernels/math.h"

// Comparisons give 1 or 0; their results are stored as bool (kBoolean). NaN compares like in IEEE 754.
namespace kusari::kernels {

struct Equal {
  static constexpr const char* kName = "equal";
  static constexpr bool kIntegers = true;
  static constexpr bool kBoolean = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b) const {
    return a == b ? T(1) : T(0);
  }
};

struct NotEqual {
  static constexpr const char* kName = "not_equal";
  static constexpr bool kIntegers = true;
  static constexpr bool kBoolean = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b) const {
    return a != b ? T(1) : T(0);
  }
};

struct Less {
  static constexpr const char* kName = "less";
  static constexpr bool kIntegers = true;
  static constexpr bool kBoolean = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b) const {
    return a < b ? T(1) : T(0);
  }
};

struct LessEqual {
  static constexpr const char* kName = "less_equal";
  static constexpr bool kIntegers = true;
  static constexpr bool kBoolean = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b) const {
    return a <= b ? T(1) : T(0);
  }
};

struct Greater {
  static constexpr const char* kName = "greater";
  static constexpr bool kIntegers = true;
  static constexpr bool kBoolean = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b) const {
    return a > b ? T(1) : T(0);
  }
};

struct GreaterEqual {
  static constexpr const char* kName = "greater_equal";
  static constexpr bool kIntegers = true;
  static constexpr bool kBoolean = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b) const {
    return a >= b ? T(1) : T(0);
  }
};

struct LogicalAnd {
  static constexpr const char* kName = "logical_and";
  static constexpr bool kIntegers = true;
  static constexpr bool kBoolean = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b) const {
    return (a != T(0) && b != T(0)) ? T(1) : T(0);
  }
};

struct LogicalOr {
  static constexpr const char* kName = "logical_or";
  static constexpr bool kIntegers = true;
  static constexpr bool kBoolean = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b) const {
    return (a != T(0) || b != T(0)) ? T(1) : T(0);
  }
};

struct LogicalXor {
  static constexpr const char* kName = "logical_xor";
  static constexpr bool kIntegers = true;
  static constexpr bool kBoolean = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b) const {
    return ((a != T(0)) != (b != T(0))) ? T(1) : T(0);
  }
};

struct LogicalNot {
  static constexpr const char* kName = "logical_not";
  static constexpr bool kIntegers = true;
  static constexpr bool kBoolean = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return x == T(0) ? T(1) : T(0);
  }
};

struct EqualConst {
  static constexpr const char* kName = "equal_const";
  static constexpr bool kIntegers = true;
  static constexpr bool kBoolean = true;
  double c;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return x == static_cast<T>(c) ? T(1) : T(0);
  }
};

struct NotEqualConst {
  static constexpr const char* kName = "not_equal_const";
  static constexpr bool kIntegers = true;
  static constexpr bool kBoolean = true;
  double c;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return x != static_cast<T>(c) ? T(1) : T(0);
  }
};

struct LessConst {
  static constexpr const char* kName = "less_const";
  static constexpr bool kIntegers = true;
  static constexpr bool kBoolean = true;
  double c;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return x < static_cast<T>(c) ? T(1) : T(0);
  }
};

struct LessEqualConst {
  static constexpr const char* kName = "less_equal_const";
  static constexpr bool kIntegers = true;
  static constexpr bool kBoolean = true;
  double c;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return x <= static_cast<T>(c) ? T(1) : T(0);
  }
};

struct GreaterConst {
  static constexpr const char* kName = "greater_const";
  static constexpr bool kIntegers = true;
  static constexpr bool kBoolean = true;
  double c;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return x > static_cast<T>(c) ? T(1) : T(0);
  }
};

struct GreaterEqualConst {
  static constexpr const char* kName = "greater_equal_const";
  static constexpr bool kIntegers = true;
  static constexpr bool kBoolean = true;
  double c;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return x >= static_cast<T>(c) ? T(1) : T(0);
  }
};

struct Isnan {
  static constexpr const char* kName = "isnan";
  static constexpr bool kIntegers = true;
  static constexpr bool kBoolean = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::isnan(x) ? T(1) : T(0);
  }
};

/// Infinities, told by inf - inf being NaN.
struct Isinf {
  static constexpr const char* kName = "isinf";
  static constexpr bool kIntegers = true;
  static constexpr bool kBoolean = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return x - x != x - x && x == x ? T(1) : T(0);
  }
};

struct Isfinite {
  static constexpr const char* kName = "isfinite";
  static constexpr bool kIntegers = true;
  static constexpr bool kBoolean = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return x - x == T(0) ? T(1) : T(0);
  }
};

struct Where {
  static constexpr const char* kName = "where";
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T condition, T x, T y) const {
    return condition != T(0) ? x : y;
  }
};

/// Gradient of maximum for its first argument, to which ties go.
struct MaximumGrad {
  static constexpr const char* kName = "maximum_grad";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b, T gy) const {
    return a >= b ? gy : T(0);
  }
};

/// Gradient of maximum for its second argument.
struct MaximumGradSecond {
  static constexpr const char* kName = "maximum_grad_second";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b, T gy) const {
    return a < b ? gy : T(0);
  }
};

/// Gradient of minimum for its first argument, to which ties go.
struct MinimumGrad {
  static constexpr const char* kName = "minimum_grad";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b, T gy) const {
    return a <= b ? gy : T(0);
  }
};

/// Gradient of minimum for its second argument.
struct MinimumGradSecond {
  static constexpr const char* kName = "minimum_grad_second";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b, T gy) const {
    return a > b ? gy : T(0);
  }
};

}  // namespace kusari::kernels

#define KUSARI_COMPARISON_OPS(V) \
  V(Equal)                       \
  V(NotEqual)                    \
  V(Less)                        \
  V(LessEqual)                   \
  V(Greater)                     \
  V(GreaterEqual)                \
  V(LogicalAnd)                  \
  V(LogicalOr)                   \
  V(LogicalXor)                  \
  V(LogicalNot)                  \
  V(EqualConst)                  \
  V(NotEqualConst)               \
  V(LessConst)                   \
  V(LessEqualConst)              \
  V(GreaterConst)                \
  V(GreaterEqualConst)           \
  V(Isnan)                       \
  V(Isinf)                       \
  V(Isfinite)                    \
  V(Where)                       \
  V(MaximumGrad)                 \
  V(MaximumGradSecond)           \
  V(MinimumGrad)                 \
  V(MinimumGradSecond)
