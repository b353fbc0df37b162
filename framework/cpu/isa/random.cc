#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/kernels/philox_numbers.h"

namespace kusari::cpu {
namespace {

using km::u32;
using km::u64;

/// Blocks of the generator made side by side; each has four words.
constexpr i64 kBlocks = 16;
constexpr i64 kGroup = 4 * kBlocks;

struct Words {
  u32 word[4][kBlocks];
};

/// A register of 64-bit lanes, half a register of 32-bit ones, and 0, 1, 2, ...
#if defined(__AVX512F__)
typedef u64 Lanes __attribute__((vector_size(64)));
typedef u32 Words32 __attribute__((vector_size(32)));
constexpr Lanes kIota = {0, 1, 2, 3, 4, 5, 6, 7};
#elif defined(__AVX2__)
typedef u64 Lanes __attribute__((vector_size(32)));
typedef u32 Words32 __attribute__((vector_size(16)));
constexpr Lanes kIota = {0, 1, 2, 3};
#else
typedef u64 Lanes __attribute__((vector_size(16)));
typedef u32 Words32 __attribute__((vector_size(8)));
constexpr Lanes kIota = {0, 1};
#endif
constexpr i64 kPerRegister = sizeof(Lanes) / 8;

/// The products of the lower halves of the lanes, 64 bits each: one instruction, which GCC does not find by itself.
Lanes multiply_halves(Lanes a, Lanes b) {
#if defined(__x86_64__) && !defined(__clang__)
  typedef int Halves __attribute__((vector_size(sizeof(Lanes))));
#if defined(__AVX512F__)
  typedef long long Product __attribute__((vector_size(64)));
  return (Lanes)__builtin_ia32_pmuludq512_mask((Halves)a, (Halves)b, Product{}, 0xff);
#elif defined(__AVX2__)
  return (Lanes)__builtin_ia32_pmuludq256((Halves)a, (Halves)b);
#else
  return (Lanes)__builtin_ia32_pmuludq128((Halves)a, (Halves)b);
#endif
#else
  return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}

/// Registers whose rounds are interleaved, because each round waits for the one before.
constexpr i64 kInterleaved = kBlocks / kPerRegister < 4 ? kBlocks / kPerRegister : 4;

/// philox_block (core/philox.h) for counters first .. first + kBlocks - 1. Each word is the lower half of a lane; what
/// stands in the upper halves is ignored.
void make_words(u64 seed, u64 first, u32 plane, Words& w) {
  for (i64 begin = 0; begin < kBlocks; begin += kInterleaved * kPerRegister) {
    Lanes c[4][kInterleaved];
    for (i64 r = 0; r < kInterleaved; ++r) {
      c[0][r] = kIota + (first + static_cast<u64>(begin + r * kPerRegister));
      c[1][r] = c[0][r] >> 32;
      c[2][r] = Lanes{} + plane;
      c[3][r] = Lanes{};
    }
    u32 key0 = static_cast<u32>(seed), key1 = static_cast<u32>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      for (i64 r = 0; r < kInterleaved; ++r) {
        const Lanes p0 = multiply_halves(c[0][r], Lanes{} + 0xD2511F53u);
        const Lanes p1 = multiply_halves(c[2][r], Lanes{} + 0xCD9E8D57u);
        c[0][r] = (p1 >> 32) ^ c[1][r] ^ (Lanes{} + key0);
        c[2][r] = (p0 >> 32) ^ c[3][r] ^ (Lanes{} + key1);
        c[1][r] = p1;
        c[3][r] = p0;
      }
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
    for (int j = 0; j < 4; ++j) {
      for (i64 r = 0; r < kInterleaved; ++r) {
        const auto narrow = __builtin_convertvector(c[j][r], Words32);
        __builtin_memcpy(w.word[j] + begin + r * kPerRegister, &narrow, sizeof(narrow));
      }
    }
  }
}

template <class T>
struct Planes;

/// The words of kBlocks blocks as kGroup uniform numbers in the order of the stream: plane `plane` for float, and the
/// one after it for the lower digits of double.
template <>
struct Planes<float> {
  Words high;
  void make(u64 seed, u64 first, u32 plane) { make_words(seed, first, plane, high); }
  float uniform(int j, i64 l) const { return km::uniform_from(high.word[j][l]); }
  float positive_uniform(int j, i64 l) const { return km::positive_uniform_from(high.word[j][l]); }
};

template <>
struct Planes<double> {
  Words high;
  Words low;
  void make(u64 seed, u64 first, u32 plane) {
    make_words(seed, first, plane, high);
    make_words(seed, first, plane + 1, low);
  }
  double uniform(int j, i64 l) const { return km::uniform_from(high.word[j][l], low.word[j][l]); }
  double positive_uniform(int j, i64 l) const { return km::positive_uniform_from(high.word[j][l], low.word[j][l]); }
};

template <class T>
struct UniformGroup {
  T low, range;
  void operator()(u64 seed, u64 block, T* out) const {
    Planes<T> planes;
    planes.make(seed, block, km::kUniformPlane);
#pragma omp simd
    for (i64 l = 0; l < kBlocks; ++l) {
      out[4 * l] = low + range * planes.uniform(0, l);
      out[4 * l + 1] = low + range * planes.uniform(1, l);
      out[4 * l + 2] = low + range * planes.uniform(2, l);
      out[4 * l + 3] = low + range * planes.uniform(3, l);
    }
  }
};

template <class T>
struct NormalGroup {
  T mean, deviation;
  void operator()(u64 seed, u64 block, T* out) const {
    Planes<T> planes;
    planes.make(seed, block, km::kNormalPlane);
    for (int j = 0; j < 4; j += 2) {
      T radius[kBlocks], angle[kBlocks];
#pragma omp simd
      for (i64 l = 0; l < kBlocks; ++l) {
        radius[l] = deviation * km::normal_radius(planes.positive_uniform(j, l));
        angle[l] = km::normal_angle(planes.uniform(j + 1, l));
      }
#pragma omp simd
      for (i64 l = 0; l < kBlocks; ++l) {
        out[4 * l + j] = mean + radius[l] * km::cos(angle[l]);
        out[4 * l + j + 1] = mean + radius[l] * km::sin(angle[l]);
      }
    }
  }
};

template <class T>
struct MaskGroup {
  T ratio, scale;
  void operator()(u64 seed, u64 block, T* out) const {
    Planes<T> planes;
    planes.make(seed, block, km::kUniformPlane);
#pragma omp simd
    for (i64 l = 0; l < kBlocks; ++l) {
      out[4 * l] = planes.uniform(0, l) < ratio ? T(0) : scale;
      out[4 * l + 1] = planes.uniform(1, l) < ratio ? T(0) : scale;
      out[4 * l + 2] = planes.uniform(2, l) < ratio ? T(0) : scale;
      out[4 * l + 3] = planes.uniform(3, l) < ratio ? T(0) : scale;
    }
  }
};

/// Numbers for places first .. first + n - 1 from groups of kGroup that start at multiples of 4.
template <class T, class Group>
void generate(const Group group, u64 seed, u64 first, T* out, i64 n) {
  i64 skip = static_cast<i64>(first % 4);
  u64 block = first / 4;
  for (i64 done = 0; done < n;) {
    const i64 m = n - done < kGroup - skip ? n - done : kGroup - skip;
    if (m == kGroup) {
      group(seed, block, out + done);
    } else {
      T buffer[kGroup];
      group(seed, block, buffer);
      for (i64 i = 0; i < m; ++i) out[done + i] = buffer[skip + i];
    }
    done += m;
    skip = 0;
    block += kBlocks;
  }
}

template <class T>
void uniform(u64 seed, u64 first, double low, double high, void* out, i64 n) {
  generate(UniformGroup<T>{static_cast<T>(low), static_cast<T>(high - low)}, seed, first, static_cast<T*>(out), n);
}

template <class T>
void normal(u64 seed, u64 first, double mean, double deviation, void* out, i64 n) {
  generate(NormalGroup<T>{static_cast<T>(mean), static_cast<T>(deviation)}, seed, first, static_cast<T*>(out), n);
}

template <class T>
void dropout_mask(u64 seed, u64 first, double ratio, double scale, void* out, i64 n) {
  generate(MaskGroup<T>{static_cast<T>(ratio), static_cast<T>(scale)}, seed, first, static_cast<T*>(out), n);
}

template <class T>
constexpr RandomLoop random_loop() {
  return {&uniform<T>, &normal<T>, &dropout_mask<T>};
}
constexpr RandomLoops kTable = {random_loop<float>(), random_loop<double>()};

}  // namespace

namespace KUSARI_ISA {
const RandomLoops* random_loops() { return &kTable; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
