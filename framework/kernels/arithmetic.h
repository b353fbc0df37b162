#pragma once

#include "kusari/framework/kernels/math.h"

// Functors: plain C++ over kernels/math.h; no standard, Eigen or CUDA header (NVRTC reads it too). T is float or double
// (half types are widened on load and narrowed on store), and int64_t where kIntegers says so. kByScalar: the CPU has a
// loop for a second operand of one element.
namespace kusari::kernels {

struct Add {
  static constexpr const char* kName = "add";
  static constexpr bool kByScalar = true;
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};

struct Sub {
  static constexpr const char* kName = "sub";
  static constexpr bool kByScalar = true;
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b) const {
    return a - b;
  }
};

struct Mul {
  static constexpr const char* kName = "mul";
  static constexpr bool kByScalar = true;
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b) const {
    return a * b;
  }
};

struct Div {
  static constexpr const char* kName = "div";
  static constexpr bool kByScalar = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b) const {
    return a / b;
  }
};

/// a * b + c, rounded twice like the separate operations.
struct MulAdd {
  static constexpr const char* kName = "mul_add";
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b, T c) const {
    return a * b + c;
  }
};

struct Neg {
  static constexpr const char* kName = "neg";
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return -x;
  }
};

/// x + c; subtraction of a constant is the addition of its negative.
struct AddConst {
  static constexpr const char* kName = "add_const";
  static constexpr bool kIntegers = true;
  double c;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return x + static_cast<T>(c);
  }
};

/// c - x.
struct RSubConst {
  static constexpr const char* kName = "rsub_const";
  static constexpr bool kIntegers = true;
  double c;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return static_cast<T>(c) - x;
  }
};

struct MulConst {
  static constexpr const char* kName = "mul_const";
  static constexpr bool kIntegers = true;
  double c;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return x * static_cast<T>(c);
  }
};

/// x / c, a true division: multiplying by 1 / c would round differently.
struct DivConst {
  static constexpr const char* kName = "div_const";
  double c;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return x / static_cast<T>(c);
  }
};

/// c / x.
struct RDivConst {
  static constexpr const char* kName = "rdiv_const";
  double c;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return static_cast<T>(c) / x;
  }
};

/// scale * x + shift in one pass.
struct Affine {
  static constexpr const char* kName = "affine";
  double scale;
  double shift;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return static_cast<T>(scale) * x + static_cast<T>(shift);
  }
};

/// Python's floor division, the whole number beside Mod: (a - a mod b) / b. An integer division by zero gives 0, as in
/// NumPy.
struct FloorDiv {
  static constexpr const char* kName = "floor_div";
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b) const {
    if (b == 0) return a / b;
    const T r = km::fmod(a, b);
    // Whole but for the rounding of the division.
    const T q = (a - r) / b - ((r != 0 && (r < 0) != (b < 0)) ? T(1) : T(0));
    const T whole = km::floor(q);
    return q == 0 ? km::copysign(T(0), a / b) : q - whole > T(0.5) ? whole + T(1) : whole;
  }
  KUSARI_HOST_DEVICE km::i64 operator()(km::i64 a, km::i64 b) const {
    if (b == 0) return 0;
    if (b == -1) return static_cast<km::i64>(-static_cast<km::u64>(a));  // the one quotient that may not fit
    const km::i64 q = a / b;
    return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
  }
};

/// Python's remainder: it has the sign of the divisor; an integer remainder by zero is 0, as in NumPy.
struct Mod {
  static constexpr const char* kName = "mod";
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b) const {
    const T r = km::fmod(a, b);
    return (r != 0 && (r < 0) != (b < 0)) ? r + b : km::copysign(r, r == 0 ? b : r);
  }
  KUSARI_HOST_DEVICE km::i64 operator()(km::i64 a, km::i64 b) const {
    if (b == 0 || b == -1) return 0;
    const km::i64 r = a % b;
    return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
  }
};

struct Maximum {
  static constexpr const char* kName = "maximum";
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b) const {
    return km::max(a, b);
  }
};

struct Minimum {
  static constexpr const char* kName = "minimum";
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b) const {
    return km::min(a, b);
  }
};

// Of the bits of integers in two's complement. Floating numbers have none: NaN.

/// Bits that both have.
struct BitwiseAnd {
  static constexpr const char* kName = "bitwise_and";
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T, T) const {
    return km::Real<T>::kNan;
  }
  KUSARI_HOST_DEVICE km::i64 operator()(km::i64 a, km::i64 b) const { return a & b; }
};

/// Bits that either has.
struct BitwiseOr {
  static constexpr const char* kName = "bitwise_or";
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T, T) const {
    return km::Real<T>::kNan;
  }
  KUSARI_HOST_DEVICE km::i64 operator()(km::i64 a, km::i64 b) const { return a | b; }
};

/// Bits that one of the two has.
struct BitwiseXor {
  static constexpr const char* kName = "bitwise_xor";
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T, T) const {
    return km::Real<T>::kNan;
  }
  KUSARI_HOST_DEVICE km::i64 operator()(km::i64 a, km::i64 b) const { return a ^ b; }
};

/// Bits that x has not.
struct BitwiseNot {
  static constexpr const char* kName = "bitwise_not";
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T) const {
    return km::Real<T>::kNan;
  }
  KUSARI_HOST_DEVICE km::i64 operator()(km::i64 x) const { return ~x; }
};

/// a 2^b, without the bits that do not fit; 0 for b that is negative or above 63.
struct LeftShift {
  static constexpr const char* kName = "left_shift";
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T, T) const {
    return km::Real<T>::kNan;
  }
  KUSARI_HOST_DEVICE km::i64 operator()(km::i64 a, km::i64 b) const {
    const km::u64 shifted = static_cast<km::u64>(a) << (static_cast<km::u64>(b) & 63u);
    return b < 0 || b > 63 ? 0 : static_cast<km::i64>(shifted);
  }
};

/// a / 2^b rounded down; 0 for negative b.
struct RightShift {
  static constexpr const char* kName = "right_shift";
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T, T) const {
    return km::Real<T>::kNan;
  }
  KUSARI_HOST_DEVICE km::i64 operator()(km::i64 a, km::i64 b) const {
    const km::i64 places = b > 63 ? 63 : b;
    return b < 0 ? 0 : a >> (places & 63);
  }
};

}  // namespace kusari::kernels

#define KUSARI_ARITHMETIC_OPS(V) \
  V(Add)                         \
  V(Sub)                         \
  V(Mul)                         \
  V(Div)                         \
  V(MulAdd)                      \
  V(Neg)                         \
  V(AddConst)                    \
  V(RSubConst)                   \
  V(MulConst)                    \
  V(DivConst)                    \
  V(RDivConst)                   \
  V(Affine)                      \
  V(FloorDiv)                    \
  V(Mod)                         \
  V(Maximum)                     \
  V(Minimum)                     \
  V(BitwiseAnd)                  \
  V(BitwiseOr)                   \
  V(BitwiseXor)                  \
  V(BitwiseNot)                  \
  V(LeftShift)                   \
  V(RightShift)
