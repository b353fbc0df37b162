#include <cmath>
#include <utility>

#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/util/forget.h"
#include "kusari/tests/properties/property.h"

namespace kusari {
namespace {

using namespace testing;

/// One step of a computation on two numbers.
template <class T>
std::pair<T, T> step(int64_t kind, const T& a, const T& b) {
  using F::tanh;
  using std::tanh;
  if (kind == 0) return {a * b, b};
  if (kind == 1) return {tanh(a), a};
  if (kind == 2) return {b - a * 0.5, a};
  return {a, tanh(b) * a};
}

/// Steps from `at` on; with `forgotten`, that one and all that follow.
std::pair<Variable, Variable> run(const std::vector<int64_t>& kinds, const std::vector<bool>& forgotten, size_t at,
                                  const Variable& a, const Variable& b) {
  if (at == kinds.size()) return {a, b};
  const auto next = [=](const Variable& v, const Variable& w) {
    const auto [c, d] = step(kinds[at], v, w);
    return run(kinds, forgotten, at + 1, c, d);
  };
  return forgotten[at] ? F::forget(next, a, b) : next(a, b);
}

TEST_CASE("property: forget") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(0, 3);
    std::vector<int64_t> kinds;
    std::vector<bool> forgotten;
    for (int64_t n = draw.integer(1, 5); n > 0; --n) {
      kinds.push_back(draw.integer(0, 3));
      forgotten.push_back(draw.flip());
    }
    forgotten[static_cast<size_t>(draw.integer(0, static_cast<int64_t>(kinds.size()) - 1))] = true;
    // What the last steps leave alone must not be all there is.
    kinds.push_back(0);
    forgotten.push_back(true);
    return {.inputs = {draw.real(shape, -1, 1), draw.real(shape, -1, 1), draw.real(shape, -1, 1)},
            .function =
                [=](const Variables& x) {
                  // x[2] is used in the middle of it all without being an argument.
                  const auto [a, b] = F::forget(
                      [=](const Variable& v, const Variable& w) { return run(kinds, forgotten, 0, v * x[2], w); }, x[0],
                      x[1]);
                  return Variables{a + b};
                },
            .reference =
                [=](const References& x) {
                  return References{naive::map(
                      [=](double a, double b, double c) {
                        std::pair<double, double> now = {a * c, b};
                        for (const int64_t kind : kinds) now = step(kind, now.first, now.second);
                        return now.first + now.second;
                      },
                      x[0], x[1], x[2])};
                }};
  });
}

}  // namespace
}  // namespace kusari
