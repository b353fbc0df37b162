#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kusari/framework/core/export.h"

namespace kusari::training::charts {

struct Point {
  double x, y;
};

/// One line of a chart. Points that are not finite are gaps.
struct Curve {
  std::string name;
  std::vector<Point> points = {};
};

struct Range {
  double x, low, high;
};

/// The area between two lines, in the colour of a curve and without a name of its own.
struct Band {
  std::vector<Range> ranges = {};
  size_t color = 0;  ///< the place of that curve in LineChart::curves
};

/// What a chart shows, for each of the programs that draw it: to_svg and gnuplot_commands.
struct KUSARI_API LineChart {
  std::string title = {};
  std::string x_label = {};
  std::string y_label = {};
  std::vector<Curve> curves = {};
  std::vector<Band> bands = {};  ///< below the curves
  bool grid = true;
  bool log_y = false;        ///< values that are not positive are gaps
  std::string marker = "x";  ///< matplotlib's name: one of . o x + * s ^ v D, or "" for none
  std::optional<double> y_min = std::nullopt, y_max = std::nullopt;  ///< what the values tell when not given
  int width = 800, height = 600;                                     ///< pixels

  /// Whether there is a point to draw.
  bool has_data() const;
};

/// Whether `marker` is one that a chart can have.
KUSARI_API bool is_marker(const std::string& marker);

/// Charts side by side, in rows of `columns`.
struct ChartGrid {
  std::string title = {};
  std::vector<LineChart> charts = {};
  int columns = 1;
};

}  // namespace kusari::training::charts
