#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/distributions/kl_divergence.h"
#include "kusari/tests/distributions/distribution_maker.h"
#include "kusari/tests/golden_data.h"

using namespace kusari;
using namespace kusari::testing;
using Json = nlohmann::json;

namespace {

double number_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  const auto text = value.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return text == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

void collect(const Json& value, std::vector<double>& numbers) {
  if (!value.is_array()) return numbers.push_back(number_of(value));
  for (const Json& each : value) collect(each, numbers);
}

struct Numbers {
  explicit Numbers(const Json& value) {
    collect(value, values);
    for (const Json* at = &value; at->is_array(); at = &at->front()) shape.push_back(static_cast<int64_t>(at->size()));
  }
  Variable as(Dtype dtype) const { return Variable(array(values, shape).astype(dtype).to_device(test_device()), true); }

  std::vector<double> values;
  Shape shape;
};

Made made(const std::string& name, const Json& given, Dtype dtype) {
  Parameters parameters;
  for (const auto& [key, value] : given.items()) parameters[key] = Numbers(value).as(dtype);
  return make_distribution(name, parameters);
}

/// `limit` of the larger of 1 and the number itself.
void check_numbers(const Variable& y, const Numbers& expected, double limit) {
  REQUIRE(y.shape() == expected.shape);
  const std::vector<double> values = y.to_vector<double>();
  for (size_t i = 0; i < values.size(); ++i) {
    const double want = expected.values[i];
    CAPTURE(i);
    CAPTURE(values[i]);
    CAPTURE(want);
    const bool same = values[i] == want || (std::isnan(values[i]) && std::isnan(want));
    CHECK((same || std::abs(values[i] - want) <= limit * std::max(1.0, std::abs(want))));
  }
}

}  // namespace

// tools/update_distribution_facts wrote them.
TEST_CASE("distributions: what SciPy and mpmath say of them") {
  std::ifstream file(golden_path("distributions.jsonl"));
  std::set<std::string> seen;
  int facts = 0;
  for (std::string line; std::getline(file, line);) {
    const Json fact = Json::parse(line);
    const auto name = fact["distribution"].get<std::string>(), what = fact["what"].get<std::string>();
    CAPTURE(line);
    for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
      CAPTURE(kusari::name(dtype));
      const Made d = made(name, fact["params"], dtype);
      const Json& x = fact["x"];
      const Variable y = what == "kl" ? D::kl_divergence(*d, *made(name, x, dtype))
                                      : ask(*d, what, x.is_null() ? Variable() : Numbers(x).as(dtype));
      CHECK(y.dtype() == dtype);
      check_numbers(y, Numbers(fact["y"]), dtype == Dtype::float32 ? 1e-6 : 1e-12);
    }
    seen.insert(name);
    ++facts;
  }
  CHECK(facts > 400);
  CHECK(seen.size() == 18);  // all but Independent
}
