#pragma once

#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/charts/line_chart.h"

namespace kusari::training::charts {

/// What gnuplot is told so that it draws the charts, after its terminal and output are set.
KUSARI_API std::string gnuplot_commands(const ChartGrid& grid);

/// Draws charts to a file that is replaced whole: an .svg as to_svg_file() makes it, anything else as a PNG by gnuplot.
/// Where gnuplot is missing or fails, the same name with .svg is drawn instead. Returns the path of the picture.
std::string draw(const std::string& picture, const ChartGrid& grid);

}  // namespace kusari::training::charts
