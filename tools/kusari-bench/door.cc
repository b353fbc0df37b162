#include <cstdio>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/core/version.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/tools/kusari-bench/allocations.h"
#include "kusari/tools/kusari-bench/cases.h"

namespace bench {
namespace {

using kusari::Array;
using kusari::Variable;

struct EmptyKernel {
  static constexpr const char* kName = "bench_empty";
  using Signature = void(kusari::In x, kusari::Out y);
};
void empty_kernel(kusari::In, kusari::Out) {}

// A function that computes nothing: what is left is the price of recording it.
class Nothing final : public kusari::FunctionNode {
 public:
  const char* name() const override { return "nothing"; }

 private:
  kusari::Arrays forward(const kusari::ArrayRefs& in) override { return {in[0]}; }
  kusari::Variables backward(const kusari::Variables& gy) override { return {gy[0]}; }
};

constexpr int kDoorCalls = 1000;

}  // namespace

void door(const Settings& settings) {
  const kusari::Device cpu;
  cpu.backend().add<EmptyKernel>(empty_kernel);
  const Array x = kusari::ones({1}), y = kusari::ones({1});
  report(settings, "door.launch", "ns",
         sample(settings,
                [&] {
                  for (int i = 0; i < kDoorCalls; ++i) kusari::launch<EmptyKernel>(cpu, x, y);
                }),
         1e9 / kDoorCalls);

  const Variable leaf(kusari::ones({1}));
  std::vector<double> recording;
  const double others = sample(settings, [&] {
                          const double start = now();
                          Variable v = leaf;
                          for (int i = 0; i < kDoorCalls; ++i) v = kusari::apply<Nothing>({v});
                          recording.push_back((now() - start) / kDoorCalls);
                        }).others;
  report(settings, "door.record", "ns", {recording, others}, 1e9);

  const Variable c(kusari::ones({1}));
  const auto run = [&] {
    Variable v = leaf;
    for (int i = 0; i < kDoorCalls; ++i) v = v + c;
    v.backward();
  };
  for (int i = 0; i < 10; ++i) run();
  const int64_t before = allocations();
  constexpr int kRuns = 100;
  for (int i = 0; i < kRuns; ++i) run();
  std::printf("{\"bench\":\"door.allocations\",\"impl\":\"kusari-%s\",\"unit\":\"mallocs/op\",\"median\":%.6f}\n",
              KUSARI_VERSION, static_cast<double>(allocations() - before) / (kRuns * kDoorCalls));
}

}  // namespace bench
