#include "kusari/framework/training/html/log_summary.h"

#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace kusari::training;
using namespace kusari::training::html;
using extensions::LogEntry;
using extensions::LogNumber;

namespace {

LogEntry row(std::initializer_list<std::pair<const char*, LogNumber>> values) {
  LogEntry entry;
  for (const auto& [key, value] : values) entry.set(key, value);
  return entry;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("LogTable has places, values, times") {
  const Log log{row({{"main/loss", 1.0}, {"epoch", 0}, {"elapsed_time", 0.5}}),
                row({{"lr", 1.0}, {"main/loss", 1.0}, {"iteration", 2}, {"data_time", 0.1}})};
  const LogTable table(log);
  CHECK(table.names() == Names{"epoch", "iteration", "main/loss", "lr", "elapsed_time", "data_time"});
  CHECK(table.find("lr")->at(0) == nullptr);
  CHECK(table.find("lr")->at(1)->value == 1);
  CHECK(table.find("other") == nullptr);
  CHECK(LogTable({}).names().empty());
}

TEST_CASE("LogTable::best_row knows by the name what is better") {
  const Log log{row({{"main/loss", 2.0}, {"acc/accuracy", 0.5}, {"lr", 1.0}, {"bad_loss", NAN}}),
                row({{"main/loss", 1.0}, {"acc/accuracy", 0.75}, {"lr", 0.1}}),
                row({{"main/loss", 1.0}, {"acc/accuracy", 0.25}})};
  const LogTable table(log);
  CHECK(table.best_row("main/loss") == 1);
  CHECK(table.best_row("acc/accuracy") == 1);
  CHECK(table.best_row("lr") == log.size());
  CHECK(table.best_row("bad_loss") == log.size());
  CHECK(table.best_row("other_loss") == log.size());
  CHECK(better_direction("accuracy/lr") == 0);
}

TEST_CASE("log_charts shows training and validation of a quantity together") {
  const Log log{row({{"main/loss", 2.0},
                     {"main/accuracy", 0.5},
                     {"validation/main/loss", 3.0},
                     {"main/l1/W/data/percentile/0", -1.0},
                     {"main/l1/W/data/percentile/1", 1.0},
                     {"lossy", 1.0},
                     {"epoch", 1},
                     {"iteration", 10},
                     {"elapsed_time", 1.0},
                     {"data_time", 0.1},
                     {"compute_time", 0.2}}),
                row({{"main/loss", 1.0}, {"epoch", 2}, {"iteration", 20}})};
  CHECK(x_axis(LogTable(log)) == "epoch");
  const auto charts = log_charts(LogTable(log), "iteration");
  Names titles;
  for (const auto& chart : charts) titles.push_back(chart.title);
  CHECK(titles == Names{"main/loss", "main/accuracy", "main/l1/W/data/percentile", "lossy", "seconds of an iteration"});
  REQUIRE(charts[0].curves.size() == 2);
  CHECK(charts[0].x_label == "iteration");
  CHECK(charts[0].curves[0].points.size() == 2);
  CHECK(charts[0].curves[0].points[1].x == 20);
  CHECK(charts[0].curves[1].name == "validation/main/loss");
  CHECK(charts[2].curves.size() == 2);
  CHECK(charts[4].curves.size() == 2);
}

TEST_CASE("log_charts has a quantity before its validation, in whatever order they came") {
  const Log log{row({{"validation/main/loss", 2.0}, {"iteration", 0}}), row({{"main/loss", 1.0}, {"iteration", 1}})};
  const auto charts = log_charts(LogTable(log), "iteration");
  REQUIRE(charts.size() == 1);
  REQUIRE(charts[0].curves.size() == 2);
  CHECK(charts[0].curves[0].name == "main/loss");
  CHECK(charts[0].curves[1].name == "validation/main/loss");
}

TEST_CASE("x_axis counts iterations where an epoch has several rows") {
  const Log repeated{row({{"epoch", 0}, {"iteration", 1}}), row({{"epoch", 0}, {"iteration", 2}})};
  const Log without{row({{"iteration", 1}})};
  CHECK(x_axis(LogTable(repeated)) == "iteration");
  CHECK(x_axis(LogTable(without)) == "iteration");
}

TEST_CASE("numbers and durations for people") {
  CHECK(short_number(LogNumber(12)) == "12");
  CHECK(short_number(LogNumber(1.0 / 3)) == "0.333333");
  CHECK(short_number(LogNumber(NAN)) == "nan");
  CHECK(short_duration(12.44) == "12.4 s");
  CHECK(short_duration(192) == "3 min 12 s");
  CHECK(short_duration(5 * 3600 + 180) == "5 h 03 min");
  CHECK(short_duration(52 * 3600) == "2 days 4 h");
  CHECK(short_duration(NAN) == "unknown");
  CHECK(short_duration(INFINITY) == "unknown");
}
