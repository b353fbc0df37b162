// The loops of the weighted mean of maps give the same bits in each instruction set. Linked to the objects themselves:
// the library hides them.
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "kusari/framework/core/philox.h"
#include "kusari/framework/cpu/best_isa.h"
#include "kusari/framework/cpu/isa/normalized_fusion.h"

#if defined(__x86_64__)

namespace kusari::cpu {
namespace {

template <class T>
std::vector<T> fusion_results(const FusionLoop& loop, int maps, i64 n) {
  const auto count = static_cast<size_t>(n);
  std::vector<std::vector<T>> x(4, std::vector<T>(count));
  for (size_t k = 0; k < x.size(); ++k) {
    for (size_t i = 0; i < count; ++i) x[k][i] = static_cast<T>(philox_word(k, i) * 0x1p-30 - 2);
  }
  const double share[] = {0.3, 0.5, 0.2};
  const void* const in[] = {x[0].data(), x[1].data(), x[2].data()};
  std::vector<T> all(4 * count);
  double sums[] = {0, 1, 2};
  loop.weigh(in, maps, share, all.data(), n);
  void* const gx[] = {all.data() + count, nullptr, all.data() + 3 * count};
  loop.spread(in, maps, share, x[3].data(), gx, sums, n);
  all.insert(all.end(), sums, sums + 3);
  return all;
}

template <class T>
void check_same_fusion(const FusionLoop& one, const FusionLoop& other) {
  for (const int maps : {2, 3}) {
    for (const i64 n : {1, 15, 16, 17, 256, 1031}) {
      CAPTURE(maps);
      CAPTURE(n);
      const std::vector<T> a = fusion_results<T>(one, maps, n), b = fusion_results<T>(other, maps, n);
      CHECK(std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
    }
  }
}

TEST_CASE("isa: the weighted mean of maps") {
  const FusionLoops& first = *v1::fusion_loops();
  const auto check = [&](const FusionLoops& other) {
    check_same_fusion<float>(first.f32, other.f32);
    check_same_fusion<double>(first.f64, other.f64);
  };
  if (best_isa() >= Isa::v3) check(*v3::fusion_loops());
  if (best_isa() >= Isa::v4) check(*v4::fusion_loops());
}

}  // namespace
}  // namespace kusari::cpu

#endif
