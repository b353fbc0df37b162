// The loops of losses give the same bits in each instruction set.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "kusari/framework/core/philox.h"
#include "kusari/framework/cpu/best_isa.h"
#include "kusari/framework/cpu/isa/label_alignment.h"
#include "kusari/framework/cpu/isa/row_products.h"

#if defined(__x86_64__)

namespace kusari::cpu {
namespace {

constexpr i64 kLossSizes[] = {1, 2, 15, 16, 17, 100, 1031};

template <class T>
std::vector<T> loss_numbers(i64 n, uint64_t seed, double low = -0.5) {
  std::vector<T> all;
  for (i64 i = 0; i < n; ++i) {
    all.push_back(static_cast<T>(philox_word(seed, static_cast<uint64_t>(i)) * 0x1p-32 + low));
  }
  return all;
}

template <class T>
void check_same_losses(const std::vector<T>& a, const std::vector<T>& b) {
  REQUIRE(a.size() == b.size());
  CHECK(std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T>
std::vector<T> row_products(const RowProductLoop<T>& loop, i64 n) {
  const std::vector<T> a = loss_numbers<T>(n, 1), b = loss_numbers<T>(n, 2);
  std::vector<T> result = b;
  loop.add(T(0.3), a.data(), result.data(), n);
  result.push_back(loop.dot(a.data(), b.data(), n));
  return result;
}

// -inf, what is likely and what is not, side by side.
std::vector<double> logarithms(i64 n, uint64_t seed) {
  std::vector<double> all = loss_numbers<double>(n, seed, -1);
  for (size_t i = 0; i < all.size(); ++i) {
    all[i] = philox_word(seed + 100, i) % 3 == 0 ? -std::numeric_limits<double>::infinity() : 800 * all[i];
  }
  return all;
}

std::vector<double> label_alignment(const LabelAlignmentLoops& loops, i64 n) {
  const std::vector<double> a = logarithms(n, 1), b = logarithms(n, 2), c = logarithms(n, 3),
                            emission = logarithms(n, 4);
  std::vector<double> may_skip = logarithms(n, 5), before(a), after(a), p(a);
  for (double& v : may_skip) v = std::isinf(v) ? v : 0;
  loops.step(a.data(), b.data(), c.data(), may_skip.data(), emission.data(), before.data(), after.data(), n);
  loops.posterior(before.data(), a.data(), -300, p.data(), n);
  before.insert(before.end(), after.begin(), after.end());
  before.insert(before.end(), p.begin(), p.end());
  return before;
}

TEST_CASE("isa: losses give the same bits in every instruction set") {
  const RowProductLoops& rows = *v1::row_product_loops();
  const LabelAlignmentLoops& labels = *v1::label_alignment_loops();
  for (const i64 n : kLossSizes) {
    CAPTURE(n);
    const auto check = [&](const RowProductLoops& other_rows, const LabelAlignmentLoops& other_labels) {
      check_same_losses(row_products(rows.f32, n), row_products(other_rows.f32, n));
      check_same_losses(row_products(rows.f64, n), row_products(other_rows.f64, n));
      check_same_losses(label_alignment(labels, n), label_alignment(other_labels, n));
    };
    if (best_isa() >= Isa::v3) check(*v3::row_product_loops(), *v3::label_alignment_loops());
    if (best_isa() >= Isa::v4) check(*v4::row_product_loops(), *v4::label_alignment_loops());
  }
}

TEST_CASE("isa: a step of an alignment") {
  const i64 n = 40;
  const std::vector<double> result = label_alignment(*v1::label_alignment_loops(), n);
  const std::vector<double> a = logarithms(n, 1), b = logarithms(n, 2), c = logarithms(n, 3),
                            emission = logarithms(n, 4);
  const std::vector<double> may_skip = logarithms(n, 5);
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
    CAPTURE(i);
    const double skip = std::isinf(may_skip[i]) ? may_skip[i] : c[i], top = std::max({a[i], b[i], skip});
    const double expected =
        std::isinf(top) ? top : top + std::log(std::exp(a[i] - top) + std::exp(b[i] - top) + std::exp(skip - top));
    const bool is_same = result[i] == expected || std::abs(result[i] - expected) <= 1e-12 * std::abs(expected);
    CHECK(is_same);
    const bool is_added = result[40 + i] == result[i] + emission[i];
    CHECK(is_added);
  }
}

}  // namespace
}  // namespace kusari::cpu

#endif
