#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/kernels/random_numbers.h"

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

/// philox_block (core/philox.h) for counters first .. first + kBlocks - 1.
void make_words(u64 seed, u64 first, u32 plane, Words& w) {
  u32 key0 = static_cast<u32>(seed), key1 = static_cast<u32>(seed >> 32);
  u32 *const c0 = w.word[0], *const c1 = w.word[1], *const c2 = w.word[2], *const c3 = w.word[3];
  for (i64 l = 0; l < kBlocks; ++l) {
    const u64 counter = first + static_cast<u64>(l);
    c0[l] = static_cast<u32>(counter);
    c1[l] = static_cast<u32>(counter >> 32);
    c2[l] = plane;
    c3[l] = 0;
  }
  for (int round = 0; round < 10; ++round) {
#pragma omp simd
    for (i64 l = 0; l < kBlocks; ++l) {
      const u64 p0 = u64{0xD2511F53u} * c0[l], p1 = u64{0xCD9E8D57u} * c2[l];
      c0[l] = static_cast<u32>(p1 >> 32) ^ c1[l] ^ key0;
      c2[l] = static_cast<u32>(p0 >> 32) ^ c3[l] ^ key1;
      c1[l] = static_cast<u32>(p1);
      c3[l] = static_cast<u32>(p0);
    }
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
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
    for (int j = 0; j < 4; ++j) {
#pragma omp simd
      for (i64 l = 0; l < kBlocks; ++l) out[4 * l + j] = low + range * planes.uniform(j, l);
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
    for (int j = 0; j < 4; ++j) {
#pragma omp simd
      for (i64 l = 0; l < kBlocks; ++l) out[4 * l + j] = planes.uniform(j, l) < ratio ? T(0) : scale;
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
