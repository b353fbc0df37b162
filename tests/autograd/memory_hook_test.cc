#include "kusari/framework/autograd/function_hooks/memory_hook.h"

#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/tests/autograd/nodes.h"

using namespace kusari;
namespace F = functions;

namespace {

constexpr int64_t kElements = 1 << 20;
constexpr int64_t kBytes = kElements * 4;

/// Takes a number of bytes that are gone when it is done, and calls another function meanwhile.
class Scratch final : public FunctionNode {
 public:
  const char* name() const override { return "scratch"; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    const Array scratch = empty({3 * kElements});
    return {F::exp(Variable(in[0])).array()};
  }
  Variables backward(const Variables& gy) override { return gy; }
};

}  // namespace

TEST_CASE("MemoryHook measures what each function uses at its highest") {
  function_hooks::MemoryHook hook;
  const Variable x(ones({kElements}));
  {
    const ScopedFunctionHook scope(hook);
    const Variable y = F::exp(x);
    const Variable z = apply<Scratch>({x});
  }
  const auto& calls = hook.call_history();
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].name == "exp");
  CHECK(calls[0].depth == 0);
  // A result, and small things such as vertices.
  CHECK(calls[0].used_bytes >= kBytes);
  CHECK(calls[0].used_bytes < kBytes + kBytes / 8);
  CHECK(calls[0].acquired_bytes >= 0);
  CHECK(calls[1].name == "exp");
  CHECK(calls[1].depth == 1);
  CHECK(calls[1].used_bytes < kBytes + kBytes / 8);
  CHECK(calls[2].name == "scratch");
  CHECK(calls[2].depth == 0);
  CHECK(calls[2].used_bytes >= 4 * kBytes);
  CHECK(calls[2].used_bytes < 5 * kBytes);
  CHECK(hook.total_used_bytes() == calls[0].used_bytes + calls[2].used_bytes);
  CHECK(hook.total_acquired_bytes() == calls[0].acquired_bytes + calls[2].acquired_bytes);
  const auto summary = hook.summary();
  REQUIRE(summary.size() == 2);
  CHECK(summary[0].name == "exp");
  CHECK(summary[0].occurrence == 2);
  CHECK(summary[0].used_bytes == calls[0].used_bytes + calls[1].used_bytes);
}

TEST_CASE("MemoryHook counts backward computations, and what they use") {
  function_hooks::MemoryHook hook;
  const Variable x(ones({kElements}));
  Variable y = F::exp(x);
  y.set_grad(ones({kElements}));
  {
    const ScopedFunctionHook scope(hook);
    y.backward();
  }
  int64_t outer = 0;
  for (const auto& call : hook.call_history()) outer += call.depth == 0;
  CHECK(outer == 1);
  CHECK(hook.total_used_bytes() >= kBytes);
}

TEST_CASE("MemoryHook's table") {
  function_hooks::MemoryHook hook;
  CHECK(hook.report() == "FunctionName  UsedBytes  AcquiredBytes  Occurrence\n");
  {
    const ScopedFunctionHook scope(hook);
    F::exp(Variable(ones({kElements})));
  }
  for (const auto& [unit, text] : std::vector<std::pair<std::string, std::string>>{
           {"auto", "MB  "}, {"auto_foreach", "MB  "}, {"B", "B  "}, {"KB", "KB  "}, {"TB", "0.00TB  "}}) {
    CAPTURE(unit);
    const std::string report = hook.report(unit);
    CHECK(report.substr(report.find('\n')).find(text) != report.npos);
    CHECK(report.find("         exp  ") != report.npos);
  }
  CHECK_THROWS_WITH_AS(hook.report("KiB"),
                       "MemoryHook::report: unit is 'KiB': it must be auto, auto_foreach, B, KB, MB, GB or TB",
                       ValueError);
  std::ostringstream out;
  hook.print_report(out, "KB");
  CHECK(out.str() == hook.report("KB"));
}

TEST_CASE("MemoryHook survives a function that throws") {
  function_hooks::MemoryHook hook;
  const ScopedFunctionHook scope(hook);
  const Variable x(ones({1}));
  CHECK_THROWS_AS(apply<testing::Throws>({x}), ValueError);
  F::exp(x);
  REQUIRE(hook.call_history().size() == 1);
  CHECK(hook.call_history()[0].name == "exp");
}
