#include "kusari/framework/autograd/function_hook.h"

#include <cmath>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/autograd/function_hooks/nan_check_hook.h"
#include "kusari/framework/autograd/function_hooks/print_hook.h"
#include "kusari/framework/autograd/function_hooks/timer_hook.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/tests/autograd/nodes.h"

namespace kusari {
namespace {

namespace F = functions;

/// Notes what it sees as "tag event function".
class Notes final : public FunctionHook {
 public:
  Notes(std::string tag, std::vector<std::string>* log) : tag_{std::move(tag)}, log_{log} {}
  void forward_preprocess(const FunctionNode& f, const ArrayRefs& in) override {
    note("before", f);
    CHECK(in[0].is_defined());
  }
  void forward_postprocess(const FunctionNode& f, const ArrayRefs&, const Arrays& out) override {
    note("after", f);
    CHECK(out[0].is_defined());
  }
  void backward_preprocess(const FunctionNode& f, const Variables& gy) override {
    note("before backward", f);
    CHECK(gy.size() == 1);
  }
  void backward_postprocess(const FunctionNode& f, const Variables& gy, const Variables& gx) override {
    note("after backward", f);
    CHECK(gy[0].is_defined());
    CHECK(gx.size() == f.input_count());
  }

 private:
  void note(const char* event, const FunctionNode& f) { log_->push_back(tag_ + " " + event + " " + f.name()); }
  std::string tag_;
  std::vector<std::string>* log_;
};

using Log = std::vector<std::string>;

TEST_CASE("hooks see forward and backward, in the order of their installation") {
  Log log, ignored;
  Notes first("1", &log), second("2", &log);
  const Variable x(ones({1}));
  {
    const ScopedFunctionHook a(first);
    const ScopedFunctionHook b(second);
    const Variable y = testing::probe(x, "p", &ignored);
    CHECK(log == Log{"1 before probe", "2 before probe", "1 after probe", "2 after probe"});
    log.clear();
    y.backward();
    CHECK(log == Log{"1 before backward probe", "2 before backward probe", "1 after backward probe",
                     "2 after backward probe"});
    log.clear();
    std::thread([&] { testing::probe(Variable(ones({1})), "q", &ignored); }).join();
    CHECK(log.empty());  // hooks belong to their thread
  }
  testing::probe(x, "p", &ignored);
  CHECK(log.empty());
}

TEST_CASE("functions inside a backward are seen too") {
  Log log;
  Notes hook("h", &log);
  const Variable x(ones({1}));
  const Variable y = testing::fork(x)[1] * 1;
  const ScopedFunctionHook scope(hook);
  grad({F::exp(x)}, {x}, {.enable_double_backprop = true});
  CHECK(log.front() == "h before exp");
  CHECK(log.back() == "h after backward exp");
  CHECK(log.size() > 4);  // the multiplication in exp's backward
}

TEST_CASE("a hook is installed once") {
  Log log;
  Notes hook("h", &log), other("o", &log);
  {
    const ScopedFunctionHook scope(hook);
    CHECK_THROWS_WITH_AS(ScopedFunctionHook{hook}, "ScopedFunctionHook: this hook is installed already", StateError);
    const ScopedFunctionHook inner(other);
    CHECK(hook.next() == &other);
  }
  const ScopedFunctionHook again(hook);
  CHECK(hook.next() == nullptr);
}

TEST_CASE("TimerHook counts and times") {
  function_hooks::TimerHook timer;
  const Variable x(ones({1000}));
  {
    const ScopedFunctionHook scope(timer);
    Variable y = F::exp(F::exp(x));
    y.set_grad(ones({1000}));
    y.backward();
  }
  const auto summary = timer.summary();
  REQUIRE_FALSE(summary.empty());
  CHECK(summary[0].name == "exp");
  CHECK(summary[0].occurrence == 4);
  double total = 0;
  int64_t calls = 0;
  for (const auto& record : summary) {
    CHECK(record.elapsed_time > 0);
    total += record.elapsed_time;
    calls += record.occurrence;
  }
  CHECK(timer.total_time() == doctest::Approx(total));
  CHECK(timer.call_history().size() == static_cast<size_t>(calls));
  const std::string report = timer.report();
  CHECK(report.substr(0, report.find('\n')).ends_with("FunctionName  ElapsedTime  Occurrence"));
  std::istringstream lines(report);
  std::string line;
  std::getline(lines, line);
  const size_t width = line.size();
  while (std::getline(lines, line)) CHECK(line.size() == width);
  std::ostringstream out;
  timer.print_report(out);
  CHECK(out.str() == report);
}

TEST_CASE("TimerHook survives a function that throws") {
  function_hooks::TimerHook timer;
  const ScopedFunctionHook scope(timer);
  const Variable x(ones({1}));
  CHECK_THROWS_AS(apply<testing::Throws>({x}), ValueError);
  F::exp(x);
  REQUIRE(timer.call_history().size() == 1);
  CHECK(timer.call_history()[0].first == "exp");
}

TEST_CASE("PrintHook prints inputs and gradients") {
  std::ostringstream out;
  function_hooks::PrintHook hook(out);
  std::vector<std::string> ignored;
  const ScopedFunctionHook scope(hook);
  Variable y = testing::probe(Variable(array<float>({1, 3})), "p", &ignored);
  CHECK(out.str() ==
        "forward probe\ninput data\n- shape: (2,), dtype: float32, device: cpu, mean=2.00000000, std=1.00000000\n");
  out.str("");
  y.set_grad(array<float>({4, 4}));
  y.backward();
  CHECK(out.str() ==
        "backward probe\noutput gradient\n- shape: (2,), dtype: float32, device: cpu, mean=4.00000000, "
        "std=0.00000000\n");
}

TEST_CASE("NanCheckHook names the function") {
  function_hooks::NanCheckHook hook;
  const ScopedFunctionHook scope(hook);
  CHECK_THROWS_WITH_AS(F::log(Variable(array<float>({1, -1}))), "NaN is detected on forward computation of log", Error);
  CHECK_NOTHROW(F::log(Variable(array<float>({1, 0}))));  // an infinity is no NaN
  std::vector<std::string> ignored;
  Variable y = testing::probe(Variable(array<double>({1, 2})), "p", &ignored);
  y.set_grad(array<double>({1, NAN}));
  CHECK_THROWS_WITH_AS(y.backward(), "NaN is detected on backward computation of probe", Error);
}

}  // namespace
}  // namespace kusari
