#include "kusari/framework/core/reporter.h"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/square.h"

using kusari::Array;
using kusari::array;
using kusari::get_current_reporter;
using kusari::Observation;
using kusari::ObservedValue;
using kusari::ObserverSource;
using kusari::report;
using kusari::report_scope;
using kusari::Reporter;

namespace {

struct Observer {
  virtual ~Observer() = default;
};

std::vector<std::string> keys(const Observation& observation) {
  std::vector<std::string> result;
  for (const auto& [key, value] : observation) result.push_back(key);
  return result;
}

/// Like a Variable: what report needs to know of one.
struct Handle {
  Array value;
  const Array& array() const { return value; }
  bool is_defined() const { return value.is_defined(); }
};

}  // namespace

TEST_CASE("report without a reporter does nothing") {
  CHECK(get_current_reporter() == nullptr);
  report({{"loss", 1.0}});
  CHECK_THROWS_WITH_AS(static_cast<void>(report_scope(*std::make_unique<Observation>())),
                       "report_scope: no reporter is current in this thread", kusari::StateError);
}

TEST_CASE("report names values after the observer") {
  Reporter reporter;
  const Observer observer, child, stranger;
  reporter.add_observer("main", observer);
  reporter.add_observer("main/predictor", child);
  Observation observation;
  {
    const auto scope = reporter.scope(observation);
    CHECK(get_current_reporter() == &reporter);
    report({{"loss", array({2.5f}, kusari::Shape{})}, {"accuracy", 1}}, observer);
    report({{"gain", Handle{array({7.0}, kusari::Shape{})}}}, child);
    report({{"lr", 0.5}});
    CHECK_THROWS_WITH_AS(report({{"loss", 1.0}}, stranger),
                         "report: the observer of 'loss' is not registered to the current reporter", kusari::KeyError);
    CHECK_THROWS_WITH_AS(report({{"loss", Handle{}}}), "report: the value 'loss' is undefined", kusari::ValueError);
  }
  CHECK(keys(observation) == std::vector<std::string>{"main/loss", "main/accuracy", "main/predictor/gain", "lr"});
  CHECK(observation.at("main/loss") == 2.5);
  CHECK(observation.at("main/accuracy") == 1);
  CHECK(observation.at("main/predictor/gain") == 7);
  CHECK(observation.at("lr") == 0.5);
  CHECK_FALSE(observation.contains("loss"));
  CHECK_THROWS_WITH_AS(observation.at("loss"),
                       doctest::Contains("nothing is reported as 'loss'; there is 'main/loss' 'main/accuracy'"),
                       kusari::KeyError);
  report({{"loss", 3.0}}, observer);  // the scope is over
  CHECK(observation.at("main/loss") == 2.5);
}

TEST_CASE("a value reported again keeps its place") {
  Reporter reporter;
  Observation observation;
  const auto scope = reporter.scope(observation);
  report({{"a", 1}, {"b", 2}});
  report({{"a", 3}});
  CHECK(keys(observation) == std::vector<std::string>{"a", "b"});
  CHECK(observation.at("a") == 3);
}

TEST_CASE("scopes nest, and end with an exception") {
  Reporter outer, inner;
  Observation of_outer, of_inner, of_inner_again;
  {
    const auto scope = outer.scope(of_outer);
    try {
      const auto nested = inner.scope(of_inner);
      report({{"a", 1}});
      {
        const auto other_place = report_scope(of_inner_again);
        report({{"b", 1}});
        throw std::runtime_error("stop");
      }
    } catch (const std::runtime_error&) {
    }
    report({{"c", 1}});
    CHECK(get_current_reporter() == &outer);
  }
  CHECK(keys(of_outer) == std::vector<std::string>{"c"});
  CHECK(keys(of_inner) == std::vector<std::string>{"a"});
  CHECK(keys(of_inner_again) == std::vector<std::string>{"b"});
  CHECK(get_current_reporter() == nullptr);
}

TEST_CASE("a scope belongs to its thread") {
  Reporter reporter;
  Observation observation;
  const auto scope = reporter.scope(observation);
  std::thread([] {
    CHECK(get_current_reporter() == nullptr);
    report({{"a", 1}});
  }).join();
  CHECK(observation.empty());
}

TEST_CASE("observers that move are found again") {
  struct Source final : ObserverSource {
    explicit Source(std::unique_ptr<Observer>* place) : model{place} {}
    uint64_t version() const override { return reinterpret_cast<uintptr_t>(model->get()); }
    void add_observers(Reporter& reporter) const override {
      if (*model) reporter.add_observer("main", **model);
    }
    std::unique_ptr<Observer>* model;
  };
  auto model = std::make_unique<Observer>();
  Reporter reporter;
  reporter.add_observers(std::make_unique<Source>(&model));
  Observation observation;
  const auto scope = reporter.scope(observation);
  report({{"a", 1}}, *model);
  const auto old = std::exchange(model, std::make_unique<Observer>());
  report({{"b", 1}}, *model);
  CHECK_THROWS_AS(report({{"c", 1}}, *old), kusari::KeyError);
  const auto dead = std::move(model);
  CHECK_THROWS_AS(report({{"d", 1}}, *dead), kusari::KeyError);
  CHECK(keys(observation) == std::vector<std::string>{"main/a", "main/b"});
}

TEST_CASE("only 0-d arrays have a value") {
  const ObservedValue vector(array({1.0f, 2.0f}));
  CHECK_FALSE(vector.is_scalar());
  CHECK_THROWS_WITH_AS(vector.value(), doctest::Contains("(2,)"), kusari::TypeError);
  CHECK(ObservedValue(true).value() == 1);
}

TEST_CASE("reported variables keep their graphs where the configuration said so when the scope began") {
  Reporter reporter;
  Observation observation;
  const kusari::Variable x(kusari::ones({}));
  const auto report_y = [&] {
    report({{"y", kusari::functions::square(x)}, {"number", 1.0}, {"array", kusari::ones({})}});
  };
  {
    const auto scope = reporter.scope(observation);
    report_y();
    CHECK(observation.find("y")->variable() == nullptr);
    const auto late = kusari::using_config(&kusari::Config::keep_graph_on_report, true);
    report_y();
    CHECK(observation.find("y")->variable() == nullptr);
  }
  const auto keep = kusari::using_config(&kusari::Config::keep_graph_on_report, true);
  const auto scope = reporter.scope(observation);
  report_y();
  REQUIRE(observation.find("y")->variable() != nullptr);
  CHECK(observation.find("y")->variable()->creator() != nullptr);
  CHECK(observation.find("y")->value() == 1);
  CHECK(observation.find("number")->variable() == nullptr);
  CHECK(observation.find("array")->variable() == nullptr);
  report({{"y", 2.0}});
  CHECK(observation.find("y")->variable() == nullptr);
}
