#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/tools/kusari-bench/cases.h"

namespace bench {
namespace {

using kusari::Variable;

// As many operations as the peers' programs have.
constexpr int kPairs = 500;
constexpr int kChainOperations = 2 * kPairs;

Variable chain(const Variable& x, const Variable& c) {
  Variable y = x;
  for (int i = 0; i < kPairs; ++i) {
    y = y + c;
    y = y * c;
  }
  return y;
}

// The later half: the first runs still fill caches.
Samples later_half(const std::vector<double>& values, double others) {
  return {{values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end()}, others};
}

void with_graph(const Settings& settings, bool both) {
  Variable x(kusari::ones({1})), c(kusari::ones({1}), both);
  std::vector<double> forward, backward, release;
  const double others = sample(settings, [&] {
                          x.cleargrad();
                          c.cleargrad();
                          const double t0 = now();
                          Variable y = chain(x, c);
                          const double t1 = now();
                          y.backward();
                          const double t2 = now();
                          y = Variable();
                          const double t3 = now();
                          forward.push_back((t1 - t0) / kChainOperations);
                          backward.push_back((t2 - t1) / kChainOperations);
                          release.push_back((t3 - t2) / kChainOperations);
                        }).others;
  const char* const operands = both ? ",\"operands\":\"both require grad\"" : ",\"operands\":\"one requires grad\"";
  report(settings, "op_overhead.forward", "ns/op", later_half(forward, others), 1e9, operands);
  report(settings, "op_overhead.backward", "ns/op", later_half(backward, others), 1e9, operands);
  report(settings, "op_overhead.release", "ns/op", later_half(release, others), 1e9, operands);
}

}  // namespace

void op_overhead(const Settings& settings) {
  with_graph(settings, true);
  with_graph(settings, false);
  const auto no_graph = kusari::no_backprop_mode();
  const Variable x(kusari::ones({1}), false), c(kusari::ones({1}), false);
  report(settings, "op_overhead.forward_nograd", "ns/op", sample(settings, [&] { chain(x, c); }),
         1e9 / kChainOperations);
}

}  // namespace bench
