#include "kusari/framework/training/charts/svg_chart.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include "kusari/tests/text_search.h"

using namespace kusari::training::charts;
using kusari::testing::occurrences;

namespace {

/// The value of the first attribute of that name.
std::string attribute(const std::string& text, const std::string& name) {
  const size_t begin = text.find(" " + name + "=\"");
  REQUIRE(begin != std::string::npos);
  const size_t value = begin + name.size() + 3;
  return text.substr(value, text.find('"', value) - value);
}

}  // namespace

TEST_CASE("to_svg places points between the corners of its plot") {
  const LineChart chart{.title = "a < b",
                        .x_label = "epoch",
                        .curves = {{"one", {{0, 0}, {5, 1}, {10, 0.5}}}},
                        .marker = "",
                        .width = 560,
                        .height = 320};
  const std::string svg = to_svg(chart);
  double left = 0, top = 0, width = 0, height = 0;
  REQUIRE(std::sscanf(attribute(svg, "data-plot").c_str(), "%lf %lf %lf %lf", &left, &top, &width, &height) == 4);
  CHECK(left + width < 560);
  CHECK(top + height < 320);
  CHECK(attribute(svg, "data-axes") == "0 10 0 1");
  CHECK(attribute(svg, "data-points") == "0,0 5,1 10,0.5");
  double x[3], y[3];
  const std::string line = svg.substr(svg.find("data-points"));
  REQUIRE(std::sscanf(attribute(line, "d").c_str(), "M%lf %lfL%lf %lfL%lf %lf", &x[0], &y[0], &x[1], &y[1], &x[2],
                      &y[2]) == 6);
  CHECK(x[0] == doctest::Approx(left));
  CHECK(y[0] == doctest::Approx(top + height));
  CHECK(x[1] == doctest::Approx(left + width / 2).epsilon(1e-3));
  CHECK(y[1] == doctest::Approx(top));
  CHECK(y[2] == doctest::Approx(top + height / 2).epsilon(1e-3));
  CHECK(svg.find(">a &lt; b</text>") != std::string::npos);
  CHECK(svg.find("a < b") == std::string::npos);
  CHECK(occurrences(svg, "class=\"mark") == 0);
}

TEST_CASE("to_svg leaves gaps where values are not finite, or not positive on a logarithmic axis") {
  LineChart chart{.curves = {{"gap", {{0, 1}, {1, NAN}, {2, 3}, {3, INFINITY}, {4, 100}}}}, .marker = "o"};
  const std::string svg = to_svg(chart);
  CHECK(attribute(svg, "data-points") == "0,1 2,3 4,100");
  CHECK(occurrences(attribute(svg.substr(svg.find("data-points")), "d"), "M") == 3);
  CHECK(occurrences(attribute(svg.substr(svg.find("data-points")), "d"), "h0") == 3);  // each a dot
  chart.curves[0].points[0].y = 0;
  chart.log_y = true;
  const std::string logarithmic = to_svg(chart);
  CHECK(attribute(logarithmic, "data-points") == "2,3 4,100");
  CHECK(attribute(logarithmic, "data-axes") == "2 4 1 100 log");
}

TEST_CASE("to_svg without data draws axes") {
  LineChart chart;
  SUBCASE("no curve") {}
  SUBCASE("an empty curve") { chart.curves = {{"empty"}}; }
  SUBCASE("logarithmic") {
    chart.curves = {{"negative", {{0, -1}}}};
    chart.log_y = true;
  }
  const std::string svg = to_svg(chart);
  CHECK(svg.find("data-points") == std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
}

TEST_CASE("to_svg thins long curves but keeps their extremes, ends and gaps") {
  Curve curve{"long"};
  for (int i = 0; i < 100000; ++i) curve.points.push_back({static_cast<double>(i), std::sin(i * 1e-3)});
  curve.points[54321].y = 7;
  curve.points[54322].y = -7;
  curve.points[777].y = NAN;
  const std::string svg = to_svg({.curves = {curve}, .marker = ""});
  const std::string points = attribute(svg, "data-points");
  CHECK(occurrences(points, " ") < 1200);
  CHECK(points.rfind("0,0 ", 0) == 0);
  CHECK(points.find(" 54321,7 54322,-7 ") != std::string::npos);
  CHECK(points.find(" 99999,") != std::string::npos);
  CHECK(occurrences(attribute(svg.substr(svg.find("data-points")), "d"), "M") == 2);
}

TEST_CASE("to_svg has a shape for each marker") {
  for (const char* marker : {".", "o", "x", "+", "*", "s", "^", "v", "D"}) {
    CAPTURE(marker);
    CHECK(is_marker(marker));
    const std::string svg = to_svg({.curves = {{"a", {{0, 1}, {1, 2}}}}, .marker = marker});
    CHECK(occurrences(svg, "class=\"mark") == 1);
  }
  CHECK(is_marker(""));
  CHECK_FALSE(is_marker("q"));
  CHECK_FALSE(is_marker("xo"));
}

TEST_CASE("to_svg draws areas below the curves") {
  const std::string svg =
      to_svg({.curves = {{"mean", {{0, 1}, {1, 2}}}}, .bands = {{{{0, 0, 2}, {1, 1, 3}, {2, NAN, 1}, {3, 0, 1}}, 0}}});
  CHECK(attribute(svg, "data-axes") == "0 3 0 3");
  const size_t band = svg.find("class=\"band\"");
  REQUIRE(band != std::string::npos);
  CHECK(band < svg.find("data-points"));
  CHECK(occurrences(attribute(svg.substr(band), "d"), "Z") == 2);
}

TEST_CASE("to_svg_file puts charts into rows, with all that they need") {
  const LineChart chart{.width = 300, .height = 200};
  const std::string svg = to_svg_file({.title = "All", .charts = {chart, chart, chart}, .columns = 2});
  CHECK(attribute(svg, "viewBox") == "0 0 600 428");
  CHECK(svg.find("translate(0 28)") != std::string::npos);
  CHECK(svg.find("translate(300 28)") != std::string::npos);
  CHECK(svg.find("translate(0 228)") != std::string::npos);
  CHECK(svg.find("--series-7:") != std::string::npos);
  CHECK(svg.find("http://www.w3.org/2000/svg") != std::string::npos);
}
