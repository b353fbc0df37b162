#include <cstdio>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/tools/kusari-bench/cases.h"

namespace bench {

void graph_million(const Settings& settings) {
  using kusari::Variable;
  constexpr int kFunctions = 1'000'000;
  const Variable x(kusari::ones({1})), c(kusari::full({1}, 1e-6, kusari::Dtype::float32));
  const double t0 = now();
  Variable y = x;
  for (int i = 0; i < kFunctions; ++i) y = y + c;
  const double t1 = now();
  y.backward();
  const double t2 = now();
  y = Variable();
  const double t3 = now();
  const std::string more = ",\"peak_rss_mib\":" + std::to_string(static_cast<int>(peak_resident_mib())) +
                           ",\"gradient\":" + std::to_string(x.grad().item<double>());
  report(settings, "graph_million.forward", "ns/op", {{(t1 - t0) / kFunctions}, 0}, 1e9, more);
  report(settings, "graph_million.backward", "ns/op", {{(t2 - t1) / kFunctions}, 0}, 1e9, more);
  report(settings, "graph_million.release", "ns/op", {{(t3 - t2) / kFunctions}, 0}, 1e9, more);
}

}  // namespace bench
