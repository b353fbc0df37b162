#include <cmath>
#include <string>
#include <vector>

#include "kusari/framework/core/random.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/tests/golden_runner/compare.h"
#include "kusari/tests/golden_runner/initializers.h"
#include "kusari/tests/golden_runner/links.h"
#include "kusari/tests/golden_runner/runners.h"

namespace kusari::golden {
namespace {

constexpr double kSigmas = 5;  // one wrong alarm in two million comparisons, and the seeds are fixed

struct Statistics {
  double n = 0, mean = 0, std = 0, min = 0, max = 0, excess_kurtosis = 0;
};

Statistics statistics(const std::vector<double>& values) {
  Statistics s;
  s.n = static_cast<double>(values.size());
  s.min = s.max = values.at(0);
  for (double v : values) {
    s.mean += v / s.n;
    s.min = std::min(s.min, v);
    s.max = std::max(s.max, v);
  }
  double second = 0, fourth = 0;
  for (double v : values) {
    const double d = v - s.mean;
    second += d * d / s.n;
    fourth += d * d * d * d / s.n;
  }
  s.std = std::sqrt(second);
  s.excess_kurtosis = fourth / (second * second) - 3;
  return s;
}

void near(const std::string& what, double got, double expected, double tolerance) {
  compare(what, got, expected, {0, tolerance});
}

Shape shape_of(const Json& json) {
  const auto sizes = json.get<std::vector<int64_t>>();
  return Shape(sizes.begin(), sizes.end());
}

std::vector<double> draw(const Initializer& initializer, const Shape& shape, Dtype dtype, const Device& device) {
  std::vector<double> values;
  while (values.size() < 200000) {
    const Array array = initializers::generate_array(initializer, shape, dtype, device);
    if (array.dtype() != dtype || array.shape() != shape) throw Mismatch("the array has another shape or dtype");
    const std::vector<double> drawn = array.to_vector<double>();
    values.insert(values.end(), drawn.begin(), drawn.end());
  }
  return values;
}

// Mean, deviation and shape of a distribution, from many draws.
void check_distribution(const Statistics& s, double mean, double std, double excess_kurtosis) {
  near("mean", s.mean, mean, kSigmas * std / std::sqrt(s.n));
  near("std", s.std, std, kSigmas * std / std::sqrt(2 * s.n));
  near("excess kurtosis", s.excess_kurtosis, excess_kurtosis, kSigmas * std::sqrt(24 / s.n));
}

void check_orthogonal(const Case& c, const Initializer& initializer, const Shape& shape, double diagonal) {
  const Array w = initializers::generate_array(initializer, shape, c.dtype(), c.device());
  const int64_t rows = shape[0], columns = numel(shape) / rows;
  const std::vector<double> values = w.to_vector<double>();
  const bool wide = rows <= columns;
  const int64_t size = wide ? rows : columns, length = wide ? columns : rows;
  const auto at = [&](int64_t vector, int64_t i) {
    return values[static_cast<size_t>(wide ? vector * columns + i : i * columns + vector)];
  };
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t j = 0; j < size; ++j) {
      double dot = 0;
      for (int64_t k = 0; k < length; ++k) dot += at(i, k) * at(j, k);
      near("gram[" + std::to_string(i) + ", " + std::to_string(j) + "]", dot, i == j ? diagonal : 0, 1e-5 * diagonal);
    }
  }
}

// The first parameters of many links against what Chainer's drew.
void check_link(const Case& c, const std::string& name) {
  const Inputs none;
  constexpr int kLinks = 60;  // as many as were measured
  std::vector<LinkUnderTest> links;
  for (int i = 0; i < kLinks; ++i) links.push_back(make_link(name, c.json().at("ctor"), none));
  const Json& params = c.json().at("expect").at("params");
  if (links[0].link->namedparams().size() != params.size()) throw Mismatch("another number of parameters");
  for (const auto& [path, expected] : params.items()) {
    std::vector<double> values;
    for (const LinkUnderTest& l : links) {
      const Parameter& p = l.link->param("/" + path);
      if (p.shape() != shape_of(expected.at("shape")) || p.dtype() != c.dtype()) {
        throw Mismatch(path + " has shape " + to_string(p.shape()) + " and dtype " + kusari::name(p.dtype()));
      }
      const std::vector<double> drawn = p.to_vector<double>();
      values.insert(values.end(), drawn.begin(), drawn.end());
    }
    const std::string kind = expected.at("kind");
    if (kind == "constant") {
      for (double v : values) near(path, v, expected.at("value"), 0);
    } else if (kind == "exact") {
      const auto all = expected.at(expected.contains("values") ? "values" : "value").get<std::vector<double>>();
      for (size_t i = 0; i < values.size(); ++i) near(path, values[i], all.at(i % all.size()), 1e-6);
    } else {
      const Statistics s = statistics(values);
      const Json& measured = expected.at("measured");
      const double std = measured.at("std"), both = kSigmas * std::sqrt(2.0);  // two samples differ by sqrt(2) sigma
      near(path + " mean", s.mean, measured.at("mean"), both * std / std::sqrt(s.n));
      near(path + " std", s.std, std, both * std / std::sqrt(2 * s.n));
      near(path + " excess kurtosis", s.excess_kurtosis, expected.at("excess_kurtosis"), both * std::sqrt(24 / s.n));
    }
  }
}

}  // namespace

void run_initializer(const Case& c) {
  random::seed(1);
  const Json& expect = c.json().at("expect");
  const std::string kind = expect.at("kind"), name = c.name();
  if (kind == "link_default") return check_link(c, name.substr(name.find('/') + 1));
  const Shape shape = shape_of(c.json().at("shape"));
  if (kind == "fans") {
    const initializers::Fans fans = initializers::get_fans(shape);
    near("fan_in", static_cast<double>(fans.in), expect.at("fan_in"), 0);
    near("fan_out", static_cast<double>(fans.out), expect.at("fan_out"), 0);
    return;
  }
  const Initializer initializer = make_initializer(name, c.json().at("ctor"));
  if (kind == "exact") {
    compare("y0", initializers::generate_array(initializer, shape, c.dtype(), c.device()), c.array("y0"),
            c.tolerance("y0"));
  } else if (kind == "orthogonal") {
    check_orthogonal(c, initializer, shape, expect.at("gram_diag"));
  } else if (kind == "normal" || kind == "uniform") {
    const Statistics s = statistics(draw(initializer, shape, c.dtype(), c.device()));
    check_distribution(s, expect.at("mean"), expect.at("std"), kind == "normal" ? 0 : -1.2);
    if (kind == "uniform") {
      const double low = expect.at("low"), high = expect.at("high"), width = high - low;
      if (s.min < low - 1e-6 * width || s.max > high + 1e-6 * width) throw Mismatch("a number is out of range");
      near("min", s.min, low, 1e-3 * width);
      near("max", s.max, high, 1e-3 * width);
    }
  } else {
    throw Unsupported("expect.kind " + kind);
  }
}

}  // namespace kusari::golden
