#include "kusari/framework/training/charts/gnuplot_chart.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/training/charts/svg_chart.h"
#include "kusari/framework/training/extensions/gnuplot.h"

namespace kusari::training::charts {
namespace {

using extensions::gnuplot_quoted;

/// matplotlib's markers as gnuplot's point types.
int point_type(char marker) {
  switch (marker) {
    case '+':
      return 1;
    case 'x':
      return 2;
    case '*':
      return 3;
    case 's':
      return 5;
    case '^':
      return 9;
    case 'v':
      return 11;
    case 'D':
      return 13;
    default:
      return 7;  // a disc
  }
}

std::string color(size_t index) { return gnuplot_quoted(kSeriesColors[index % kSeriesColors.size()]); }

/// A row of data; without numbers, an empty one: a gap.
std::string row(std::initializer_list<double> numbers) {
  if (!std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); })) return "\n";
  std::string text;
  for (const double x : numbers) text += (text.empty() ? "" : " ") + general_text(x, 17);
  return text + "\n";
}

std::string limit(const std::optional<double>& value) { return value ? general_text(*value, 17) : "*"; }

std::string chart_commands(const LineChart& chart, const std::string& prefix) {
  std::string data, plot;
  const auto add = [&](const std::string& name, const std::string& rows, const std::string& how) {
    data += name + " << END\n" + rows + "END\n";
    plot += (plot.empty() ? "plot " : ", ") + name + how;
  };
  for (size_t i = 0; i < chart.bands.size(); ++i) {
    std::string rows;
    for (const Range& r : chart.bands[i].ranges) rows += row({r.x, r.low, r.high});
    add(prefix + "band" + std::to_string(i), rows,
        " using 1:2:3 with filledcurves fill transparent solid 0.16 noborder linecolor rgb " +
            color(chart.bands[i].color) + " notitle");
  }
  for (size_t i = 0; i < chart.curves.size(); ++i) {
    const Curve& curve = chart.curves[i];
    if (std::none_of(curve.points.begin(), curve.points.end(), [](const Point& p) { return std::isfinite(p.y); }))
      continue;
    std::string rows;
    for (const Point& p : curve.points) rows += row({p.x, p.y});
    std::string style = " using 1:2 with lines";
    if (!chart.marker.empty()) {
      style += "points pointtype " + std::to_string(point_type(chart.marker[0]));
      if (chart.marker == ".") style += " pointsize 0.4";
    }
    add(prefix + "curve" + std::to_string(i), rows,
        style + " linewidth 2 linecolor rgb " + color(i) + " title " + gnuplot_quoted(curve.name));
  }
  if (plot.empty()) return "";
  return data + "set title " + gnuplot_quoted(chart.title) + "\nset xlabel " + gnuplot_quoted(chart.x_label) +
         "\nset ylabel " + gnuplot_quoted(chart.y_label) + "\n" + (chart.grid ? "set" : "unset") + " grid\n" +
         (chart.log_y ? "set" : "unset") + " logscale y\nset yrange [" + limit(chart.y_min) + ":" + limit(chart.y_max) +
         "]\nset key outside top center horizontal\n" + plot + "\n";
}

}  // namespace

std::string gnuplot_commands(const ChartGrid& grid) {
  if (grid.charts.size() == 1) return chart_commands(grid.charts[0], "$");
  const auto columns = static_cast<size_t>(grid.columns);
  std::string text = "set multiplot layout " + std::to_string((grid.charts.size() + columns - 1) / columns) + "," +
                     std::to_string(grid.columns) + " title " + gnuplot_quoted(grid.title) + "\n";
  for (size_t i = 0; i < grid.charts.size(); ++i) {
    const std::string commands = chart_commands(grid.charts[i], "$chart" + std::to_string(i) + "_");
    text += commands.empty() ? "set multiplot next\n" : commands;
  }
  return text + "unset multiplot\n";
}

std::string draw(const std::string& picture, const ChartGrid& grid) {
  std::filesystem::path path = picture;
  if (path.extension() != ".svg") {
    int width = 0, height = 0, row_width = 0;
    for (size_t i = 0; i < grid.charts.size(); ++i) {
      if (i % static_cast<size_t>(grid.columns) == 0) row_width = 0, height += grid.charts[i].height;
      width = std::max(width, row_width += grid.charts[i].width);
    }
    if (extensions::draw_with_gnuplot(picture, width, height, gnuplot_commands(grid))) return picture;
    path.replace_extension(".svg");
  }
  write_file_atomically(path.string(), to_svg_file(grid), false);
  return path.string();
}

}  // namespace kusari::training::charts
